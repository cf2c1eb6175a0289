/* Keeping secrets out of a stream. */
#include "run/scrub.h"

#include "base/own.h"

#include <string.h>

static void add_pattern(struct scrub_words *words, const char *name, const char *bytes, size_t len)
{
	struct scrub_pattern *pattern;
	uint32_t same = 0;

	words->items = xrealloc(words->items, words->count + 1, sizeof(*pattern));
	pattern = &words->items[words->count++];
	*pattern = (struct scrub_pattern){ .bytes = xmalloc(len),
					   .len = (uint32_t)len,
					   .fallback = xcalloc(len, sizeof(uint32_t)),
					   .name = name };
	memcpy(pattern->bytes, bytes, len);
	words->first_at[(unsigned char)bytes[0] + 1]++;
	for (uint32_t i = 1; i < len; i++) {
		while (same > 0 && bytes[same] != bytes[i])
			same = pattern->fallback[same - 1];
		if (bytes[same] == bytes[i])
			same++;
		pattern->fallback[i] = same;
	}
}

/* A terminal ends lines in its own way. */
static void add_as_terminal(struct scrub_words *words, const struct secret *secret)
{
	owned(str_done) struct str text = STR_INIT;

	for (size_t i = 0; i < secret->text_len; i++) {
		if (secret->bytes[i] == '\n')
			str_add_char(&text, '\r');
		str_add_char(&text, secret->bytes[i]);
	}
	if (!text.data)
		return;
	if (text.len > secret->text_len)
		add_pattern(words, secret->name, text.data, text.len);
	explicit_bzero(text.data, text.len);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Programs also print a line of it: of a key, each is as good as a part of it. What frames keys is known to everybody. */
static void add_lines(struct scrub_words *words, const struct secret *secret)
{
	const char *end = secret->bytes + secret->text_len, *next;

	if (!memchr(secret->bytes, '\n', secret->text_len))
		return;
	for (const char *at = secret->bytes; at < end; at = next + 1) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));

		next = stop = stop ? stop : end;
		while (at < stop && is_blank(*at))
			at++;
		while (stop > at && is_blank(stop[-1]))
			stop--;
		if (stop - at >= SCRUB_LINE_MIN && memcmp(at, "-----", 5) != 0)
			add_pattern(words, secret->name, at, (size_t)(stop - at));
	}
}

/* Sorts the patterns by their first bytes, so that a byte costs those alone that it may begin. */
static void index_patterns(struct scrub_words *words)
{
	uint32_t at[256];

	for (size_t i = 0; i < 256; i++) {
		words->first_at[i + 1] += words->first_at[i];
		at[i] = words->first_at[i];
	}
	words->by_first = xcalloc(words->count + 1, sizeof(uint32_t));
	for (uint32_t i = 0; i < words->count; i++)
		words->by_first[at[(unsigned char)words->items[i].bytes[0]]++] = i;
}

static bool is_first(const struct scrub_words *words, char byte)
{
	unsigned char index = (unsigned char)byte;

	return words->first_at[index + 1] > words->first_at[index];
}

void scrub_words_init(struct scrub_words *words, const struct secrets *secrets)
{
	memset(words, 0, sizeof(*words));
	for (size_t i = 0; i < secrets->count; i++) {
		const struct secret *secret = &secrets->items[i];

		add_pattern(words, secret->name, secret->bytes, secret->text_len);
		add_as_terminal(words, secret);
		add_lines(words, secret);
	}
	index_patterns(words);
}

void scrub_words_done(struct scrub_words *words)
{
	for (size_t i = 0; i < words->count; i++) {
		explicit_bzero(words->items[i].bytes, words->items[i].len);
		free(words->items[i].bytes);
		free(words->items[i].fallback);
	}
	free(words->items);
	free(words->by_first);
	memset(words, 0, sizeof(*words));
}

void scrub_init(struct scrub *scrub, const struct scrub_words *words)
{
	*scrub = (struct scrub){ .words = words,
				 .states = xcalloc(words->count + 1, sizeof(uint32_t)),
				 .active = xcalloc(words->count + 1, sizeof(uint32_t)) };
}

void scrub_done(struct scrub *scrub)
{
	if (scrub->held.data)
		explicit_bzero(scrub->held.data, scrub->held.cap);
	str_done(&scrub->held);
	free(scrub->states);
	free(scrub->active);
	free(scrub->marks);
	*scrub = (struct scrub){ 0 };
}

static void hold(struct scrub *scrub, char byte)
{
	if (scrub->held.len == scrub->mark_room) {
		scrub->mark_room = scrub->mark_room ? scrub->mark_room * 2 : 256;
		scrub->marks = xrealloc(scrub->marks, scrub->mark_room, sizeof(uint32_t));
	}
	scrub->marks[scrub->held.len] = 0;
	str_add_char(&scrub->held, byte);
}

/* The last LEN held bytes are this pattern, whatever they were part of before; of two that end here, the longer counts. */
static void mark(struct scrub *scrub, uint32_t pattern, uint32_t len)
{
	size_t from = scrub->held.len - len;
	uint32_t other = scrub->marks[scrub->held.len - 1] / 2;

	if (other > 0 && scrub->words->items[other - 1].len >= len)
		return;
	for (size_t i = from; i < scrub->held.len; i++)
		scrub->marks[i] = (pattern + 1) * 2;
	scrub->marks[from] |= 1;
}

/* Follows one byte through one pattern. How much of it the stream ends in now. */
static uint32_t follow(struct scrub *scrub, uint32_t index, char byte)
{
	const struct scrub_pattern *pattern = &scrub->words->items[index];
	uint32_t state = scrub->states[index];

	while (state > 0 && pattern->bytes[state] != byte)
		state = pattern->fallback[state - 1];
	if (pattern->bytes[state] == byte)
		state++;
	if (state == pattern->len) {
		mark(scrub, index, pattern->len);
		state = pattern->fallback[state - 1];
	}
	scrub->states[index] = state;
	return state;
}

/* Gives out the first COUNT held bytes. */
static void release(struct scrub *scrub, size_t count, struct str *out)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t mark = scrub->marks[i];

		if (mark == 0)
			str_add_char(out, scrub->held.data[i]);
		else if ((mark & 1) || mark / 2 != scrub->shown)
			str_addf(out, "[secret %s]", scrub->words->items[mark / 2 - 1].name);
		scrub->shown = mark / 2;
	}
	if (count == 0)
		return;
	memmove(scrub->held.data, scrub->held.data + count, scrub->held.len - count);
	memmove(scrub->marks, scrub->marks + count,
		(scrub->held.len - count) * sizeof(scrub->marks[0]));
	str_truncate(&scrub->held, scrub->held.len - count);
}

/* Follows one byte through the patterns that are begun or that it begins. How many bytes must be held. */
static uint32_t follow_all(struct scrub *scrub, char byte)
{
	const struct scrub_words *words = scrub->words;
	unsigned char index = (unsigned char)byte;
	uint32_t wanted = 0;
	size_t kept = 0;

	for (size_t i = 0; i < scrub->active_count; i++) {
		uint32_t state = follow(scrub, scrub->active[i], byte);

		if (state > 0)
			scrub->active[kept++] = scrub->active[i];
		wanted = state > wanted ? state : wanted;
	}
	for (uint32_t i = words->first_at[index]; i < words->first_at[index + 1]; i++) {
		uint32_t pattern = words->by_first[i];

		if (scrub->states[pattern] > 0)
			continue;
		scrub->states[pattern] = 1;
		scrub->active[kept++] = pattern;
		wanted = wanted ? wanted : 1;
	}
	scrub->active_count = kept;
	return wanted;
}

void scrub_add(struct scrub *scrub, const char *bytes, size_t len, struct str *out)
{
	/* Where nothing is held and nothing begins, bytes go by in whole runs. */
	for (size_t i = 0; i < len;) {
		size_t run = i;
		uint32_t wanted;

		while (scrub->held.len == 0 && run < len && !is_first(scrub->words, bytes[run]))
			run++;
		if (run > i) {
			str_add_bytes(out, bytes + i, run - i);
			scrub->shown = 0;
			i = run;
			continue;
		}
		hold(scrub, bytes[i]);
		wanted = follow_all(scrub, bytes[i]);
		i++;
		/* Moving the rest to the front for each byte would cost its square. */
		if (wanted == 0 || scrub->held.len >= 2 * (size_t)wanted + STR_SHOWN_SIZE ||
		    i == len)
			release(scrub, scrub->held.len - wanted, out);
	}
}

void scrub_end(struct scrub *scrub, struct str *out)
{
	release(scrub, scrub->held.len, out);
	for (size_t i = 0; i < scrub->words->count; i++)
		scrub->states[i] = 0;
	scrub->active_count = 0;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* How many bytes of TEXT are one of the words, or the beginning of one that was cut off at the end. 0: none. */
static size_t word_at(const struct scrub_words *words, const char *text, const char **ret_name)
{
	size_t longest = 0;

	for (size_t i = 0; i < words->count; i++) {
		const struct scrub_pattern *pattern = &words->items[i];
		size_t len = 0;

		while (len < pattern->len && text[len] &&
		       lower(text[len]) == lower(pattern->bytes[len]))
			len++;
		if (len > longest &&
		    (len == pattern->len || (!text[len] && len >= SECRET_BYTES_MIN))) {
			longest = len;
			*ret_name = pattern->name;
		}
	}
	return longest;
}

void scrub_text(const struct scrub_words *words, char **text)
{
	owned(str_done) struct str out = STR_INIT;
	const char *name = NULL;
	bool is_found = false;

	for (const char *at = *text; at && *at;) {
		size_t len = word_at(words, at, &name);

		if (len > 0)
			str_addf(&out, "[secret %s]", name);
		else
			str_add_char(&out, *at);
		is_found |= len > 0;
		at += len ? len : 1;
	}
	if (!is_found)
		return;
	explicit_bzero(*text, strlen(*text));
	free(*text);
	*text = str_detach(&out);
}
