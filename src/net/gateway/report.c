/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between the gateway and its supervisor. */
#include "net/gateway/report.h"

#include "base/core/clock.h"
#include "base/file/fd.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

bool net_denial_settles(const struct net_denial *denial, const char *address)
{
	return !denial->port || strcmp(denial->address, address) == 0;
}

int net_report_send(int fd, const struct net_report *report)
{
	return send(fd, report, sizeof(*report), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -1 : 0;
}

/* The gateway reads what hostile peers send: its words are taken with care. */
static bool ends(const char *text, size_t size)
{
	return memchr(text, '\0', size);
}

static bool is_sound(const struct net_report *report)
{
	const struct net_denial *denial = &report->denial;

	switch (report->kind) {
	case NET_REPORT_COUNTS:
	case NET_REPORT_READY:
		return true;
	case NET_REPORT_FAILED:
		return error_is_sane(&report->error);
	case NET_REPORT_DENIAL:
		return ends(denial->layer, sizeof(denial->layer)) &&
		       ends(denial->what, sizeof(denial->what)) &&
		       ends(denial->rule, sizeof(denial->rule)) &&
		       ends(denial->hint, sizeof(denial->hint)) &&
		       ends(denial->name, sizeof(denial->name)) &&
		       ends(denial->address, sizeof(denial->address));
	}
	return false;
}

int net_report_receive(int fd, struct net_report *ret_report)
{
	ssize_t got = recv(fd, ret_report, sizeof(*ret_report), MSG_DONTWAIT);

	if (got <= 0)
		return got < 0 && errno != ECONNRESET ? -1 : 0;
	if ((size_t)got == sizeof(*ret_report) && is_sound(ret_report))
		return 1;
	errno = EBADMSG;
	return -1;
}

int net_order_send(int fd, const struct net_order *order, const int *fds, size_t count)
{
	return fd_send(fd, order, sizeof(*order), fds, count);
}

int net_order_receive(int fd, struct net_order *ret_order, int *ret_fds, size_t *ret_count)
{
	ssize_t got =
		fd_receive(fd, ret_order, sizeof(*ret_order), ret_fds, INSIDE_BATCH, ret_count);

	if (got <= 0)
		return (int)got;
	if ((size_t)got == sizeof(*ret_order) && ends(ret_order->rule, sizeof(ret_order->rule)))
		return 1;
	while (*ret_count > 0)
		close(ret_fds[--*ret_count]);
	errno = EBADMSG;
	return -1;
}

int net_report_ask(int fd, uint64_t *ret_asked_ns)
{
	const struct net_order order = { .kind = NET_ORDER_COUNTS, .asked_ns = clock_now_ns() };

	*ret_asked_ns = order.asked_ns;
	return send(fd, &order, sizeof(order), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -1 : 0;
}
