/* SPDX-License-Identifier: Apache-2.0 */
/* Notices shown at most once a day: a list of moments and texts in the user's state directory. */
#include "app/config/notice.h"

#include "app/config/own_list.h"
#include "base/core/clock.h"
#include "base/file/dir.h"
#include "base/core/own.h"
#include "host/host.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#define LIST_NAME "notices"
#define DAY_MS (UINT64_C(24) * 3600 * 1000)

/* Copies what is younger than a day to OUT; whether TEXT is among it. A moment to come was written by a clock that was set. */
static bool copy_recent(const char *at, const char *text, uint64_t now_ms, struct str *out)
{
	bool is_there = false;

	while (*at) {
		size_t len = strcspn(at, "\n");
		char *end;
		uint64_t then_ms = strtoull(at, &end, 10);

		if (*end == ' ' && then_ms <= now_ms && now_ms - then_ms < DAY_MS) {
			const char *told = end + 1;

			str_add_bytes(out, at, len);
			str_add_char(out, '\n');
			is_there |= (size_t)(at + len - told) == strlen(text) &&
				    memcmp(told, text, strlen(text)) == 0;
		}
		at += len + (at[len] == '\n');
	}
	return is_there;
}

/* Nearly always a run has made it already. */
static int open_directory(const char *path)
{
	const int flags = O_DIRECTORY | O_RDONLY | O_CLOEXEC;
	int fd = open(path, flags);

	return fd < 0 && errno == ENOENT && dir_make_all(path) == 0 ? open(path, flags) : fd;
}

bool app_notice_due(const char *text)
{
	owned(host_done) struct host host = { 0 };
	owned(str_done) struct str list = STR_INIT, out = STR_INIT;
	owned(fd_close) int dir_fd = -1;
	const uint64_t now_ms = clock_epoch_ms();
	struct error ignored;

	if (host_read_caller(&host, &ignored) < 0)
		return true;
	dir_fd = open_directory(host.state_dir);
	if (dir_fd < 0 || flock(dir_fd, LOCK_EX | LOCK_NB) < 0 ||
	    own_list_read(dir_fd, LIST_NAME, &list) < 0)
		return true;
	if (copy_recent(str_cstr(&list), text, now_ms, &out))
		return false;
	str_addf(&out, "%" PRIu64 " %s\n", now_ms, text);
	(void)own_list_replace(dir_fd, LIST_NAME, &out);
	return true;
}
