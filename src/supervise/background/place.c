/* SPDX-License-Identifier: Apache-2.0 */
/* Where commands in the background leave their traces. */
#include "supervise/background/place.h"

#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/id.h"
#include "base/core/own.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECTORY "execs"
#define CARD_MAX ((size_t)64 << 10)
#define RESULT_MAX ((size_t)8 << 20)
#define KEPT_MS (24ull * 3600 * 1000)
/* An older draft was left by a killed process. */
#define DRAFT_MS (60ull * 1000)
#define NAME_SIZE (ID_RUN_SIZE + 16)

static const char *const endings[] = { ".socket", ".result", ".new", "" };

void exec_record_done(struct exec_record *record)
{
	free_ptr(&record->sandbox);
	strv_done(&record->command);
}

bool exec_is_id(const char *word)
{
	return strlen(word) == ID_RUN_SIZE - 1 && id_run_epoch_ms(word) > 0;
}

static const char *name_of(const char *id, const char *ending, char name[static NAME_SIZE])
{
	(void)snprintf(name, NAME_SIZE, "%.26s%s", id, ending);
	return name;
}

int execs_open(const char *state_dir, bool make, int *ret_dir_fd, struct error *err)
{
	owned(fd_close) int state_fd = open(state_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (state_fd >= 0 && make && mkdirat(state_fd, DIRECTORY, 0700) < 0 && errno != EEXIST)
		return error_errno(err, ERROR_HOST, "cannot make %s/" DIRECTORY, state_dir);
	*ret_dir_fd = openat(state_fd, DIRECTORY, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*ret_dir_fd < 0)
		return error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_HOST,
				   "%s/" DIRECTORY, state_dir);
	return 0;
}

/* Words with their NUL: the sandbox, the time, the command as far as it fits. */
void exec_record_format(const struct exec_record *record, struct str *out)
{
	str_add(out, record->sandbox);
	str_add_char(out, '\0');
	str_addf(out, "%" PRIu64, record->started_ms);
	str_add_char(out, '\0');
	for (size_t i = 0; i < record->command.count; i++) {
		size_t len = strlen(record->command.items[i]);
		size_t room = CARD_MAX - out->len - 1;

		str_add_bytes(out, record->command.items[i], len < room ? len : room);
		str_add_char(out, '\0');
		if (len >= room || out->len + 1 >= CARD_MAX)
			return;
	}
}

int exec_record_parse(const char *bytes, size_t len, struct exec_record *ret_record,
		      struct error *err)
{
	owned(strv_done) struct strv words = STRV_INIT;
	char *end = NULL;

	if (len == 0 || len > CARD_MAX || bytes[len - 1] != '\0')
		return error_set(err, ERROR_INPUT, "the record of the command is damaged");
	for (const char *at = bytes; at < bytes + len; at += strlen(at) + 1)
		strv_add(&words, at);
	uint64_t started_ms = words.count > 1 ? strtoull(words.items[1], &end, 10) : 0;

	if (words.count < 3 || !end || *end || end == words.items[1])
		return error_set(err, ERROR_INPUT, "the record of the command is damaged");
	*ret_record = (struct exec_record){ .sandbox = xstrdup(words.items[0]),
					    .started_ms = started_ms };
	for (size_t i = 2; i < words.count; i++)
		strv_add(&ret_record->command, words.items[i]);
	return 0;
}

/* A draft of its own first, so that what bears the name is whole. */
static int write_file(int dir_fd, const char *id, const char *ending, const struct str *text,
		      int *ret_fd)
{
	char draft[NAME_SIZE], name[NAME_SIZE];
	owned(fd_close) int fd = openat(dir_fd, name_of(id, ".new", draft),
					O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -1;
	/* Before it is visible: an unlocked record means that its supervisor is dead. */
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 || fd_write_all(fd, text->data, text->len) < 0 ||
	    renameat(dir_fd, draft, dir_fd, name_of(id, ending, name)) < 0) {
		(void)unlinkat(dir_fd, draft, 0);
		return -1;
	}
	if (ret_fd)
		*ret_fd = fd_take(&fd);
	return 0;
}

int exec_record_make(int dir_fd, const char *id, const struct exec_record *record, int *ret_lock_fd,
		     struct error *err)
{
	owned(str_done) struct str text = STR_INIT;

	exec_record_format(record, &text);
	if (write_file(dir_fd, id, "", &text, ret_lock_fd) < 0)
		return error_errno(err, ERROR_HOST, "cannot write the record of the command");
	return 0;
}

int exec_record_read(int dir_fd, const char *id, struct exec_record *ret_record, struct error *err)
{
	owned(fd_close) int fd = file_open(dir_fd, id, O_NOFOLLOW, NULL);
	owned(str_done) struct str text = STR_INIT;

	if (fd < 0 && (errno == ENOENT || dir_fd < 0))
		return error_advise(err, ERROR_NOT_FOUND,
				    "results are kept for a day; aisbx history lists what ran",
				    "no command %s in the background", id);
	if (fd < 0 || fd_read_all(fd, CARD_MAX, &text) < 0)
		return error_errno(err, ERROR_HOST, "the record of the command %s", id);
	return exec_record_parse(str_cstr(&text), text.len, ret_record, err);
}

void exec_result_done(struct exec_result *result)
{
	str_done(&result->words);
	str_done(&result->object);
}

/* Two lines: the first can be shown even if the second cannot be read. */
int exec_result_write(int dir_fd, const char *id, const struct exec_result *result,
		      struct error *err)
{
	owned(str_done) struct str text = STR_INIT;

	str_addf(&text, "%s\n", str_cstr(&result->words));
	str_add_bytes(&text, result->object.data, result->object.len);
	if (write_file(dir_fd, id, ".result", &text, NULL) < 0)
		return error_errno(err, ERROR_HOST, "cannot write the result of the command");
	return 0;
}

/* 1 when there is one. */
static int read_result(int dir_fd, const char *id, struct exec_result *ret_result,
		       struct error *err)
{
	char name[NAME_SIZE];
	owned(fd_close) int fd = file_open(dir_fd, name_of(id, ".result", name), O_NOFOLLOW, NULL);

	if (fd < 0 && errno == ENOENT)
		return 0;
	owned(str_done) struct str text = STR_INIT;

	if (fd < 0 || fd_read_all(fd, RESULT_MAX, &text) < 0)
		return error_errno(err, ERROR_HOST, "the result of the command %s", id);
	size_t words = strcspn(str_cstr(&text), "\n");

	if (words >= text.len)
		return error_set(err, ERROR_INPUT, "the result of the command %s is damaged", id);
	str_add_bytes(&ret_result->words, text.data, words);
	str_add_bytes(&ret_result->object, text.data + words + 1, text.len - words - 1);
	return 1;
}

static bool is_held(int dir_fd, const char *id)
{
	owned(fd_close) int fd = file_open(dir_fd, id, O_NOFOLLOW, NULL);

	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

int exec_state_read(int dir_fd, const char *id, enum exec_state *ret_state,
		    struct exec_result *ret_result, struct error *err)
{
	int got = read_result(dir_fd, id, ret_result, err);

	if (got == 0 && is_held(dir_fd, id)) {
		*ret_state = EXEC_RUNNING;
		return 0;
	}
	/* Written between the two looks, or never. */
	if (got == 0)
		got = read_result(dir_fd, id, ret_result, err);
	if (got < 0)
		return -1;
	*ret_state = got ? EXEC_DONE : EXEC_LOST;
	return 0;
}

void exec_unlisten(int dir_fd, const char *id)
{
	char name[NAME_SIZE];

	(void)unlinkat(dir_fd, name_of(id, ".socket", name), 0);
}

void exec_forget(int dir_fd, const char *id)
{
	char name[NAME_SIZE];

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		(void)unlinkat(dir_fd, name_of(id, endings[i], name), 0);
}

static bool is_older(int dir_fd, const char *name, uint64_t age_ms)
{
	struct stat st;
	uint64_t now_ms = clock_epoch_ms();

	return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (uint64_t)st.st_mtim.tv_sec * 1000 + age_ms < now_ms;
}

static void sweep_card(int dir_fd, const char *id, struct strv *running, struct strv *removed)
{
	char name[NAME_SIZE];

	if (is_held(dir_fd, id)) {
		strv_add(running, id);
		return;
	}
	(void)unlinkat(dir_fd, name_of(id, ".socket", name), 0);
	name_of(id, ".result", name);
	if (!is_older(dir_fd, id, KEPT_MS) ||
	    (faccessat(dir_fd, name, F_OK, 0) == 0 && !is_older(dir_fd, name, KEPT_MS)))
		return;
	exec_forget(dir_fd, id);
	if (removed)
		strv_add(removed, id);
}

void execs_sweep(int dir_fd, struct strv *ret_running, struct strv *ret_removed)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

	if (!dir) {
		fd_close(&fd);
		return;
	}
	for (const struct dirent *entry; (entry = readdir(dir));) {
		if (exec_is_id(entry->d_name))
			sweep_card(dir_fd, entry->d_name, ret_running, ret_removed);
		else if (str_ends(entry->d_name, ".new") &&
			 is_older(dir_fd, entry->d_name, DRAFT_MS))
			(void)unlinkat(dir_fd, entry->d_name, 0);
	}
	(void)closedir(dir);
}
