/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to the person at the terminal. */
#include "front/cli/ask.h"

#include "base/core/own.h"
#include "base/file/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <termios.h>
#include <unistd.h>

/* One line without its end; -1 at the end of input. A longer line is cut: it is no answer anyway. */
static int read_line(char *line, size_t size)
{
	size_t len = 0;

	for (;;) {
		char c;
		ssize_t got = read(STDIN_FILENO, &c, 1);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		if (c == '\n' || c == '\r')
			break;
		if (len + 1 < size)
			line[len++] = c;
	}
	line[len] = '\0';
	return 0;
}

static char letter_of(const char *line)
{
	static const char *const words[] = { "yes", "no", "keep", "diff" };
	char letter = line[0] >= 'A' && line[0] <= 'Z' ? (char)(line[0] - 'A' + 'a') : line[0];

	if (letter && !line[1])
		return letter;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcasecmp(line, words[i]) == 0)
			return letter;
	}
	return '?';
}

char ask_letter(const char *question)
{
	char line[16];

	(void)tcflush(STDIN_FILENO, TCIFLUSH);
	(void)fd_write_all(STDERR_FILENO, question, strlen(question));
	return read_line(line, sizeof(line)) < 0 ? 0 : letter_of(line);
}

/* Typed without echo and without signals: the terminal is never left as it is here. */
static bool read_hidden(int fd, char *line, size_t size)
{
	size_t len = 0;

	for (;;) {
		char c;
		ssize_t got = read(fd, &c, 1);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0 || c == 3 || c == 4 || len + 1 == size)
			return false;
		if (c == '\n' || c == '\r')
			break;
		if (c == 8 || c == 127)
			len -= len > 0;
		else
			line[len++] = c;
	}
	line[len] = '\0';
	return len > 0;
}

bool ask_hidden(const char *question, char *ret_answer, size_t size)
{
	bool is_tty = isatty(STDIN_FILENO) == 1;
	owned(fd_close) int own = is_tty ? -1 : open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	int fd = is_tty ? STDIN_FILENO : own;
	struct termios before, hidden;
	bool is_given;

	if (fd < 0 || tcgetattr(fd, &before) < 0)
		return false;
	hidden = before;
	hidden.c_lflag &= ~(tcflag_t)(ECHO | ECHONL | ICANON | ISIG);
	hidden.c_cc[VMIN] = 1;
	hidden.c_cc[VTIME] = 0;
	if (tcsetattr(fd, TCSAFLUSH, &hidden) < 0)
		return false;
	(void)fd_write_all(is_tty ? STDERR_FILENO : fd, question, strlen(question));
	is_given = read_hidden(fd, ret_answer, size);
	(void)tcsetattr(fd, TCSAFLUSH, &before);
	(void)fd_write_all(is_tty ? STDERR_FILENO : fd, "\n", 1);
	if (!is_given)
		explicit_bzero(ret_answer, size);
	return is_given;
}
