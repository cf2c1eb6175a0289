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
	words->is_first[(unsigned char)bytes[0]] = true;
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
	if (text.len > secret->text_len)
		add_pattern(words, secret->name, text.data, text.len);
	if (text.data)
		explicit_bzero(text.data, text.len);
}

void scrub_words_init(struct scrub_words *words, const struct secrets *secrets)
{
	memset(words, 0, sizeof(*words));
	for (size_t i = 0; i < secrets->count; i++) {
		const struct secret *secret = &secrets->items[i];

		add_pattern(words, secret->name, secret->bytes, secret->text_len);
		add_as_terminal(words, secret);
	}
}

void scrub_words_done(struct scrub_words *words)
{
	for (size_t i = 0; i < words->count; i++) {
		explicit_bzero(words->items[i].bytes, words->items[i].len);
		free(words->items[i].bytes);
		free(words->items[i].fallback);
	}
	free(words->items);
	memset(words, 0, sizeof(*words));
}

void scrub_init(struct scrub *scrub, const struct scrub_words *words)
{
	*scrub = (struct scrub){ .words = words,
				 .states = xcalloc(words->count + 1, sizeof(uint32_t)) };
}

void scrub_done(struct scrub *scrub)
{
	if (scrub->held.data)
		explicit_bzero(scrub->held.data, scrub->held.cap);
	str_done(&scrub->held);
	free(scrub->states);
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

/* The last LEN held bytes are this pattern, whatever they were part of before. */
static void mark(struct scrub *scrub, uint32_t pattern, uint32_t len)
{
	size_t from = scrub->held.len - len;

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

void scrub_add(struct scrub *scrub, const char *bytes, size_t len, struct str *out)
{
	/* Where nothing is held and nothing begins, bytes go by in whole runs. */
	for (size_t i = 0; i < len;) {
		size_t run = i;
		uint32_t wanted = 0;

		while (scrub->held.len == 0 && run < len &&
		       !scrub->words->is_first[(unsigned char)bytes[run]])
			run++;
		if (run > i) {
			str_add_bytes(out, bytes + i, run - i);
			scrub->shown = 0;
			i = run;
			continue;
		}
		hold(scrub, bytes[i]);
		for (uint32_t pattern = 0; pattern < scrub->words->count; pattern++) {
			uint32_t state = follow(scrub, pattern, bytes[i]);

			wanted = state > wanted ? state : wanted;
		}
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
}
