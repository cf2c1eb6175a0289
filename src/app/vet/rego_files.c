/* SPDX-License-Identifier: Apache-2.0 */
/* Policies on disk: which files are in force, whether they can be trusted, and what they name. */
#include "app/vet/rego_parts.h"

#include "base/core/own.h"
#include "base/core/utf8.h"
#include "base/file/dir.h"
#include "base/file/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define FILES_MAX 256
#define FILE_BYTES_MAX ((size_t)256 << 10)
#define ALL_BYTES_MAX ((size_t)2 << 20)

/* One directory, while it is read. */
struct place {
	const char *path;
	uid_t owner; /* of everything in it, unless it is root's */
	bool with_tests;
	int dir_fd;
	struct value *modules;
	size_t bytes;
};

void policy_files_done(struct policy_files *files)
{
	value_release(&files->sets);
}

static int distrust(const char *path, const char *why, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	return error_advise(err, ERROR_DENIED, "a policy that cannot be trusted denies everything",
			    "%s %s", str_shown(path, shown), why);
}

/* Other accounts must not be able to change it. */
static int check_owner(const struct place *place, const char *path, const struct stat *st,
		       struct error *err)
{
	if (st->st_uid != place->owner && st->st_uid != 0)
		return distrust(path, "belongs to another account", err);
	if (st->st_mode & 022)
		return distrust(path, "can be written to by other accounts", err);
	return 0;
}

static int read_one(struct place *place, const char *name, struct error *err)
{
	owned(free_ptr) char *path = xasprintf("%s/%s", place->path, name);
	owned(str_done) struct str text = STR_INIT;
	struct stat st;
	owned(fd_close) int fd = file_open(place->dir_fd, name, O_NOFOLLOW, &st);
	struct value *module;

	if (fd < 0 && errno == ELOOP)
		return distrust(path, "is a link", err);
	if (fd < 0)
		return error_errno(err, ERROR_DENIED, "the policy %s", path);
	if (check_owner(place, path, &st, err) < 0)
		return -1;
	if (fd_read_all(fd, FILE_BYTES_MAX, &text) < 0)
		return error_errno(err, ERROR_DENIED, "the policy %s", path);
	if (!utf8_valid(str_cstr(&text), text.len))
		return distrust(path, "is not UTF-8", err);
	place->bytes += text.len;
	if (place->bytes > ALL_BYTES_MAX)
		return distrust(place->path, "has more than 2 MiB of policies", err);
	module = value_append(place->modules, value_new_map());
	value_add(module, "path", value_new_text(path));
	value_add(module, "text", value_new_bytes(str_cstr(&text), text.len));
	return 0;
}

static bool is_wanted(const char *name, bool with_tests)
{
	return str_ends(name, ".rego") && name[0] != '.' &&
	       (with_tests || !str_ends(name, "_test.rego"));
}

/* In the order of their names, whatever the file system says. */
static int read_place(struct place *place, struct error *err)
{
	owned(dir_close) DIR *dir = dir_open(place->dir_fd, ".");
	owned(strv_done) struct strv names = STRV_INIT;
	struct dirent *entry;
	int got;

	while ((got = dir_next(dir, &entry)) > 0 && names.count <= FILES_MAX) {
		if (is_wanted(entry->d_name, place->with_tests))
			strv_add(&names, entry->d_name);
	}
	if (got < 0)
		return error_errno(err, ERROR_DENIED, "the policies in %s", place->path);
	if (names.count > FILES_MAX)
		return distrust(place->path, "has more than 256 policies", err);
	strv_sort(&names);
	for (size_t i = 0; i < names.count; i++) {
		if (read_one(place, names.items[i], err) < 0)
			return -1;
	}
	return 0;
}

/* The modules of PATH, a directory, as the set NAME; nothing is added where there are none. */
static int add_set(const char *name, struct place *place, struct value *sets, struct error *err)
{
	owned(value_release) struct value *modules = value_new_list();
	owned(fd_close) int fd = open(place->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct value *set;
	struct stat st;

	if (fd < 0 && policy_dir_is_absent(place->path))
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, ERROR_DENIED, "the policies in %s", place->path);
	place->dir_fd = fd;
	place->modules = modules;
	if (check_owner(place, place->path, &st, err) < 0 || read_place(place, err) < 0)
		return -1;
	if (modules->many.count == 0)
		return 0;
	set = value_append(sets, value_new_map());
	value_add(set, "name", value_new_text(name));
	value_add(set, "modules", ptr_take(&modules));
	return 0;
}

/* Names, places and contents, each with its length, so that nothing can move from one to the next. */
static void finish(struct policy_files *files)
{
	struct sha256 sum;

	sha256_start(&sum);
	files->count = 0;
	for (size_t i = 0; i < files->sets->many.count; i++) {
		const struct value *set = files->sets->many.items[i];
		const struct value *modules = value_get(set, "modules");

		for (size_t k = 0; k < modules->many.count; k++, files->count++) {
			const struct value *text = value_get(modules->many.items[k], "text");
			owned(free_ptr) char *head = xasprintf(
				"%s\n%s\n%zu\n", value_get_text(set, "name"),
				value_get_text(modules->many.items[k], "path"), text->text.len);

			sha256_add(&sum, head, strlen(head));
			sha256_add(&sum, text->text.bytes, text->text.len);
		}
	}
	sha256_end(&sum, files->digest);
}

int policy_files_read(bool with_tests, struct policy_files *ret_files, struct error *err)
{
	owned(free_ptr) char *user = policy_user_dir();
	struct policy_files files = { .sets = value_new_list() };
	struct place machine_place = { .path = POLICY_MACHINE_DIR, .with_tests = with_tests };
	struct place user_place = { .path = user, .owner = geteuid(), .with_tests = with_tests };

	if (add_set("machine", &machine_place, files.sets, err) < 0 ||
	    (user && add_set("user", &user_place, files.sets, err) < 0)) {
		policy_files_done(&files);
		return -1;
	}
	finish(&files);
	*ret_files = files;
	return 0;
}

int policy_files_read_at(const char *path, bool with_tests, struct policy_files *ret_files,
			 struct error *err)
{
	struct policy_files files = { .sets = value_new_list() };
	struct place place = { .path = path, .owner = geteuid(), .with_tests = with_tests };

	if (add_set("user", &place, files.sets, err) < 0) {
		policy_files_done(&files);
		return -1;
	}
	finish(&files);
	*ret_files = files;
	return 0;
}
