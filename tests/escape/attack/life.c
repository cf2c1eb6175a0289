/* SPDX-License-Identifier: Apache-2.0 */
/* Terminal, signals, life cycle: processes that will not go, or lie about how they went (A067 to A078). */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void ignore_all_signals(void)
{
	for (int number = 1; number < 65; number++)
		signal(number, SIG_IGN);
}

static long inject(int fd, unsigned long command, const char *text)
{
	for (; *text; text++)
		if (syscall(SYS_ioctl, fd, command, text) != 0)
			return -1;
	return 0;
}

/* A067: types ARGV[0] into every terminal within reach. */
int attack_inject(int argc, char **argv)
{
	char name[32];
	int tty = open("/dev/tty", O_RDWR | O_CLOEXEC);

	if (argc < 1)
		return 2;
	for (int fd = 0; fd < 3; fd++) {
		snprintf(name, sizeof(name), "fd-%d", fd);
		report(name, inject(fd, TIOCSTI, argv[0]));
		snprintf(name, sizeof(name), "fd-%d-high", fd);
		report(name, inject(fd, TIOCSTI | 1ul << 32, argv[0]));
	}
	report("dev-tty", tty < 0 ? -1 : inject(tty, TIOCSTI, argv[0]));
	report("steal-tty", ioctl(0, TIOCSCTTY, 1));
	return 0;
}

/* A069: a grandchild in a session of its own that ignores everything; the main process ends at once. */
int attack_daemon(int argc, char **argv)
{
	pid_t pid = fork();

	(void)argc;
	(void)argv;
	if (pid == 0) {
		setsid();
		prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
		if (fork() != 0)
			_exit(0);
		ignore_all_signals();
		for (int fd = 0; fd < 3; fd++)
			close(fd);
		for (;;)
			sleep(1000);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
	report_text("daemon", "started");
	return 0;
}

/* A071: signals to init and to everyone. ARGV[0] names one, so that each is a run of its own. */
int attack_init(int argc, char **argv)
{
	const char *how = argc > 0 ? argv[0] : "";

	if (strcmp(how, "stop") == 0)
		report("stop", kill(1, SIGSTOP));
	else if (strcmp(how, "kill") == 0)
		report("kill", kill(1, SIGKILL));
	else if (strcmp(how, "term") == 0)
		for (int number = 1; number < 32; number++)
			kill(1, number);
	else if (strcmp(how, "all") == 0)
		report("all", kill(-1, SIGKILL));
	else if (strcmp(how, "group") == 0)
		report("group", kill(0, SIGKILL));
	report_text("after", "alive");
	return 7;
}

/* A075: ARGV[0] orphans, each dead at once; init has to reap them all. */
int attack_zombies(int argc, char **argv)
{
	int wanted = argc > 0 ? atoi(argv[0]) : 100, made = 0;

	for (int i = 0; i < wanted; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			if (fork() == 0)
				_exit(0);
			_exit(0);
		}
		if (pid < 0)
			break;
		waitpid(pid, NULL, 0);
		made++;
	}
	report_text("orphans", "%d", made);
	return 0;
}

/* A076: a child keeps stdout and stderr open for ARGV[0] seconds after the main process ended. */
int attack_hold(int argc, char **argv)
{
	unsigned seconds = argc > 0 ? (unsigned)atoi(argv[0]) : 60;

	if (fork() == 0) {
		setsid();
		ignore_all_signals();
		while (seconds > 0)
			seconds = sleep(seconds);
		_exit(0);
	}
	report_text("main", "ended");
	return 0;
}

/* A077: rubbish and false results into every descriptor, then a plain exit status. */
int attack_forge(int argc, char **argv)
{
	static const char lie[] = "{\"status\":\"success\",\"exit_code\":0,\"signal\":null}\n";
	static const char zeros[512];
	int opened = 0;

	(void)argc;
	(void)argv;
	for (int fd = 3; fd < 1024; fd++) {
		if (write(fd, zeros, sizeof(zeros)) >= 0 || write(fd, lie, sizeof(lie) - 1) >= 0)
			opened++;
	}
	if (write(STDOUT_FILENO, lie, sizeof(lie) - 1) < 0 ||
	    write(STDERR_FILENO, lie, sizeof(lie) - 1) < 0)
		return 9;
	report_text("opened", "%d", opened);
	return 23;
}

/* A078: a crash with everything asked that would leave a core behind. */
int attack_crash(int argc, char **argv)
{
	struct rlimit none = { 0, 0 }, all = { RLIM_INFINITY, RLIM_INFINITY }, now;
	int fd = open("/proc/self/coredump_filter", O_WRONLY | O_CLOEXEC);

	(void)argc;
	(void)argv;
	report("filter", fd < 0 ? -1 : write(fd, "0xff", 4));
	report("rlimit-up", setrlimit(RLIMIT_CORE, &all));
	report("rlimit-down", setrlimit(RLIMIT_CORE, &none));
	getrlimit(RLIMIT_CORE, &now);
	report_text("rlimit", "%llu", (unsigned long long)now.rlim_cur);
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	abort();
}

/* A094: burns the processor and hears nothing. */
int attack_deaf(int argc, char **argv)
{
	volatile unsigned long turns = 0;

	(void)argc;
	(void)argv;
	ignore_all_signals();
	report_text("deaf", "spinning");
	for (;;)
		turns++;
}

/* A070: children that ignore everything, made as fast as possible and for ever; stopped from outside. */
int attack_storm_forks(int argc, char **argv)
{
	struct timespec breath = { .tv_nsec = 1000000 };

	if (!tripwire_allows(argc, argv))
		return 3;
	ignore_all_signals();
	report_text("storm", "started");
	for (;;) {
		pid_t pid = fork();

		if (pid == 0) {
			setsid();
			for (int i = 0; i < 9; i++)
				sleep(1);
			_exit(0);
		}
		if (pid < 0)
			nanosleep(&breath, NULL);
	}
}

/* Waits ARGV[0] seconds with files, children, a pty and sockets open: something for a kill to interrupt. */
int attack_sleep_files(int argc, char **argv)
{
	unsigned seconds = argc > 0 ? (unsigned)atoi(argv[0]) : 5;

	for (int i = 0; i < 3; i++)
		if (fork() == 0)
			break;
	report_text("sleeping", "%u", seconds);
	while (seconds > 0)
		seconds = sleep(seconds);
	return 0;
}
