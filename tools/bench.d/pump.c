/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves bytes over TCP, to measure ways through a network.
 *
 *   pump serve PORT			on 127.0.0.1; sends as many bytes as each client asks for
 *   pump fetch HOST PORT BYTES TIMES	nanoseconds of each: connect, ask, read to the end
 *   pump hold HOST PORT COUNT		that many connections at a time, until its input ends
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BLOCK (256u << 10)

static char block[BLOCK];

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void *serve_one(void *argument)
{
	int fd = (int)(intptr_t)argument;
	uint64_t left = 0;

	if (recv(fd, &left, sizeof(left), MSG_WAITALL) == sizeof(left)) {
		while (left > 0) {
			ssize_t sent = send(fd, block, left < BLOCK ? left : BLOCK, MSG_NOSIGNAL);

			if (sent <= 0)
				break;
			left -= (uint64_t)sent;
		}
		/* Held until the other side goes. */
		(void)shutdown(fd, SHUT_WR);
		(void)!recv(fd, &left, sizeof(left), 0);
	}
	close(fd);
	return NULL;
}

static struct sockaddr_in address_of(const char *host, const char *port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };

	if (inet_pton(AF_INET, host, &to.sin_addr) != 1)
		exit(2);
	return to;
}

static int serve(const char *port)
{
	struct sockaddr_in where = address_of("127.0.0.1", port);
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	pthread_attr_t small;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&where, sizeof(where)) < 0 || listen(fd, 4096) < 0)
		return 1;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
	puts("up");
	fflush(stdout);
	for (;;) {
		pthread_t thread;
		int client = accept(fd, NULL, NULL);

		if (client >= 0 &&
		    pthread_create(&thread, &small, serve_one, (void *)(intptr_t)client) != 0)
			close(client);
	}
}

static int ask(const struct sockaddr_in *to, uint64_t bytes)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (fd < 0 || connect(fd, (const struct sockaddr *)to, sizeof(*to)) < 0 ||
	    send(fd, &bytes, sizeof(bytes), MSG_NOSIGNAL) != sizeof(bytes))
		exit(3);
	return fd;
}

static int fetch(const struct sockaddr_in *to, uint64_t bytes, int times)
{
	while (times-- > 0) {
		uint64_t begun = now_ns(), left = bytes;
		int fd = ask(to, bytes);

		while (left > 0) {
			ssize_t got = recv(fd, block, BLOCK, 0);

			if (got <= 0)
				return 4;
			left -= (uint64_t)got;
		}
		printf("%llu\n", (unsigned long long)(now_ns() - begun));
		close(fd);
	}
	return 0;
}

static int hold(const struct sockaddr_in *to, int count)
{
	struct rlimit limit;
	char byte;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	for (int i = 0; i < count; i++) {
		if (recv(ask(to, 1), &byte, 1, 0) != 1)
			return 4;
	}
	puts("held");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	if (argc == 3 && strcmp(argv[1], "serve") == 0)
		return serve(argv[2]);
	if (argc < 5)
		return 2;
	struct sockaddr_in to = address_of(argv[2], argv[3]);

	if (argc == 6 && strcmp(argv[1], "fetch") == 0)
		return fetch(&to, strtoull(argv[4], NULL, 10), atoi(argv[5]));
	return hold(&to, atoi(argv[4]));
}
