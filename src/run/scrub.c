/* SPDX-License-Identifier: Apache-2.0 */
/* Keeping secrets out of a stream. */
#include "run/scrub_reader.h"

#include "base/core/own.h"

#include <string.h>

static struct scrub_pattern *add_pattern(struct scrub_words *words, const char *name,
					 const char *bytes, size_t len)
{
	struct scrub_pattern *pattern;
	uint32_t same = 0;

	words->items = xrealloc(words->items, words->count + 1, sizeof(*pattern));
	pattern = &words->items[words->count++];
	*pattern = (struct scrub_pattern){ .bytes = bytes,
					   .len = (uint32_t)len,
					   .fallback = xcalloc(len, sizeof(uint32_t)),
					   .name = name };
	words->first_at[(unsigned char)bytes[0] + 1]++;
	for (uint32_t i = 1; i < len; i++) {
		while (same > 0 && bytes[same] != bytes[i])
			same = pattern->fallback[same - 1];
		if (bytes[same] == bytes[i])
			same++;
		pattern->fallback[i] = same;
	}
	return pattern;
}

/* A terminal ends lines in its own way. */
static void add_as_terminal(struct scrub_words *words, const struct secret *secret)
{
	size_t len = secret->text_len, at = 0;
	char *text;

	for (size_t i = 0; i < secret->text_len; i++)
		len += secret->bytes[i] == '\n';
	if (len == secret->text_len)
		return;
	text = secret_alloc(len);
	for (size_t i = 0; i < secret->text_len; i++) {
		if (secret->bytes[i] == '\n')
			text[at++] = '\r';
		text[at++] = secret->bytes[i];
	}
	add_pattern(words, secret_shown(secret->name), text, len)->own = text;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Programs also print a line of it: of a key, each is as good as a part of it. The lines that frame keys are public. */
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
			(void)add_pattern(words, secret_shown(secret->name), at,
					  (size_t)(stop - at));
	}
}

/* Long, and of mixed letters and digits or of many of them: names, sentences and addresses are not. */
static bool is_token(const char *text, size_t len)
{
	bool has_digit = false, has_upper = false, has_lower = false, is_word = true;

	for (size_t i = 0; i < len; i++) {
		bool is_digit = text[i] >= '0' && text[i] <= '9';
		bool is_upper = text[i] >= 'A' && text[i] <= 'Z';
		bool is_lower = text[i] >= 'a' && text[i] <= 'z';

		has_digit |= is_digit;
		has_upper |= is_upper;
		has_lower |= is_lower;
		is_word &= is_digit || is_upper || is_lower || text[i] == '-' || text[i] == '_';
	}
	if (memchr(text, ' ', len) || memmem(text, len, "://", 3))
		return false;
	return (len >= SCRUB_TOKEN_MIN && has_digit && has_upper && has_lower) ||
	       (len >= SCRUB_TOKEN_LONG && has_digit && is_word);
}

/* Of a JSON file each token by itself: it is printed without what is around it. */
static void add_quoted(struct scrub_words *words, const struct secret *secret)
{
	const char *at = secret->bytes, *end = at + secret->text_len, *stop;

	if (*at != '{' && *at != '[')
		return;
	while ((at = memchr(at, '"', (size_t)(end - at))) != NULL) {
		for (stop = ++at; stop < end && *stop != '"'; stop++)
			stop += *stop == '\\' && stop + 1 < end;
		if (stop >= end)
			return;
		if (is_token(at, (size_t)(stop - at)))
			(void)add_pattern(words, secret_shown(secret->name), at,
					  (size_t)(stop - at));
		at = stop + 1;
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

/* What decoders ask of the patterns. */
static void note_beginnings(struct scrub_words *words)
{
	uint32_t longest = 1;

	for (size_t i = 0; i < words->count; i++) {
		const struct scrub_pattern *pattern = &words->items[i];
		unsigned char first = (unsigned char)pattern->bytes[0];

		longest = pattern->len > longest ? pattern->len : longest;
		words->is_first[first] = true;
		words->has_space |= memchr(pattern->bytes, ' ', pattern->len) != NULL;
		words->begins_two[first >> 6] = true;
		words->begins_four[first >> 4] = true;
		words->begins_six[first >> 2] = true;
	}
	words->longest = longest;
	words->ring_mask = 1;
	while (words->ring_mask < longest)
		words->ring_mask = words->ring_mask * 2 + 1;
}

void scrub_words_init(struct scrub_words *words, const struct secrets *secrets)
{
	memset(words, 0, sizeof(*words));
	for (size_t i = 0; i < secrets->count; i++) {
		const struct secret *secret = &secrets->items[i];

		(void)add_pattern(words, secret_shown(secret->name), secret->bytes,
				  secret->text_len);
		add_as_terminal(words, secret);
		add_lines(words, secret);
		add_quoted(words, secret);
	}
	index_patterns(words);
	note_beginnings(words);
	words->beginnings = scrub_beginnings_new(words);
}

void scrub_words_done(struct scrub_words *words)
{
	for (size_t i = 0; i < words->count; i++) {
		secret_free(words->items[i].own, words->items[i].len);
		free(words->items[i].fallback);
	}
	free(words->items);
	free(words->by_first);
	free(words->beginnings);
	memset(words, 0, sizeof(*words));
}

void scrub_init(struct scrub *scrub, const struct scrub_words *words)
{
	*scrub = (struct scrub){ .words = words };
	for (size_t i = 0; words->count > 0 && i < SCRUB_READINGS; i++) {
		struct scrub_reader *reader = &scrub->readers[i];

		reader->states = xcalloc(words->count, sizeof(uint32_t));
		reader->active = xcalloc(words->count, sizeof(uint32_t));
		reader->starts = xcalloc(words->ring_mask + 1, sizeof(uint32_t));
	}
}

void scrub_done(struct scrub *scrub)
{
	if (scrub->held.data)
		explicit_bzero(scrub->held.data, scrub->held.cap);
	str_done(&scrub->held);
	for (size_t i = 0; i < SCRUB_READINGS; i++) {
		free(scrub->readers[i].states);
		free(scrub->readers[i].active);
		free(scrub->readers[i].starts);
	}
	free(scrub->marks);
	explicit_bzero(scrub, sizeof(*scrub));
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

/* Whatever they were part of before; of two that end at the same place, the longer counts. */
void scrub_mark(struct scrub *scrub, uint32_t pattern, struct scrub_span span)
{
	int32_t from = (int32_t)(span.from - scrub->released);
	size_t end = span.to - scrub->released;

	scrub->found = pattern + 1;
	if (span.to == scrub->last.to && span.to - span.from <= scrub->last.to - scrub->last.from)
		return;
	scrub->last = span;
	from = from < 0 ? 0 : from;
	for (size_t i = (size_t)from; i < end && i < scrub->held.len; i++)
		scrub->marks[i] = (pattern + 1) * 2;
	if ((size_t)from < scrub->held.len)
		scrub->marks[from] |= 1;
}

/* Gives out the first COUNT held bytes. */
static void release(struct scrub *scrub, size_t count, struct str *out)
{
	for (size_t i = 0, next; i < count; i = next) {
		uint32_t mark = scrub->marks[i];

		for (next = i + 1; mark == 0 && next < count && scrub->marks[next] == 0; next++)
			;
		if (mark == 0)
			str_add_bytes(out, scrub->held.data + i, next - i);
		else if (scrub->words->keeps_length)
			str_add_char(out, '*');
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
	scrub->released += (uint32_t)count;
}

/* The place that the reader, inside some pattern, needs the bytes from. */
static uint32_t needed_from(const struct scrub *scrub, const struct scrub_reader *reader)
{
	return reader->starts[(reader->count - reader->longest) & scrub->words->ring_mask];
}

/* How many of the bytes up to END must be held. A reader that needs more than may be held is reset. */
static size_t count_needed(struct scrub *scrub, uint32_t end)
{
	size_t limit = SCRUB_HOLD_MAX(scrub->words->longest);
	uint32_t first = end, at;

	for (unsigned i = 0; scrub->busy_count > 0 && i < SCRUB_READINGS; i++) {
		if (!scrub_reader_is_busy(scrub, i))
			continue;
		at = needed_from(scrub, &scrub->readers[i]);
		if (end - at > limit)
			scrub_reader_reset(scrub, i);
		else if (end - at > end - first)
			first = at;
	}
	if (scrub_decode_pending(scrub, &at) && end - at > end - first)
		first = at;
	return end - first;
}

/* Decodes one byte while some are held. How many are needed. */
static size_t hold_and_decode(struct scrub *scrub, char byte)
{
	uint32_t at = scrub->released + (uint32_t)scrub->held.len;
	size_t needed;

	hold(scrub, byte);
	scrub_decode(scrub, (unsigned char)byte, at);
	/* The rest of a dump's line shows as text what its digits were. */
	if (scrub->dump.tail && scrub->marks[scrub->held.len - 1] == 0)
		scrub->marks[scrub->held.len - 1] = scrub->dump.tail * 2;
	needed = count_needed(scrub, at + 1);
	return needed < scrub->held.len ? needed : scrub->held.len;
}

/* Gives out the bytes in front of the next one that may begin something. How many were taken. */
static size_t pass_idle(struct scrub *scrub, const char *bytes, size_t len, struct str *out)
{
	size_t count = scrub_decode_is_idle(scrub) ? scrub_scan(scrub, bytes, len) : 0;

	if (count == 0)
		return 0;
	/* The first half of something, perhaps: these bytes show that it was not. */
	release(scrub, scrub->held.len, out);
	str_add_bytes(out, bytes, count);
	scrub->shown = 0;
	scrub->released += (uint32_t)count;
	scrub_decode_skip(scrub, bytes, count, scrub->released);
	return count;
}

void scrub_add(struct scrub *scrub, const char *bytes, size_t len, struct str *out)
{
	size_t needed;

	if (scrub->words->count == 0) {
		str_add_bytes(out, bytes, len);
		return;
	}
	for (size_t i = 0; i < len;) {
		i += pass_idle(scrub, bytes + i, len - i, out);
		/* The last byte is never passed over. */
		needed = hold_and_decode(scrub, bytes[i]);
		i++;
		/* Moving the rest to the front for each byte would cost its square. */
		if (needed == 0 || scrub->held.len >= 2 * needed + STR_SHOWN_SIZE || i == len)
			release(scrub, scrub->held.len - needed, out);
	}
}

void scrub_end(struct scrub *scrub, struct str *out)
{
	if (scrub->words->count > 0)
		scrub_decode_end(scrub);
	release(scrub, scrub->held.len, out);
	for (unsigned i = 0; i < SCRUB_READINGS; i++)
		scrub_reader_reset(scrub, i);
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

/* What stands in the text in some coding. */
static void scrub_coded(const struct scrub_words *words, char **text)
{
	struct str out = STR_INIT;
	struct scrub scrub;

	scrub_init(&scrub, words);
	scrub_add(&scrub, *text, strlen(*text), &out);
	scrub_end(&scrub, &out);
	scrub_done(&scrub);
	explicit_bzero(*text, strlen(*text));
	free(*text);
	*text = str_detach(&out);
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
	if (is_found) {
		explicit_bzero(*text, strlen(*text));
		free(*text);
		*text = str_detach(&out);
	}
	if (words->count > 0 && *text && **text)
		scrub_coded(words, text);
}
