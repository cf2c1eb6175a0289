/* SPDX-License-Identifier: Apache-2.0 */
/* Blobs out of git's store, many at a call: a process for each would be most of the work. */
#include "app/git/git.h"

#include "base/core/own.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of one call; git's output is taken up to somewhat more. All of it is in memory. */
#define CALL_BLOBS 64
#define CALL_BYTES ((uint64_t)60 << 20)
#define NOT_TAKEN UINT64_MAX
/* "NAME blob SIZE" */
#define HEAD_MAX 128

struct asking {
	const struct git *git;
	const struct strv *names;
	void (*take)(void *cookie, size_t index, const char *bytes, size_t len);
	void *cookie;
};

/* The answer that begins at AT: whether it is a blob, where its bytes begin, how many they are. */
static bool read_head(const struct str *out, size_t at, size_t *ret_start, size_t *ret_size)
{
	const char *from = out->data + at;
	const char *line_end = memchr(from, '\n', out->len - at);
	size_t len = line_end ? (size_t)(line_end - from) : out->len - at;
	char head[HEAD_MAX];
	uint64_t size;

	*ret_start = at + len + (line_end ? 1 : 0);
	*ret_size = 0;
	if (len >= sizeof(head))
		return false;
	memcpy(head, from, len);
	head[len] = '\0';
	if (sscanf(head, "%*64[0-9a-f] blob %" SCNu64, &size) != 1)
		return false;
	*ret_size = size;
	return true;
}

static void take_answers(const struct asking *asking, size_t from, size_t count, struct str *out)
{
	size_t at = 0, start, size;

	for (size_t i = 0; i < count && at < out->len; i++) {
		bool is_blob = read_head(out, at, &start, &size);

		/* Newlines were taken off the end of all, which the size gives back. */
		while (is_blob && i + 1 == count && out->len < start + size)
			str_add_char(out, '\n');
		if (size > out->len - start)
			return;
		if (is_blob)
			asking->take(asking->cookie, from + i, out->data + start, size);
		at = start + size + (is_blob ? 1 : 0);
	}
}

/* The output of `git cat-file HOW` for COUNT of the names. */
static int ask(const struct asking *asking, const char *how, size_t from, size_t count,
	       struct str *ret_out)
{
	const char *const words[] = { "cat-file", how, NULL };
	owned(str_done) struct str lines = STR_INIT;
	struct error ignored = { 0 };

	for (size_t i = 0; i < count; i++)
		str_addf(&lines, "%s\n", asking->names->items[from + i]);
	const struct git_call call = { .words = words,
				       .input = lines.data,
				       .input_len = lines.len };

	return git_run(asking->git, &call, ret_out, &ignored);
}

static void ask_for(const struct asking *asking, size_t from, size_t count)
{
	owned(str_done) struct str out = STR_INIT;

	if (ask(asking, "--batch", from, count, &out) == 0)
		take_answers(asking, from, count, &out);
	/* One that is broken ends the answer. */
	else if (count > 1)
		for (size_t i = 0; i < count; i++)
			ask_for(asking, from + i, 1);
}

/* The bytes of each; NOT_TAKEN for what is no blob, is not there, or is larger than an answer may be. */
static void measure(const struct asking *asking, uint64_t *ret_sizes)
{
	owned(str_done) struct str out = STR_INIT;
	size_t count = asking->names->count, at = 0, size;

	for (size_t i = 0; i < count; i++)
		ret_sizes[i] = NOT_TAKEN;
	if (count == 0 || ask(asking, "--batch-check", 0, count, &out) < 0)
		return;
	for (size_t i = 0; i < count && at < out.len; i++)
		if (read_head(&out, at, &at, &size) && size <= CALL_BYTES)
			ret_sizes[i] = size;
}

void git_read_blobs(const struct git *git, const struct strv *names,
		    void (*take)(void *cookie, size_t index, const char *bytes, size_t len),
		    void *cookie)
{
	const struct asking asking = { .git = git, .names = names, .take = take, .cookie = cookie };
	uint64_t *sizes = xcalloc(names->count + 1, sizeof(uint64_t));

	measure(&asking, sizes);
	for (size_t from = 0, count; from < names->count; from += count ? count : 1) {
		uint64_t bytes = 0;

		for (count = 0; from + count < names->count && count < CALL_BLOBS; count++) {
			uint64_t size = sizes[from + count];

			if (size == NOT_TAKEN || (count > 0 && size > CALL_BYTES - bytes))
				break;
			bytes += size;
		}
		if (count > 0)
			ask_for(&asking, from, count);
	}
	free(sizes);
}
