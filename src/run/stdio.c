/* SPDX-License-Identifier: Apache-2.0 */
/* The standard streams of a run: moving bytes between the caller and the payload. */
#include "run/stdio.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "run/log.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static void close_stream(struct stream *stream, bool is_shared)
{
	if (!is_shared)
		fd_close(&stream->from_fd);
	stream->from_fd = -1;
}

/* Counts, keeps and prepares for delivery what may be seen. */
static void pass(struct stdio *stdio, struct stream *stream, const char *bytes, size_t len)
{
	stream->captured->bytes += len;
	if (!stream->is_exact)
		run_log_add(stdio->log, stream->tag, bytes, len);
	if (stdio->capture) {
		size_t room = stream->captured->kept.len < stdio->keep_bytes
				      ? (size_t)(stdio->keep_bytes - stream->captured->kept.len)
				      : 0;

		str_add_bytes(&stream->captured->kept, bytes, len < room ? len : room);
	}
	if (stream->to_fd >= 0) {
		stream->pending = bytes;
		stream->start = 0;
		stream->end = len;
	}
}

/* The same without secrets; what may be the beginning of one stays back, unless nothing follows. */
static void pass_scrubbed(struct stdio *stdio, struct stream *stream, size_t len)
{
	str_clear(&stream->clean);
	if (len > 0)
		scrub_add(&stream->scrub, stream->buffer, len, &stream->clean);
	else
		scrub_end(&stream->scrub, &stream->clean);
	if (stream->clean.len > 0)
		pass(stdio, stream, stream->clean.data, stream->clean.len);
}

/* Takes what is there into the pending buffer. 0 at the end of the stream, -1 when nothing is ready. */
static ssize_t fill(struct stdio *stdio, struct stream *stream)
{
	ssize_t got = read(stream->from_fd, stream->buffer, STDIO_CHUNK);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return -1;
	/* A pty's master answers EIO when the last slave is closed. */
	if (got <= 0)
		close_stream(stream, stdio->use_pty && stream->tag == 'o' && stdio->io.tty[1]);
	if (stdio->words.count > 0 && !stream->is_exact)
		pass_scrubbed(stdio, stream, got > 0 ? (size_t)got : 0);
	else if (got > 0)
		pass(stdio, stream, stream->buffer, (size_t)got);
	return got > 0 ? got : 0;
}

/*
 * Writes without ever waiting, whatever poll reported a moment ago: both streams may share one pipe, also with other
 * processes. The caller's own flags are not ours to change. A terminal cannot be asked that way; there poll and a small
 * portion do.
 */
static ssize_t write_now(const struct stream *stream, const char *bytes, size_t len)
{
	struct iovec part = { .iov_len = len };
	ssize_t done;

	memcpy(&part.iov_base, &bytes, sizeof(bytes));
	if (!stream->to_may_block)
		return write(stream->to_fd, bytes, len);
	done = pwritev2(stream->to_fd, &part, 1, -1, RWF_NOWAIT);
	if (done >= 0 || errno != EOPNOTSUPP)
		return done;
	if (fd_wait(stream->to_fd, POLLOUT, 0) <= 0) {
		errno = EAGAIN;
		return -1;
	}
	return write(stream->to_fd, bytes, len < PIPE_BUF ? len : PIPE_BUF);
}

static void deliver(struct stdio *stdio, struct stream *stream)
{
	ssize_t done =
		write_now(stream, stream->pending + stream->start, stream->end - stream->start);

	if (done < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (done < 0) {
		/* No reader is left: the payload gets its SIGPIPE, as it would without us. */
		bool is_unread = errno == EPIPE || (errno == EIO && stream->to_may_block);

		stream->lost_errno = is_unread ? 0 : errno;
		stream->start = stream->end = 0;
		stream->to_fd = -1;
		if (!stdio->use_pty)
			close_stream(stream, false);
		return;
	}
	stream->start += (size_t)done;
}

static bool has_pending(const struct stream *stream)
{
	return stream->start < stream->end;
}

static size_t add_poll(struct pollfd *polls, size_t count, int fd, short events)
{
	polls[count] = (struct pollfd){ .fd = fd, .events = events };
	return count + 1;
}

size_t stdio_polls(const struct stdio *stdio, struct pollfd *polls)
{
	const struct stream *streams[] = { &stdio->out, &stdio->err };
	size_t count = 0;

	for (size_t i = 0; i < 2; i++) {
		if (has_pending(streams[i]))
			count = add_poll(polls, count, streams[i]->to_fd, POLLOUT);
		else if (streams[i]->from_fd >= 0)
			count = add_poll(polls, count, streams[i]->from_fd, POLLIN);
	}
	return count + feed_poll(&stdio->feed, &polls[count]);
}

uint64_t stdio_next_look_ns(const struct stdio *stdio)
{
	return feed_next_look_ns(&stdio->feed);
}

static bool is_ready(const struct pollfd *polls, size_t count, int fd, short events)
{
	for (size_t i = 0; i < count; i++) {
		if (polls[i].fd == fd && (polls[i].events & events))
			return polls[i].revents != 0;
	}
	return false;
}

static void move_stream(struct stdio *stdio, struct stream *stream, const struct pollfd *polls,
			size_t count)
{
	if (has_pending(stream)) {
		if (is_ready(polls, count, stream->to_fd, POLLOUT))
			deliver(stdio, stream);
		return;
	}
	if (stream->from_fd >= 0 && is_ready(polls, count, stream->from_fd, POLLIN))
		(void)fill(stdio, stream);
}

void stdio_move(struct stdio *stdio, const struct pollfd *polls, size_t count, uint64_t now_ns)
{
	struct pollfd wanted;
	bool is_fed = feed_poll(&stdio->feed, &wanted) &&
		      is_ready(polls, count, wanted.fd, wanted.events);

	move_stream(stdio, &stdio->out, polls, count);
	move_stream(stdio, &stdio->err, polls, count);
	feed_move(&stdio->feed, is_fed, now_ns);
}

struct patience {
	int milliseconds; /* -1: without end */
	int cancel_fd;
};

/* The run is over: waiting for the caller's reader is all that is left to do. */
static void flush(struct stdio *stdio, struct stream *stream, const struct patience *patience)
{
	while (has_pending(stream)) {
		struct pollfd polls[] = { { .fd = stream->to_fd, .events = POLLOUT },
					  { .fd = patience->cancel_fd, .events = POLLIN } };
		int count = poll(polls, 2, patience->milliseconds);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0 || polls[1].revents) {
			/* No reader is left: the rest is dropped. */
			stream->start = stream->end = 0;
			stream->to_fd = -1;
			return;
		}
		deliver(stdio, stream);
	}
}

static void drain(struct stdio *stdio, struct stream *stream, const struct patience *patience)
{
	flush(stdio, stream, patience);
	while (stream->from_fd >= 0 && fill(stdio, stream) > 0)
		flush(stdio, stream, patience);
	/*
	 * At its end fill() let go what was held back, into the buffer that pass_scrubbed() clears: write it out first.
	 */
	flush(stdio, stream, patience);
	/*
	 * No process can write to the stream any more, or its writers are not waited for: what was held back was no
	 * secret.
	 */
	if (stdio->words.count > 0) {
		pass_scrubbed(stdio, stream, 0);
		flush(stdio, stream, patience);
	}
}

void stdio_finish(struct stdio *stdio, int patience_ms, int cancel_fd)
{
	struct patience patience = { patience_ms, cancel_fd };

	drain(stdio, &stdio->out, &patience);
	drain(stdio, &stdio->err, &patience);
	feed_close(&stdio->feed);
	if (stdio->has_saved_terminal)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &stdio->saved_terminal);
	stdio->has_saved_terminal = false;
}

static void free_stream(struct stream *stream)
{
	free_ptr(&stream->buffer);
	str_done(&stream->clean);
	scrub_done(&stream->scrub);
}

void stdio_close(struct stdio *stdio)
{
	for (int i = 0; i < 3; i++)
		fd_close(&stdio->child_fds[i]);
	close_stream(&stdio->out, stdio->use_pty && stdio->io.tty[1]);
	close_stream(&stdio->err, false);
	feed_close(&stdio->feed);
	free_stream(&stdio->out);
	free_stream(&stdio->err);
	scrub_words_done(&stdio->words);
}
