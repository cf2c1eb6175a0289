/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of a bundle on its way. */
#include "decide/stage/record.h"

#include "base/core/clock.h"
#include "base/text/json_read.h"
#include "base/core/own.h"

#include <string.h>

#define ENTRIES_MAX 1000

void stage_record_init(struct stage_record *record)
{
	memset(record, 0, sizeof(*record));
}

static void entry_done(struct stage_entry *entry)
{
	free(entry->name);
	free(entry->target);
	free(entry->promotion);
	free(entry->digest);
	free(entry->clone);
	free(entry->reason);
}

void stage_record_done(struct stage_record *record)
{
	for (size_t i = 0; i < record->count; i++)
		entry_done(&record->entries[i]);
	free(record->entries);
	free(record->sandbox);
	free(record->sandbox_id);
	free(record->snapshot);
	free(record->workspace);
	free(record->pipeline);
	stage_record_init(record);
}

struct stage_entry *stage_record_find(const struct stage_record *record, const char *name)
{
	for (size_t i = 0; i < record->count; i++)
		if (strcmp(record->entries[i].name, name) == 0)
			return &record->entries[i];
	return NULL;
}

struct stage_entry *stage_record_add(struct stage_record *record, const char *name,
				     const char *target)
{
	struct stage_entry *entry;

	record->entries = xrealloc(record->entries, record->count + 1, sizeof(record->entries[0]));
	entry = &record->entries[record->count++];
	*entry = (struct stage_entry){ .name = xstrdup(name), .target = xstrdup(target) };
	return entry;
}

int stage_entry_move(struct stage_entry *entry, enum stage_state state, const char *reason,
		     struct error *err)
{
	if (!stage_may_move(entry->state, state))
		return error_set(err, ERROR_INTERNAL, "stage '%s' cannot go from %s to %s",
				 entry->name, stage_state_name(entry->state),
				 stage_state_name(state));
	entry->state = state;
	entry->changed_ms = clock_epoch_ms();
	free(entry->reason);
	entry->reason = reason ? xstrdup(reason) : NULL;
	return 0;
}

struct value *stage_record_write(const struct stage_record *record)
{
	struct value *map = value_new_map(), *list = value_new_list();

	value_add(map, "bundle", value_new_text(record->bundle));
	value_add(map, "sandbox", value_new_text(record->sandbox));
	value_add(map, "sandbox_id", value_new_text(record->sandbox_id));
	value_add(map, "snapshot", value_new_text(record->snapshot));
	value_add(map, "workspace", value_new_text(record->workspace));
	value_add(map, "pipeline", value_new_text(record->pipeline));
	value_add(map, "made_ms", value_new_int((int64_t)record->made_ms));
	for (size_t i = 0; i < record->count; i++) {
		const struct stage_entry *entry = &record->entries[i];
		struct value *row = value_append(list, value_new_map());

		value_add(row, "name", value_new_text(entry->name));
		value_add(row, "target", value_new_text(entry->target));
		value_add(row, "state", value_new_text(stage_state_name(entry->state)));
		value_add(row, "promotion_id", value_new_text(entry->promotion));
		value_add(row, "digest", value_new_text(entry->digest));
		value_add(row, "clone", value_new_text(entry->clone));
		value_add(row, "reason", value_new_text(entry->reason));
		value_add(row, "ignored", value_new_int((int64_t)entry->ignored));
		value_add(row, "changed_ms", value_new_int((int64_t)entry->changed_ms));
	}
	value_add(map, "stages", list);
	return map;
}

static char *copy_text(const struct value *map, const char *key)
{
	const char *text = value_get_text(map, key);

	return text ? xstrdup(text) : NULL;
}

static uint64_t read_number(const struct value *map, const char *key)
{
	int64_t number = 0;

	return value_get_int(map, key, &number) && number > 0 ? (uint64_t)number : 0;
}

static bool read_entry(const struct value *row, struct stage_record *record)
{
	const char *name = row->kind == VALUE_MAP ? value_get_text(row, "name") : NULL;
	const char *target = name ? value_get_text(row, "target") : NULL;
	const char *state = target ? value_get_text(row, "state") : NULL;
	struct stage_entry *entry;

	if (!state || target[0] != '/' || stage_record_find(record, name))
		return false;
	entry = stage_record_add(record, name, target);
	entry->promotion = copy_text(row, "promotion_id");
	entry->digest = copy_text(row, "digest");
	entry->clone = copy_text(row, "clone");
	entry->reason = copy_text(row, "reason");
	entry->ignored = read_number(row, "ignored");
	entry->changed_ms = read_number(row, "changed_ms");
	return stage_state_find(state, &entry->state);
}

int stage_record_read(const char *bytes, size_t len, struct stage_record *record, struct error *err)
{
	owned(value_release) struct value *tree = NULL;
	const struct value *list = NULL;
	const char *bundle = NULL;
	bool is_good;

	if (json_read(bytes, len, NULL, &tree, err) < 0)
		return -1;
	if (tree->kind == VALUE_MAP) {
		bundle = value_get_text(tree, "bundle");
		list = value_get(tree, "stages");
		record->sandbox = copy_text(tree, "sandbox");
		record->sandbox_id = copy_text(tree, "sandbox_id");
		record->snapshot = copy_text(tree, "snapshot");
		record->workspace = copy_text(tree, "workspace");
		record->pipeline = copy_text(tree, "pipeline");
		record->made_ms = read_number(tree, "made_ms");
	}
	is_good = bundle && sha256_is_hex(bundle) && record->sandbox && record->sandbox_id &&
		  record->snapshot && record->workspace && record->pipeline && list &&
		  list->kind == VALUE_LIST && list->many.count <= ENTRIES_MAX;
	for (size_t i = 0; is_good && i < list->many.count; i++)
		is_good = read_entry(list->many.items[i], record);
	if (!is_good)
		return error_set(err, ERROR_INPUT, "damaged: not a record of stages");
	memcpy(record->bundle, bundle, SHA256_HEX_SIZE);
	return 0;
}
