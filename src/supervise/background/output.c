/* SPDX-License-Identifier: Apache-2.0 */
/* The kept output of a command, stream by stream. */
#include "supervise/background/output.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/core/utf8.h"
#include "observe/kept_log.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Heads of frames are read many at a time; what a frame brings is read only when it is wanted. */
#define WINDOW ((size_t)64 << 10)
#define CHARACTER_MAX 4

struct reader {
	int fd;
	off_t size;
	char *window;
	off_t window_at;
	size_t window_len;
};

void output_done(struct output *output)
{
	str_done(&output->out.bytes);
	str_done(&output->err.bytes);
}

/* As many bytes as the window has from AT on, after filling it if they are none or few. */
static const char *look(struct reader *reader, off_t at, size_t *ret_len)
{
	off_t end = reader->window_at + (off_t)reader->window_len;

	if (at < reader->window_at || at + 64 > end) {
		ssize_t got = pread(reader->fd, reader->window, WINDOW, at);

		reader->window_at = at;
		reader->window_len = got > 0 ? (size_t)got : 0;
	}
	size_t skipped = (size_t)(at - reader->window_at);

	*ret_len = reader->window_len - skipped;
	return reader->window + skipped;
}

/* The part of COUNT bytes at AT, which begin at byte BEGIN of their stream, that belongs to the piece. */
static int take(const struct reader *reader, struct output_piece *piece, off_t at, uint64_t begin,
		size_t count)
{
	uint64_t wanted = piece->offset + piece->bytes.len;
	size_t room = OUTPUT_PIECE - piece->bytes.len, skip;
	char chunk[8192];

	if (begin + count <= wanted)
		return 0;
	if (room == 0) {
		piece->has_more = true;
		return 0;
	}
	skip = begin < wanted ? (size_t)(wanted - begin) : 0;
	count -= skip;
	piece->has_more |= count > room;
	count = count < room ? count : room;
	for (off_t from = at + (off_t)skip; count > 0;) {
		ssize_t got = pread(reader->fd, chunk,
				    count < sizeof(chunk) ? count : sizeof(chunk), from);

		if (got <= 0)
			return -1;
		str_add_bytes(&piece->bytes, chunk, (size_t)got);
		from += got;
		count -= (size_t)got;
	}
	return 0;
}

/* Length without a character at the end of which only the beginning is there. */
static size_t whole_length(const struct str *bytes)
{
	const char *data = str_cstr(bytes);

	for (size_t cut = 1; cut < CHARACTER_MAX && cut <= bytes->len; cut++) {
		unsigned char first = (unsigned char)data[bytes->len - cut];

		if ((first & 0xc0) == 0x80)
			continue;
		size_t needs = utf8_expected(first);

		return needs > cut && utf8_valid(data, bytes->len - cut) ? bytes->len - cut
									 : bytes->len;
	}
	return bytes->len;
}

static void finish(struct output_piece *piece, bool is_last)
{
	size_t whole = !is_last || piece->has_more ? whole_length(&piece->bytes) : piece->bytes.len;

	piece->held = piece->bytes.len - whole;
	str_truncate(&piece->bytes, whole);
	piece->offset += piece->bytes.len;
}

static int read_frames(struct reader *reader, struct output *output, struct error *err)
{
	uint64_t seen_out = 0, seen_err = 0;

	for (off_t at = 0; at < reader->size;) {
		struct kept_frame frame;
		size_t len, head_len = 0;
		const char *head = look(reader, at, &len);
		int got = kept_log_head(head, len, &frame, &head_len);

		if (got < 0)
			return error_set(err, ERROR_INPUT, "the kept output is damaged");
		off_t next = at + (off_t)head_len + (off_t)frame.len + 1;

		/* One that is being written right now. */
		if (got == 0 || next > reader->size)
			return 0;
		bool is_out = frame.stream == 'o';
		uint64_t *seen = is_out ? &seen_out : &seen_err;

		if (take(reader, is_out ? &output->out : &output->err, at + (off_t)head_len, *seen,
			 frame.len) < 0)
			return error_errno(err, ERROR_HOST, "the kept output");
		*seen += frame.len;
		at = next;
	}
	return 0;
}

int output_read_log(int fd, bool is_last, struct output *output, struct error *err)
{
	owned(free_ptr) char *window = xmalloc(WINDOW);
	struct reader reader = { .fd = fd, .window = window };
	struct stat st;
	int status;

	if (fstat(fd, &st) < 0)
		return error_errno(err, ERROR_HOST, "the kept output");
	reader.size = st.st_size;
	status = read_frames(&reader, output, err);
	finish(&output->out, is_last);
	finish(&output->err, is_last);
	return status;
}

int output_read(const char *state_dir, const char *id, bool is_last, struct output *output,
		struct error *err)
{
	owned(free_ptr) char *path = xasprintf("%s/logs/%.26s", state_dir, id);
	owned(fd_close) int fd = file_open(AT_FDCWD, path, O_NOFOLLOW, NULL);

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return error_errno(err, ERROR_HOST, "the kept output of %s", id);
	return output_read_log(fd, is_last, output, err) < 0 ? error_context(err, "%s", path) : 0;
}
