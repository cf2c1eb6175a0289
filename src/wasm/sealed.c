/* SPDX-License-Identifier: Apache-2.0 */
/* Files with a seal beside them. */
#include "wasm/sealed.h"

#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/core/str.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEAL_MARK "aisbx-seal 2 "
#define SEAL_MAX 512
#define HEX_DIGITS (SHA256_HEX_SIZE - 1)
#define KEY_FILE "seal-key"

void sealed_done(struct sealed *sealed)
{
	free(sealed->path);
	sealed->path = NULL;
}

/* One decimal number and the blank or newline behind it. */
static const char *parse_number(const char *at, const char *end, char behind, uint64_t *ret)
{
	uint64_t value = 0;
	const char *start = at;

	for (; at < end && *at >= '0' && *at <= '9'; at++) {
		uint64_t digit = (uint64_t)(*at - '0');

		if (value > (UINT64_MAX - digit) / 10)
			return NULL;
		value = value * 10 + digit;
	}
	if (at == start || at == end || *at != behind)
		return NULL;
	*ret = value;
	return at + 1;
}

/* 64 lower-case hex digits and the blank behind them. */
static const char *parse_digest(const char *at, const char *end, char ret_hex[SHA256_HEX_SIZE])
{
	if (end - at < HEX_DIGITS + 1 || at[HEX_DIGITS] != ' ')
		return NULL;
	for (size_t i = 0; i < HEX_DIGITS; i++) {
		if (!((at[i] >= '0' && at[i] <= '9') || (at[i] >= 'a' && at[i] <= 'f')))
			return NULL;
		ret_hex[i] = at[i];
	}
	ret_hex[HEX_DIGITS] = '\0';
	return at + HEX_DIGITS + 1;
}

int file_seal_parse(const char *text, size_t len, struct file_seal *ret_seal)
{
	const size_t mark = sizeof(SEAL_MARK) - 1;
	uint64_t *const numbers[] = { &ret_seal->dev, &ret_seal->ino, &ret_seal->size,
				      &ret_seal->mtime_ns, &ret_seal->ctime_ns };
	const size_t count = sizeof(numbers) / sizeof(numbers[0]);
	const char *end = text + len;
	const char *at;

	if (len < mark || memcmp(text, SEAL_MARK, mark) != 0)
		return -1;
	at = parse_digest(text + mark, end, ret_seal->mac);
	at = at ? parse_digest(at, end, ret_seal->sha256) : NULL;
	if (!at)
		return -1;
	for (size_t i = 0; i < count; i++) {
		at = parse_number(at, end, i + 1 == count ? '\n' : ' ', numbers[i]);
		if (!at)
			return -1;
	}
	return at == end ? 0 : -1;
}

static bool is_private(const struct stat *st)
{
	return st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

static int make_folder(const char *parent, const char *path, struct error *err)
{
	owned(free_ptr) char *above = xstrdup(parent);

	/* The parents are the user's own base directories; ours below them are private. */
	for (char *slash = strchr(above + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(above, 0700);
		*slash = '/';
	}
	(void)mkdir(above, 0700);
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return error_errno(err, ERROR_HOST, "%s", path);
	return 0;
}

int sealed_folder(const char *parent, const char *name, bool make, int *ret_fd, struct error *err)
{
	owned(free_ptr) char *path = xasprintf("%s/%s", parent, name);
	owned(fd_close) int fd = -1;
	struct stat st;

	*ret_fd = -1;
	if (make && make_folder(parent, path, err) < 0)
		return -1;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && (errno == ENOENT || errno == EACCES) && !make)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, ERROR_HOST, "%s", path);
	if (!is_private(&st))
		return error_advise(err, ERROR_DENIED, "remove it, it is made anew",
				    "%s belongs to or can be written by another user", path);
	*ret_fd = fd_take(&fd);
	return 0;
}

/* The secret at DIR_FD; 0 when there is none. */
static int find_key(int dir_fd, struct seal_key *ret_key, struct error *err)
{
	owned(fd_close) int fd =
		openat(dir_fd, KEY_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, ERROR_HOST, KEY_FILE);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077) ||
	    read(fd, ret_key->bytes, SEAL_KEY_SIZE) != SEAL_KEY_SIZE)
		return error_advise(err, ERROR_DENIED, "remove it, it is made anew",
				    "%s in the data folder is not a file of the caller alone",
				    KEY_FILE);
	return 1;
}

/* Whole or not at all; of two processes at once, one makes it and both use it. */
static int make_key(int dir_fd, struct error *err)
{
	owned(fd_close) int fd = openat(dir_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	struct seal_key key;
	char path[40];

	if (fd < 0 || getrandom(key.bytes, SEAL_KEY_SIZE, 0) != SEAL_KEY_SIZE ||
	    fd_write_all(fd, key.bytes, SEAL_KEY_SIZE) < 0)
		return error_errno(err, ERROR_HOST, KEY_FILE);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, path, dir_fd, KEY_FILE, AT_SYMLINK_FOLLOW) < 0 && errno != EEXIST)
		return error_errno(err, ERROR_HOST, KEY_FILE);
	return 0;
}

int seal_key_read(const char *data_dir, struct seal_key *ret_key, struct error *err)
{
	owned(fd_close) int dir_fd = -1;
	int found;

	/* Each start reads it several times: the folder is made only where it is missing. */
	if (sealed_folder(data_dir, "wasm", false, &dir_fd, err) < 0)
		return -1;
	found = dir_fd < 0 ? 0 : find_key(dir_fd, ret_key, err);
	if (found != 0)
		return found == 1 ? 0 : -1;
	fd_close(&dir_fd);
	if (sealed_folder(data_dir, "wasm", true, &dir_fd, err) < 0 || make_key(dir_fd, err) < 0)
		return -1;
	return find_key(dir_fd, ret_key, err) == 1 ? 0 : -1;
}

/* The seal's text for FILE, without the mark and the code that authenticates it. */
static void seal_text(const char *sha256, const struct stat *st, struct str *text)
{
	str_addf(text, "%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", sha256,
		 (uint64_t)st->st_dev, (uint64_t)st->st_ino, (uint64_t)st->st_size,
		 clock_ns_of(&st->st_mtim), clock_ns_of(&st->st_ctim));
}

static void seal_mac(const struct seal_key *key, const char *file, const char *text,
		     char ret_mac[static SHA256_HEX_SIZE])
{
	owned(free_ptr) char *whole = xasprintf("%s %s", file, text);

	sha256_hmac(key->bytes, SEAL_KEY_SIZE, whole, strlen(whole), ret_mac);
}

static bool is_same(const struct file_seal *seal, const struct stat *st)
{
	return seal->dev == st->st_dev && seal->ino == st->st_ino &&
	       seal->size == (uint64_t)st->st_size && seal->mtime_ns == clock_ns_of(&st->st_mtim) &&
	       seal->ctime_ns == clock_ns_of(&st->st_ctim);
}

static int read_seal(int dir_fd, const char *file, const struct seal_key *key,
		     struct file_seal *ret_seal)
{
	owned(free_ptr) char *name = xasprintf("%s.seal", file);
	owned(fd_close) int fd =
		openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char text[SEAL_MAX], mac[SHA256_HEX_SIZE];
	struct stat st;
	ssize_t got;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !is_private(&st))
		return -1;
	got = read(fd, text, sizeof(text) - 1);
	if (got <= 0 || file_seal_parse(text, (size_t)got, ret_seal) < 0)
		return -1;
	text[got] = '\0';
	seal_mac(key, file, text + strlen(SEAL_MARK) + SHA256_HEX_SIZE, mac);
	return strcmp(mac, ret_seal->mac) == 0 ? 0 : -1;
}

/* FILE opened for reading: a regular file that only the caller may write. 1, 0 when it is not there. */
static int open_private(int dir_fd, const char *dir, const char *file, int *ret_fd,
			struct stat *ret_st, struct error *err)
{
	owned(fd_close) int fd =
		openat(dir_fd, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, ret_st) < 0)
		return error_errno(err, ERROR_HOST, "%s/%s", dir, file);
	if (!S_ISREG(ret_st->st_mode) || !is_private(ret_st))
		return error_set(err, ERROR_DENIED, "%s/%s is not a file of the caller alone", dir,
				 file);
	*ret_fd = fd_take(&fd);
	return 1;
}

int sealed_look(int dir_fd, const char *dir, const char *file, const struct seal_key *key,
		struct sealed *ret, struct error *err)
{
	owned(fd_close) int fd = -1;
	char sum[SHA256_HEX_SIZE];
	struct error ignored;
	struct file_seal seal;
	struct stat st;
	int found = open_private(dir_fd, dir, file, &fd, &st, err);

	if (found != 1)
		return found;
	if (read_seal(dir_fd, file, key, &seal) < 0)
		return error_set(err, ERROR_DENIED, "%s/%s has no seal", dir, file);
	if (!is_same(&seal, &st)) {
		if (sha256_fd(fd, sum) < 0)
			return error_errno(err, ERROR_HOST, "%s/%s", dir, file);
		if (strcmp(sum, seal.sha256) != 0)
			return error_set(err, ERROR_DENIED, "%s/%s was changed", dir, file);
		/* Moved or copied: the next one need not read it. */
		(void)sealed_write(dir_fd, file, sum, key, &ignored);
	}
	*ret = (struct sealed){ .path = xasprintf("%s/%s", dir, file),
				.dev = st.st_dev,
				.ino = st.st_ino,
				.bytes = (uint64_t)st.st_size };
	memcpy(ret->sha256, seal.sha256, sizeof(ret->sha256));
	return 1;
}

int sealed_write(int dir_fd, const char *file, const char *sha256, const struct seal_key *key,
		 struct error *err)
{
	owned(free_ptr) char *name = xasprintf("%s.seal", file);
	owned(free_ptr) char *draft = xasprintf(".%s.%ld", name, (long)getpid());
	owned(str_done) struct str text = STR_INIT, whole = STR_INIT;
	owned(fd_close) int fd = -1;
	char mac[SHA256_HEX_SIZE];
	struct stat st;

	if (fstatat(dir_fd, file, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return error_errno(err, ERROR_HOST, "%s", file);
	seal_text(sha256, &st, &text);
	seal_mac(key, file, str_cstr(&text), mac);
	str_addf(&whole, SEAL_MARK "%s %s", mac, str_cstr(&text));
	fd = openat(dir_fd, draft,
		    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0 || fd_write_all(fd, whole.data, whole.len) < 0 ||
	    renameat(dir_fd, draft, dir_fd, name) < 0) {
		error_errno(err, ERROR_HOST, "seal of %s", file);
		(void)unlinkat(dir_fd, draft, 0);
		return -1;
	}
	return 0;
}

bool sealed_renew(int dir_fd, const char *file, const char *sha256, const struct seal_key *key)
{
	owned(fd_close) int fd = -1;
	char sum[SHA256_HEX_SIZE];
	struct error ignored;
	struct stat st;

	return open_private(dir_fd, "", file, &fd, &st, &ignored) == 1 && sha256_fd(fd, sum) == 0 &&
	       strcmp(sum, sha256) == 0 && sealed_write(dir_fd, file, sha256, key, &ignored) == 0;
}
