/* SPDX-License-Identifier: Apache-2.0 */
/* A transaction as records: what BEGIN, PLACE and OP hold, and reading them back. */
#include "base/core/clock.h"
#include "base/core/die.h"
#include "base/core/own.h"
#include "base/hash/sha256.h"
#include "workspace/txn/txn_parts.h"

#include <string.h>

#define XATTRS_MAX 4096u

bool txn_path_is_clean(const char *path)
{
	if (!*path)
		return false;
	for (const char *at = path; at; at = strchr(at, '/')) {
		at += at != path;
		size_t len = strcspn(at, "/");

		if (len == 0 || (len == 1 && at[0] == '.') ||
		    (len == 2 && at[0] == '.' && at[1] == '.'))
			return false;
	}
	return true;
}

void txn_log_begin(struct txn *txn)
{
	struct str body = STR_INIT;

	body_add_u32(&body, TXN_VERSION);
	body_add_text(&body, txn->id);
	body_add_text(&body, txn->digest);
	body_add_text(&body, txn->owner);
	body_add_text(&body, txn->root);
	body_add_text(&body, txn->boot_id);
	body_add_u64(&body, txn->root_dev);
	body_add_u64(&body, txn->root_ino);
	body_add_u8(&body, txn->is_swap);
	body_add_u64(&body, txn->root_btime_ns);
	journal_add(&txn->journal, JOURNAL_BEGIN, &body);
	str_done(&body);
}

static int parse_begin(struct txn *txn, struct body_reader *reader)
{
	uint32_t version = body_u32(reader);
	owned(free_ptr) char *id = body_text(reader);
	owned(free_ptr) char *digest = body_text(reader);
	owned(free_ptr) char *owner = body_text(reader);
	owned(free_ptr) char *root = body_text(reader);
	owned(free_ptr) char *boot_id = body_text(reader);

	txn->root_dev = body_u64(reader);
	txn->root_ino = body_u64(reader);
	txn->is_swap = body_u8(reader);
	/* Journals of the first version end here. */
	if (reader->left > 0)
		txn->root_btime_ns = body_u64(reader);
	if (reader->is_bad || version != TXN_VERSION || txn->root || root[0] != '/' ||
	    strlen(boot_id) >= sizeof(txn->boot_id) || !txn_path_is_clean(id) || strchr(id, '/'))
		return -1;
	memcpy(txn->boot_id, boot_id, strlen(boot_id) + 1);
	txn->id = ptr_take(&id);
	txn->digest = ptr_take(&digest);
	txn->owner = ptr_take(&owner);
	txn->root = ptr_take(&root);
	return 0;
}

void txn_log_place(struct txn *txn, const struct txn_place *place)
{
	struct str body = STR_INIT;

	body_add_text(&body, place->path);
	journal_add(&txn->journal, JOURNAL_PLACE, &body);
	str_done(&body);
}

static int parse_place(struct txn *txn, struct body_reader *reader)
{
	char *path = body_text(reader);

	if (!path)
		return -1;
	txn->places = xrealloc(txn->places, txn->place_count + 1, sizeof(*txn->places));
	txn->places[txn->place_count++] = (struct txn_place){ .path = path, .fd = -1 };
	return path[0] && path[0] != '/' ? -1 : 0;
}

static void add_identity(struct str *body, const struct txn_identity *id)
{
	body_add_u8(body, id->exists);
	if (!id->exists)
		return;
	body_add_u64(body, id->dev);
	body_add_u64(body, id->ino);
	body_add_u64(body, id->btime_ns);
	body_add_u64(body, id->size);
	body_add_u64(body, (uint64_t)id->mtime_ns);
	body_add_u64(body, (uint64_t)id->ctime_ns);
	body_add_u32(body, id->mode);
	body_add_u32(body, id->uid);
	body_add_u32(body, id->gid);
	body_add_u64(body, id->tree);
}

static void parse_identity(struct body_reader *reader, struct txn_identity *ret_id)
{
	*ret_id = (struct txn_identity){ .exists = body_u8(reader) };
	if (!ret_id->exists)
		return;
	ret_id->dev = body_u64(reader);
	ret_id->ino = body_u64(reader);
	ret_id->btime_ns = body_u64(reader);
	ret_id->size = body_u64(reader);
	ret_id->mtime_ns = (int64_t)body_u64(reader);
	ret_id->ctime_ns = (int64_t)body_u64(reader);
	ret_id->mode = body_u32(reader);
	ret_id->uid = body_u32(reader);
	ret_id->gid = body_u32(reader);
	ret_id->tree = body_u64(reader);
}

static void add_attributes(struct str *body, const struct txn_attributes *meta)
{
	body_add_u32(body, meta->mode);
	body_add_u32(body, meta->uid);
	body_add_u32(body, meta->gid);
	body_add_u64(body, (uint64_t)meta->mtime_ns);
	body_add_u8(body, meta->has_xattrs);
	body_add_u32(body, (uint32_t)meta->xattrs.count);
	for (size_t i = 0; i < meta->xattrs.count; i++) {
		body_add_text(body, meta->xattrs.items[i].name);
		body_add_bytes(body, meta->xattrs.items[i].value, meta->xattrs.items[i].len);
	}
}

static void parse_attributes(struct body_reader *reader, struct txn_attributes *ret_meta)
{
	ret_meta->mode = body_u32(reader);
	ret_meta->uid = body_u32(reader);
	ret_meta->gid = body_u32(reader);
	ret_meta->mtime_ns = (int64_t)body_u64(reader);
	ret_meta->has_xattrs = body_u8(reader);
	uint32_t count = body_u32(reader);

	reader->is_bad |= count > XATTRS_MAX;
	if (reader->is_bad)
		return;
	ret_meta->xattrs.items = xcalloc(count + 1, sizeof(struct xattr_item));
	for (uint32_t i = 0; i < count && !reader->is_bad; i++) {
		struct xattr_item *item = &ret_meta->xattrs.items[ret_meta->xattrs.count++];

		item->name = body_text(reader);
		const void *value = body_bytes(reader, &item->len);

		item->value = xmalloc(item->len + 1);
		if (item->len > 0)
			memcpy(item->value, value, item->len);
	}
}

/* The numbers come last: no path can make the end of a record look like another one (journal_last). */
static void add_item(struct txn *txn, const struct txn_item *item, struct sha256 *sum)
{
	struct str body = STR_INIT;

	body_add_u8(&body, (uint8_t)item->kind);
	body_add_text(&body, item->path);
	body_add_text(&body, item->to);
	if (item->kind == TXN_META) {
		add_attributes(&body, &item->old_meta);
		add_attributes(&body, &item->new_meta);
	}
	body_add_u32(&body, item->place);
	add_identity(&body, &item->old);
	add_identity(&body, &item->new);
	sha256_add(sum, body.data, body.len);
	journal_add(&txn->journal, JOURNAL_OP, &body);
	str_done(&body);
}

static void add_time(struct txn *txn, const struct txn_parent *parent)
{
	struct str body = STR_INIT;

	if (parent->slot != TXN_NONE_INDEX || !parent->mtime_ns)
		return;
	body_add_text(&body, parent->path);
	body_add_u64(&body, (uint64_t)parent->mtime_ns);
	journal_add(&txn->journal, JOURNAL_TIME, &body);
	str_done(&body);
}

static int parse_time(struct txn *txn, struct body_reader *reader)
{
	char *path = body_text(reader);
	int64_t mtime_ns = (int64_t)body_u64(reader);

	if (!path)
		return -1;
	txn->times = xrealloc(txn->times, txn->time_count + 1, sizeof(*txn->times));
	txn->times[txn->time_count++] = (struct txn_time){ path, mtime_ns };
	return reader->is_bad || (*path && !txn_path_is_clean(path)) ? -1 : 0;
}

void txn_log_items(struct txn *txn)
{
	struct str body = STR_INIT;
	char hex[SHA256_HEX_SIZE];
	struct sha256 sum;

	sha256_start(&sum);
	for (size_t i = 0; i < txn->count; i++)
		add_item(txn, &txn->items[i], &sum);
	for (size_t i = 0; i < txn->parent_count; i++)
		add_time(txn, &txn->parents[i]);
	sha256_end(&sum, hex);
	body_add_u64(&body, txn->count);
	body_add_text(&body, hex);
	journal_add(&txn->journal, JOURNAL_PREPARED, &body);
	str_done(&body);
}

static int parse_item(struct txn *txn, struct body_reader *reader)
{
	if ((txn->count & (txn->count + 1)) == 0)
		txn->items = xrealloc(txn->items, 2 * txn->count + 2, sizeof(*txn->items));
	struct txn_item *item = &txn->items[txn->count++];

	txn_item_init(item);
	item->kind = (enum txn_kind)body_u8(reader);
	item->path = body_text(reader);
	item->to = body_text(reader);
	if (item->kind == TXN_META) {
		parse_attributes(reader, &item->old_meta);
		parse_attributes(reader, &item->new_meta);
	}
	item->place = body_u32(reader);
	parse_identity(reader, &item->old);
	parse_identity(reader, &item->new);
	item->plan_index = txn->count - 1;
	if (reader->is_bad || item->kind < TXN_REPLACE || item->kind > TXN_META)
		return -1;
	if (item->place >= txn->place_count && item->kind != TXN_MOVE && item->kind != TXN_META)
		return -1;
	if (item->kind == TXN_MOVE && !txn_path_is_clean(item->to))
		return -1;
	return txn_path_is_clean(item->path) || (item->kind == TXN_META && !*item->path) ? 0 : -1;
}

/* The states that may follow each other, as bits; recovery may finish an undo either way. */
static const uint32_t followers[] = {
	[JOURNAL_PREPARED] = 1u << JOURNAL_COMMIT,
	[JOURNAL_COMMIT] = 1u << JOURNAL_DONE | 1u << JOURNAL_ABORT,
	[JOURNAL_DONE] = 1u << JOURNAL_UNDO,
	[JOURNAL_ABORT] = 1u << JOURNAL_ROLLEDBACK,
	[JOURNAL_UNDO] = 1u << JOURNAL_UNDONE | 1u << JOURNAL_DONE,
	[JOURNAL_TIME] = 0,
};

int txn_log_end(struct txn *txn, enum journal_type type)
{
	struct str body = STR_INIT;

	invariant(followers[txn->last] >> type & 1);
	body_add_u64(&body, clock_epoch_ms());
	journal_add(&txn->journal, type, &body);
	str_done(&body);
	if (journal_write(&txn->journal, true) < 0)
		return -1;
	txn->last = type;
	return 0;
}

static int parse_beside(struct txn *txn, struct body_reader *reader)
{
	char *path = body_text(reader);

	if (!path)
		return -1;
	strv_take(&txn->beside, path);
	return txn_path_is_clean(path) ? 0 : -1;
}

static int parse_prepared(const struct txn *txn, struct body_reader *reader, struct sha256 *sum)
{
	uint64_t count = body_u64(reader);
	owned(free_ptr) char *want = body_text(reader);
	char hex[SHA256_HEX_SIZE];

	sha256_end(sum, hex);
	return want && count == txn->count && strcmp(want, hex) == 0 ? 0 : -1;
}

static int parse_record(struct txn *txn, const struct journal_record *record, struct sha256 *sum)
{
	struct body_reader reader = { .at = record->body, .left = record->len };

	if (record->type != JOURNAL_BEGIN && !txn->root)
		return -1;
	if (record->type == JOURNAL_BEGIN)
		return parse_begin(txn, &reader);
	if (record->type == JOURNAL_PLACE)
		return parse_place(txn, &reader);
	if (record->type == JOURNAL_BESIDE)
		return parse_beside(txn, &reader);
	if (record->type == JOURNAL_TIME)
		return parse_time(txn, &reader);
	if (record->type == JOURNAL_DONE)
		txn->done_ms = body_u64(&reader);
	if (record->type == JOURNAL_PREPARED)
		return parse_prepared(txn, &reader, sum);
	if (record->type != JOURNAL_OP)
		return 0;
	sha256_add(sum, record->body, record->len);
	return txn->last == JOURNAL_BEGIN ? parse_item(txn, &reader) : -1;
}

int txn_log_parse(struct txn *txn, const char *bytes, size_t len, struct error *err)
{
	struct journal_record record;
	struct sha256 sum;
	size_t offset = 0;

	sha256_start(&sum);
	for (uint64_t seq = 0; journal_next(bytes, len, &offset, seq, &record); seq++) {
		if (parse_record(txn, &record, &sum) < 0)
			return error_set(err, ERROR_INPUT, "the journal is damaged at record %llu",
					 (unsigned long long)seq);
		if (record.type == JOURNAL_BEGIN ||
		    (record.type >= JOURNAL_PREPARED && record.type != JOURNAL_TIME))
			txn->last = record.type;
	}
	if (txn->last > JOURNAL_PREPARED && offset == 0)
		return error_set(err, ERROR_INPUT, "the journal has no beginning");
	return 0;
}
