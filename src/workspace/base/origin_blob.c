/* SPDX-License-Identifier: Apache-2.0 */
/* Bases that git has: which are asked for, and what came of it. */
#include "workspace/base/origin_blob.h"

#include "base/core/own.h"
#include "workspace/base/origin_index.h"
#include "workspace/disk/target.h"

#include <stdlib.h>
#include <sys/stat.h>

void origin_blobs_put(struct origin_records *records, const struct origin_record *record,
		      const char *blob)
{
	records->items = xrealloc(records->items, records->count + 1, sizeof(records->items[0]));
	records->items[records->count++] = (struct origin_record){
		.path = xstrdup(record->path),
		.origin = { .quality = ORIGIN_GIT,
			    .identity = record->origin.identity,
			    .link = blob ? xstrdup(blob) : NULL },
	};
}

bool origin_is_unkept(const struct origin_record *record)
{
	const struct origin *origin = &record->origin;

	return origin->quality == ORIGIN_EXACT && origin->identity.exists &&
	       S_ISREG(origin->identity.mode) && !origin->sha256[0] && !record->promotion[0];
}

/* What is known of RECORD's own version; NULL for nothing. */
static const struct origin_record *find_known(const struct origin_index *index,
					      const struct origin_record *record)
{
	const struct origin_record *known = origin_records_find(&index->blobs, record->path, true);

	return known && target_is_same(&known->origin.identity, &record->origin.identity) ? known
											  : NULL;
}

static void list(const struct origin_index *index, bool wanted, struct origin_records *records)
{
	for (size_t i = 0; i < index->touched.count; i++) {
		const struct origin_record *record = &index->touched.items[i];
		const struct origin_record *known;
		struct txn_identity now;

		if (!origin_is_unkept(record) ||
		    origin_records_find(&index->touched, record->path, false) != record)
			continue;
		known = find_known(index, record);
		if (origin_index_look(index, record->path, &now) < 0)
			continue;
		bool is_same = target_is_same(&record->origin.identity, &now);

		if (!wanted && !known && is_same)
			origin_blobs_put(records, record, NULL);
		if (wanted && known && known->origin.link && !known->origin.sha256[0] && !is_same)
			origin_blobs_put(records, record, known->origin.link);
	}
}

void origin_blobs_unknown(const struct origin_index *index, struct origin_records *records)
{
	list(index, false, records);
}

int origin_blobs_wanted(const struct sandbox *sandbox, const struct view_stack *stack,
			struct origin_records *ret_records, struct error *err)
{
	struct origin_index *index = NULL;

	*ret_records = (struct origin_records){ 0 };
	if (origin_index_open(sandbox, stack, &index, err) < 0)
		return -1;
	list(index, true, ret_records);
	origin_index_close(index);
	return 0;
}

int origin_blobs_add(const struct sandbox *sandbox, const struct origin_record *record,
		     struct error *err)
{
	owned(str_done) struct str line = STR_INIT;

	origin_records_put(&line, record);
	return origin_records_append(sandbox->dir_fd, SANDBOX_BLOBS, &line, err);
}
