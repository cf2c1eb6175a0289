/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conflicts taken into the sandbox: its file becomes the two versions merged, with markers where they overlap, and
 * the host's present version becomes its base. It is resolved there and promoted again.
 */
#include "workspace/promote/promote_parts.h"

#include "base/core/own.h"
#include "workspace/base/origin_index.h"
#include "workspace/disk/sys.h"
#include "workspace/disk/target.h"
#include "workspace/promote/top.h"

#include <string.h>

/* Whether both sides are files whose texts can be put side by side. */
static bool is_mergeable(const struct item *item)
{
	return item->fate == FATE_OPEN && item->verdict.object == TAKE_MERGE &&
	       item->verdict.content == TAKE_MERGE && target_type(&item->now) == 'f';
}

/* From now on the sandbox's version descends from what the host has at this moment. */
static int rebase(struct promote *promote, struct item *item, struct str *lines, struct error *err)
{
	owned(fd_close) int fd = promote_open_ours(promote, item, err);
	struct origin_record record = {
		.path = item->entry.path,
		.origin = { .quality = ORIGIN_CAPTURED, .identity = item->now },
	};
	char shown[STR_SHOWN_SIZE];

	if (fd < 0 ||
	    origin_keep(promote->sandbox->store, fd, &item->now, record.origin.sha256, err) < 0)
		return -1;
	if (!record.origin.sha256[0])
		return error_set(err, ERROR_CONFLICT, "'%s' is being changed this moment",
				 str_shown(item->path, shown));
	memcpy(record.origin.xattrs, item->origin.xattrs, SHA256_HEX_SIZE);
	origin_records_put(lines, &record);
	return 0;
}

/* The host may move at any time: the sandbox's version goes only when there is a base for what takes its place. */
static int replace(struct promote *promote, struct item *item, struct str *lines, struct error *err)
{
	size_t len = lines->len;

	if (rebase(promote, item, lines, err) < 0)
		return -1;
	if (top_write_file(promote->sandbox, promote->stack, item->entry.path, &item->merged,
			   &item->meta, err) == 0)
		return 0;
	str_truncate(lines, len);
	return -1;
}

static int compare_paths(const void *a, const void *b)
{
	const struct conflict *const *left = a, *const *right = b;

	return strcmp((*left)->path, (*right)->path);
}

/* The promotion's conflicts in the order of their paths: each file asks for its own, and there may be as many of both. */
static struct conflict **sort_conflicts(struct promotion *promotion)
{
	struct conflict **sorted =
		xcalloc(promotion->conflict_count + 1, sizeof(struct conflict *));

	for (size_t i = 0; i < promotion->conflict_count; i++)
		sorted[i] = &promotion->conflicts[i];
	qsort(sorted, promotion->conflict_count, sizeof(struct conflict *), compare_paths);
	return sorted;
}

static int compare_path(const void *path, const void *conflict)
{
	return strcmp(path, (*(struct conflict *const *)conflict)->path);
}

static struct conflict *conflict_of(struct conflict *const *sorted, size_t count, const char *path)
{
	struct conflict *const *found =
		bsearch(path, sorted, count, sizeof(struct conflict *), compare_path);

	return found ? *found : NULL;
}

static int take_in(struct promote *promote, struct item *item, struct conflict *conflict,
		   struct str *lines, struct error *err)
{

	if (!conflict)
		return 0;
	free(conflict->hunks);
	conflict->hunks = NULL;
	conflict->hunk_count = 0;
	str_done(&item->merged);
	/* 1 is for markers, which are wanted here; without a text there is nothing to put side by side. */
	(void)promote_merge_item(promote, item, MERGE_MARK, conflict, err);
	if (!item->merged.data)
		return 0;
	if (!promote->request->dry_run && replace(promote, item, lines, err) < 0)
		return -1;
	conflict->resolution = "into-sandbox";
	strv_add(&promote->promotion->merged, item->path);
	return 0;
}

int promote_into_sandbox(struct promote *promote, struct error *err)
{
	owned(str_done) struct str lines = STR_INIT;
	struct conflict **sorted = sort_conflicts(promote->promotion);
	struct error unwritten = { 0 };
	int status = 0;

	for (size_t i = 0; i < promote->count && status == 0; i++) {
		struct item *item = &promote->items[i];

		if (is_mergeable(item))
			status = take_in(
				promote, item,
				conflict_of(sorted, promote->promotion->conflict_count, item->path),
				&lines, err);
	}
	free(sorted);
	/* Also of those before one that failed: they are merged. */
	if (lines.len > 0 && origin_records_append(promote->sandbox->dir_fd, "promoted", &lines,
						   status == 0 ? err : &unwritten) < 0)
		status = -1;
	return status == 0 ? promote_check_open(promote, err) : -1;
}
