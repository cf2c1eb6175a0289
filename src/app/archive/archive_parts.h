/* SPDX-License-Identifier: Apache-2.0 */
/* What looking at an archive and taking back from it share. Private to app/archive. */
#ifndef APP_ARCHIVE_PARTS_H
#define APP_ARCHIVE_PARTS_H

#include "app/archive/archive.h"
#include "app/archive/pack.h"

struct reading {
	const struct archive_wish *wish;
	char *state_dir;
	struct archive_self self;
	struct archive_place *place;
	struct strv names; /* of all manifests, by day */
};

int reading_open(const struct archive_wish *wish, struct reading *ret_reading, struct error *err);
/* Cleanup for owned(reading_done) struct reading r. */
void reading_done(struct reading *reading);
/* Whether the manifest NAME, or an item of one, is asked for. */
bool reading_wants_day(const struct reading *reading, const char *name);
bool reading_wants(const struct reading *reading, const struct archive_entry *item);

#endif
