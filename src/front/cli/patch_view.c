/* SPDX-License-Identifier: Apache-2.0 */
/* A patch on a terminal. Lines are classified as patch(1) does: by the counts in hunk headers, not by looks. */
#include "front/cli/patch_view.h"

#include <stdlib.h>
#include <string.h>

#define BOLD "\033[1m"
#define RED "\033[31m"
#define GREEN "\033[32m"
#define YELLOW "\033[33m"
#define CYAN "\033[36m"
#define PLAIN "\033[0m"

/* Lines that the hunk we are in still has to bring, of each side. */
struct hunk_left {
	unsigned long old, new;
};

/* The count behind "-12,3" or "+7": 1 when it is left out. */
static unsigned long count_of(const char **at)
{
	char *end;
	unsigned long count = 1;

	(void)strtoul(*at + 1, &end, 10);
	if (*end == ',')
		count = strtoul(end + 1, &end, 10);
	*at = end;
	return count;
}

/* "@@ -12,3 +12,4 @@"; LINE is NUL-terminated. */
static struct hunk_left read_header(const char *line)
{
	const char *at = line + strlen("@@ ");
	struct hunk_left left = { 0, 0 };

	if (*at != '-')
		return left;
	left.old = count_of(&at);
	if (strncmp(at, " +", 2) != 0)
		return (struct hunk_left){ 0, 0 };
	at++;
	left.new = count_of(&at);
	return left;
}

static const char *colour_in_hunk(const char *line, struct hunk_left *left)
{
	if (*line == '+') {
		left->new -= left->new > 0;
		return GREEN;
	}
	if (*line == '-') {
		left->old -= left->old > 0;
		return RED;
	}
	if (*line == ' ') {
		left->old -= left->old > 0;
		left->new -= left->new > 0;
	}
	return NULL;
}

static const char *colour_of(const char *line, struct hunk_left *left)
{
	if (left->old > 0 || left->new > 0)
		return colour_in_hunk(line, left);
	if (str_starts(line, "@@ ")) {
		*left = read_header(line);
		return CYAN;
	}
	if (*line == '#')
		return YELLOW;
	return *line == '\\' ? NULL : BOLD;
}

static void add_line(struct str *out, const char *line, size_t len, const char *colour)
{
	if (colour)
		str_add(out, colour);
	render_safe(out, line, len, true);
	if (colour)
		str_add(out, PLAIN);
}

void patch_view(struct str *out, const char *text, size_t len, const struct render_style *style)
{
	struct hunk_left left = { 0, 0 };
	struct str line = STR_INIT;
	const char *end = text + len;

	if (!style->terminal) {
		str_add_bytes(out, text, len);
		return;
	}
	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t size = (size_t)((stop ? stop : end) - text);

		str_clear(&line);
		str_add_bytes(&line, text, size);
		const char *colour = colour_of(str_cstr(&line), &left);

		add_line(out, str_cstr(&line), size, style->colour ? colour : NULL);
		if (stop)
			str_add_char(out, '\n');
		text += size + (stop != NULL);
	}
	str_done(&line);
}
