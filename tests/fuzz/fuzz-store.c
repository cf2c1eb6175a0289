/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the store's records: whatever is read is either refused or fit for use, and comes out again as it went in.
 *
 * The first byte says which record the rest is.
 */
#include "base/core/own.h"
#include "workspace/disk/fields.h"
#include "workspace/store/layer_record.h"
#include "workspace/store/sandbox_record.h"
#include "workspace/store/layer_commit.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void try_layer(const char *bytes, size_t len)
{
	owned(str_done) struct str text = STR_INIT;
	struct layer_meta meta, again;
	struct error err;

	if (layer_meta_parse(bytes, len, &meta, &err) < 0)
		return;
	must(layer_id_is_valid(meta.id) && (!meta.parent[0] || layer_id_is_valid(meta.parent)));
	layer_meta_format(&meta, &text);
	must(layer_meta_parse(text.data, text.len, &again, &err) == 0 &&
	     strcmp(meta.id, again.id) == 0 && strcmp(meta.boot_id, again.boot_id) == 0);
}

static void try_sandbox(const char *bytes, size_t len)
{
	owned(str_done) struct str text = STR_INIT;
	struct sandbox box = { .dir_fd = -1 }, again = { .dir_fd = -1 };
	struct error err;

	if (sandbox_meta_parse(bytes, len, &box, &err) == 0) {
		must(box.workspace[0] == '/');
		sandbox_meta_format(&box, &text);
		must(sandbox_meta_parse(text.data, text.len, &again, &err) == 0 &&
		     strcmp(box.workspace, again.workspace) == 0 &&
		     box.settings.count == again.settings.count);
	}
	sandbox_record_done(&box);
	sandbox_record_done(&again);
}

static void try_head(const char *bytes, size_t len)
{
	owned(str_done) struct str text = STR_INIT;
	struct sandbox box = { .dir_fd = -1 }, again = { .dir_fd = -1 };
	struct error err;

	if (sandbox_head_parse(bytes, len, &box, &err) < 0)
		return;
	must((!box.head[0] || layer_id_is_valid(box.head)) &&
	     (!box.at[0] || sandbox_name_is_valid(box.at)));
	sandbox_head_format(&box, &text);
	must(sandbox_head_parse(text.data, text.len, &again, &err) == 0 &&
	     strcmp(box.head, again.head) == 0 && box.base_ns == again.base_ns);
}

static void try_snapshot(const char *bytes, size_t len)
{
	owned(str_done) struct str text = STR_INIT;
	owned(snapshot_done) struct snapshot snapshot = { 0 }, again = { 0 };
	struct error err;

	if (snapshot_parse(bytes, len, "s1", &snapshot, &err) < 0)
		return;
	must(!snapshot.layer[0] || layer_id_is_valid(snapshot.layer));
	must(!snapshot.parent[0] || sandbox_name_is_valid(snapshot.parent));
	snapshot_format(&snapshot, &text);
	must(snapshot_parse(text.data, text.len, "s1", &again, &err) == 0 &&
	     !snapshot.message == !again.message &&
	     (!snapshot.message || strcmp(snapshot.message, again.message) == 0));
}

static void try_seal(const char *bytes, size_t len)
{
	owned(str_done) struct str text = STR_INIT;
	owned(layer_commit_done) struct layer_commit seal = { 0 }, again = { 0 };
	struct error err;

	if (layer_commit_parse(bytes, len, &seal, &err) < 0)
		return;
	must(layer_id_is_valid(seal.layer.id) && sandbox_name_is_valid(seal.snapshot.name));
	layer_commit_format(&seal, &text);
	must(layer_commit_parse(text.data, text.len, &again, &err) == 0 &&
	     strcmp(seal.snapshot.name, again.snapshot.name) == 0 &&
	     strcmp(seal.head, again.head) == 0);
}

static void try_units(const char *bytes, size_t len)
{
	owned(layer_units_done) struct layer_units units = { 0 };
	char name[LAYER_UNIT_SIZE];

	layer_units_parse(bytes, len, &units);
	for (size_t i = 0; i < units.count; i++) {
		layer_unit_name(units.items[i].path, name);
		must(units.items[i].path[0] == '/' && strcmp(name, units.items[i].name) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const tries[])(const char *bytes, size_t len) = { try_layer, try_sandbox,
									try_head,  try_snapshot,
									try_seal,  try_units };
	const char *bytes = (const char *)data;

	if (size > 0 && data[0] >= '0' && data[0] < '0' + sizeof(tries) / sizeof(tries[0]))
		tries[data[0] - '0'](bytes + 1, size - 1);
	return 0;
}
