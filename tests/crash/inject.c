/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program and lets system calls of it fail, or kills it there: whatever file it touches, through whichever part.
 *
 * usage: inject FAULTS COUNT_FILE PROGRAM [ARGS]
 * FAULTS: a list with commas of [CALL/]N[~M][+]:WORD. Call N fails; with CALL (of those in `named`) the Nth of these; with ~
 * not that one, but the Mth of all calls behind it; with + that one and all that follow. WORD: KILL, or the name of an error. N 0: nothing happens. Calls are those listed below, of the
 * program and of the processes it starts, in their order; their number is written to COUNT_FILE. The exit status is the
 * program's, 137 when killed.
 */
#include "base/file/fd.h"
#include "base/core/own.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* What opens, reads, makes, changes, removes or syncs something. */
static const int calls[] = {
	SYS_openat,	  SYS_openat2,	       SYS_read,	 SYS_pread64,
	SYS_write,	  SYS_pwrite64,	       SYS_writev,	 SYS_getdents64,
	SYS_ftruncate,	  SYS_copy_file_range, SYS_mkdirat,	 SYS_symlinkat,
	SYS_linkat,	  SYS_mknodat,	       SYS_unlinkat,	 SYS_renameat2,
	SYS_fchmod,	  SYS_fchmodat,	       SYS_fchownat,	 SYS_utimensat,
	SYS_fsetxattr,	  SYS_lsetxattr,       SYS_fgetxattr,	 SYS_flistxattr,
	SYS_fremovexattr, SYS_fsync,	       SYS_fdatasync,	 SYS_syncfs,
	SYS_statx,	  SYS_newfstatat,      SYS_fstat,	 SYS_readlinkat,
	SYS_flock,	  SYS_faccessat2,      SYS_memfd_create, SYS_sync_file_range,
	SYS_renameat,
#ifdef SYS_open
	SYS_open,	  SYS_rename,	       SYS_mkdir,	 SYS_unlink,
	SYS_stat,	  SYS_lstat,	       SYS_readlink,	 SYS_chmod,
	SYS_rmdir,
#endif
};

#define CALLS (sizeof(calls) / sizeof(calls[0]))

static const struct {
	const char *word;
	int number;
} errors[] = {
	{ "KILL", 0 },	      { "ENOSPC", ENOSPC }, { "EIO", EIO },	  { "EDQUOT", EDQUOT },
	{ "EMFILE", EMFILE }, { "EINTR", EINTR },   { "ENOMEM", ENOMEM }, { "EROFS", EROFS },
	{ "EACCES", EACCES }, { "ESTALE", ESTALE },
};

static const struct {
	const char *word;
	int number;
} named[] = {
	{ "renameat2", SYS_renameat2 },
	{ "flock", SYS_flock },
	{ "statx", SYS_statx },
	{ "fsetxattr", SYS_fsetxattr },
};

#define FAULTS_MAX 8

struct fault {
	int call; /* -1: any */
	unsigned long at, behind, count;
	bool goes_on;
	int error; /* 0: kill */
};

static _Noreturn void give_up(const char *what)
{
	perror(what);
	_exit(125);
}

static int find_error(const char *word)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (strcmp(errors[i].word, word) == 0)
			return errors[i].number;
	}
	(void)fprintf(stderr, "inject: no error %s\n", word);
	exit(2);
}

static int find_call(const char *word)
{
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
		if (strcmp(named[i].word, word) == 0)
			return named[i].number;
	}
	(void)fprintf(stderr, "inject: no call %s\n", word);
	exit(2);
}

/* Reads one of FAULTS; TEXT is cut up. */
static struct fault read_fault(char *text)
{
	struct fault fault = { .call = -1 };
	char *slash = strchr(text, '/'), *end;

	if (slash) {
		*slash = '\0';
		fault.call = find_call(text);
		text = slash + 1;
	}
	fault.at = strtoul(text, &end, 10);
	if (*end == '~')
		fault.behind = strtoul(end + 1, &end, 10);
	fault.goes_on = *end == '+';
	end += fault.goes_on;
	fault.error = find_error(*end == ':' ? end + 1 : "");
	return fault;
}

/* One comparison a call, then the two answers. */
static int load_filter(void)
{
	struct sock_filter lines[CALLS + 3];
	struct sock_fprog program = { .len = CALLS + 3, .filter = lines };

	lines[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < CALLS; i++)
		lines[1 + i] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i],
						     (unsigned char)(CALLS - i), 0);
	lines[CALLS + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	lines[CALLS + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			    &program);
}

static _Noreturn void become(int socket_fd, char **argv)
{
	int fd = load_filter();

	if (fd < 0 || fd_send(socket_fd, "", 1, &fd, 1) < 0)
		give_up("inject: filter");
	execv(argv[0], argv);
	give_up(argv[0]);
}

struct injection {
	int fd;
	pid_t pid;
	unsigned long count;
	struct fault faults[FAULTS_MAX];
	size_t fault_count;
};

/* The fault that call NUMBER meets, or NULL. */
static const struct fault *meet(struct injection *injection, int number)
{
	const struct fault *met = NULL;

	injection->count++;
	for (size_t i = 0; i < injection->fault_count; i++) {
		struct fault *fault = &injection->faults[i];

		/* Behind the call that was looked for every call counts. */
		bool counts_all = fault->call < 0 || (fault->behind && fault->count >= fault->at);

		if (!counts_all && fault->call != number)
			continue;
		fault->count++;
		if (!fault->at)
			continue;
		if (fault->count == fault->at + fault->behind ||
		    (fault->goes_on && fault->count > fault->at + fault->behind))
			met = fault;
	}
	return met;
}

/* False when nobody is left. */
static bool answer(struct injection *injection)
{
	struct seccomp_notif asked;
	struct seccomp_notif_resp said;

	memset(&asked, 0, sizeof(asked));
	memset(&said, 0, sizeof(said));
	if (ioctl(injection->fd, SECCOMP_IOCTL_NOTIF_RECV, &asked) < 0)
		return errno == EINTR || errno == ENOENT;
	said.id = asked.id;
	said.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	const struct fault *fault = meet(injection, asked.data.nr);

	if (fault && fault->error) {
		said.flags = 0;
		said.error = -fault->error;
	} else if (fault) {
		(void)kill(injection->pid, SIGKILL);
	}
	/* Whoever asked may be dead by now. */
	(void)ioctl(injection->fd, SECCOMP_IOCTL_NOTIF_SEND, &said);
	return true;
}

static void serve(struct injection *injection)
{
	struct pollfd ready = { .fd = injection->fd, .events = POLLIN };

	while (poll(&ready, 1, -1) >= 0 || errno == EINTR) {
		if (!(ready.revents & POLLIN) || !answer(injection))
			return;
	}
}

static void tell_count(const char *path, unsigned long count)
{
	FILE *file = fopen(path, "w");

	if (!file || fprintf(file, "%lu\n", count) < 0 || fclose(file) != 0)
		give_up(path);
}

int main(int argc, char **argv)
{
	struct injection injection = { .fd = -1 };
	size_t got = 0;
	int ends[2], status;
	char byte;

	if (argc < 4)
		return 2;
	for (char *rest = argv[1], *one; (one = strsep(&rest, ","));) {
		if (injection.fault_count == FAULTS_MAX)
			return 2;
		injection.faults[injection.fault_count++] = read_fault(one);
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		give_up("socketpair");
	injection.pid = fork();
	if (injection.pid == 0)
		become(ends[1], argv + 3);
	close(ends[1]);
	if (fd_receive(ends[0], &byte, 1, &injection.fd, 1, &got) != 1 || got != 1)
		give_up("inject: the child's filter");
	serve(&injection);
	while (waitpid(injection.pid, &status, 0) < 0 && errno == EINTR)
		;
	tell_count(argv[2], injection.count);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
