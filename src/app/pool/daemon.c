/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's life: one for each runtime directory, reached by one socket, asked for its state, ended. */
#include "app/pool/daemon.h"

#include "app/pool/pool.h"
#include "app/pool/pool_server.h"
#include "base/core/clock.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/text/json_read.h"
#include "base/process/local_socket.h"
#include "base/core/own.h"
#include "base/process/process.h"
#include "host/host.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK "daemon.lock"
#define WAITING_MAX 1024
/* A stopped one never answers; a disk that is written back may keep a busy one for seconds. */
#define STATUS_MS 15000
#define STATUS_MAX ((size_t)128 << 10)
#define STATUS_VALUES 20000
#define STOP_MS 30000
#define LOCK_PAUSE_MS 10
#define ACTIVATED_FD 3

static int open_runtime(int *ret_dir, struct daemon_request *request, struct error *err)
{
	owned(host_done) struct host host = { 0 };

	if (host_read(&host, err) < 0 || (*ret_dir = host_open_runtime(&host, err)) < 0)
		return -1;
	if (!request)
		return 0;
	request->cores = host.cores;
	if (!request->pool)
		request->pool = host.cores * DAEMON_POOL_PER_CORE;
	if (!request->limits.running)
		request->limits.running = queue_default(host.cores, host.memory_bytes);
	return 0;
}

/* A socket that the service manager has opened for us: as systemd's unit has it, a listening one that keeps messages apart. */
static int take_activated(void)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	socklen_t size = sizeof(int);
	int type = 0, listens = 0;

	if (!pid || !count || strtol(pid, NULL, 10) != getpid() || strcmp(count, "1") != 0 ||
	    getsockopt(ACTIVATED_FD, SOL_SOCKET, SO_TYPE, &type, &size) < 0 ||
	    getsockopt(ACTIVATED_FD, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) < 0 ||
	    type != SOCK_SEQPACKET || !listens)
		return -1;
	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDS");
	(void)fcntl(ACTIVATED_FD, F_SETFD, FD_CLOEXEC);
	(void)fcntl(ACTIVATED_FD, F_SETFL, O_RDWR | O_NONBLOCK);
	return ACTIVATED_FD;
}

/* Asks the daemon something that is no sandbox. 1; 0 where there is none to ask. */
static int ask(int dir_fd, enum pool_kind kind, int *ret_fd, struct pool_answer *ret_answer,
	       struct error *err)
{
	const struct pool_ask question = { .version = POOL_VERSION, .kind = kind };
	owned(fd_close) int fd = local_socket_connect(dir_fd, POOL_SOCKET, STATUS_MS);
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	if (fd < 0 && (errno == ENOENT || errno == ECONNREFUSED))
		return 0;
	/* A question that it does not take has an answer before it. */
	if (fd >= 0 && local_socket_is_ours(fd))
		(void)send(fd, &question, sizeof(question), MSG_NOSIGNAL);
	if (fd < 0 || !local_socket_is_ours(fd) || poll(&ready, 1, STATUS_MS) != 1 ||
	    recv(fd, ret_answer, sizeof(*ret_answer), 0) != (ssize_t)sizeof(*ret_answer) ||
	    ret_answer->version != POOL_VERSION)
		return error_advise(err, ERROR_HOST,
				    "end it by its process number, and start it anew",
				    "the daemon does not answer, or is of another version");
	if (ret_answer->kind == POOL_REFUSED)
		return error_advise(err, ERROR_DENIED, "ask from where it was started",
				    "the daemon (process %u) refuses this process, which is "
				    "confined otherwise",
				    ret_answer->pid);
	*ret_fd = fd_take(&fd);
	return 1;
}

/* A daemon that was killed has children for a moment, which hold its lock until they end: only one that answers is running. */
static int take_lock(int dir_fd, int lock_fd, struct error *err)
{
	uint64_t end_ns = clock_now_ns() + STATUS_MS * UINT64_C(1000000);
	bool is_late = false;

	while (flock(lock_fd, LOCK_EX | LOCK_NB) < 0) {
		owned(fd_close) int fd = -1;
		struct pool_answer answer;
		struct error refusal = { 0 };

		if (is_late || ask(dir_fd, POOL_STATUS, &fd, &answer, &refusal) > 0 ||
		    refusal.code == ERROR_DENIED)
			return error_advise(err, ERROR_CONFLICT,
					    "`aisbx daemon status` shows it, `aisbx daemon stop` "
					    "ends it",
					    "a daemon is running already");
		is_late = clock_now_ns() >= end_ns;
		(void)poll(NULL, 0, LOCK_PAUSE_MS);
	}
	return 0;
}

/* Under the lock the socket that is there is a dead daemon's. */
static int listen_at(int dir_fd, int *ret_lock, int *ret_fd, bool *ret_is_bound, struct error *err)
{
	owned(fd_close) int lock =
		openat(dir_fd, LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);

	if (lock < 0)
		return error_errno(err, ERROR_HOST, "%s", LOCK);
	if (take_lock(dir_fd, lock, err) < 0)
		return -1;
	*ret_fd = take_activated();
	*ret_is_bound = *ret_fd < 0;
	if (*ret_is_bound) {
		(void)unlinkat(dir_fd, POOL_SOCKET, 0);
		*ret_fd = local_socket_listen(dir_fd, POOL_SOCKET, WAITING_MAX);
	}
	if (*ret_fd < 0)
		return error_errno(err, ERROR_HOST, "%s", POOL_SOCKET);
	(void)unlinkat(dir_fd, POOL_STAMP, 0);
	*ret_lock = fd_take(&lock);
	return 0;
}

/* In a child of the caller that outlives it, with these descriptors; the caller waits until it has detached. */
static int detach(const int *keep, size_t count, bool *ret_is_child, struct error *err)
{
	int ends[2];
	pid_t pid;
	char byte;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_errno(err, ERROR_HOST, "socket");
	pid = fork();
	if (pid < 0)
		return error_errno(err, ERROR_HOST, PROCESS_REFUSED);
	*ret_is_child = pid == 0;
	if (pid == 0) {
		close(ends[0]);
		if (process_detach(keep, count, "aisbx-daemon") < 0 || chdir("/") < 0)
			_exit(1);
		return 0;
	}
	close(ends[1]);
	/* Its end of the pair goes when it detaches: the socket it was given listens since before the fork. */
	(void)!read(ends[0], &byte, 1);
	close(ends[0]);
	return 0;
}

static int serve(struct daemon_request *request, struct error *err)
{
	owned(fd_close) int dir_fd = -1, lock_fd = -1, listen_fd = -1;
	struct helpers *helpers = &request->helpers;
	bool is_child = false, is_bound;

	/* Root may confine itself by Landlock without no_new_privs, and no file of /proc shows that to us. */
	if (geteuid() == 0)
		return error_advise(err, ERROR_DENIED,
				    "as root each run starts cold; start it as the user who runs",
				    "daemon: not for root, whose callers may be confined by "
				    "Landlock without a trace");
	if (open_runtime(&dir_fd, request, err) < 0 ||
	    listen_at(dir_fd, &lock_fd, &listen_fd, &is_bound, err) < 0)
		return -1;
	if (request->is_detached) {
		int keep[3 + HELPERS_MAX * HELPER_FDS_MAX] = { dir_fd, lock_fd, listen_fd };
		size_t count = 3;

		for (size_t i = 0; i < helpers->count; i++) {
			for (size_t j = 0; j < helpers->rows[i].fd_count; j++)
				keep[count++] = helpers->rows[i].fds[j];
		}
		if (detach(keep, count, &is_child, err) < 0)
			return -1;
		if (!is_child)
			return 0;
	}
	int status = pool_serve(dir_fd, listen_fd, request, err);

	/* One of the service manager's is that one's, and starts the next daemon. */
	if (is_bound)
		(void)unlinkat(dir_fd, POOL_SOCKET, 0);
	/* Before the connections close: the caller of a stop may start the next one at once. */
	(void)flock(lock_fd, LOCK_UN);
	if (is_child)
		_exit(status < 0);
	return status;
}

int app_daemon_serve(struct daemon_request *request, struct error *err)
{
	int status = serve(request, err);

	/* Where it was not served here: none is running. */
	helpers_done(&request->helpers);
	spec_done(&request->plan);
	return status;
}

/* A question whose answer is shown; NULL: there is no daemon. */
static int look(enum pool_kind kind, struct value **ret_answer, struct error *err)
{
	const struct json_limits limits = { .bytes = STATUS_MAX, .values = STATUS_VALUES };
	owned(free_ptr) char *text = xcalloc(1, STATUS_MAX);
	owned(fd_close) int dir_fd = -1, fd = -1;
	struct pool_answer answer;
	int got;

	*ret_answer = NULL;
	if (open_runtime(&dir_fd, NULL, err) < 0 ||
	    (got = ask(dir_fd, kind, &fd, &answer, err)) < 0)
		return -1;
	if (got == 0)
		return 0;
	ssize_t len = fd_wait(fd, POLLIN, STATUS_MS) > 0 ? recv(fd, text, STATUS_MAX, 0) : -1;

	if (len <= 0)
		return error_set(err, ERROR_HOST, "the daemon ended while it was asked");
	return json_read(text, (size_t)len, &limits, ret_answer, err);
}

int app_daemon_status(struct value **ret_answer, struct error *err)
{
	if (look(POOL_STATUS, ret_answer, err) < 0)
		return -1;
	if (*ret_answer)
		return 0;
	*ret_answer = value_new_map();
	value_add(*ret_answer, "running", value_new_bool(false));
	return 0;
}

int app_daemon_queue(struct value **ret_answer, struct error *err)
{
	if (look(POOL_QUEUE, ret_answer, err) < 0)
		return -1;
	if (!*ret_answer)
		*ret_answer = value_new_list();
	return 0;
}

int app_daemon_reload(bool *ret_was_there, struct error *err)
{
	owned(fd_close) int dir_fd = -1, fd = -1;
	struct pool_answer answer;
	int got;

	if (open_runtime(&dir_fd, NULL, err) < 0 ||
	    (got = ask(dir_fd, POOL_RELOAD, &fd, &answer, err)) < 0)
		return -1;
	*ret_was_there = got > 0;
	return 0;
}

int app_daemon_stop(bool *ret_was_there, struct error *err)
{
	owned(fd_close) int dir_fd = -1, fd = -1;
	struct pool_answer answer;
	int got;

	if (open_runtime(&dir_fd, NULL, err) < 0 ||
	    (got = ask(dir_fd, POOL_STOP, &fd, &answer, err)) < 0)
		return -1;
	struct pollfd end = { .fd = fd, .events = POLLIN };

	*ret_was_there = got > 0;
	/* It keeps the connection to its end. */
	if (got > 0 && poll(&end, 1, STOP_MS) != 1)
		return error_set(err, ERROR_HOST, "the daemon (process %u) does not end",
				 answer.pid);
	return 0;
}
