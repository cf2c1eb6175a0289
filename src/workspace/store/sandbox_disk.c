/* SPDX-License-Identifier: Apache-2.0 */
/* How much room a sandbox takes: its top, and the layers it wrote itself. */
#include "workspace/store/snapshot.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/walk.h"
#include "workspace/disk/fields.h"
#include "workspace/store/store_parts.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define TIME_MAX_NS 500000000u
#define LAYERS_MAX 1000u
#define BYTES_FILE "bytes" /* in a layer, once it was measured: it never changes */

static int measure_entry(const struct walk_entry *entry, void *cookie)
{
	const struct statx *st = entry->st;
	uint64_t *bytes = cookie;

	/* Names of one inode, in this layer or in others, share it. */
	*bytes += st->stx_blocks * 512 /
		  (S_ISDIR(st->stx_mode) || st->stx_nlink == 0 ? 1 : st->stx_nlink);
	return 0;
}

static bool read_measured(int layer_fd, uint64_t *ret_bytes)
{
	struct error err = { .code = ERROR_NONE };
	owned(fields_done) struct fields fields = { 0 };

	if (fields_read(layer_fd, BYTES_FILE, "aisbx-bytes 1", &fields, &err) < 0)
		return false;
	*ret_bytes = fields_number(&fields, "bytes");
	return true;
}

static void write_measured(int layer_fd, uint64_t bytes)
{
	owned(str_done) struct str text = STR_INIT;
	struct error err = { .code = ERROR_NONE };

	fields_begin(&text, "aisbx-bytes 1");
	fields_put_number(&text, "bytes", bytes);
	fields_end(&text);
	(void)store_replace(layer_fd, BYTES_FILE, text.data, text.len, false, &err);
}

static void measure_layer(const struct sandbox *sandbox, const char *lid, struct walk *walk)
{
	struct error err = { .code = ERROR_NONE };
	owned(fd_close) int fd = -1;
	uint64_t *bytes = walk->cookie, before = *bytes, known;

	if (layer_open(sandbox->store, lid, &fd, &err) < 0)
		return;
	if (read_measured(fd, &known)) {
		*bytes += known;
		return;
	}
	(void)walk_tree(walk, fd, ".");
	if (!walk->missed)
		write_measured(fd, *bytes - before);
}

/* The layers below LID that the sandbox wrote, each once. */
static void add_layers(const struct sandbox *sandbox, const char *lid, struct strv *layers)
{
	struct error err = { .code = ERROR_NONE };
	char next[LAYER_ID_SIZE];
	struct layer_meta meta;

	(void)snprintf(next, sizeof(next), "%s", lid);
	while (next[0] && layers->count < LAYERS_MAX && !strv_has(layers, next)) {
		if (layer_meta_read(sandbox->store, next, &meta, &err) < 0 ||
		    strcmp(meta.sandbox, sandbox->id) != 0)
			return;
		strv_add(layers, next);
		memcpy(next, meta.parent, sizeof(next));
	}
}

uint64_t sandbox_disk_bytes(const struct sandbox *sandbox)
{
	uint64_t bytes = 0;
	struct walk walk = { .purpose = WALK_MEASURE,
			     .visit = measure_entry,
			     .cookie = &bytes,
			     .until_ns = clock_now_ns() + TIME_MAX_NS };
	struct error err = { .code = ERROR_NONE };
	owned(strv_done) struct strv layers = STRV_INIT;
	struct snapshots list = { 0 };

	(void)walk_tree(&walk, sandbox->dir_fd, "upper");
	add_layers(sandbox, sandbox->head, &layers);
	if (snapshot_list(sandbox, &list, &err) == 0) {
		for (size_t i = 0; i < list.count; i++)
			add_layers(sandbox, list.items[i].layer, &layers);
		snapshots_done(&list);
	}
	for (size_t i = 0; i < layers.count; i++)
		measure_layer(sandbox, layers.items[i], &walk);
	return bytes;
}
