/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images imported: an archive of a root, an OCI layout, a Docker archive.
 *
 * All layers are unpacked in a draft, which goes with this process however it ends. Then each gets its place by a rename, and
 * the image's name comes last: before that nothing refers to them, and the next verb about images removes what has no name.
 */
#include "app/image/image.h"

#include "app/image/import.h"
#include "app/image/layer_tar.h"
#include "app/image/pseudo.h"
#include "app/image/unpack.h"
#include "app/sandbox/sandbox_parts.h"
#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/hash/path_hash.h"
#include "workspace/disk/fields.h"
#include "workspace/disk/sys.h"
#include "workspace/store/store_parts.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void import_done(struct import *import)
{
	tmp_dir_close(&import->draft);
	image_place_close(&import->place);
	image_done(&import->image);
}

/* A file of the image's directory, which may hold links that lead anywhere. */
static int open_part(int dir_fd, const char *path, struct stat *ret_st, struct error *err)
{
	char shown[STR_SHOWN_SIZE];
	owned(fd_close) int fd = sys_open_beneath(dir_fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 || fstat(fd, ret_st) < 0)
		return error_errno(err, ERROR_INPUT, "%s", str_shown(path, shown));
	if (!S_ISREG(ret_st->st_mode))
		return error_set(err, ERROR_INPUT, "%s: not a file", str_shown(path, shown));
	return fd_take(&fd);
}

/* Before anything of it is read: what lies there must be what was named. */
static int check_blob(int fd, const struct stat *st, const struct oci_blob *blob,
		      char ret_hex[static SHA256_HEX_SIZE], struct error *err)
{
	if (blob->size && (uint64_t)st->st_size != blob->size)
		return error_set(err, ERROR_INPUT, "%.80s: it has another size than its image says",
				 blob->path);
	if (sha256_fd(fd, ret_hex) < 0)
		return error_errno(err, ERROR_HOST, "%.80s", blob->path);
	if (blob->digest[0] && strcmp(ret_hex, blob->digest) != 0)
		return error_set(err, ERROR_INPUT,
				 "%.80s: its digest is another than its name says", blob->path);
	return 0;
}

int import_read(int dir_fd, const struct oci_blob *blob, struct str *ret_text, struct error *err)
{
	char hex[SHA256_HEX_SIZE];
	struct stat st;
	owned(fd_close) int fd = open_part(dir_fd, blob->path, &st, err);

	if (fd < 0)
		return -1;
	if (fd_read_all(fd, OCI_JSON_MAX, ret_text) < 0)
		return error_errno(err, ERROR_INPUT, "%.80s", blob->path);
	sha256_hex(str_cstr(ret_text), ret_text->len, hex);
	if (blob->digest[0] && strcmp(hex, blob->digest) != 0)
		return error_set(err, ERROR_INPUT,
				 "%.80s: its digest is another than its name says", blob->path);
	return 0;
}

static int write_record(const struct import *import, const char *hex, int fs_fd,
			const struct unpack_counts *counts, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	owned(free_ptr) char *path = xasprintf("%s/layer", hex);
	char tree[SHA256_HEX_SIZE];

	if (layer_digest(fs_fd, import->place.keeps_owners, tree, err) < 0)
		return -1;
	fields_begin(&text, IMAGE_LAYER_KIND);
	fields_put(&text, "digest", hex);
	fields_put(&text, "tree", tree);
	fields_put_number(&text, "entries", counts->entries);
	fields_put_number(&text, "bytes", counts->bytes);
	fields_put_number(&text, "set_ids", counts->set_ids);
	fields_put_number(&text, "devices", counts->devices);
	fields_put_number(&text, "attributes", counts->attributes);
	fields_end(&text);
	return store_write(import->draft.fd, path, text.data, text.len, err);
}

/* Unpacks FD, whose digest is HEX, as HEX/fs of the draft. */
static int unpack_layer(const struct import *import, int fd, const char *hex, int *ret_fs_fd,
			struct error *err)
{
	owned(free_ptr) char *path = xasprintf("%s/fs", hex);
	struct unpack_counts counts;
	owned(fd_close) int fs_fd = -1;
	char again[SHA256_HEX_SIZE];

	if (sys_mkdirat(import->draft.fd, hex, 0700) < 0 ||
	    sys_mkdirat(import->draft.fd, path, 0755) < 0)
		return error_errno(err, ERROR_HOST, "cannot make a layer");
	fs_fd = openat(import->draft.fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* Not as the umask or a set-id bit of the directory above would have it. */
	if (fs_fd < 0 || sys_fchmod(fs_fd, 0755) < 0)
		return error_errno(err, ERROR_HOST, "cannot open a layer");
	if (image_unpack(fd, fs_fd, import->place.keeps_owners, &counts, again, err) < 0)
		return -1;
	if (strcmp(hex, again) != 0)
		return error_set(err, ERROR_CONFLICT, "it was changed while it was read");
	if (write_record(import, hex, fs_fd, &counts, err) < 0)
		return -1;
	*ret_fs_fd = fd_take(&fs_fd);
	return 0;
}

static void show_progress(const struct import *import, const char *what, const char *hex)
{
	owned(free_ptr) char *text = xasprintf("%s %.12s", what, hex);

	if (import->progress)
		import->progress(text);
}

int import_layer(struct import *import, int dir_fd, const struct oci_blob *blob, struct error *err)
{
	char hex[SHA256_HEX_SIZE];
	owned(fd_close) int fs_fd = -1;
	struct stat st;
	owned(fd_close) int fd = open_part(dir_fd, blob->path, &st, err);

	if (fd < 0 || check_blob(fd, &st, blob, hex, err) < 0)
		return -1;
	bool is_there =
		image_place_has(&import->place, hex) || strv_has(&import->image.layers, hex);

	strv_add(&import->image.layers, hex);
	if (is_there)
		return 0;
	show_progress(import, "unpacking", hex);
	return unpack_layer(import, fd, hex, &fs_fd, err);
}

/* Indexes may name indexes; real ones are not nested deeper than this. */
#define INDEXES_MAX 3

static int read_oci(int dir_fd, struct oci_manifest *ret_manifest, struct error *err)
{
	struct oci_blob blob = { .path = xstrdup("index.json") };
	owned(str_done) struct str text = STR_INIT;
	bool is_index = true;
	int status = 0;

	for (unsigned i = 0; status == 0 && is_index; i++) {
		str_clear(&text);
		status = i == INDEXES_MAX ? error_set(err, ERROR_INPUT, "indexes of indexes")
					  : import_read(dir_fd, &blob, &text, err);
		free_ptr(&blob.path);
		if (status == 0)
			status = oci_read_index(str_cstr(&text), text.len, &blob, &is_index, err);
	}
	str_clear(&text);
	if (status == 0)
		status = import_read(dir_fd, &blob, &text, err);
	free_ptr(&blob.path);
	return status < 0 ? -1 : oci_read_manifest(str_cstr(&text), text.len, ret_manifest, err);
}

static int read_docker(int dir_fd, struct oci_manifest *ret_manifest, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	const struct oci_blob blob = { .path = (char[]){ "manifest.json" } };

	if (import_read(dir_fd, &blob, &text, err) < 0)
		return -1;
	return oci_read_docker(str_cstr(&text), text.len, ret_manifest, err);
}

static bool has_file(int dir_fd, const char *name)
{
	struct stat st;

	return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

static int import_directory(struct import *import, int dir_fd, struct error *err)
{
	owned(oci_manifest_done) struct oci_manifest manifest = { 0 };
	owned(str_done) struct str config = STR_INIT;

	if (has_file(dir_fd, PSEUDO_FILE))
		return import_pseudo(import, dir_fd, err);
	if ((has_file(dir_fd, "index.json") ? read_oci(dir_fd, &manifest, err)
					    : read_docker(dir_fd, &manifest, err)) < 0)
		return -1;
	if (import_read(dir_fd, &manifest.config, &config, err) < 0 ||
	    oci_read_config(str_cstr(&config), config.len, &import->image, err) < 0)
		return -1;
	for (size_t i = 0; i < manifest.layer_count; i++) {
		if (import_layer(import, dir_fd, &manifest.layers[i], err) < 0)
			return error_context(err, "layer %zu", i + 1);
	}
	return 0;
}

/* Whether what was unpacked is an image's parts, and no root: no root has these at its top and neither of those. */
static bool is_bundle(int fs_fd)
{
	struct stat st;

	return (has_file(fs_fd, "index.json") || has_file(fs_fd, "manifest.json") ||
		has_file(fs_fd, PSEUDO_FILE)) &&
	       fstatat(fs_fd, "bin", &st, AT_SYMLINK_NOFOLLOW) < 0 &&
	       fstatat(fs_fd, "usr", &st, AT_SYMLINK_NOFOLLOW) < 0;
}

static int import_file(struct import *import, int fd, struct error *err)
{
	char hex[SHA256_HEX_SIZE];
	owned(fd_close) int fs_fd = -1;

	if (sha256_fd(fd, hex) < 0)
		return error_errno(err, ERROR_HOST, "cannot read it");
	if (!image_place_has(&import->place, hex)) {
		show_progress(import, "unpacking", hex);
		if (unpack_layer(import, fd, hex, &fs_fd, err) < 0)
			return -1;
		if (is_bundle(fs_fd))
			return import_directory(import, fs_fd, err);
	}
	strv_add(&import->image.layers, hex);
	return 0;
}

/*
 * What has its place is whole, also after a loss of power: the draft is synced before, the places before a name stands for
 * them. Another process may have placed the same layer first.
 */
static int place_layers(const struct import *import, struct error *err)
{
	const struct strv *layers = &import->image.layers;
	owned(fd_close) int fd =
		openat(import->place.fd, "layers", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || sys_syncfs(import->draft.fd) < 0)
		return error_errno(err, ERROR_HOST, "cannot sync the layers");
	for (size_t i = 0; i < layers->count; i++) {
		const char *hex = layers->items[i];

		if (sys_renameat2(import->draft.fd, hex, fd, hex, RENAME_NOREPLACE) < 0 &&
		    errno != EEXIST && !(errno == ENOENT && image_place_has(&import->place, hex)))
			return error_errno(err, ERROR_HOST, "cannot place a layer");
	}
	return sys_fsync(fd) < 0 ? error_errno(err, ERROR_HOST, "cannot sync the layers") : 0;
}

static void name_by_content(struct image *image)
{
	owned(str_done) struct str text = STR_INIT;
	char *source = image->source;

	image->source = NULL;
	image->created_ms = 0;
	image->id[0] = '\0';
	image_format(image, &text);
	sha256_hex(text.data, text.len, image->id);
	image->source = source;
	image->created_ms = clock_epoch_ms();
}

static int write_name(struct import *import, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;

	name_by_content(&import->image);
	image_format(&import->image, &text);
	return store_write(import->draft.fd, "image", text.data, text.len, err);
}

/* 1 when the name stood for the same content before. */
static int note_name(const struct import *import, struct error *err)
{
	owned(free_ptr) char *to = xasprintf("names/%s", import->image.name);
	struct image there;
	bool is_same;

	if (sys_renameat2(import->draft.fd, "image", import->place.fd, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EEXIST)
		return error_errno(err, ERROR_HOST, "cannot note the image");
	if (image_read(import->place.store.path, import->image.name, &there, err) < 0)
		return -1;
	is_same = strcmp(there.id, import->image.id) == 0;
	image_done(&there);
	if (is_same)
		return 1;
	return error_advise(err, ERROR_CONFLICT, "image rm it first, or choose another --name",
			    "there is an image '%s' already, with other content",
			    import->image.name);
}

/* The file's name up to its first dot, in small letters. */
static char *default_name(const char *path)
{
	owned(free_ptr) char *copy = xstrdup(path);
	size_t len = strlen(copy);
	const char *last;

	while (len > 1 && copy[len - 1] == '/')
		copy[--len] = '\0';
	last = strrchr(copy, '/');
	last = last ? last + 1 : copy;
	char *name = xstrndup(last, strcspn(last, "."));

	for (char *at = name; *at; at++)
		*at = (char)tolower((unsigned char)*at);
	return name;
}

static int import_path(struct import *import, const char *path, struct error *err)
{
	struct stat st;
	owned(fd_close) int fd = file_open(AT_FDCWD, path, 0, &st);

	if (fd >= 0)
		return import_file(import, fd, err);
	if (errno != EISDIR)
		return error_errno(err, ERROR_INPUT, "cannot open it");
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return error_errno(err, ERROR_INPUT, "cannot open it");
	if (!is_bundle(fd))
		return error_set(err, ERROR_INPUT,
				 "it has neither index.json, as an OCI layout, nor " PSEUDO_FILE
				 " (tar -c packs a root)");
	return import_directory(import, fd, err);
}

static int begin(struct import *import, struct error *err)
{
	owned(free_ptr) char *drafts = NULL;

	if (image_place_open(&import->place, err) < 0)
		return -1;
	drafts = xasprintf("%s/images/drafts", import->place.store.path);
	return tmp_dir_open(drafts, &import->draft, err);
}

static int finish(struct import *import, struct value **ret_answer, struct error *err)
{
	int status = write_name(import, err) < 0 || place_layers(import, err) < 0
			     ? -1
			     : note_name(import, err);

	/* Layers that have got no name are of no use. */
	if (status < 0)
		(void)image_place_sweep(&import->place, NULL);
	if (status < 0 || image_to_value(&import->place, &import->image, ret_answer, err) < 0)
		return -1;
	value_add(*ret_answer, "was_there", value_new_bool(status == 1));
	return 0;
}

int app_image_import(const struct app_image_import *wish, struct value **ret_answer,
		     struct error *err)
{
	owned(import_done) struct import import = { .place = { .fd = -1, .lock_fd = -1 },
						    .is_named = wish->name != NULL,
						    .progress = wish->progress };
	const char *slash = strrchr(wish->path, '/');

	image_init(&import.image);
	import.image.name = wish->name ? xstrdup(wish->name) : default_name(wish->path);
	import.image.source = xstrdup(slash ? slash + 1 : wish->path);
	if (image_check_name(import.image.name, err) < 0)
		return wish->name ? -1 : error_add_hint(err, "name it with --name");
	if (begin(&import, err) < 0)
		return -1;
	if (import_path(&import, wish->path, err) < 0)
		return error_context(err, "%s", wish->path);
	return finish(&import, ret_answer, err);
}

/* Where a sandbox keeps what it changed of its image: confine/root/root_kept.c. */
static int open_changes(const struct sandbox *sandbox, int fds[static IMAGE_LAYERS_MAX],
			size_t *ret_count, struct error *err)
{
	struct layer_chain chain;
	char unit[PATH_HASH_SIZE];

	path_hash('u', "at:/", unit);
	*ret_count = 0;
	if (layer_chain_read(sandbox->store, sandbox->head, &chain, err) < 0)
		return -1;
	for (size_t i = 0; i <= chain.count && i < IMAGE_LAYERS_MAX; i++) {
		owned(free_ptr) char *path =
			i == 0 ? xasprintf("sbx/%s/upper/%s", sandbox->name, unit)
			       : xasprintf("layers/%s/%s", chain.items[i - 1].id, unit);
		int fd = openat(sandbox->store->fd, path,
				O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (fd >= 0)
			fds[(*ret_count)++] = fd;
	}
	layer_chain_done(&chain);
	if (*ret_count == 0)
		return error_set(err, ERROR_INPUT, "nothing has run in the sandbox '%s' yet",
				 sandbox->name);
	return 0;
}

static int pack_changes(const struct import *import, const struct sandbox *sandbox,
			struct error *err)
{
	owned(fd_close) int to_fd =
		openat(import->draft.fd, "changes", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int fds[IMAGE_LAYERS_MAX], status;
	char hex[SHA256_HEX_SIZE];
	size_t count;
	uint64_t bytes;

	if (to_fd < 0)
		return error_errno(err, ERROR_HOST, "cannot make a layer");
	if (open_changes(sandbox, fds, &count, err) < 0)
		return -1;
	const struct layer_tar how = { fds, count, false, import->place.keeps_owners, to_fd };

	status = layer_tar(&how, hex, &bytes, err);
	while (count > 0)
		close(fds[--count]);
	return status;
}

int app_image_pack(const char *sandbox, const char *name, struct value **ret_answer,
		   struct error *err)
{
	const struct oci_blob changes = { .path = (char[]){ "changes" } };
	owned(import_done) struct import import = { .place = { .fd = -1, .lock_fd = -1 } };
	owned(sandbox_place_close) struct sandbox_place from = { 0 };
	const char *base;

	image_init(&import.image);
	if (image_check_name(name, err) < 0 || begin(&import, err) < 0)
		return -1;
	if (sandbox_place_open(&from, sandbox, SANDBOX_EXCLUSIVE, err) < 0)
		return err->code == ERROR_CONFLICT
			       ? error_add_hint(err, "stop it first: aisbx stop")
			       : -1;
	base = image_of_sandbox(&from.sandbox);
	if (!base)
		return error_advise(err, ERROR_INPUT, "create one with --root IMAGE",
				    "the sandbox '%s' was not made on an image", sandbox);
	if (image_read(import.place.store.path, base, &import.image, err) < 0 ||
	    pack_changes(&import, &from.sandbox, err) < 0 ||
	    import_layer(&import, import.draft.fd, &changes, err) < 0)
		return -1;
	if (import.image.layers.count > IMAGE_LAYERS_MAX)
		return error_set(err, ERROR_INPUT, "more than %d layers", IMAGE_LAYERS_MAX);
	free(import.image.name);
	free(import.image.source);
	import.image.name = xstrdup(name);
	import.image.source = xstrdup(sandbox);
	return finish(&import, ret_answer, err);
}
