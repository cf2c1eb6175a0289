/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent waits for. */
#include "envd/loop.h"

#include "base/core/own.h"

#include <sys/epoll.h>

int loop_open(void)
{
	return epoll_create1(EPOLL_CLOEXEC);
}

void loop_watch(struct source *source, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = source };
	int how = events == 0 ? EPOLL_CTL_DEL : source->events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;

	if (source->fd < 0 || source->events == events)
		return;
	if (epoll_ctl(source->loop_fd, how, source->fd, &event) == 0)
		source->events = events;
}

void loop_drop(struct source *source)
{
	loop_watch(source, 0);
	fd_close(&source->fd);
}

void loop_wait(int loop_fd, int ms)
{
	struct epoll_event event;

	/* One at a time: what was dropped meanwhile cannot be among the rest. */
	if (epoll_wait(loop_fd, &event, 1, ms) == 1) {
		struct source *source = event.data.ptr;

		source->ready(source, event.events);
	}
}
