/* SPDX-License-Identifier: Apache-2.0 */
/* What a bundle from elsewhere may be: checked before any of it is unpacked. */
#ifndef APP_PULL_CHECK_H
#define APP_PULL_CHECK_H

#include "decide/stage/bundle.h"

/*
 * Paths sorted, each once, none below something that is no directory; no setuid or setgid; no link that leads out of the
 * workspace unless ALLOW_LINKS. ERROR_DENIED or ERROR_INPUT names the path.
 */
int pull_check_bundle(const struct bundle *bundle, bool allow_links, struct error *err);

/* Whether what FD holds has that digest; ERROR_INPUT. */
int pull_check_content(int fd, const char *sha256, struct error *err);

#endif
