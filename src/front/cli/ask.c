/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to the person at the terminal. */
#include "front/cli/ask.h"

#include "base/file/fd.h"

#include <errno.h>
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
