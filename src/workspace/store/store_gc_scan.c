/* SPDX-License-Identifier: Apache-2.0 */
/* Words of a file that could be ids or digests. */
#include "workspace/store/store_gc_scan.h"

#include "base/core/own.h"
#include "base/core/str.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define CHUNK (64u << 10)

struct scanner {
	char word[SCAN_WORD_MAX + 1];
	size_t len; /* beyond SCAN_WORD_MAX: too long to be one */
	void (*see)(const char *word, size_t len, void *cookie);
	void *cookie;
};

static bool is_part(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static void take(struct scanner *scanner, char c)
{
	if (is_part(c)) {
		if (scanner->len < SCAN_WORD_MAX)
			scanner->word[scanner->len] = c;
		if (scanner->len <= SCAN_WORD_MAX)
			scanner->len++;
		return;
	}
	if (scanner->len > 0 && scanner->len <= SCAN_WORD_MAX) {
		scanner->word[scanner->len] = '\0';
		scanner->see(scanner->word, scanner->len, scanner->cookie);
	}
	scanner->len = 0;
}

/* As of a file with holes: all commands wait while this one is read. */
static bool is_blank(const char *chunk, size_t len)
{
	return chunk[0] == '\0' && memcmp(chunk, chunk + 1, len - 1) == 0;
}

int store_gc_scan(int fd, size_t max, void (*see)(const char *word, size_t len, void *cookie),
		  void *cookie)
{
	struct scanner scanner = { .see = see, .cookie = cookie };
	owned(free_ptr) char *chunk = NULL;
	ssize_t got;

	chunk = xmalloc(CHUNK);
	while ((got = read(fd, chunk, max < CHUNK ? max : CHUNK)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		size_t len = is_blank(chunk, (size_t)got) ? 1 : (size_t)got;

		for (size_t i = 0; i < len; i++)
			take(&scanner, chunk[i]);
		max -= (size_t)got;
	}
	take(&scanner, '\n');
	return 0;
}
