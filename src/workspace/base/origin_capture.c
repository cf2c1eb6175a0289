/* SPDX-License-Identifier: Apache-2.0 */
/* Writing down what the host was, while it still is that: after each command and before a seal. */
#include "workspace/base/origin.h"

#include "base/core/own.h"
#include "base/file/walk.h"
#include "workspace/base/origin_index.h"
#include "workspace/disk/target.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* Changes are listed some time before they are captured; what happened meanwhile must not count as looked at. */
#define LISTED_BEFORE_NS 10000000000u
#define ATTEMPTS 3

struct old_object {
	uint64_t ino;
	const char *path; /* the host's */
};

struct capture {
	struct origin_index *index;
	const struct delta *delta;
	struct str lines;
	struct old_object *olds; /* what the host has of changed files, by inode */
	size_t old_count;
	struct origin_records unkept; /* whose content could not be */
};

static int compare_olds(const void *a, const void *b)
{
	const struct old_object *one = a, *other = b;

	if (one->ino != other->ino)
		return one->ino < other->ino ? -1 : 1;
	return strcmp(one->path, other->path);
}

/* Made when first asked for: few captures need it. */
static void list_olds(struct capture *capture)
{
	const struct delta *delta = capture->delta;
	const struct view_stack *stack = capture->index->stack;

	capture->olds = xcalloc(delta->count + 1, sizeof(capture->olds[0]));
	for (size_t i = 0; i < delta->count; i++) {
		const struct delta_entry *entry = &delta->items[i];

		if (entry->old.exists && entry->old.layer == stack->count)
			capture->olds[capture->old_count++] = (struct old_object){
				.ino = entry->old.st.st_ino,
				.path = entry->from ? entry->from : origin_base_path(stack, entry),
			};
	}
	qsort(capture->olds, capture->old_count, sizeof(capture->olds[0]), compare_olds);
}

/*
 * Copied up, and the host has nothing there: either the host removed it, or the sandbox renamed and then edited it. In that
 * case the same list has the old name, as removed or as in use for something else.
 */
static const char *find_old_name(struct capture *capture, const char *path, uint64_t ino)
{
	size_t low = 0, high;

	if (ino == 0)
		return NULL;
	if (!capture->olds)
		list_olds(capture);
	for (high = capture->old_count; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (capture->olds[middle].ino < ino)
			low = middle + 1;
		else
			high = middle;
	}
	return low < capture->old_count && capture->olds[low].ino == ino &&
			       strcmp(capture->olds[low].path, path) != 0
		       ? capture->olds[low].path
		       : NULL;
}

int origin_keep(const struct store *store, int fd, const struct txn_identity *identity,
		char ret_hex[static SHA256_HEX_SIZE], struct error *err)
{
	struct txn_identity now;

	if (cas_keep_fd(store, fd, ret_hex, err) < 0)
		return -1;
	txn_identity_of(fd, "", &now);
	if (!target_is_same(identity, &now))
		ret_hex[0] = '\0';
	return 0;
}

/* Content of small files and the digest of attributes, for the day the host has moved on. */
static int keep_base(const struct capture *capture, const struct delta_entry *entry,
		     struct origin *origin, struct error *err)
{
	const struct origin_index *index = capture->index;
	const char *relative =
		target_relative(index->sandbox->workspace, origin_base_path(index->stack, entry));
	owned(xattr_list_done) struct xattr_list xattrs = { 0 };
	owned(fd_close) int fd = -1;
	struct error ignored = { 0 };

	if (S_ISLNK(origin->identity.mode))
		origin->link = target_read_link(index->workspace_fd, relative);
	if (entry->old.exists && delta_xattrs(index->stack, &entry->old, &xattrs, &ignored) == 0)
		origin_digest_xattrs(&xattrs, origin->xattrs);
	if (!S_ISREG(origin->identity.mode) || origin->identity.size > ORIGIN_KEPT_MAX)
		return 0;
	fd = target_open_file(index->workspace_fd, relative, &origin->identity);
	/* Unreadable for us, or replaced this moment: without content it is recorded by its identity alone. */
	if (fd < 0)
		return 0;
	return origin_keep(index->sandbox->store, fd, &origin->identity, origin->sha256, err);
}

/* Changed again after a promotion: what that made of the host is the base, and its content is worth keeping now. */
static int capture_promoted(const struct capture *capture, const struct delta_entry *entry,
			    const struct origin_record *known, struct error *err)
{
	const struct store *store = capture->index->sandbox->store;
	owned(origin_done) struct origin origin = { .identity = known->origin.identity };
	owned(fd_close) int fd = -1;
	struct error ignored = { 0 };
	struct txn_identity now;

	if (!known->promotion[0] || !known->origin.sha256[0] ||
	    cas_open(store, known->origin.sha256, &fd, &ignored) == 0)
		return 0;
	/* What cannot be seen now is compared when it is promoted. */
	if (origin_index_look(capture->index, origin_base_path(capture->index->stack, entry),
			      &now) < 0 ||
	    !target_is_same(&known->origin.identity, &now))
		return 0;
	return keep_base(capture, entry, &origin, err);
}

/* ENTRY itself, or the old name of something renamed: that is gone from the view. */
static struct delta_entry entry_at(const struct delta_entry *entry, char *path)
{
	struct delta_entry asked = *entry;

	if (path != entry->path) {
		asked.path = path;
		asked.op = DELTA_DELETED;
		asked.from = NULL;
		asked.new = (struct delta_side){ 0 };
	}
	return asked;
}

static int capture_path(struct capture *capture, const struct delta_entry *entry, char *path,
			struct error *err)
{
	struct delta_entry asked = entry_at(entry, path);
	owned(free_ptr) char *base = xstrdup(origin_base_path(capture->index->stack, &asked));
	struct origin_record record = { .path = base };
	const struct origin_record *known;
	const char *old_name = NULL;
	struct txn_identity now;

	/* A record stands under the host's path, which a directory that was renamed inside does not change. */
	known = origin_index_record(capture->index, base);
	if (known)
		return path == entry->path ? capture_promoted(capture, entry, known, err) : 0;
	if (origin_index_look(capture->index, base, &now) < 0)
		return error_errno(err, ERROR_HOST, "cannot look at '%s'", base);
	origin_work_out(capture->index, &asked, &now, &record.origin);
	if (!now.exists)
		old_name = find_old_name(capture, base, record.origin.identity.ino);
	if (old_name)
		record.origin = (struct origin){ .quality = ORIGIN_EXACT };
	else if (record.origin.quality == ORIGIN_LOST && path == entry->path &&
		 origin_pin(capture->index, entry, &record.origin, err) < 0)
		return -1;
	if (record.origin.quality == ORIGIN_EXACT && record.origin.identity.exists &&
	    keep_base(capture, &asked, &record.origin, err) < 0)
		return -1;
	if (path == entry->path && entry->from)
		old_name = entry->from;
	if (old_name && !record.origin.identity.exists)
		record.origin.from = xstrdup(old_name);
	if (origin_is_unkept(&record))
		origin_blobs_put(&capture->unkept, &record, NULL);
	origin_records_put(&capture->lines, &record);
	origin_done(&record.origin);
	return 0;
}

static void note_hidden(struct capture *capture, const char *path)
{
	owned(free_ptr) char *name = xasprintf(ORIGIN_HIDDEN "%s", path);
	const struct origin_record record = { .path = name, .origin.quality = ORIGIN_LOST };

	if (!origin_is_noted_hidden(capture->index, path))
		origin_records_put(&capture->lines, &record);
}

/*
 * Directories of the host's that do not show any more. What it puts into them from now on is not seen inside, whatever a
 * later command finds by looking anew. The topmost will do, and parents come before what is in them.
 */
static void capture_hidden(struct capture *capture, const struct delta *delta)
{
	const struct view_stack *stack = capture->index->stack;
	const char *top = NULL;

	for (size_t i = 0; i < delta->count; i++) {
		const struct delta_entry *entry = &delta->items[i];

		if ((entry->op != DELTA_DELETED && entry->op != DELTA_TYPE) || !entry->old.exists ||
		    entry->old.layer != stack->count || !S_ISDIR(entry->old.st.st_mode))
			continue;
		const char *path = origin_base_path(stack, entry);

		if (top && target_relative(top, path))
			continue;
		note_hidden(capture, path);
		top = path;
	}
	for (size_t i = 0; i < delta->hiding.count; i++)
		note_hidden(capture, delta->hiding.items[i]);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int capture_all(struct capture *capture, const struct delta *delta, struct error *err)
{
	const char *workspace = capture->index->sandbox->workspace, *replaced;
	char shown[STR_SHOWN_SIZE];

	for (size_t i = 0; i < delta->count; i++) {
		const struct delta_entry *entry = &delta->items[i];

		const char *relative = target_relative(workspace, entry->path);

		/* What can never be promoted needs no base, and takes long to reach. */
		if (!relative || walk_is_too_deep(relative))
			continue;
		if (capture_path(capture, entry, entry->path, err) < 0)
			return -1;
		if (entry->from && target_relative(workspace, entry->from) &&
		    capture_path(capture, entry, entry->from, err) < 0)
			return -1;
	}
	capture_hidden(capture, delta);
	replaced = origin_index_find_replaced(capture->index);
	if (replaced)
		return error_set(err, ERROR_CONFLICT,
				 "a directory above '%s' was replaced meanwhile: try again",
				 str_shown(replaced, shown));
	return 0;
}

static int write_lines(struct capture *capture, uint64_t at_ns, struct error *err)
{
	/* Only a complete list proves that what is missing was not touched. */
	if (!capture->delta->is_partial && at_ns > capture->index->top_at_ns)
		origin_records_put_time(&capture->lines, at_ns);
	return capture->lines.len == 0 ? 0
				       : origin_records_append(capture->index->sandbox->dir_fd,
							       "touched", &capture->lines, err);
}

static int capture_once(struct sandbox *sandbox, const struct view_stack *stack,
			const struct delta *delta, struct origin_records *ret_unkept,
			struct error *err)
{
	uint64_t at_ns = now_ns() - LISTED_BEFORE_NS;
	struct capture capture = { .delta = delta, .lines = STR_INIT };
	int status;

	if (ret_unkept)
		*ret_unkept = (struct origin_records){ 0 };
	if (origin_index_open(sandbox, stack, &capture.index, err) < 0)
		return -1;
	status = capture_all(&capture, delta, err);
	if (status == 0)
		status = write_lines(&capture, at_ns, err);
	if (status == 0 && ret_unkept && capture.unkept.count > 0) {
		origin_blobs_unknown(capture.index, &capture.unkept);
		*ret_unkept = capture.unkept;
		capture.unkept = (struct origin_records){ 0 };
	}
	origin_records_done(&capture.unkept);
	str_done(&capture.lines);
	free(capture.olds);
	origin_index_close(capture.index);
	return status;
}

int origin_capture(struct sandbox *sandbox, const struct view_stack *stack,
		   const struct delta *delta, struct origin_records *ret_unkept, struct error *err)
{
	for (int i = 1;; i++) {
		int status = capture_once(sandbox, stack, delta, ret_unkept, err);

		/* The host replaced a directory meanwhile: nothing was written, and the next look finds the new one. */
		if (status == 0 || i == ATTEMPTS || err->code != ERROR_CONFLICT)
			return status;
		*err = (struct error){ 0 };
	}
}
