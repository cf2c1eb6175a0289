/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entering a sandbox that runs already: a command of the linux driver whose sandbox belongs to a supervisor.
 *
 * The same task to the run layer, but nothing is made here: the command goes to the supervisor, and supervisor and init report
 * on it (launch/exec/attach.h).
 */
#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "driver/linux/linux.h"
#include "launch/exec/attach.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* How long the end of what was killed is waited for, and an answer of the supervisor. */
#define KILL_MS 5000
#define ANSWER_MS 10000
/* How long a supervisor may take to start a command, and with it the sandbox, on a machine that has much else to do. */
#define START_MS 30000
/* A shorter command that succeeded cannot have met a limit worth a question. */
#define QUICK_NS 10000000u

struct attach_task {
	struct task task; /* first */
	const struct spec *spec;
	int fd; /* to the supervisor; borrowed */
	bool has_ended, has_figures;
	/* Questions for figures without an answer yet; each answer comes behind the denials until then. */
	unsigned asking;
	bool must_ask; /* the supervisor may have a denial that it has not sent yet */
	bool is_gone;  /* the supervisor, and with it the whole sandbox */
	bool pids_hit; /* as many processes as permitted were there at the end */
	uint64_t started_ns, ended_ns;
	struct attach_figures before, now;
	struct process_used used;
	struct attach_packet *packet; /* with room for far more than most of them take */
};

static struct attach_task *attach_task_of(struct task *task)
{
	return (struct attach_task *)task;
}

static void attach_free(struct task *base)
{
	fd_close(&base->pty_master);
	strv_done(&base->layers);
	strv_done(&base->upper_paths);
	denials_done(&base->denials);
	free(attach_task_of(base)->packet);
	free(attach_task_of(base));
}

/* Init sets the variables of that account: those that the caller has given win, as ever. */
static void add_user(const struct driver_io *io, struct strv *words)
{
	static const char *const own[] = { "HOME=", "USER=", "LOGNAME=" };

	if (!io->enter_user)
		return;
	strv_add(words, io->enter_user);
	for (size_t i = 0; i < io->enter_env->count; i++)
		for (size_t j = 0; j < sizeof(own) / sizeof(own[0]); j++)
			if (str_starts(io->enter_env->items[i], own[j]))
				strv_add(words, io->enter_env->items[i]);
}

static int send_command(struct attach_task *task, const struct driver_io *io, struct error *err)
{
	const struct spec *spec = task->spec;
	struct attach_message message = { .kind = ATTACH_EXEC };
	struct strv words[ATTACH_GROUPS] = { [ATTACH_COMMAND] = spec->command,
					     [ATTACH_ENVIRON] = spec->env,
					     [ATTACH_SET] = *io->enter_env };
	size_t count = 0;
	int fds[3];

	for (int i = 0; i < 3; i++) {
		message.exec.tty[i] = io->tty[i];
		if (!io->tty[i])
			fds[count++] = io->fds[i];
	}
	message.exec.rows = io->rows;
	message.exec.columns = io->columns;
	message.exec.cpu_seconds = (uint32_t)((spec->limits.cpu_time_ms + 999) / 1000);
	strv_add(&words[ATTACH_DIRECTORY], spec->cwd);
	add_user(io, &words[ATTACH_USER]);
	if (io->secrets)
		secrets_to_words(io->secrets, false, &words[ATTACH_SECRETS]);
	int status = attach_send_exec(task->fd, &message, words, fds, count);

	if (status < 0)
		error_errno(err, ERROR_HOST, "cannot reach the sandbox's supervisor");
	strv_done(&words[ATTACH_DIRECTORY]);
	strv_done(&words[ATTACH_USER]);
	secrets_words_done(&words[ATTACH_SECRETS]);
	return status;
}

static void say_hung_up(const struct attach_task *task, struct error *err)
{
	error_set(err, ERROR_HOST,
		  "the sandbox '%s' was stopped, or another version of aisbx supervises it",
		  task->spec->sandbox);
	(void)error_add_hint(err, "`aisbx stop %s` ends that, and the next exec starts it anew",
			     task->spec->sandbox);
	/* It may just have been about to end: the caller tries once more. */
	err->errnum = ECONNRESET;
}

/* A peer that closed the socket may have sent the reason before. */
static void prefer_reason_of_supervisor(struct attach_task *task, struct error *err)
{
	struct attach_packet *packet = task->packet;

	if (err->errnum != EPIPE && err->errnum != ECONNRESET)
		return;
	say_hung_up(task, err);
	if (attach_receive(task->fd, packet) <= 0)
		return;
	if (packet->message.kind == ATTACH_FAILED)
		*err = packet->message.error;
	attach_close(packet);
}

static int attach_start(const struct spec *spec, const struct driver_io *io, struct task **ret_task,
			struct error *err)
{
	struct attach_task *task = xcalloc(1, sizeof(*task));

	task->task = (struct task){ .driver = &driver_linux_attach,
				    .pty_master = -1,
				    .upper_fd = -1,
				    .isolation = "namespaces" };
	task->spec = spec;
	task->fd = io->enter_fd;
	/* Not cleared: that would be most of the memory a client touches. */
	task->packet = xmalloc(sizeof(*task->packet));
	if (send_command(task, io, err) < 0) {
		prefer_reason_of_supervisor(task, err);
		attach_free(&task->task);
		return -1;
	}
	*ret_task = &task->task;
	return 0;
}

static int attach_poll_fd(const struct task *base)
{
	return ((const struct attach_task *)base)->fd;
}

static void fail(struct attach_task *task, const struct error *err)
{
	task->task.error = *err;
	task->task.state = TASK_ENDED;
}

static void take_figures(struct attach_task *task, const struct attach_figures *figures)
{
	/* The first come with the start, unasked. */
	if (!task->has_figures) {
		task->before = *figures;
		task->task.is_shared = !figures->is_idle;
	} else if (task->asking > 0) {
		task->asking--;
	}
	task->has_figures = true;
	task->task.denials.beyond += figures->unsent - task->now.unsent;
	task->now = *figures;
	linux_name_layers(&task->task, figures->missing);
}

static void add_denial(struct attach_task *task, struct attach_denied *denied)
{
	denials_add(&task->task.denials, denied->layer, denied->what,
		    denied->rule[0] ? denied->rule : NULL, denied->hint[0] ? denied->hint : NULL);
}

static void handle_message(struct attach_task *task)
{
	struct attach_packet *packet = task->packet;
	struct attach_message *message = &packet->message;

	switch (message->kind) {
	case ATTACH_TERMINAL:
		if (task->task.pty_master < 0 && packet->fd_count == 1) {
			task->task.pty_master = packet->fds[0];
			packet->fd_count = 0;
		}
		break;
	case ATTACH_RUNNING:
		task->task.state = TASK_RUNNING;
		task->started_ns = clock_now_ns();
		task->task.began_ns = message->at_ns;
		break;
	case ATTACH_FIGURES:
		take_figures(task, &message->figures);
		break;
	case ATTACH_DENIED:
		add_denial(task, &message->denied);
		break;
	case ATTACH_ENDED:
		task->has_ended = true;
		task->ended_ns = clock_now_ns();
		task->task.ended_ns = message->at_ns;
		task->task.wait_status = message->ended.wait_status;
		task->used = message->ended.used;
		task->pids_hit = message->ended.pids_hit;
		if (message->ended.is_stopped)
			task->task.note = "ended, because the sandbox was stopped meanwhile";
		break;
	case ATTACH_FAILED:
		fail(task, &message->error);
		break;
	case ATTACH_LOOK:
		task->must_ask = true;
		break;
	case ATTACH_EXEC:
	case ATTACH_KILL:
	case ATTACH_FREEZE:
	case ATTACH_THAW:
	case ATTACH_STOP:
	case ATTACH_STOP_IDLE:
	case ATTACH_STARTED:
	case ATTACH_IDLE:
	case ATTACH_DONE:
	case ATTACH_NETWORK:
	case ATTACH_RULE:
	case ATTACH_SIGNAL:
	case ATTACH_END:
		break;
	}
	attach_close(packet);
}

/* Nothing more comes, or nothing that makes sense. */
static void lose(struct attach_task *task, int got)
{
	struct task *base = &task->task;
	struct error err;

	if (got < 0) {
		attach_lost(got, &err);
		fail(task, &err);
	} else if (base->state == TASK_RUNNING) {
		/* Stopped while the command ran: ended, as by a signal. */
		base->wait_status = SIGKILL;
		base->note = "ended, because the sandbox's supervisor died (it was killed, "
			     "or memory ran out); the next exec starts it anew";
	} else {
		say_hung_up(task, &err);
		fail(task, &err);
	}
}

static void attach_step(struct task *base)
{
	struct attach_task *task = attach_task_of(base);
	int got = attach_receive(task->fd, task->packet);

	if (got > 0) {
		handle_message(task);
	} else {
		if (!task->has_ended)
			lose(task, got);
		task->has_ended = task->has_figures = task->is_gone = true;
	}
	/* Init's report of the end may arrive before the supervisor's report of the start. */
	if (task->has_ended && task->has_figures)
		base->state = TASK_ENDED;
}

static void send_kind(const struct attach_task *task, enum attach_kind kind)
{
	const struct attach_message message = { .kind = kind };

	(void)attach_send(task->fd, &message, NULL, 0);
}

static bool has_ended(const struct attach_task *task)
{
	return task->has_ended;
}

static bool has_answers(const struct attach_task *task)
{
	return task->asking == 0;
}

/* Steps until IS_DONE or the end; a supervisor that does not answer is not waited for. */
static void await(struct attach_task *task, bool (*is_done)(const struct attach_task *),
		  int patience_ms)
{
	while (!is_done(task) && !task->is_gone && fd_wait(task->fd, POLLIN, patience_ms) > 0)
		attach_step(&task->task);
}

static void ask(struct attach_task *task)
{
	task->asking++;
	send_kind(task, ATTACH_LOOK);
}

static void attach_kill(struct task *base)
{
	struct attach_task *task = attach_task_of(base);

	if (base->state == TASK_ENDED)
		return;
	if (!task->has_figures) {
		/* Not taken yet, and while the sandbox is frozen it is not: hanging up takes it back, or ends it. */
		(void)shutdown(task->fd, SHUT_RDWR);
		task->is_gone = true;
	} else {
		send_kind(task, ATTACH_KILL);
		await(task, has_ended, KILL_MS);
	}
	if (!task->has_ended)
		base->wait_status = SIGKILL;
	base->state = TASK_ENDED;
}

/* A process that left the group would survive SIGKILL to it: KILL ends every process of the command. */
static void attach_signal(struct task *base, int sig)
{
	const struct attach_task *task = attach_task_of(base);
	const struct attach_message message = { .kind = ATTACH_SIGNAL, .signal = sig };

	if (sig == SIGKILL)
		send_kind(task, ATTACH_KILL);
	else
		(void)attach_send(task->fd, &message, NULL, 0);
}

static void attach_end(struct task *base, int sig)
{
	const struct attach_task *task = attach_task_of(base);
	const struct attach_message message = { .kind = ATTACH_END, .signal = sig };

	(void)attach_send(task->fd, &message, NULL, 0);
}

/* The sandbox's own counts of limits met, when the command may have met one. */
static void ask_at_the_end(struct attach_task *task)
{
	bool is_quick = task->started_ns && task->ended_ns - task->started_ns < QUICK_NS;

	if (task->task.error.code != ERROR_NONE ||
	    (task->task.wait_status == 0 && is_quick && !task->must_ask))
		return;
	ask(task);
	await(task, has_answers, ANSWER_MS);
}

static void attach_sample(struct task *base, struct task_usage *ret_usage)
{
	struct attach_task *task = attach_task_of(base);

	*ret_usage = (struct task_usage){ 0 };
	if (base->state == TASK_ENDED) {
		ask_at_the_end(task);
	} else if (has_answers(task)) {
		/* Figures of now arrive with a later step; those of the last time will do. */
		ask(task);
	}
	ret_usage->cpu_us = task->has_ended ? task->used.cpu_us : task->now.exec_cpu_us;
	ret_usage->peak_memory_bytes = task->used.peak_memory_bytes;
	ret_usage->pids = task->now.tasks;
	ret_usage->oom_kills = task->now.oom_kills - task->before.oom_kills;
	ret_usage->pids_refused =
		task->now.pids_refused - task->before.pids_refused + task->pids_hit;
	ret_usage->disk_full = task->now.disk_stops > task->before.disk_stops;
	ret_usage->inodes_full = task->now.inode_stops > task->before.inode_stops;
	ret_usage->disk_stopped =
		(ret_usage->disk_full || ret_usage->inodes_full) && !task->now.has_quota;
}

const struct driver driver_linux_attach = {
	.name = "linux",
	.summary = "a sandbox that runs already",
	.check = linux_check,
	.start = attach_start,
	.poll_fd = attach_poll_fd,
	.step = attach_step,
	.kill = attach_kill,
	.sample = attach_sample,
	.resize = linux_resize,
	.signal = attach_signal,
	.end = attach_end,
	.free = attach_free,
	.answer_ms = START_MS,
	.takes_secrets = true,
};
