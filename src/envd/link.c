/* SPDX-License-Identifier: Apache-2.0 */
/* The frames between the E2B server and its agent in a sandbox. */
#include "envd/link.h"

#include "base/core/own.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void put_u32(unsigned char *at, uint32_t value)
{
	for (unsigned i = 0; i < 4; i++)
		at[i] = (unsigned char)(value >> (8 * i));
}

static uint32_t get_u32(const char *at)
{
	const unsigned char *bytes = (const unsigned char *)at;

	return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
	       (uint32_t)bytes[3] << 24;
}

void link_done(struct link *link)
{
	fd_close(&link->in_fd);
	fd_close(&link->out_fd);
	str_done(&link->in);
	str_done(&link->out);
	link->in_at = link->out_at = 0;
}

void link_add(struct link *link, enum link_kind kind, uint32_t channel, const void *bytes,
	      size_t len)
{
	unsigned char head[LINK_HEAD_SIZE] = { (unsigned char)kind };

	put_u32(head + 1, channel);
	put_u32(head + 5, (uint32_t)len);
	str_add_bytes(&link->out, head, sizeof(head));
	str_add_bytes(&link->out, bytes, len);
}

void link_add_credit(struct link *link, uint32_t channel, size_t len)
{
	unsigned char bytes[4];

	put_u32(bytes, (uint32_t)len);
	link_add(link, LINK_CREDIT, channel, bytes, sizeof(bytes));
}

size_t link_credit_of(const struct link_frame *frame)
{
	return frame->len == 4 ? get_u32(frame->bytes) : 0;
}

size_t link_waiting(const struct link *link)
{
	return link->out.len - link->out_at;
}

int link_write(struct link *link)
{
	while (link_waiting(link) > 0) {
		ssize_t done =
			write(link->out_fd, link->out.data + link->out_at, link_waiting(link));

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return errno == EAGAIN ? 0 : -1;
		str_pass(&link->out, &link->out_at, (size_t)done);
	}
	return 0;
}

int link_read(struct link *link)
{
	char bytes[LINK_DATA_MAX];
	ssize_t got;

	do
		got = read(link->in_fd, bytes, sizeof(bytes));
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return errno == EAGAIN ? 0 : -1;
	if (got == 0)
		return -1;
	str_add_bytes(&link->in, bytes, (size_t)got);
	return 1;
}

int link_next(struct link *link, struct link_frame *ret_frame)
{
	str_pass(&link->in, &link->in_at, 0);
	size_t left = link->in.len - link->in_at;

	if (left < LINK_HEAD_SIZE)
		return 0;
	const char *head = link->in.data + link->in_at;
	size_t len = get_u32(head + 5);

	if (len > LINK_DATA_MAX || !strchr("ODECAHR", head[0]) || !head[0])
		return -1;
	if (left < LINK_HEAD_SIZE + len)
		return 0;
	*ret_frame = (struct link_frame){ .kind = (enum link_kind)head[0],
					  .channel = get_u32(head + 1),
					  .bytes = head + LINK_HEAD_SIZE,
					  .len = len };
	link->in_at += LINK_HEAD_SIZE + len;
	return 1;
}
