/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times several commands in turn: one start of each per round, so that a noisy minute hits all alike, and each round in
 * another order: what a command leaves the kernel to clean up slows down whoever comes next.
 *
 * usage: interleave ROUNDS PAUSE_MS UID GID COMMAND... --- COMMAND... ---
 * Prints one line per command: the status of its last start, then microseconds from spawn to reap.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COMMANDS_MAX 64

struct contestant {
	char **argv;
	double *times;
	int status;
};

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* Splits argv at each "---" into commands; returns how many. */
static int split(char **argv, struct contestant *contestants)
{
	int count = 0;

	while (*argv && count < COMMANDS_MAX) {
		contestants[count++].argv = argv;
		while (*argv && strcmp(*argv, "---") != 0)
			argv++;
		if (*argv)
			*argv++ = NULL;
	}
	return count;
}

static double start_once(struct contestant *contestant, posix_spawn_file_actions_t *quiet,
			 char **environment)
{
	double began = now_us();
	pid_t pid;

	if (posix_spawnp(&pid, contestant->argv[0], quiet, NULL, contestant->argv, environment) !=
	    0) {
		contestant->status = 127;
		return 0;
	}
	waitpid(pid, &contestant->status, 0);
	return now_us() - began;
}

static void shuffle(int *order, int count)
{
	for (int i = count - 1; i > 0; i--) {
		int other = (int)(random() % (i + 1)), held = order[i];

		order[i] = order[other];
		order[other] = held;
	}
}

int main(int argc, char **argv, char **environment)
{
	struct contestant contestants[COMMANDS_MAX] = { 0 };
	posix_spawn_file_actions_t quiet;
	int rounds, pause_ms, count, order[COMMANDS_MAX];

	if (argc < 6)
		return 2;
	rounds = atoi(argv[1]);
	pause_ms = atoi(argv[2]);
	if (geteuid() == 0 &&
	    (setgroups(0, NULL) || setgid((gid_t)atoi(argv[4])) || setuid((uid_t)atoi(argv[3]))))
		return 2;
	count = split(argv + 5, contestants);
	posix_spawn_file_actions_init(&quiet);
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_addopen(&quiet, fd, "/dev/null", fd ? O_WRONLY : O_RDONLY,
						 0);
	for (int i = 0; i < count; i++) {
		contestants[i].times = calloc((size_t)rounds, sizeof(double));
		order[i] = i;
	}
	for (int round = 0; round < rounds; round++) {
		shuffle(order, count);
		for (int i = 0; i < count; i++) {
			struct contestant *next = &contestants[order[i]];

			usleep((useconds_t)pause_ms * 1000);
			next->times[round] = start_once(next, &quiet, environment);
		}
	}
	for (int i = 0; i < count; i++) {
		printf("%d",
		       WIFEXITED(contestants[i].status) ? WEXITSTATUS(contestants[i].status) : 255);
		for (int round = 0; round < rounds; round++)
			printf(" %.1f", contestants[i].times[round]);
		putchar('\n');
	}
	return 0;
}
