/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a command as bytes: kind, status, counts, the length of the first tail, both tails. */
#include "envd/note.h"

#include "base/core/own.h"

#include <string.h>

#define HEAD_SIZE 29

static void put(struct str *out, uint64_t value, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		str_add_char(out, (char)(value >> (8 * i)));
}

static uint64_t get(const char *at, unsigned size)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < size; i++)
		value |= (uint64_t)(unsigned char)at[i] << (8 * i);
	return value;
}

void note_done(struct note *note)
{
	str_done(&note->tail[0]);
	str_done(&note->tail[1]);
}

void note_add(struct note *note, unsigned which, const char *bytes, size_t len)
{
	struct str *tail = &note->tail[which];

	note->bytes[which] += len;
	if (len > NOTE_TAIL_MAX) {
		bytes += len - NOTE_TAIL_MAX;
		len = NOTE_TAIL_MAX;
	}
	/* Twice as much is kept before it is cut: each byte is moved once. */
	str_add_bytes(tail, bytes, len);
	if (tail->len > 2 * NOTE_TAIL_MAX)
		str_drop_front(tail, tail->len - NOTE_TAIL_MAX);
}

void note_write(const struct note *note, struct str *out)
{
	size_t len[2], from[2];

	for (unsigned i = 0; i < 2; i++) {
		len[i] = note->tail[i].len < NOTE_TAIL_MAX ? note->tail[i].len : NOTE_TAIL_MAX;
		from[i] = note->tail[i].len - len[i];
	}
	str_add_char(out, (char)note->kind);
	put(out, (uint32_t)note->status, 4);
	put(out, note->bytes[0], 8);
	put(out, note->bytes[1], 8);
	put(out, len[0], 4);
	put(out, len[1], 4);
	for (unsigned i = 0; i < 2; i++) {
		if (len[i] > 0)
			str_add_bytes(out, note->tail[i].data + from[i], len[i]);
	}
}

bool note_read(const char *bytes, size_t len, struct note *ret_note)
{
	*ret_note = (struct note){ .kind = NOTE_ENDED };
	if (len < HEAD_SIZE || !bytes[0] || !strchr("elkf", bytes[0]))
		return false;
	uint64_t first = get(bytes + 21, 4), second = get(bytes + 25, 4);

	if (first > NOTE_TAIL_MAX || second > NOTE_TAIL_MAX || len != HEAD_SIZE + first + second)
		return false;
	ret_note->kind = (enum note_kind)bytes[0];
	ret_note->status = (int)(uint32_t)get(bytes + 1, 4);
	ret_note->bytes[0] = get(bytes + 5, 8);
	ret_note->bytes[1] = get(bytes + 13, 8);
	str_add_bytes(&ret_note->tail[0], bytes + HEAD_SIZE, first);
	str_add_bytes(&ret_note->tail[1], bytes + HEAD_SIZE + first, second);
	return true;
}
