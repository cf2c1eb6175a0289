/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox's own network namespace: loopback up, no route, nothing else. */
#include "confine/network.h"

#include "base/core/own.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

int network_isolate(void)
{
	struct ifreq request;

	if (unshare(CLONE_NEWNET) < 0)
		return -1;
	owned(fd_close) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	memset(&request, 0, sizeof(request));
	memcpy(request.ifr_name, "lo", 3);
	request.ifr_flags = IFF_UP | IFF_RUNNING;
	return ioctl(fd, SIOCSIFFLAGS, &request);
}

int network_open(int proc_fd)
{
	return openat(proc_fd, "self/ns/net", O_RDONLY | O_CLOEXEC);
}
