/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which version of the host a sandbox's change started from.
 *
 * Records of the oldest layer count first: what later layers found was already the sandbox's own. A promotion makes
 * the host what the sandbox had, so from then on that is the base, for as long as the promotion is not undone.
 */
#include "workspace/base/origin.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/hash/sha256.h"
#include "workspace/store/moments.h"
#include "workspace/base/origin_blob.h"
#include "workspace/base/origin_index.h"
#include "workspace/base/promotion.h"
#include "workspace/disk/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#define CLOCK_SLACK_MAX_NS 1000000000

const char *origin_quality_name(enum origin_quality quality)
{
	static const char *const names[] = {
		"exact", "pinned", "captured", "git", "approx", "lost"
	};

	return names[quality];
}

void origin_digest_xattrs(const struct xattr_list *list, char ret_hex[static SHA256_HEX_SIZE])
{
	struct sha256 sum;

	ret_hex[0] = '\0';
	if (list->count == 0)
		return;
	sha256_start(&sum);
	for (size_t i = 0; i < list->count; i++) {
		uint64_t len = list->items[i].len;

		sha256_add(&sum, list->items[i].name, strlen(list->items[i].name) + 1);
		sha256_add(&sum, &len, sizeof(len));
		sha256_add(&sum, list->items[i].value, list->items[i].len);
	}
	sha256_end(&sum, ret_hex);
}

/* Times of files can be compared when the machine's clock only went forward since the base was taken. */
static int check_clock(struct origin_index *index, struct error *err)
{
	int64_t back = index->sandbox->clock_offset_ns - clock_offset_ns();
	char boot_id[37];

	if (store_boot_id(boot_id, err) < 0)
		return -1;
	index->slack_ns = back > 0 ? (uint64_t)back : 0;
	index->times_hold = strcmp(boot_id, index->sandbox->base_boot_id) == 0 &&
			    index->slack_ns <= CLOCK_SLACK_MAX_NS;
	return 0;
}

static void add_records(struct origin_records *to, struct origin_records *from)
{
	if (from->count == 0)
		return;
	to->items = xrealloc(to->items, to->count + from->count, sizeof(to->items[0]));
	memcpy(to->items + to->count, from->items, from->count * sizeof(to->items[0]));
	to->count += from->count;
	free(from->items);
	*from = (struct origin_records){ 0 };
}

/* What an undo left as it was before the promotion. */
static void add_restored(struct origin_index *index, const char *promotion)
{
	struct origin_records records = { 0 };
	owned(fd_close) int fd = -1;
	struct error ignored = { 0 };

	if (promotion_open_directory(index->sandbox->store, promotion, &fd, &ignored) == 0 &&
	    origin_records_read(fd, "restored", &records, &ignored) == 0)
		add_records(&index->restored, &records);
}

/* Leaves out what was taken back since: the host is not what those promotions made it. */
static int drop_undone(struct origin_index *index, struct error *err)
{
	struct origin_records *records = &index->promoted, *undone = &index->undone;
	char last[LAYER_ID_SIZE] = "";
	bool is_undone = false;
	size_t kept = 0;
	int status = 0;

	undone->items = xcalloc(records->count + 1, sizeof(undone->items[0]));
	for (size_t i = 0; i < records->count; i++) {
		struct origin_record *record = &records->items[i];

		if (strcmp(record->promotion, last) != 0 && status == 0) {
			memcpy(last, record->promotion, sizeof(last));
			status = promotion_is_undone(index->sandbox->store, last, &is_undone, err);
			if (is_undone)
				add_restored(index, last);
		}
		*(is_undone ? &undone->items[undone->count++] : &records->items[kept++]) = *record;
	}
	records->count = kept;
	return status;
}

static int read_records(struct origin_index *index, struct error *err)
{
	struct origin_records records = { 0 };

	for (size_t i = index->stack->count; i-- > 0;) {
		if (origin_records_read(index->stack->layer_fds[i], "touched", &records, err) < 0)
			return -1;
		add_records(&index->touched, &records);
	}
	if (origin_records_read(index->sandbox->dir_fd, "touched", &records, err) < 0)
		return -1;
	index->top_at_ns = records.at_ns;
	add_records(&index->touched, &records);
	origin_records_sort(&index->touched);
	if (origin_records_read(index->sandbox->dir_fd, "promoted", &index->promoted, err) < 0)
		return -1;
	if (drop_undone(index, err) < 0 ||
	    origin_records_read(index->sandbox->dir_fd, SANDBOX_BLOBS, &index->blobs, err) < 0)
		return -1;
	origin_records_sort(&index->blobs);
	origin_records_sort(&index->promoted);
	origin_records_sort(&index->restored);
	origin_records_sort(&index->undone);
	return 0;
}

int origin_index_open(const struct sandbox *sandbox, const struct view_stack *stack,
		      struct origin_index **ret_index, struct error *err)
{
	struct origin_index *index = xcalloc(1, sizeof(*index));

	index->sandbox = sandbox;
	index->stack = stack;
	index->workspace_fd = -1;
	index->own = origin_own_new();
	index->copied = origin_copied_new();
	index->last_directory = xcalloc(1, sizeof(*index->last_directory));
	moments_look(sandbox, &index->fresh_ns, &index->is_same_place);
	if (target_open(sandbox->workspace, &index->workspace_fd, err) < 0 ||
	    check_clock(index, err) < 0 || read_records(index, err) < 0) {
		origin_index_close(index);
		return -1;
	}
	*ret_index = index;
	return 0;
}

void origin_index_close(struct origin_index *index)
{
	if (!index)
		return;
	fd_close(&index->workspace_fd);
	origin_own_free(index->own);
	origin_copied_free(index->copied);
	origin_records_done(&index->touched);
	origin_records_done(&index->promoted);
	origin_records_done(&index->restored);
	origin_records_done(&index->undone);
	origin_records_done(&index->blobs);
	origin_directory_free(index->last_directory);
	free(index);
}

const struct origin_record *origin_index_record(const struct origin_index *index, const char *path)
{
	const struct origin_record *record = origin_records_find(&index->promoted, path, true);

	if (!record)
		record = origin_records_find(&index->restored, path, true);
	return record ? record : origin_records_find(&index->touched, path, false);
}

bool origin_index_is_undone(const struct origin_index *index, const char *path)
{
	return origin_records_find(&index->undone, path, true) &&
	       !origin_records_find(&index->promoted, path, true);
}

const char *origin_base_path(const struct view_stack *stack, const struct delta_entry *entry)
{
	const struct delta_side *old = &entry->old;

	return entry->op != DELTA_RENAMED && old->exists && old->layer == stack->count
		       ? old->layer_path
		       : entry->path;
}

int origin_index_look(const struct origin_index *index, const char *path,
		      struct txn_identity *ret_identity)
{
	const char *relative = target_relative(index->sandbox->workspace, path);

	*ret_identity = (struct txn_identity){ 0 };
	return relative ? target_look(index->workspace_fd, relative, ret_identity) : 0;
}

bool origin_index_is_before(const struct origin_index *index, int64_t ctime_ns, uint64_t then_ns)
{
	/* Equal stamps are no proof: clocks of older kernels tick every four milliseconds. */
	return index->times_hold && then_ns > 0 && ctime_ns > 0 &&
	       (uint64_t)ctime_ns + index->slack_ns < then_ns;
}

static bool is_content_known(const struct origin_record *record)
{
	return !record->origin.identity.exists || record->origin.sha256[0] ||
	       !S_ISREG(record->origin.identity.mode);
}

/* Too large to be kept at once; but it was before the host changed it, or git has it and was asked for it. */
static void find_blob(const struct origin_index *index, const struct origin_record *record,
		      struct origin *origin)
{
	const struct origin_record *blob = origin_records_find(&index->blobs, record->path, true);

	origin->quality = ORIGIN_LOST;
	if (!blob || !blob->origin.sha256[0] ||
	    !target_is_same(&blob->origin.identity, &record->origin.identity))
		return;
	origin->quality = blob->origin.quality == ORIGIN_CAPTURED ? ORIGIN_CAPTURED : ORIGIN_GIT;
	memcpy(origin->sha256, blob->origin.sha256, SHA256_HEX_SIZE);
}

/* Lost, but git had something there when the sandbox was made, and git was asked for it. */
static void find_ancestor(const struct origin_index *index, const char *path, struct origin *origin)
{
	const struct origin_record *blob = origin_records_find(&index->blobs, path, true);

	if (!blob || blob->origin.quality != ORIGIN_APPROX || !blob->origin.sha256[0])
		return;
	origin->quality = ORIGIN_APPROX;
	origin->identity = blob->origin.identity;
	memcpy(origin->sha256, blob->origin.sha256, SHA256_HEX_SIZE);
}

static int find_base(const struct origin_index *index, const struct delta_entry *entry,
		     struct origin *ret_origin, struct error *err)
{
	const char *path = origin_base_path(index->stack, entry);
	const struct origin_record *record = origin_index_record(index, path);
	struct txn_identity now;

	*ret_origin = (struct origin){ 0 };
	if (origin_index_look(index, path, &now) < 0)
		return error_errno(err, ERROR_HOST, "cannot look at '%s'", path);
	if (!record) {
		origin_work_out(index, entry, &now, ret_origin);
		return 0;
	}
	*ret_origin = record->origin;
	ret_origin->link = record->origin.link ? xstrdup(record->origin.link) : NULL;
	ret_origin->from = record->origin.from ? xstrdup(record->origin.from) : NULL;
	if (record->origin.quality == ORIGIN_LOST)
		return 0;
	/* Captures say "exact", promotions have a name. */
	ret_origin->is_merged_in =
		record->origin.quality == ORIGIN_CAPTURED && !record->promotion[0];
	if (target_is_same(&record->origin.identity, &now))
		ret_origin->quality = ORIGIN_EXACT;
	else if (!is_content_known(record))
		find_blob(index, record, ret_origin);
	else if (record->origin.quality != ORIGIN_PINNED)
		ret_origin->quality = ORIGIN_CAPTURED;
	return 0;
}

int origin_find(const struct origin_index *index, const struct delta_entry *entry,
		struct origin *ret_origin, struct error *err)
{
	if (find_base(index, entry, ret_origin, err) < 0)
		return -1;
	if (ret_origin->quality == ORIGIN_LOST)
		find_ancestor(index, entry->path, ret_origin);
	return 0;
}

int origin_open(const struct origin_index *index, const struct delta_entry *entry,
		const struct origin *origin, int *ret_fd, struct error *err)
{
	const char *relative =
		target_relative(index->sandbox->workspace, origin_base_path(index->stack, entry));
	int fd;

	if (origin->quality != ORIGIN_EXACT && origin->quality != ORIGIN_LOST && origin->sha256[0])
		return cas_open(index->sandbox->store, origin->sha256, ret_fd, err);
	if (origin->quality != ORIGIN_EXACT || !relative)
		return error_set(err, ERROR_NOT_FOUND, "the version it started from is lost");
	fd = target_open_file(index->workspace_fd, relative, &origin->identity);
	if (fd < 0)
		return error_errno(err, errno == ESTALE ? ERROR_CONFLICT : ERROR_HOST, "%s",
				   entry->path);
	*ret_fd = fd;
	return 0;
}
