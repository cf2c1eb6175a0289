/* SPDX-License-Identifier: Apache-2.0 */
/* Placing a language's files. */
#include "wasm/install.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/core/str.h"
#include "base/file/tree.h"
#include "wasm/fetch.h"
#include "wasm/module.h"
#include "wasm/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define DRAFT ".new"
/* Larger than any package; what is larger is not read to the end. */
#define PACKAGE_MAX ((off_t)512 << 20)

struct placing {
	const struct wasm_language *language;
	const char *data_dir;
	char *folder; /* .../wasm */
	int folder_fd, draft_fd;
	int package_fd;
	bool is_part; /* what was given is the file itself */
};

static void placing_done(struct placing *placing)
{
	/* Only with the lock, and so with a draft of our own. */
	if (placing->draft_fd >= 0)
		(void)tree_remove(placing->folder_fd, DRAFT);
	fd_close(&placing->package_fd);
	fd_close(&placing->draft_fd);
	fd_close(&placing->folder_fd);
	free_ptr(&placing->folder);
}

static bool is_there(const char *data_dir, const struct wasm_language *language)
{
	for (size_t i = 0; i < WASM_PARTS_MAX && language->parts[i].member; i++) {
		struct sealed part = SEALED_INIT;
		struct error ignored;
		int found = wasm_part_look(data_dir, language, i, &part, &ignored);

		sealed_done(&part);
		if (found != 1)
			return false;
	}
	return true;
}

/* One install at a time; what one that was killed left is gone with that. */
static int open_draft(struct placing *placing, const char *data_dir, struct error *err)
{
	placing->data_dir = data_dir;
	placing->folder = xasprintf("%s/wasm", data_dir);
	if (sealed_folder(data_dir, "wasm", true, &placing->folder_fd, err) < 0)
		return -1;
	if (flock(placing->folder_fd, LOCK_EX) < 0)
		return error_errno(err, ERROR_HOST, "%s", placing->folder);
	(void)tree_remove(placing->folder_fd, DRAFT);
	if (mkdirat(placing->folder_fd, DRAFT, 0700) < 0)
		return error_errno(err, ERROR_HOST, "%s/" DRAFT, placing->folder);
	placing->draft_fd =
		openat(placing->folder_fd, DRAFT, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (placing->draft_fd < 0)
		return error_errno(err, ERROR_HOST, "%s/" DRAFT, placing->folder);
	return 0;
}

static int get_package(struct placing *placing, const char *from, struct error *err)
{
	owned(free_ptr) char *dir = xasprintf("%s/" DRAFT "/package", placing->folder);
	struct stat st;

	if (!from) {
		if (mkdir(dir, 0700) < 0)
			return error_errno(err, ERROR_HOST, "%s", dir);
		return wasm_fetch(&placing->language->package, dir, &placing->package_fd, err);
	}
	placing->package_fd = file_open(AT_FDCWD, from, 0, &st);
	if (placing->package_fd < 0 && file_is_other_kind(errno))
		return error_set(err, ERROR_INPUT, "%s is not a file", from);
	if (placing->package_fd < 0)
		return error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_INPUT, "%s",
				   from);
	if (st.st_size > PACKAGE_MAX)
		return error_set(err, ERROR_INPUT, "%s is larger than %lld MiB; no package is",
				 from, (long long)(PACKAGE_MAX >> 20));
	return 0;
}

static int check_package(struct placing *placing, const char *from, struct error *err)
{
	const struct wasm_language *language = placing->language;
	const struct wasm_package *package = &language->package;
	char sum[SHA256_HEX_SIZE];

	if (sha256_fd(placing->package_fd, sum) < 0)
		return error_errno(err, ERROR_HOST, "%s", package->name);
	placing->is_part =
		strcmp(sum, language->parts[0].sha256) == 0 && !language->parts[1].member;
	if (placing->is_part || strcmp(sum, package->sha256) == 0)
		return 0;
	return error_set(err, ERROR_INPUT,
			 "%s is not %s %s as this aisbx knows it: its sha256 is %.16s..., not "
			 "%.16s...; nothing was installed",
			 from ? from : "what pip fetched", package->name, package->version, sum,
			 package->sha256);
}

static int copy_whole(int from_fd, uint64_t bytes, int to_fd, struct error *err)
{
	off_t at = 0;

	while ((uint64_t)at < bytes) {
		ssize_t sent = sendfile(to_fd, from_fd, &at, bytes - (uint64_t)at);

		if (sent <= 0)
			return error_errno(err, ERROR_HOST, "cannot copy");
	}
	return 0;
}

static int unpack_part(const struct placing *placing, const struct wasm_part *part,
		       struct error *err)
{
	owned(fd_close) int fd =
		openat(placing->draft_fd, part->file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	char sum[SHA256_HEX_SIZE];
	int status;

	/* A user who is mapped to another id inside reads it by its descriptor; its folder is closed to others. */
	if (fd < 0 || fchmod(fd, 0644) < 0)
		return error_errno(err, ERROR_HOST, "%s", part->file);
	status = placing->is_part
			 ? copy_whole(placing->package_fd, part->bytes, fd, err)
			 : wasm_unpack(placing->package_fd, part->member, part->bytes, fd, err);
	if (status < 0)
		return -1;
	if (sha256_fd(fd, sum) < 0 || fsync(fd) < 0)
		return error_errno(err, ERROR_HOST, "%s", part->file);
	if (strcmp(sum, part->sha256) != 0)
		return error_set(err, ERROR_INPUT, "%s in the package is not what it should be",
				 part->member);
	return 0;
}

/* The seal comes last: a file without one counts as absent, and is installed again. */
static int place_part(const struct placing *placing, const struct wasm_part *part,
		      struct error *err)
{
	owned(fd_close) int dir_fd = -1;
	struct seal_key key;

	if (seal_key_read(placing->data_dir, &key, err) < 0 ||
	    sealed_folder(placing->folder, placing->language->name, true, &dir_fd, err) < 0)
		return -1;
	/* As for its files: what it lies in is closed to others. */
	(void)fchmod(dir_fd, 0755);
	if (renameat(placing->draft_fd, part->file, dir_fd, part->file) < 0)
		return error_errno(err, ERROR_HOST, "%s", part->file);
	return sealed_write(dir_fd, part->file, part->sha256, &key, err);
}

int wasm_install(const char *data_dir, const struct wasm_language *language, const char *from,
		 struct error *err)
{
	owned(placing_done) struct placing placing = {
		.language = language, .folder_fd = -1, .draft_fd = -1, .package_fd = -1
	};

	if (!language->package.sha256)
		return error_set(err, ERROR_DENIED, "there is no %s for this kind of machine",
				 language->name);
	if (is_there(data_dir, language))
		return 0;
	if (open_draft(&placing, data_dir, err) < 0)
		return -1;
	/* Another one had the lock until now, perhaps for the same language. */
	if (is_there(data_dir, language))
		return 0;
	if (get_package(&placing, from, err) < 0 || check_package(&placing, from, err) < 0)
		return -1;
	for (size_t i = 0; i < WASM_PARTS_MAX && language->parts[i].member; i++) {
		const struct wasm_part *part = &language->parts[i];

		if (unpack_part(&placing, part, err) < 0 || place_part(&placing, part, err) < 0)
			return -1;
	}
	return 1;
}
