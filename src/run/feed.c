/* SPDX-License-Identifier: Apache-2.0 */
/* The payload's standard input, from a caller's descriptor that the payload never gets. */
#include "run/feed.h"

#include "base/core/own.h"
#include "base/core/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHUNK 65536
/* How often a payload that has input waiting is looked at: quickly at first, seldom when it does not care. */
#define PAUSE_MIN_NS 100000u
#define PAUSE_MAX_NS 32000000u

void feed_init(struct feed *feed)
{
	*feed = (struct feed){ .kind = FEED_NOTHING, .from_fd = -1, .to_fd = -1, .look_fd = -1 };
}

int feed_open(struct feed *feed, enum feed_kind kind, int from_fd, int *ret_child_fd,
	      struct error *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_errno(err, ERROR_HOST, "pipe");
	(void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
	*feed = (struct feed){ .kind = kind,
			       .from_fd = from_fd,
			       .to_fd = ends[1],
			       .owns_to = true,
			       .pause_ns = PAUSE_MIN_NS };
	feed->look_fd = fcntl(ends[0], F_DUPFD_CLOEXEC, 3);
	feed->buffer = xmalloc(CHUNK);
	if (kind == FEED_FILE)
		feed->offset = lseek(from_fd, 0, SEEK_CUR);
	*ret_child_fd = ends[0];
	return 0;
}

void feed_open_terminal(struct feed *feed, int from_fd, int master_fd)
{
	feed_init(feed);
	feed->kind = FEED_DEVICE;
	feed->from_fd = from_fd;
	feed->to_fd = master_fd;
	feed->buffer = xmalloc(CHUNK);
}

static void pass_end(struct feed *feed)
{
	if (feed->owns_to)
		fd_close(&feed->to_fd);
	feed->to_fd = -1;
}

/* Takes COUNT bytes from the caller's stream that the payload has read from ours. They are there: we saw them. */
static void consume(struct feed *feed, size_t count)
{
	while (count > 0) {
		ssize_t got;

		if (feed->kind == FEED_SOCKET) {
			got = recv(feed->from_fd, feed->buffer, count < CHUNK ? count : CHUNK,
				   MSG_DONTWAIT);
		} else {
			owned(fd_close) int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

			/* Unlike read it never waits, should another reader have been quicker. */
			got = splice(feed->from_fd, NULL, nowhere, NULL, count, SPLICE_F_NONBLOCK);
		}
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return;
		count -= (size_t)got;
	}
}

/* Looks how much of what was offered is still there, and consumes the difference. Whether there was any. */
static bool settle(struct feed *feed)
{
	int left = 0;

	if (feed->offered == 0 || ioctl(feed->look_fd, FIONREAD, &left) < 0)
		return false;
	/* A payload can write into its own input; what it adds is not the caller's. */
	size_t taken = (size_t)left < feed->offered ? feed->offered - (size_t)left : 0;

	feed->offered -= taken;
	if (feed->kind == FEED_FILE)
		feed->offset += (off_t)taken;
	else if (taken > 0)
		consume(feed, taken);
	return taken > 0;
}

/* Copies what can be seen without taking it. Bytes, 0 at the end, -1 when there is nothing now. */
static ssize_t offer(struct feed *feed)
{
	ssize_t seen, put;

	if (feed->kind == FEED_PIPE)
		return tee(feed->from_fd, feed->to_fd, CHUNK, SPLICE_F_NONBLOCK);
	if (feed->kind == FEED_SOCKET)
		seen = recv(feed->from_fd, feed->buffer, CHUNK, MSG_PEEK | MSG_DONTWAIT);
	else
		seen = pread(feed->from_fd, feed->buffer, CHUNK,
			     feed->offset + (off_t)feed->offered);
	if (seen <= 0)
		return seen;
	put = write(feed->to_fd, feed->buffer, (size_t)seen);
	return put < 0 ? -1 : put;
}

static void offer_more(struct feed *feed)
{
	ssize_t count = offer(feed);

	if (count > 0)
		feed->offered += (size_t)count;
	else if (count == 0 || (errno != EAGAIN && errno != EINTR))
		pass_end(feed);
}

static void move_device(struct feed *feed)
{
	ssize_t got;

	if (feed->start < feed->end) {
		got = write(feed->to_fd, feed->buffer + feed->start, feed->end - feed->start);
		if (got > 0)
			feed->start += (size_t)got;
		else if (got < 0 && errno != EAGAIN && errno != EINTR)
			pass_end(feed);
		return;
	}
	got = read(feed->from_fd, feed->buffer, CHUNK);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	feed->start = 0;
	feed->end = got > 0 ? (size_t)got : 0;
	if (got <= 0)
		pass_end(feed);
}

/* Pipes and sockets are offered again only when all of the last offer was taken: it always begins at their head. */
static bool may_offer(const struct feed *feed)
{
	return feed->kind == FEED_FILE ? feed->offered < CHUNK : feed->offered == 0;
}

bool feed_poll(const struct feed *feed, struct pollfd *ret_poll)
{
	bool is_waiting = feed->kind == FEED_DEVICE && feed->start < feed->end;

	if (feed->kind == FEED_NOTHING || feed->to_fd < 0)
		return false;
	if (feed->kind != FEED_DEVICE && !may_offer(feed))
		return false;
	*ret_poll = (struct pollfd){ .fd = is_waiting ? feed->to_fd : feed->from_fd,
				     .events = is_waiting ? POLLOUT : POLLIN };
	return true;
}

uint64_t feed_next_look_ns(const struct feed *feed)
{
	return feed->next_look_ns;
}

static void look(struct feed *feed, uint64_t now_ns)
{
	if (settle(feed))
		feed->pause_ns = PAUSE_MIN_NS;
	else if (feed->pause_ns < PAUSE_MAX_NS)
		feed->pause_ns *= 2;
	feed->next_look_ns = now_ns + feed->pause_ns;
}

void feed_move(struct feed *feed, bool ready, uint64_t now_ns)
{
	if (feed->kind == FEED_NOTHING || feed->to_fd < 0) {
		feed->next_look_ns = 0;
		return;
	}
	if (feed->kind == FEED_DEVICE) {
		if (ready)
			move_device(feed);
		return;
	}
	if (feed->next_look_ns && now_ns >= feed->next_look_ns)
		look(feed, now_ns);
	if (ready && may_offer(feed))
		offer_more(feed);
	if (feed->offered == 0)
		feed->next_look_ns = 0;
	else if (!feed->next_look_ns)
		feed->next_look_ns = now_ns + feed->pause_ns;
}

void feed_close(struct feed *feed)
{
	if (feed->kind != FEED_NOTHING && feed->kind != FEED_DEVICE)
		(void)settle(feed);
	if (feed->kind == FEED_FILE && feed->offset >= 0)
		(void)lseek(feed->from_fd, feed->offset, SEEK_SET);
	pass_end(feed);
	fd_close(&feed->look_fd);
	free(feed->buffer);
	feed_init(feed);
}
