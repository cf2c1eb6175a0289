/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets that single commands of a sandbox were given. */
#include "app/sandbox/given_secrets.h"

#include "app/config/secret_values.h"
#include "base/core/own.h"
#include "base/file/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Words, each with a NUL behind it. */
#define FILE_NAME "given"
#define BYTES_MAX ((size_t)1 << 20)

int given_secrets_list(int dir_fd, struct strv *ret_words, struct error *err)
{
	owned(str_done) struct str bytes = STR_INIT;

	if (faccessat(dir_fd, FILE_NAME, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
		return 0;
	if (file_read(dir_fd, FILE_NAME, BYTES_MAX, &bytes, err) < 0)
		return error_context(err, "the secrets that commands were given");
	for (size_t at = 0; at < bytes.len; at += strlen(bytes.data + at) + 1) {
		if (bytes.data[at] && !strv_has(ret_words, bytes.data + at))
			strv_add(ret_words, bytes.data + at);
	}
	return 0;
}

int given_secrets_note(int dir_fd, const struct strv *words, struct error *err)
{
	owned(strv_done) struct strv have = STRV_INIT;
	owned(str_done) struct str bytes = STR_INIT;
	owned(fd_close) int fd = -1;

	if (given_secrets_list(dir_fd, &have, err) < 0)
		return -1;
	/* One append for all: commands may enter at the same time. A NUL first ends what a crash has cut off. */
	for (size_t i = 0; i < words->count; i++) {
		if (strv_has(&have, words->items[i]))
			continue;
		str_add_char(&bytes, '\0');
		str_add(&bytes, words->items[i]);
		str_add_char(&bytes, '\0');
	}
	if (bytes.len == 0)
		return 0;
	fd = openat(dir_fd, FILE_NAME, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0 || fd_write_all(fd, bytes.data, bytes.len) < 0)
		return error_errno(err, ERROR_HOST, "the secrets that commands were given");
	return 0;
}

static int read_one(const char *word, struct secrets *secrets, struct error *err)
{
	owned(strv_done) struct strv words = STRV_INIT;
	owned(secrets_done) struct secrets found = { 0 };

	strv_add(&words, word);
	if (secret_values_read(&words, NULL, &found, err) < 0)
		/* Removed since: its value is known nowhere any more. */
		return err->code == ERROR_NOT_FOUND || err->code == ERROR_USAGE ? 0 : -1;
	for (size_t i = 0; i < found.count; i++)
		secrets_append(secrets, &found.items[i]);
	found.count = 0;
	return 0;
}

int given_secrets_read(int dir_fd, struct secrets *ret_secrets, struct error *err)
{
	owned(strv_done) struct strv words = STRV_INIT;

	if (given_secrets_list(dir_fd, &words, err) < 0)
		return -1;
	for (size_t i = 0; i < words.count; i++) {
		if (read_one(words.items[i], ret_secrets, err) < 0)
			return -1;
	}
	return 0;
}
