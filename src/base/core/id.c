/* SPDX-License-Identifier: Apache-2.0 */
/* Identifiers: sortable ones for runs, short random ones for sandboxes. */
#include "base/core/id.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define TIME_LETTERS 10

static int fill_random(unsigned char *bytes, size_t len, struct error *err)
{
	ssize_t got;

	do {
		got = getrandom(bytes, len, 0);
	} while (got < 0 && errno == EINTR);
	/* Up to 256 bytes come whole or not at all. */
	if (got != (ssize_t)len)
		return error_errno(err, ERROR_HOST, "cannot get random bytes");
	return 0;
}

/* No I, L, O, U: they are easily confused when an id is read aloud. */
static const char letters[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

void id_run_format(uint64_t epoch_ms, const unsigned char random[static ID_RUN_RANDOM],
		   char ret_id[static ID_RUN_SIZE])
{
	unsigned bits = 0, have = 0;
	size_t at = TIME_LETTERS;

	for (size_t i = 0; i < TIME_LETTERS; i++)
		ret_id[i] = letters[epoch_ms >> (45 - 5 * i) & 31];
	for (size_t i = 0; i < ID_RUN_RANDOM; i++) {
		bits = (bits << 8 | random[i]) & 0xffff;
		for (have += 8; have >= 5; have -= 5)
			ret_id[at++] = letters[bits >> (have - 5) & 31];
	}
	ret_id[at] = '\0';
}

uint64_t id_run_epoch_ms(const char *id)
{
	uint64_t ms = 0;

	if (strlen(id) != ID_RUN_SIZE - 1 || strspn(id, letters) != ID_RUN_SIZE - 1)
		return 0;
	for (size_t i = 0; i < TIME_LETTERS; i++)
		ms = ms << 5 | (uint64_t)(strchr(letters, id[i]) - letters);
	return ms;
}

int id_run(char ret_id[static ID_RUN_SIZE], struct error *err)
{
	unsigned char random[ID_RUN_RANDOM];
	struct timespec now;

	if (fill_random(random, sizeof(random), err) < 0)
		return -1;
	if (clock_gettime(CLOCK_REALTIME, &now) < 0)
		return error_errno(err, ERROR_HOST, "cannot read the clock");
	id_run_format((uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000, random,
		      ret_id);
	return 0;
}

int id_short(const char *prefix, char ret_id[static ID_SHORT_SIZE], struct error *err)
{
	unsigned char random[3];

	if (fill_random(random, sizeof(random), err) < 0)
		return -1;
	(void)snprintf(ret_id, ID_SHORT_SIZE, "%.8s-%02x%02x%02x", prefix, random[0], random[1],
		       random[2]);
	return 0;
}

bool id_is_traceparent(const char *text)
{
	static const char pattern[] = "00-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-xxxxxxxxxxxxxxxx-xx";

	if (strlen(text) != sizeof(pattern) - 1)
		return false;
	for (size_t i = 0; pattern[i]; i++) {
		if (pattern[i] == 'x' ? !strchr("0123456789abcdef", text[i])
				      : text[i] != pattern[i])
			return false;
	}
	return strspn(text + 3, "0") < 32 && strspn(text + 36, "0") < 16;
}
