/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the module of a command. */
#include "wasm/module.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/core/str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void wasm_module_done(struct wasm_module *module)
{
	sealed_done(&module->engine);
	sealed_done(&module->source);
	sealed_done(&module->compiled);
	fd_close(&module->copy_fd);
}

int wasm_part_look(const char *data_dir, const struct wasm_language *language, size_t part,
		   struct sealed *ret, struct error *err)
{
	const struct wasm_part *row = &language->parts[part];
	owned(free_ptr) char *parent = xasprintf("%s/wasm", data_dir);
	owned(free_ptr) char *dir = xasprintf("%s/%s", parent, language->name);
	owned(fd_close) int dir_fd = -1;
	struct seal_key key;
	int found;

	if (!row->sha256)
		return error_advise(err, ERROR_DENIED, "use --driver linux",
				    "there is no %s for this machine", language->name);
	if (sealed_folder(parent, language->name, false, &dir_fd, err) < 0)
		return -1;
	if (dir_fd < 0)
		return 0;
	if (seal_key_read(data_dir, &key, err) < 0)
		return -1;
	found = sealed_look(dir_fd, dir, row->file, &key, ret, err);
	/* Sealed by an earlier aisbx, or with a key that is gone: what it must be is known all the same. */
	if (found < 0 && sealed_renew(dir_fd, row->file, row->sha256, &key))
		found = sealed_look(dir_fd, dir, row->file, &key, ret, err);
	if (found < 0)
		return error_context(err, "install it again with `aisbx wasm install %s`",
				     language->name);
	if (found == 1 && strcmp(ret->sha256, row->sha256) != 0) {
		sealed_done(ret);
		error_set(err, ERROR_DENIED, "%s/%s is not the one this aisbx was made for", dir,
			  row->file);
		return error_add_hint(err, "run `aisbx wasm install %s`", language->name);
	}
	return found;
}

static int want_part(const struct wasm_places *places, const struct wasm_language *language,
		     size_t part, struct sealed *ret, struct error *err)
{
	int found = wasm_part_look(places->data_dir, language, part, ret, err);

	if (found != 0)
		return found < 0 ? -1 : 0;
	error_set(err, ERROR_DENIED, "the wasm driver has no %s yet",
		  wasm_is_engine(language) ? "engine" : language->name);
	return error_add_hint(err, "run `aisbx wasm install %s`",
			      wasm_is_engine(language) ? "python" : language->name);
}

static bool is_path(const char *word)
{
	return strchr(word, '/') || str_ends(word, ".wasm");
}

static int open_module(const char *path, int *ret_fd, struct error *err)
{
	struct stat st;
	owned(fd_close) int fd = file_open(AT_FDCWD, path, 0, &st);

	if (fd < 0 && file_is_other_kind(errno))
		return error_set(err, ERROR_EXEC_REFUSED, "%s is not a file", path);
	if (fd < 0)
		return error_errno(err,
				   errno == ENOENT || errno == ENOTDIR ? ERROR_EXEC_NOT_FOUND
								       : ERROR_EXEC_REFUSED,
				   "%s", path);
	if ((uint64_t)st.st_size > WASM_MODULE_MAX)
		return error_set(err, ERROR_EXEC_REFUSED,
				 "%s is larger than %llu MiB, the most a module may have", path,
				 (unsigned long long)(WASM_MODULE_MAX >> 20));
	*ret_fd = fd_take(&fd);
	return 0;
}

/* What is compiled must be what was hashed: a file can change in between, and a copy in memory that is sealed cannot. */
static int copy_module(const struct str *bytes, int *ret_fd, struct error *err)
{
	owned(fd_close) int fd = memfd_create("module", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || fchmod(fd, 0444) < 0 || fd_write_all(fd, bytes->data, bytes->len) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		return error_errno(err, ERROR_HOST, "copy of the module");
	*ret_fd = fd_take(&fd);
	return 0;
}

/* The four bytes every module begins with; a refusal here costs no sandbox. */
static int check_magic(const char *path, const struct str *bytes, struct error *err)
{
	if (bytes->len >= 8 && memcmp(bytes->data, "\0asm", 4) == 0) {
		if (memcmp(bytes->data + 4, "\1\0\0\0", 4) == 0)
			return 0;
		return error_advise(err, ERROR_EXEC_REFUSED,
				    "the wasm driver runs core modules for WASI preview 1",
				    "%s is a component or of another version", path);
	}
	return error_set(err, ERROR_EXEC_REFUSED, "%s is not a WebAssembly module", path);
}

/* 1 with the module's compiled form; 0 where there is none, or none that aisbx made. */
static int find_compiled(const struct wasm_places *places, struct wasm_module *module,
			 struct error *err)
{
	struct seal_key key;
	int found;

	if (seal_key_read(places->data_dir, &key, err) < 0)
		return -1;
	found = wasm_cache_find(places->cache_dir, module->key, &key, &module->compiled,
				&module->was_changed, err);
	module->has_compiled = found == 1;
	return found;
}

static int find_file(const struct wasm_places *places, const char *word, struct wasm_module *module,
		     struct error *err)
{
	owned(free_ptr) char *path =
		word[0] == '/' ? xstrdup(word) : xasprintf("%s/%s", places->cwd, word);
	owned(str_done) struct str bytes = STR_INIT;
	owned(fd_close) int fd = -1;
	char sum[SHA256_HEX_SIZE];
	int found;

	if (open_module(path, &fd, err) < 0)
		return -1;
	if (fd_read_all(fd, WASM_MODULE_MAX, &bytes) < 0)
		return error_errno(err, ERROR_EXEC_REFUSED, "%s", path);
	if (check_magic(path, &bytes, err) < 0)
		return -1;
	sha256_hex(bytes.data, bytes.len, sum);
	wasm_cache_key(sum, module->key);
	found = find_compiled(places, module, err);
	if (found < 0)
		return -1;
	return found == 1 ? 0 : copy_module(&bytes, &module->copy_fd, err);
}

static int find_language(const struct wasm_places *places, struct wasm_module *module,
			 struct error *err)
{
	if (want_part(places, module->language, 0, &module->source, err) < 0)
		return -1;
	for (size_t i = 1; i < WASM_PARTS_MAX && module->language->parts[i].member; i++) {
		owned(sealed_done) struct sealed part = SEALED_INIT;

		if (want_part(places, module->language, i, &part, err) < 0)
			return -1;
	}
	wasm_cache_key(module->source.sha256, module->key);
	return find_compiled(places, module, err) < 0 ? -1 : 0;
}

static int refuse_word(const char *word, struct error *err)
{
	owned(str_done) struct str names = STR_INIT;
	char shown[STR_SHOWN_SIZE];

	for (const struct wasm_language *row = wasm_languages; row->name; row++) {
		if (!wasm_is_engine(row))
			str_addf(&names, "%s%s", names.len ? ", " : "", row->name);
	}
	return error_set(err, ERROR_EXEC_NOT_FOUND,
			 "the wasm driver knows no '%s'; it runs %s, or a module by its path "
			 "(./%s.wasm)",
			 str_shown(word, shown), str_cstr(&names), shown);
}

int wasm_module_find(const struct wasm_places *places, const char *word,
		     struct wasm_module *ret_module, struct error *err)
{
	struct wasm_module module = WASM_MODULE_INIT;
	int status;

	if (!is_path(word)) {
		module.language = wasm_language_find(word);
		if (!module.language || wasm_is_engine(module.language))
			return refuse_word(word, err);
	}
	status = want_part(places, wasm_engine_row(), 0, &module.engine, err);
	if (status == 0)
		status = module.language ? find_language(places, &module, err)
					 : find_file(places, word, &module, err);
	if (status < 0) {
		wasm_module_done(&module);
		return -1;
	}
	*ret_module = module;
	return 0;
}
