/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper of one zygote: the supervisor of its sandbox, and the process between it and the clients that request runs.
 *
 * One run at a time. What a run sees of the workspace is made for it (view.h), and gone when it ends; what it uses is
 * counted from where the one before it ended.
 */
#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/id.h"
#include "base/text/json_read.h"
#include "base/core/own.h"
#include "base/process/parent_end.h"
#include "driver/wasm/zygote_pool_parts.h"
#include "driver/wasm/view.h"
#include "spec/codec.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_MS 100
#define TICK_NS (TICK_MS * UINT64_C(1000000))
/* Looking at what was used is not cheap: behind a short run that is done once in so many. */
#define RUNS_PER_LOOK 16
#define SPEC_MAX ((size_t)16 << 20)
#define CPU_TIME_MS ((uint64_t)1000 * 1000 * 1000 * 1000)

struct keeping {
	const struct driver *driver;
	struct spec spec;
	struct task *task; /* the sandbox */
	int fd;		   /* to the zygote pool */
	int zygote_fd;	   /* to the zygote */
	int given_fd;	   /* its end, until it has it */
	bool is_ready;	   /* the zygote waits for a run */
	bool is_over;	   /* nothing more will come of this */
	bool is_killed;	   /* the client of the run */
	struct view_maker maker;
	struct view view;
	struct zygote_pool_ask ask; /* the run under way, or that waits */
	bool has_ask, is_running;
	uint64_t began_ns;
	uint64_t looked_ns;	  /* since then: when its usage was last reported */
	unsigned short_runs;	  /* since the last look behind a run */
	struct task_usage before; /* what was used when it began */
};

static void send_reply(const struct keeping *keeping, const struct zygote_message *message, int fd)
{
	/* A client that is gone is noticed by the end of the stream. */
	(void)fd_send(keeping->ask.fds[ASK_FD_REPLY], message, sizeof(*message), &fd, fd >= 0);
}

static void drop_run(struct keeping *keeping)
{
	view_done(&keeping->view);
	zygote_pool_ask_done(&keeping->ask);
	keeping->has_ask = keeping->is_running = keeping->is_killed = false;
}

static uint64_t above(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* Of the run alone, as far as that can be separated. */
static void measure(struct keeping *keeping, struct task_usage *ret_usage)
{
	struct task_usage now;

	keeping->driver->sample(keeping->task, &now);
	*ret_usage = (struct task_usage){
		.cpu_us = above(now.cpu_us, keeping->before.cpu_us),
		.memory_bytes = now.memory_bytes,
		.pids = now.pids,
		.oom_kills = above(now.oom_kills, keeping->before.oom_kills),
	};
}

/* Any message means that the next run may come. */
static void notify_zygote_pool(struct keeping *keeping, const struct zygote_message *message)
{
	if (!keeping->is_over)
		keeping->is_over = fd_send(keeping->fd, message, sizeof(*message), NULL, 0) < 0;
}

/*
 * What zygote, sandbox and supervisor did for a run is not in what its process used: left alone it would add up, and be
 * charged to a later one.
 */
static void look_anew(struct keeping *keeping)
{
	bool was_long = keeping->looked_ns != keeping->began_ns;

	if (keeping->is_over || (!was_long && ++keeping->short_runs < RUNS_PER_LOOK))
		return;
	keeping->short_runs = 0;
	keeping->driver->sample(keeping->task, &keeping->before);
}

static void end_run(struct keeping *keeping, struct zygote_message *ended)
{
	struct task_usage usage = { 0 };

	/* Only a process that was killed can have been killed for its memory; looking is not cheap. */
	if (WIFSIGNALED(ended->wait_status))
		measure(keeping, &usage);
	usage.cpu_us = ended->used.cpu_us;
	usage.peak_memory_bytes = ended->used.peak_memory_bytes;
	keeping->before.cpu_us += usage.cpu_us;
	keeping->before.oom_kills += usage.oom_kills;
	ended->kind = ZYGOTE_ENDED;
	ended->usage = usage;
	/* The zygote pool first: the next run must not find us busy, and have another zygote made. */
	notify_zygote_pool(keeping, ended);
	send_reply(keeping, ended, -1);
	drop_run(keeping);
	look_anew(keeping);
}

/* The sandbox is gone, and a run that was under way with it. */
static void lose(struct keeping *keeping)
{
	struct zygote_message ended = { .kind = ZYGOTE_ENDED,
					.wait_status = SIGKILL,
					.began_ns = keeping->began_ns,
					.ended_ns = clock_now_ns() };

	keeping->is_over = true;
	if (keeping->is_running)
		end_run(keeping, &ended);
	else if (keeping->has_ask)
		zygote_pool_ask_refuse(&keeping->ask);
	keeping->has_ask = false;
}

static int hand_over(struct keeping *keeping)
{
	const int *asked = keeping->ask.fds;
	struct zygote_message message = keeping->ask.message;
	const int fds[RUN_FD_COUNT] = {
		[RUN_FD_WORDS] = asked[ASK_FD_WORDS],
		[RUN_FD_IN] = asked[ASK_FD_IN],
		[RUN_FD_OUT] = asked[ASK_FD_OUT],
		[RUN_FD_ERR] = asked[ASK_FD_ERR],
		[RUN_FD_REPORT] = asked[ASK_FD_REPORT],
		[RUN_FD_WORKSPACE] = keeping->view.workspace_fd,
		[RUN_FD_CWD] = keeping->view.cwd_fd,
	};

	return fd_send(keeping->zygote_fd, &message, sizeof(message), fds, RUN_FD_COUNT);
}

/* Keep no writing end here: a reader waits for end of file. */
static void close_streams(struct keeping *keeping)
{
	for (int i = ASK_FD_SPEC; i < ASK_FD_COUNT; i++)
		fd_close(&keeping->ask.fds[i]);
	fd_close(&keeping->view.workspace_fd);
	fd_close(&keeping->view.cwd_fd);
}

static void begin_run(struct keeping *keeping)
{
	struct zygote_message started = { .kind = ZYGOTE_STARTED };
	struct error ignored;

	if (!keeping->is_ready || !keeping->has_ask || keeping->is_running)
		return;
	if (view_make(&keeping->maker, &keeping->view, &ignored) < 0) {
		zygote_pool_ask_refuse(&keeping->ask);
		keeping->has_ask = false;
		keeping->is_over = true;
		return;
	}
	keeping->began_ns = keeping->looked_ns = started.began_ns = clock_now_ns();
	started.missing = keeping->task->degraded;
	send_reply(keeping, &started, keeping->view.upper_fd);
	keeping->is_running = true;
	keeping->is_ready = false;
	if (hand_over(keeping) < 0)
		lose(keeping);
	close_streams(keeping);
}

static void handle_zygote(struct keeping *keeping)
{
	struct zygote_message message;
	ssize_t got = recv(keeping->zygote_fd, &message, sizeof(message), MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* The end of its stream, or the words of one that cannot start: the sandbox ends by itself. */
	if (got != (ssize_t)sizeof(message)) {
		lose(keeping);
		return;
	}
	keeping->is_ready = true;
	if (message.kind == ZYGOTE_READY)
		keeping->driver->sample(keeping->task, &keeping->before);
	else if (keeping->is_running)
		end_run(keeping, &message);
	/* The client did not wait for it. */
	if (message.kind == ZYGOTE_READY && !keeping->has_ask)
		notify_zygote_pool(keeping, &message);
}

static void handle_zygote_pool(struct keeping *keeping)
{
	/* While a run is under way none comes: what is to be read then is the end. */
	if (keeping->has_ask || zygote_pool_ask_receive(keeping->fd, &keeping->ask) != 1) {
		keeping->is_over = true;
		return;
	}
	keeping->has_ask = true;
}

/* The client is gone, or wants it to end. */
static void handle_run(struct keeping *keeping)
{
	const struct zygote_message message = { .kind = ZYGOTE_KILL };

	if (keeping->is_running) {
		keeping->is_killed = true;
		(void)fd_send(keeping->zygote_fd, &message, sizeof(message), NULL, 0);
		return;
	}
	drop_run(keeping);
	if (keeping->is_ready)
		notify_zygote_pool(keeping, &message);
}

static void tick(struct keeping *keeping)
{
	struct zygote_message message = { .kind = ZYGOTE_USAGE };
	uint64_t now_ns = clock_now_ns();

	/* By the clock: a run that keeps us busy is looked at as any other. */
	if (!keeping->is_running || now_ns - keeping->looked_ns < TICK_NS)
		return;
	keeping->looked_ns = now_ns;
	measure(keeping, &message.usage);
	send_reply(keeping, &message, -1);
}

static void turn(struct keeping *keeping)
{
	bool watches_run = keeping->has_ask && !keeping->is_killed;
	struct pollfd polls[] = {
		{ .fd = keeping->driver->poll_fd(keeping->task), .events = POLLIN },
		{ .fd = keeping->zygote_fd, .events = POLLIN },
		{ .fd = keeping->fd, .events = POLLIN },
		{ .fd = watches_run ? keeping->ask.fds[ASK_FD_REPLY] : -1, .events = POLLIN },
	};
	int ready = poll(polls, 4, keeping->is_running ? TICK_MS : -1);

	if (ready < 0)
		return;
	tick(keeping);
	if (polls[0].revents)
		keeping->driver->step(keeping->task);
	if (polls[1].revents)
		handle_zygote(keeping);
	if (!keeping->is_over && keeping->task->state == TASK_ENDED)
		lose(keeping);
	if (!keeping->is_over && polls[2].revents)
		handle_zygote_pool(keeping);
	if (!keeping->is_over && polls[3].revents && keeping->has_ask)
		handle_run(keeping);
	if (!keeping->is_over)
		begin_run(keeping);
}

static int read_spec(int fd, struct spec *ret_spec, struct error *err)
{
	owned(value_release) struct value *value = NULL;
	owned(str_done) struct str text = STR_INIT;
	char run_id[ID_RUN_SIZE];

	if (fd_read_all(fd, SPEC_MAX, &text) < 0)
		return error_errno(err, ERROR_HOST, "spec");
	if (json_read(str_cstr(&text), text.len, NULL, &value, err) < 0 ||
	    id_run(run_id, err) < 0 || spec_from_value(value, ret_spec, err) < 0)
		return -1;
	/* Its groups and layers are its own. */
	free(ret_spec->run_id);
	ret_spec->run_id = xstrdup(run_id);
	return 0;
}

static int start(struct keeping *keeping, struct error *err)
{
	struct driver_io io = { .fds = { 0, 1, 2 },
				.serves_started = keeping->ask.message.is_started,
				.serves_module = keeping->ask.message.module_key };
	int ends[2];

	if (read_spec(keeping->ask.fds[ASK_FD_SPEC], &keeping->spec, err) < 0)
		return -1;
	keeping->spec.ids = keeping->ask.message.ids;
	keeping->ask.message.module_key[SHA256_HEX_SIZE - 1] = '\0';
	/* Before the sandbox: what starts one cannot be looked into any more. */
	if (view_maker_start(&keeping->spec, &keeping->maker, err) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_errno(err, ERROR_HOST, "zygote");
	keeping->zygote_fd = ends[0];
	io.serve_fd = ends[1];
	/* Counted, and never reached: the client enforces the run's own limit. */
	keeping->spec.limits.cpu_time_ms = CPU_TIME_MS;
	keeping->driver = driver_find("wasm");
	int status = keeping->driver->start(&keeping->spec, &io, &keeping->task, err);

	keeping->given_fd = ends[1];
	return status;
}

int keeper_main(int fd, pid_t zygote_pool, struct zygote_pool_ask *ask)
{
	struct keeping keeping = { .fd = fd,
				   .zygote_fd = -1,
				   .given_fd = -1,
				   .maker = { 0, -1 },
				   .view = { -1, -1, -1, -1 },
				   .ask = *ask,
				   .has_ask = true };
	int keep[3 + 1 + ASK_FD_COUNT] = { 0, 1, 2, fd };
	struct error err = { .code = ERROR_NONE };

	parent_end_follow(zygote_pool, SIGKILL);
	/* Those of a process that was detached are gone at the next exec; the zygote needs some. */
	for (int i = 0; i < 3; i++)
		(void)fcntl(i, F_SETFD, 0);
	memcpy(keep + 4, ask->fds, sizeof(ask->fds));
	fd_close_others(keep, sizeof(keep) / sizeof(keep[0]));
	(void)prctl(PR_SET_NAME, "aisbx-zygotes", 0, 0, 0);
	keeping.is_over = start(&keeping, &err) < 0;
	while (!keeping.is_over) {
		/* Given away as soon as the sandbox has it: the end of the zygote must be seen. */
		if (keeping.task->state != TASK_STARTING)
			fd_close(&keeping.given_fd);
		turn(&keeping);
	}
	if (keeping.has_ask)
		lose(&keeping);
	if (keeping.task)
		keeping.driver->free(keeping.task);
	view_maker_end(&keeping.maker);
	return err.code != ERROR_NONE;
}
