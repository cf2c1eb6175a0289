/* SPDX-License-Identifier: Apache-2.0 */
/* Taking a runner's reports. */
#include "driver/wasm/intake.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void intake_init(struct intake *intake, const struct wasm_places *places, const char *key,
		 bool wants_compiled)
{
	*intake = (struct intake){ .data_dir = places->data_dir,
				   .cache_dir = places->cache_dir,
				   .wants_compiled = wants_compiled,
				   .draft = WASM_DRAFT_INIT };
	memcpy(intake->key, key, strlen(key) + 1);
}

static size_t least(uint64_t a, size_t b)
{
	return a < b ? (size_t)a : b;
}

/* A head is whole: is it one that may come now? */
static void take_head(struct intake *intake)
{
	const struct wasm_report *head = &intake->current;
	struct error ignored;

	intake->left = head->length;
	if (head->kind == WASM_REPORT_COMPILED && intake->wants_compiled && head->length > 0 &&
	    head->length <= WASM_COMPILED_MAX) {
		intake->wants_compiled = false;
		/* Without a place to keep it, it is compiled again the next time. */
		if (wasm_draft_start(&intake->draft, intake->cache_dir, &ignored) < 0)
			wasm_draft_drop(&intake->draft);
		return;
	}
	if (head->kind == WASM_REPORT_END && head->length <= WASM_REPORT_TEXT_MAX) {
		intake->end = *head;
		return;
	}
	intake->is_closed = true;
}

static void take_body(struct intake *intake, const char *bytes, size_t len)
{
	struct error ignored;

	if (intake->current.kind == WASM_REPORT_END)
		memcpy(intake->text + (intake->current.length - intake->left), bytes, len);
	else if (intake->draft.fd >= 0 && wasm_draft_add(&intake->draft, bytes, len, &ignored) < 0)
		wasm_draft_drop(&intake->draft);
	intake->left -= len;
}

static void finish(struct intake *intake)
{
	struct seal_key key;
	struct error ignored;

	intake->have = 0;
	if (intake->current.kind == WASM_REPORT_END) {
		intake->text[intake->current.length] = '\0';
		intake->has_end = intake->is_closed = true;
		return;
	}
	if (intake->draft.fd >= 0 && seal_key_read(intake->data_dir, &key, &ignored) == 0)
		(void)wasm_draft_finish(&intake->draft, intake->key, &key, &ignored);
	wasm_draft_drop(&intake->draft);
}

void intake_take(struct intake *intake, const void *bytes, size_t len)
{
	const char *at = bytes;

	while (len > 0 && !intake->is_closed) {
		size_t part = 0;

		if (intake->have < sizeof(intake->current)) {
			part = least(sizeof(intake->current) - intake->have, len);
			memcpy((char *)&intake->current + intake->have, at, part);
			intake->have += part;
			if (intake->have == sizeof(intake->current))
				take_head(intake);
		} else {
			part = least(intake->left, len);
			take_body(intake, at, part);
		}
		at += part;
		len -= part;
		if (intake->have == sizeof(intake->current) && intake->left == 0 &&
		    !intake->is_closed)
			finish(intake);
	}
}

int intake_read(struct intake *intake, int fd)
{
	char buffer[65536];

	for (;;) {
		ssize_t got = fd < 0 ? 0 : read(fd, buffer, sizeof(buffer));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno == EAGAIN ? 1 : -1;
		if (got == 0)
			return 0;
		intake_take(intake, buffer, (size_t)got);
		/* After its end, or after malformed input, it is not read any further. */
		if (intake->is_closed)
			return 0;
	}
}

void intake_done(struct intake *intake)
{
	wasm_draft_drop(&intake->draft);
}
