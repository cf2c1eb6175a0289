/* SPDX-License-Identifier: Apache-2.0 */
/* Directories outside the store in which promotions were prepared. */
#include "workspace/promote/staging_places.h"

#include "base/text/clean_path.h"
#include "base/file/fd.h"
#include "base/core/own.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Each path ends with a NUL: names may hold newlines. */
#define LIST "staging-places"
#define LIST_MAX (1u << 20)

void staging_places_read(const char *store_path, struct strv *ret_places)
{
	owned(free_ptr) char *path = xasprintf("%s/" LIST, store_path);
	owned(str_done) struct str text = STR_INIT;
	struct error ignored;

	if (access(path, F_OK) < 0 || file_read(AT_FDCWD, path, LIST_MAX, &text, &ignored) < 0)
		return;
	for (size_t at = 0; at < text.len; at += strlen(text.data + at) + 1) {
		/* As the planner wants them: anything else was not written by us. */
		if (path_is_clean(text.data + at))
			strv_add(ret_places, text.data + at);
	}
}

int staging_places_add(const struct store *store, const char *place, struct error *err)
{
	owned(strv_done) struct strv places = STRV_INIT;
	owned(str_done) struct str text = STR_INIT;
	struct stat st;

	if (path_is_within(place, store->path))
		return 0;
	staging_places_read(store->path, &places);
	if (strv_has(&places, place))
		return 0;
	strv_add(&places, place);
	for (size_t i = 0; i < places.count; i++) {
		/* The new one may not be there yet. */
		if (i + 1 < places.count && lstat(places.items[i], &st) < 0)
			continue;
		str_add_bytes(&text, places.items[i], strlen(places.items[i]) + 1);
	}
	return store_replace(store->fd, LIST, text.data, text.len, true, err);
}
