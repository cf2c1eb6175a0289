/* SPDX-License-Identifier: Apache-2.0 */
/* Information leaks: sockets, shared memory, processes and keys of the host (A055, A061, A065). */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static long connect_unix(const char *path, size_t len, int type)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	long rc;
	int saved;

	if (fd < 0 || len > sizeof(address.sun_path))
		return -1;
	memcpy(address.sun_path, path, len);
	rc = connect(fd, (void *)&address,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
	saved = errno;
	close(fd);
	errno = saved;
	return rc;
}

/* A061: connects to each path of ARGV as stream, datagram and packet socket, also by way of /proc/self/root. */
int attack_sockets(int argc, char **argv)
{
	char name[512], path[108];

	for (int i = 0; i < argc; i++) {
		snprintf(name, sizeof(name), "stream:%s", argv[i]);
		report(name, connect_unix(argv[i], strlen(argv[i]) + 1, SOCK_STREAM));
		snprintf(name, sizeof(name), "dgram:%s", argv[i]);
		report(name, connect_unix(argv[i], strlen(argv[i]) + 1, SOCK_DGRAM));
		if (snprintf(path, sizeof(path), "/proc/self/root%s", argv[i]) <
		    (int)sizeof(path)) {
			snprintf(name, sizeof(name), "root:%s", argv[i]);
			report(name, connect_unix(path, strlen(path) + 1, SOCK_STREAM));
		}
	}
	return 0;
}

/* G9: names in the abstract space of the host. */
int attack_abstract(int argc, char **argv)
{
	char path[108];

	for (int i = 0; i < argc; i++) {
		path[0] = '\0';
		memcpy(path + 1, argv[i], strlen(argv[i]));
		report(argv[i], connect_unix(path, strlen(argv[i]) + 1, SOCK_STREAM));
	}
	return 0;
}

/* A065: ARGV: key of SysV objects as a number, name of POSIX objects. */
int attack_sysv(int argc, char **argv)
{
	key_t key;

	if (argc < 2)
		return 2;
	key = atoi(argv[0]);
	report("shmget", shmget(key, 0, 0));
	report("semget", semget(key, 0, 0));
	report("msgget", msgget(key, 0));
	report("shm_open", shm_open(argv[1], O_RDONLY, 0));
	report("mq_open", mq_open(argv[1], O_RDONLY));
	return 0;
}

static long act_kill(void *arg)
{
	return kill(*(pid_t *)arg, 0);
}

static long act_pidfd(void *arg)
{
	return syscall(SYS_pidfd_open, *(pid_t *)arg, 0);
}

static long act_priority(void *arg)
{
	return syscall(SYS_getpriority, 0, *(pid_t *)arg);
}

static long act_sid(void *arg)
{
	return getsid(*(pid_t *)arg);
}

/* A055: each pid of ARGV is one of the host. */
int attack_signal_host(int argc, char **argv)
{
	char name[64];

	for (int i = 0; i < argc; i++) {
		pid_t pid = atoi(argv[i]);

		snprintf(name, sizeof(name), "kill-%d", (int)pid);
		attempt(name, act_kill, &pid);
		snprintf(name, sizeof(name), "pidfd-%d", (int)pid);
		attempt(name, act_pidfd, &pid);
		snprintf(name, sizeof(name), "priority-%d", (int)pid);
		attempt(name, act_priority, &pid);
		snprintf(name, sizeof(name), "sid-%d", (int)pid);
		attempt(name, act_sid, &pid);
	}
	return 0;
}

/*
 * A009's host side: "plant" joins a new session keyring, puts a key in it and runs the rest of ARGV; "read" looks
 * for that key in the session, user and user-session keyrings.
 */
int attack_keyring(int argc, char **argv)
{
	long key;

	if (argc > 1 && strcmp(argv[0], "plant") == 0) {
		if (syscall(SYS_keyctl, 1, NULL) < 0 ||
		    syscall(SYS_add_key, "user", "escape-canary", "CANARY", 6, -3) < 0)
			return 4;
		execv(argv[1], argv + 1);
		return 5;
	}
	for (int ring = -5; ring <= -3; ring++) {
		char name[32];

		snprintf(name, sizeof(name), "search%d", ring);
		key = syscall(SYS_keyctl, 10, ring, "user", "escape-canary", 0);
		report(name, key);
	}
	key = syscall(SYS_request_key, "user", "escape-canary", NULL, 0);
	report("request", key);
	return 0;
}
