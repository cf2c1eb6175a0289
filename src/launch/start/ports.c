/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listeners for ports that rules name only later. A process of its own enters the sandbox's network for that, and ends: no
 * lasting process is ever in both networks.
 */
#include "launch/launch.h"

#include "base/process/child.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "net/inside/inside.h"
#include "net/gateway/report.h"

#include <errno.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* It makes sockets and sends them: longer than this only something broken takes. */
#define SECONDS_MAX 10

/* As its owner: a plain user may do nothing in the network from outside its user namespace. */
static int enter_network(int network_fd)
{
	owned(fd_close) int user_fd = ioctl(network_fd, NS_GET_USERNS);

	if (user_fd < 0 || setns(user_fd, CLONE_NEWUSER) < 0)
		return -1;
	return setns(network_fd, CLONE_NEWNET);
}

static int open_batch(const struct launch *launch, const struct net_port *ports, size_t count)
{
	struct net_order order = { .kind = NET_ORDER_SOCKETS };
	int fds[INSIDE_BATCH];
	size_t opened = 0;
	int status = -1, saved;

	for (; opened < count; opened++) {
		const struct net_port *port = &ports[opened];

		if (inside_open_port(port->is_udp, port->number, &fds[opened]) < 0)
			break;
		order.sockets[opened].kind = port->is_udp ? INSIDE_UDP : INSIDE_TCP;
		order.sockets[opened].port = port->number;
	}
	if (opened == count)
		status = net_order_send(launch->gateway_fd, &order, fds, count);
	saved = errno;
	while (opened > 0)
		close(fds[--opened]);
	errno = saved;
	return status;
}

/* Its exit status is the error's number. */
static _Noreturn void opener_main(const struct launch *launch, const struct net_port *ports,
				  size_t count)
{
	(void)alarm(SECONDS_MAX);
	if (enter_network(launch->network_fd) < 0)
		_exit(errno);
	for (size_t at = 0; at < count; at += INSIDE_BATCH) {
		size_t some = count - at < INSIDE_BATCH ? count - at : INSIDE_BATCH;

		if (open_batch(launch, ports + at, some) < 0)
			_exit(errno);
	}
	_exit(0);
}

int launch_open_ports(const struct launch *launch, const struct net_port *ports, size_t count,
		      struct error *err)
{
	int status;
	pid_t pid;

	if (count == 0)
		return 0;
	pid = child_fork(CHILD_ALONE, 0, NULL, err);
	if (pid == 0)
		opener_main(launch, ports, count);
	if (pid < 0)
		return -1;
	status = child_wait(pid);
	if (status == 0)
		return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == EADDRINUSE)
		return error_advise(err, ERROR_CONFLICT, "end it first",
				    "a server inside listens on a port of that rule (from %u on)",
				    ports[0].number);
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
	return error_errno(err, ERROR_HOST, "network: no listener on port %u", ports[0].number);
}
