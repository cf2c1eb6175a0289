/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes what the E2B agent and its server read: forms and frames are the same however their bytes are cut. */
#include "base/core/own.h"
#include "envd/link.h"
#include "envd/multipart.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool begin(void *cookie, const char *name)
{
	str_addf(cookie, "<%s>", name);
	return true;
}

static bool part(void *cookie, const char *bytes, size_t len)
{
	str_add_bytes(cookie, bytes, len);
	return true;
}

static bool end(void *cookie)
{
	str_add(cookie, "</>");
	return true;
}

static void read_form(const uint8_t *data, size_t size, size_t step, struct str *seen)
{
	struct multipart form;
	bool is_good = true;

	if (!multipart_init(&form, "multipart/form-data; boundary=b"))
		abort();
	form.begin = begin;
	form.part = part;
	form.end = end;
	form.cookie = seen;
	for (size_t at = 0; at < size && is_good; at += step)
		is_good = multipart_take(&form, (const char *)data + at,
					 size - at < step ? size - at : step);
	/* How much of a content without an end was passed on depends on the cuts. */
	if (!is_good || form.state != MULTIPART_OVER)
		str_clear(seen);
	multipart_done(&form);
}

static void read_frames(const uint8_t *data, size_t size, size_t step, struct str *seen)
{
	struct link link = LINK_INIT;
	struct link_frame frame;
	int more = 0;

	for (size_t at = 0; at < size && more >= 0; at += step) {
		str_add_bytes(&link.in, data + at, size - at < step ? size - at : step);
		while ((more = link_next(&link, &frame)) > 0) {
			if (frame.len > LINK_DATA_MAX || link_credit_of(&frame) > UINT32_MAX)
				abort();
			str_addf(seen, "%c%u:", (int)frame.kind, frame.channel);
			str_add_bytes(seen, frame.bytes, frame.len);
		}
	}
	link_done(&link);
}

static void compare(void (*reads)(const uint8_t *, size_t, size_t, struct str *),
		    const uint8_t *data, size_t size)
{
	owned(str_done) struct str whole = STR_INIT, parts = STR_INIT;

	reads(data, size, size ? size : 1, &whole);
	reads(data, size, 3, &parts);
	if (whole.len != parts.len || (whole.len && memcmp(whole.data, parts.data, whole.len) != 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	compare(read_form, data, size);
	compare(read_frames, data, size);
	return 0;
}
