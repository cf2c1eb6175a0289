/* SPDX-License-Identifier: Apache-2.0 */
/* What a bundle from elsewhere may be: checked before any of it is unpacked. */
#ifndef APP_PULL_CHECK_H
#define APP_PULL_CHECK_H

#include "app/travel/travel_parts.h"

/*
 * Paths sorted, each once, short and flat enough, none below something that is no directory; no setuid or setgid; no link that
 * leads out of the workspace unless ALLOW_LINKS. ERROR_DENIED or ERROR_INPUT names the path.
 */
int pull_check_bundle(const struct bundle *bundle, bool allow_links, struct error *err);

/* None of it lies where the sandbox has mounts, copies of services, our own folders, or what is hidden from it. */
int pull_check_places(const struct bundle *bundle, const struct sandbox *sandbox,
		      struct error *err);

#endif
