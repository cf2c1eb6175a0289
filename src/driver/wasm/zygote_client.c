/* SPDX-License-Identifier: Apache-2.0 */
/* A run by a zygote: asked for, waited for, ended. */
#include "driver/wasm/zygote_client.h"

#include "base/text/clean_path.h"
#include "base/file/fd.h"
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "driver/wasm/report.h"
#include "driver/wasm/view.h"
#include "spec/codec.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <unistd.h>

/* How long the end of what was killed is waited for. */
#define KILL_MS 5000

struct zygote_task {
	struct task task; /* first */
	const struct spec *spec;
	int fd;
	bool is_refused;
	bool was_full, inodes_hit; /* the writable layer was seen full: of bytes, of files */
	struct task_usage usage;
};

static struct zygote_task *zygote_task_of(struct task *task)
{
	return (struct zygote_task *)task;
}

bool zygote_fits(const struct spec *spec, const struct driver_io *io)
{
	for (int i = 0; i < 3; i++) {
		if (io->tty[i] || io->fds[i] < 0)
			return false;
	}
	return io->zygote_pool_fd > 0 && !io->has_score && !spec->seccomp && view_fits(spec);
}

/* Variables by which an interpreter finds code at its start; it then has to see the workspace while it starts. */
static bool names_code(const char *variable)
{
	static const char *const names[] = { "PYTHONPATH=",	     "PYTHONHOME=",
					     "PYTHONPLATLIBDIR=",    "PYTHONWARNINGS=",
					     "PYTHONPYCACHEPREFIX=", NULL };

	for (const char *const *at = names; *at; at++) {
		if (str_starts(variable, *at))
			return true;
	}
	return false;
}

/* Code, or a script; flags of the interpreter's own are for one that is yet to start. */
bool zygote_can_boot(const struct spec *spec)
{
	const struct strv *command = &spec->command;

	for (size_t i = 0; i < spec->env.count; i++) {
		if (names_code(spec->env.items[i]))
			return false;
	}
	if (command->count < 2)
		return false;
	return strcmp(command->items[1], "-c") == 0
		       ? command->count > 2
		       : command->items[1][0] != '-' && command->items[1][0] != '\0';
}

static int write_file(const struct str *text, int *ret_fd)
{
	owned(fd_close) int fd = memfd_create("zygote", MFD_CLOEXEC);

	if (fd < 0 || fd_write_all(fd, text->data, text->len) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -1;
	*ret_fd = fd_take(&fd);
	return 0;
}

static bool is_of_run(const char *variable)
{
	return str_starts(variable, "AISBX_SANDBOX=");
}

/*
 * Mounts of the host that the runner or the way to the workspace may need. Others come and go beside us, and whatever
 * they are, a guest sees nothing of them.
 */
static bool needs_tree(const struct spec *spec, const char *path)
{
	static const char *const system[] = { "/usr", "/lib", "/lib64", "/bin", "/etc",
					      "/nix", "/gnu", "/opt",	NULL };

	if (path_is_within(spec->workspace, path))
		return true;
	for (const char *const *at = system; *at; at++) {
		if (path_is_within(path, *at))
			return true;
	}
	return false;
}

/* Borrows the trees it keeps; the list is the caller's. */
static void keep_trees(const struct spec *spec, struct spec *shared)
{
	shared->trees = xcalloc(spec->tree_count + 1, sizeof(*shared->trees));
	shared->tree_count = 0;
	for (size_t i = 0; i < spec->tree_count; i++) {
		if (needs_tree(spec, spec->trees[i].path))
			shared->trees[shared->tree_count++] = spec->trees[i];
	}
}

/* The spec of the sandbox the zygote lives in: all of this run's but its names, and words beyond the first. */
static void write_spec(const struct spec *spec, const char *kind, struct str *ret_text,
		       char ret_key[SHA256_HEX_SIZE])
{
	struct spec shared = *spec; /* borrows everything but what is replaced */
	owned(value_release) struct value *value = NULL;
	char name[] = "zygote";
	struct sha256 sum;

	shared.run_id = shared.sandbox = shared.hostname = name;
	shared.trace_id = NULL;
	shared.ids.host_uid = shared.ids.host_gid = 0;
	/* These come with the run, or are unknown inside the sandbox. */
	shared.limits.fuel = shared.limits.time_ms = shared.limits.cpu_time_ms = 0;
	shared.limits.output_bytes = shared.limits.log_bytes = 0;
	shared.command = shared.env = shared.notes = (struct strv)STRV_INIT;
	keep_trees(spec, &shared);
	strv_add(&shared.command, spec->command.items[0]);
	for (size_t i = 0; i < spec->env.count; i++) {
		if (!is_of_run(spec->env.items[i]))
			strv_add(&shared.env, spec->env.items[i]);
	}
	value = spec_to_value(&shared);
	json_write(ret_text, value, 0);
	sha256_start(&sum);
	sha256_add(&sum, kind, strlen(kind));
	sha256_add(&sum, ret_text->data, ret_text->len);
	sha256_end(&sum, ret_key);
	strv_done(&shared.command);
	strv_done(&shared.env);
	free(shared.trees);
}

static void write_words(const struct spec *spec, struct str *ret_text)
{
	for (size_t i = 0; i < spec->command.count; i++) {
		str_add(ret_text, spec->command.items[i]);
		str_add_char(ret_text, '\0');
	}
	for (size_t i = 0; i < spec->env.count; i++) {
		str_add_char(ret_text, WASM_ENV_MARK);
		str_add(ret_text, spec->env.items[i]);
		str_add_char(ret_text, '\0');
	}
}

static int ask(struct zygote_task *task, const struct driver_io *io, const struct zygote_wish *wish,
	       struct error *err)
{
	struct zygote_message message = { .kind = ZYGOTE_RUN,
					  .ids = task->spec->ids,
					  .fuel = task->spec->limits.fuel,
					  .time_ms = task->spec->limits.time_ms,
					  .is_started = wish->is_started,
					  .argc = (uint32_t)task->spec->command.count };
	owned(free_ptr) char *kind =
		xasprintf("%s %s", wish->module_key, wish->is_started ? "started" : "mapped");
	owned(str_done) struct str spec_text = STR_INIT, words = STR_INIT;
	owned(fd_close) int spec_fd = -1, words_fd = -1, reply_fd = -1;
	int ends[2];

	(void)snprintf(message.module_key, sizeof(message.module_key), "%s", wish->module_key);
	write_spec(task->spec, kind, &spec_text, message.key);
	write_words(task->spec, &words);
	if (words.len > ZYGOTE_WORDS_MAX || write_file(&spec_text, &spec_fd) < 0 ||
	    write_file(&words, &words_fd) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_errno(err, ERROR_HOST, "zygote");
	/* Only our end must not block. */
	(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
	task->fd = ends[0];
	reply_fd = ends[1];
	const int fds[ASK_FD_COUNT] = {
		[ASK_FD_REPLY] = reply_fd,	   [ASK_FD_SPEC] = spec_fd,
		[ASK_FD_WORDS] = words_fd,	   [ASK_FD_IN] = io->fds[0],
		[ASK_FD_OUT] = io->fds[1],	   [ASK_FD_ERR] = io->fds[2],
		[ASK_FD_REPORT] = wish->report_fd,
	};

	if (fd_send(io->zygote_pool_fd, &message, sizeof(message), fds, ASK_FD_COUNT) < 0)
		return error_errno(err, ERROR_HOST, "zygote");
	return 0;
}

static void zygote_free(struct task *base)
{
	struct zygote_task *task = zygote_task_of(base);

	fd_close(&task->fd);
	fd_close(&base->upper_fd);
	strv_done(&base->layers);
	strv_done(&base->upper_paths);
	denials_done(&base->denials);
	free(task);
}

int zygote_start(const struct spec *spec, const struct driver_io *io,
		 const struct zygote_wish *wish, struct task **ret_task, struct error *err)
{
	struct zygote_task *task = xcalloc(1, sizeof(*task));

	task->task = (struct task){
		.driver = &zygote_driver,
		.pty_master = -1,
		.upper_fd = -1,
		.isolation = "wasm",
		.is_lent = true,
	};
	task->spec = spec;
	task->fd = -1;
	if (ask(task, io, wish, err) < 0) {
		zygote_free(&task->task);
		return -1;
	}
	*ret_task = &task->task;
	return 0;
}

bool zygote_is_refused(const struct task *base)
{
	return base->driver == &zygote_driver && ((const struct zygote_task *)base)->is_refused;
}

void zygote_fail(struct task *base, const struct error *err)
{
	base->error = *err;
	zygote_task_of(base)->is_refused = false;
}

static int zygote_poll_fd(const struct task *base)
{
	return ((const struct zygote_task *)base)->fd;
}

static void take_start(struct zygote_task *task, const struct zygote_message *message, int upper_fd)
{
	struct task *base = &task->task;

	base->state = TASK_RUNNING;
	base->began_ns = message->began_ns;
	base->upper_fd = upper_fd;
	strv_add(&base->upper_paths, task->spec->workspace);
	for (enum layer layer = LAYER_USER; layer <= LAYER_OVERLAY; layer++) {
		if (!(message->missing & (1u << layer)))
			strv_add(&base->layers, layer_name(layer));
	}
	base->degraded = message->missing;
}

static void take(struct zygote_task *task, const struct zygote_message *message, int *fd)
{
	struct task *base = &task->task;

	if (message->kind == ZYGOTE_STARTED && base->state == TASK_STARTING && *fd >= 0) {
		take_start(task, message, fd_take(fd));
	} else if (message->kind == ZYGOTE_USAGE) {
		task->usage = message->usage;
	} else if (message->kind == ZYGOTE_ENDED && base->state == TASK_RUNNING) {
		task->usage = message->usage;
		base->wait_status = message->wait_status;
		base->ended_ns = message->ended_ns;
		base->state = TASK_ENDED;
	} else if (base->state == TASK_STARTING) {
		task->is_refused = true;
		base->state = TASK_ENDED;
	}
}

/* A keeper that is gone before anything ran has refused; later, the run went with it. */
static void take_loss(struct zygote_task *task)
{
	struct task *base = &task->task;

	if (base->state == TASK_STARTING)
		task->is_refused = true;
	else
		error_advise(&base->error, ERROR_HOST, "run it again",
			     "the zygotes' supervisor was killed");
	base->state = TASK_ENDED;
}

static void zygote_step(struct task *base)
{
	struct zygote_task *task = zygote_task_of(base);

	while (base->state != TASK_ENDED) {
		struct zygote_message message;
		owned(fd_close) int fd = -1;
		size_t count = 0;
		ssize_t got = fd_receive(task->fd, &message, sizeof(message), &fd, 1, &count);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			return;
		if (count == 0)
			fd = -1;
		if (got == (ssize_t)sizeof(message))
			take(task, &message, &fd);
		else
			take_loss(task);
	}
}

/* The killed run has ended when this returns, or its keeper is gone. */
static void wait_for_end(struct zygote_task *task)
{
	while (task->task.state != TASK_ENDED && fd_wait(task->fd, POLLIN, KILL_MS) > 0)
		zygote_step(&task->task);
}

/* Our end of the socket is all the keeper needs to know. */
static void zygote_kill(struct task *base)
{
	struct zygote_task *task = zygote_task_of(base);

	if (base->state == TASK_ENDED)
		return;
	(void)shutdown(task->fd, SHUT_WR);
	wait_for_end(task);
	if (base->state != TASK_ENDED) {
		base->wait_status = SIGKILL;
		base->state = TASK_ENDED;
	}
}

static void zygote_sample(struct task *base, struct task_usage *ret_usage)
{
	struct zygote_task *task = zygote_task_of(base);
	struct statfs fs;

	*ret_usage = task->usage;
	if (base->upper_fd < 0 || fstatfs(base->upper_fd, &fs) < 0 || fs.f_blocks == 0)
		return;
	ret_usage->disk_limit_bytes = (uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize;
	ret_usage->disk_bytes = (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
	task->was_full |= fs.f_bfree == 0;
	task->inodes_hit |= fs.f_bfree != 0 && fs.f_ffree == 0;
	ret_usage->disk_full = task->was_full;
	ret_usage->inodes_full = task->inodes_hit;
}

static int zygote_check(const struct spec *spec, struct error *err)
{
	(void)spec;
	(void)err;
	return 0;
}

static void zygote_resize(struct task *base, unsigned rows, unsigned columns)
{
	(void)base;
	(void)rows;
	(void)columns;
}

const struct driver zygote_driver = {
	.name = "zygote",
	.summary = "a fork of an engine that is started already",
	.check = zygote_check,
	.poll_fd = zygote_poll_fd,
	.step = zygote_step,
	.kill = zygote_kill,
	.sample = zygote_sample,
	.resize = zygote_resize,
	.free = zygote_free,
};
