/* SPDX-License-Identifier: Apache-2.0 */
/* Follows patterns through one reading of a stream (Knuth, Morris and Pratt's way, one state for each pattern). */
#include "run/scrub_reader.h"

/* Follows one byte through one pattern. How much of it the reading ends in now. */
static uint32_t follow(struct scrub *scrub, struct scrub_reader *reader, uint32_t index, char byte,
		       uint32_t end)
{
	const struct scrub_pattern *pattern = &scrub->words->items[index];
	uint32_t state = reader->states[index];

	while (state > 0 && pattern->bytes[state] != byte)
		state = pattern->fallback[state - 1];
	if (pattern->bytes[state] == byte)
		state++;
	if (state == pattern->len) {
		uint32_t at = (reader->count - pattern->len) & scrub->words->ring_mask;

		scrub_mark(scrub, index, (struct scrub_span){ reader->starts[at], end });
		if (reader == &scrub->readers[SCRUB_DUMP])
			scrub->dump.tail = index + 1;
		state = pattern->fallback[state - 1];
	}
	reader->states[index] = state;
	return state;
}

/* Those that are begun already. How many stay so. */
static size_t follow_active(struct scrub *scrub, struct scrub_reader *reader, char byte,
			    uint32_t end)
{
	size_t kept = 0;

	for (size_t i = 0; i < reader->active_count; i++) {
		uint32_t state = follow(scrub, reader, reader->active[i], byte, end);

		if (state > 0)
			reader->active[kept++] = reader->active[i];
		reader->longest = state > reader->longest ? state : reader->longest;
	}
	return kept;
}

void scrub_reader_follow(struct scrub *scrub, enum scrub_reading reading, unsigned char byte,
			 struct scrub_span span)
{
	struct scrub_reader *reader = &scrub->readers[reading];
	const struct scrub_words *words = scrub->words;
	bool was_busy = reader->active_count > 0;
	size_t kept;

	reader->starts[reader->count++ & words->ring_mask] = span.from;
	reader->longest = 0;
	kept = follow_active(scrub, reader, (char)byte, span.to);
	for (uint32_t i = words->first_at[byte]; i < words->first_at[byte + 1]; i++) {
		uint32_t pattern = words->by_first[i];

		if (reader->states[pattern] > 0)
			continue;
		reader->states[pattern] = 1;
		reader->active[kept++] = pattern;
		reader->longest = reader->longest ? reader->longest : 1;
	}
	reader->active_count = kept;
	scrub->busy_count = scrub->busy_count + (kept > 0) - was_busy;
}

void scrub_reader_reset(struct scrub *scrub, enum scrub_reading reading)
{
	struct scrub_reader *reader = &scrub->readers[reading];

	if (reader->active_count == 0)
		return;
	for (size_t i = 0; i < reader->active_count; i++)
		reader->states[reader->active[i]] = 0;
	reader->active_count = 0;
	reader->longest = 0;
	scrub->busy_count--;
}

void scrub_reader_let_go(struct scrub *scrub, enum scrub_reading reading, uint32_t place)
{
	struct scrub_reader *reader = &scrub->readers[reading];

	if (reader->active_count == 0 || reader->longest > SCRUB_LET_GO)
		return;
	for (uint32_t i = 1; i <= reader->longest; i++)
		reader->starts[(reader->count - i) & scrub->words->ring_mask] = place;
}
