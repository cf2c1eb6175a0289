/* SPDX-License-Identifier: Apache-2.0 */
/* How much room a sandbox takes: its top, and the layers it wrote itself. */
#include "workspace/store/snapshot.h"

#include "base/clock.h"
#include "base/dir.h"
#include "base/own.h"
#include "workspace/disk/fields.h"
#include "workspace/store/store_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define DEPTH_MAX 64u
#define ENTRIES_MAX 1000000u
#define TIME_MAX_NS 500000000u
#define LAYERS_MAX 1000u
#define BYTES_FILE "bytes" /* in a layer, once it was measured: it never changes */

struct measure {
	uint64_t bytes, entries, until_ns;
	unsigned depth;
	bool is_partial;
};

static void measure_directory(struct measure *measure, int dir_fd, const char *name);

static void measure_entry(struct measure *measure, int dir_fd, const char *name)
{
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	/* Names of one inode, in this layer or in others, share it. */
	measure->bytes += (uint64_t)st.st_blocks * 512 /
			  (S_ISDIR(st.st_mode) || st.st_nlink == 0 ? 1 : st.st_nlink);
	if (S_ISDIR(st.st_mode))
		measure_directory(measure, dir_fd, name);
}

static void measure_directory(struct measure *measure, int dir_fd, const char *name)
{
	owned(dir_close) DIR *dir = measure->depth < DEPTH_MAX ? dir_open(dir_fd, name) : NULL;
	struct dirent *entry;

	if (!dir) {
		/* What is not there takes no room. */
		measure->is_partial |= measure->depth >= DEPTH_MAX || errno != ENOENT;
		return;
	}
	measure->depth++;
	while (dir_next(dir, &entry) > 0) {
		if (++measure->entries > ENTRIES_MAX ||
		    (measure->entries % 256 == 0 && clock_now_ns() > measure->until_ns)) {
			measure->is_partial = true;
			break;
		}
		measure_entry(measure, dirfd(dir), entry->d_name);
	}
	measure->depth--;
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

static void measure_layer(const struct sandbox *sandbox, const char *lid, struct measure *measure)
{
	struct error err = { .code = ERROR_NONE };
	owned(fd_close) int fd = -1;
	uint64_t before = measure->bytes, known;

	if (layer_open(sandbox->store, lid, &fd, &err) < 0)
		return;
	if (read_measured(fd, &known)) {
		measure->bytes += known;
		return;
	}
	measure_directory(measure, fd, ".");
	if (!measure->is_partial)
		write_measured(fd, measure->bytes - before);
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
	struct measure measure = { .until_ns = clock_now_ns() + TIME_MAX_NS };
	struct error err = { .code = ERROR_NONE };
	owned(strv_done) struct strv layers = STRV_INIT;
	struct snapshots list = { 0 };

	measure_directory(&measure, sandbox->dir_fd, "upper");
	add_layers(sandbox, sandbox->head, &layers);
	if (snapshot_list(sandbox, &list, &err) == 0) {
		for (size_t i = 0; i < list.count; i++)
			add_layers(sandbox, list.items[i].layer, &layers);
		snapshots_done(&list);
	}
	for (size_t i = 0; i < layers.count; i++)
		measure_layer(sandbox, layers.items[i], &measure);
	return measure.bytes;
}
