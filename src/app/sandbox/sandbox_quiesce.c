/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a named sandbox, and making sure that there are none, or that none runs. */
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "app/sandbox/sandbox_state.h"
#include "app/sandbox/sandbox_parts.h"
#include "app/sandbox/service_copy.h"
#include "app/config/secret_words.h"
#include "supervise/sandbox/supervisor.h"
#include "launch/exec/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_MS 10000
#define PROCESSES_MAX 4096
#define COMMAND_SHOWN 200
#define NAMED_MAX 5
#define LET_GO_TRIES 50u   /* of a tenth of a second, which relocking takes */
#define SETTLE_TRIES 1000u /* of a millisecond */
#define REACH_TRIES 5u	   /* of supervisors that others end */

static int ask(int fd, enum attach_kind kind, enum attach_kind answer, struct attach_packet *packet,
	       struct error *err)
{
	const struct attach_message message = { .kind = kind };
	int got;

	if (attach_send(fd, &message, NULL, 0) < 0)
		return error_errno(err, ERROR_HOST, "cannot reach the sandbox's supervisor");
	for (;;) {
		if (fd_wait(fd, POLLIN, ANSWER_MS) <= 0)
			return error_set(err, ERROR_HOST,
					 "the sandbox's supervisor does not answer");
		got = attach_receive(fd, packet);
		if (got <= 0)
			return attach_lost(got, err);
		attach_close(packet);
		if (packet->message.kind == answer)
			return 0;
		if (packet->message.kind == ATTACH_FAILED) {
			*err = packet->message.error;
			return -1;
		}
	}
}

bool sandbox_was_left(int fd, struct error *err)
{
	int state = fd_wait(fd, 0, 0);

	if (state <= 0 || !(state & POLLHUP))
		return false;
	*err = (struct error){ 0 };
	return true;
}

static int look(int fd, struct attach_figures *ret_figures, struct error *err)
{
	owned(free_ptr) struct attach_packet *packet = xcalloc(1, sizeof(*packet));

	if (ask(fd, ATTACH_LOOK, ATTACH_FIGURES, packet, err) < 0)
		return -1;
	*ret_figures = packet->message.figures;
	return 0;
}

struct process {
	pid_t pid, parent;
	bool is_inside;
};

static size_t read_processes(struct process *ret_list, size_t max)
{
	owned(dir_close) DIR *proc = opendir("/proc");
	struct dirent *entry;
	size_t count = 0;

	if (!proc)
		return 0;
	while (count < max && dir_next(proc, &entry) > 0) {
		char path[32], text[512];
		int parent;
		char state;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		(void)snprintf(path, sizeof(path), "%.10s/stat", entry->d_name);
		if (file_read_small(dirfd(proc), path, text, sizeof(text)) <= 0)
			continue;
		const char *end = strrchr(text, ')');

		if (end && sscanf(end + 1, " %c %d", &state, &parent) == 2 && state != 'Z')
			ret_list[count++] =
				(struct process){ (pid_t)strtol(entry->d_name, NULL, 10), parent,
						  false };
	}
	return count;
}

/* All processes inside descend from init: orphans are reparented to it. */
static void mark_inside(struct process *list, size_t count, pid_t init_pid)
{
	for (bool found = true; found;) {
		found = false;
		for (size_t i = 0; i < count; i++) {
			bool is_new = !list[i].is_inside && list[i].parent == init_pid;

			for (size_t j = 0; !list[i].is_inside && !is_new && j < count; j++)
				is_new = list[j].is_inside && list[j].pid == list[i].parent;
			list[i].is_inside |= is_new;
			found |= is_new;
		}
	}
}

/* The command line as one line of words; the name alone for a process without one. */
static char *command_of(pid_t pid)
{
	char path[40], text[COMMAND_SHOWN];
	ssize_t len;

	(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	len = file_read_small(AT_FDCWD, path, text, sizeof(text));
	while (len > 0 && !text[len - 1])
		len--;
	for (ssize_t i = 0; i < len; i++)
		text[i] = text[i] ? text[i] : ' ';
	if (len > 0)
		return xstrndup(text, (size_t)len);
	(void)snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	len = file_read_small(AT_FDCWD, path, text, sizeof(text));
	return xstrndup(text, len > 0 ? strcspn(text, "\n") : 0);
}

static void list_inside(pid_t init_pid, const struct secret_words *words,
			struct sandbox_processes *processes)
{
	owned(free_ptr) struct process *list = xcalloc(PROCESSES_MAX, sizeof(*list));
	size_t count = read_processes(list, PROCESSES_MAX);

	mark_inside(list, count, init_pid);
	for (size_t i = 0; i < count; i++) {
		if (!list[i].is_inside)
			continue;
		processes->items =
			xrealloc(processes->items, processes->count + 1, sizeof(*processes->items));
		processes->items[processes->count++] =
			(struct sandbox_process){ .pid = list[i].pid,
						  .parent = list[i].parent,
						  .command = command_of(list[i].pid) };
		secret_words_hide(words, &processes->items[processes->count - 1].command);
	}
}

/* As the supervisor at the other end of FD knows them. */
static int processes_of(int dir_fd, int fd, struct sandbox_processes *ret_processes,
			struct error *err)
{
	struct sandbox_processes processes = { 0 };
	struct attach_figures figures;

	*ret_processes = processes;
	if (look(fd, &figures, err) < 0)
		return -1;
	processes.has_supervisor = true;
	processes.is_idle = figures.is_idle;
	processes.cpu_us = figures.cpu_us;
	processes.memory_bytes = figures.memory_bytes;
	if (!figures.is_idle) {
		owned(sandbox_state_done) struct sandbox_state state = { .workspace = NULL };
		owned(secret_words_done) struct secret_words words;
		struct error ignored;
		bool is_known = sandbox_state_read(dir_fd, &state, &ignored) == 0;

		secret_words_read(&state.secrets, &words);
		words.is_unknown |= !is_known;
		list_inside(figures.init_pid, &words, &processes);
		service_mark(dir_fd, &processes);
	}
	*ret_processes = processes;
	return 0;
}

int app_processes(const struct sandbox *sandbox, struct sandbox_processes *ret_processes,
		  struct error *err)
{
	int status = 0;

	*ret_processes = (struct sandbox_processes){ 0 };
	for (unsigned i = 0; i < REACH_TRIES; i++) {
		owned(fd_close) int fd = -1;

		if (!sandbox_reach(sandbox->dir_fd, &fd))
			return 0;
		status = processes_of(sandbox->dir_fd, fd, ret_processes, err);
		if (status == 0 || !sandbox_was_left(fd, err))
			return status;
	}
	return attach_lost(0, err);
}

void sandbox_processes_done(struct sandbox_processes *processes)
{
	for (size_t i = 0; i < processes->count; i++)
		free(processes->items[i].command);
	free(processes->items);
	*processes = (struct sandbox_processes){ 0 };
}

/*
 * One that hangs up without ending is of another version and does not know our messages: it is killed. Another supervisor that
 * answers has been started since, for a command that must not be ended.
 */
static int make_sure(int dir_fd, const struct supervisor_who *who, struct error *err)
{
	owned(fd_close) int fd = -1;

	if (!sandbox_reach(dir_fd, &fd) || !supervisor_kill(who, false) ||
	    supervisor_wait(who, ANSWER_MS))
		return 0;
	return error_set(err, ERROR_HOST, "the sandbox's supervisor does not end");
}

/* A connection, and the process at its other end. */
struct reached {
	int fd;
	struct supervisor_who who;
};

static void reached_close(struct reached *reached)
{
	fd_close(&reached->fd);
}

static bool reach(int dir_fd, struct reached *ret_reached)
{
	(void)supervisor_find(dir_fd, &ret_reached->who);
	return sandbox_reach(dir_fd, &ret_reached->fd);
}

/* One that is silent: by now it has recorded its pid, also when it was about to start. */
static bool end_silent(int dir_fd, struct reached *reached)
{
	(void)supervisor_find(dir_fd, &reached->who);
	return fd_wait(reached->fd, POLLIN, 0) == 0 && supervisor_kill(&reached->who, false);
}

/*
 * Waits for the supervisor's end: its socket's. All processes inside are gone by then. One that does not answer is killed. 1
 * where ONLY_IDLE, and something runs by now.
 */
static int stop(int dir_fd, struct reached *reached, bool only_idle, struct error *err)
{
	const struct attach_message message = { .kind = only_idle ? ATTACH_STOP_IDLE
								  : ATTACH_STOP };
	owned(free_ptr) struct attach_packet *packet = xcalloc(1, sizeof(*packet));

	if (attach_send(reached->fd, &message, NULL, 0) < 0 && errno != EPIPE)
		return error_errno(err, ERROR_HOST, "cannot reach the sandbox's supervisor");
	(void)supervisor_kill(&reached->who, true);
	for (bool is_killed = false;;) {
		int ready = fd_wait(reached->fd, POLLIN, ANSWER_MS);

		if (ready <= 0 && !is_killed && end_silent(dir_fd, reached)) {
			is_killed = true;
			continue;
		}
		if (ready <= 0)
			return error_set(err, ERROR_HOST, "the sandbox's supervisor does not end");
		if (attach_receive(reached->fd, packet) <= 0)
			return make_sure(dir_fd, &reached->who, err);
		attach_close(packet);
		if (only_idle && packet->message.kind == ATTACH_DONE)
			return 1;
	}
}

/*
 * A command's caller learns of its end before init has reported to the supervisor that no process is left: without a process
 * to name, that is a matter of a moment. 1 when a process lives, 0, or -1.
 */
static int find_alive(int dir_fd, int fd, struct sandbox_processes *ret_processes,
		      struct error *err)
{
	const struct timespec rest = { .tv_nsec = 1000000 };

	for (unsigned i = 0; i < SETTLE_TRIES; i++) {
		if (processes_of(dir_fd, fd, ret_processes, err) < 0)
			return -1;
		if (ret_processes->count > 0)
			return 1;
		if (ret_processes->is_idle)
			return 0;
		(void)nanosleep(&rest, NULL);
	}
	return 1;
}

static int refuse(const struct sandbox *sandbox, const struct sandbox_processes *alive,
		  struct error *err)
{
	owned(str_done) struct str text = STR_INIT;

	size_t named = 0;

	for (size_t i = 0; i < alive->count && named < NAMED_MAX; i++) {
		char shown[STR_SHOWN_SIZE];

		if (!alive->items[i].is_service)
			str_addf(&text, "%s%d (%s)", named++ ? ", " : "", alive->items[i].pid,
				 str_shown(alive->items[i].command, shown));
	}
	if (alive->others > NAMED_MAX)
		str_addf(&text, " and %zu more", alive->others - NAMED_MAX);
	return error_advise(err, ERROR_CONFLICT, "--kill ends them first",
			    "processes are running in '%s': %.300s", sandbox->name,
			    str_cstr(&text));
}

static int freeze(struct sandbox *sandbox, int *fd, bool *ret_frozen, struct error *err)
{
	owned(free_ptr) struct attach_packet *packet = xcalloc(1, sizeof(*packet));

	if (ask(*fd, ATTACH_FREEZE, ATTACH_DONE, packet, err) < 0 ||
	    sandbox_relock(sandbox, SANDBOX_SHARED, err) < 0)
		return -1;
	/* They stay stopped as long as this is open. */
	sandbox->freeze_fd = fd_take(fd);
	*ret_frozen = true;
	return 0;
}

/*
 * Behind a supervisor's end its janitor takes the mounts down and then lets go: on a busy machine that takes its time. A
 * command may have come in between and started another; ending all processes ends that one, too.
 */
static int lock_after_stop(struct sandbox *sandbox, enum quiesce_mode how, struct error *err)
{
	for (unsigned i = 0; i < LET_GO_TRIES; i++) {
		owned(reached_close) struct reached next = { .fd = -1 };

		if (sandbox_relock(sandbox, SANDBOX_EXCLUSIVE, err) == 0)
			return 0;
		if (err->code != ERROR_CONFLICT)
			return -1;
		if (how == QUIET_KILL && reach(sandbox->dir_fd, &next) &&
		    stop(sandbox->dir_fd, &next, false, err) < 0)
			return -1;
	}
	return -1;
}

/*
 * 1 when processes have to be frozen, 0 when the supervisor has to end, -1. *RET_ONLY_IDLE: unless a command comes meanwhile; what
 * is left of services that were stopped ends with it.
 */
static int decide_alive(const struct sandbox *sandbox, int fd, enum quiesce_mode how,
			bool *ret_only_idle, struct error *err)
{
	struct sandbox_processes alive = { 0 };
	int status = how == QUIET_KILL ? 0 : find_alive(sandbox->dir_fd, fd, &alive, err);

	*ret_only_idle = how != QUIET_KILL;
	if (status > 0 && how != QUIET_FREEZE && (alive.others > 0 || alive.count == 0))
		status = refuse(sandbox, &alive, err);
	if (status > 0 && how == QUIET_REFUSE) {
		service_stop_all(sandbox->dir_fd);
		*ret_only_idle = false;
		status = 0;
	}
	sandbox_processes_done(&alive);
	return status;
}

int app_quiesce(struct sandbox *sandbox, enum quiesce_mode how, bool *ret_frozen, struct error *err)
{
	bool only_idle;
	int status;

	*ret_frozen = false;
	for (unsigned i = 0; i < REACH_TRIES; i++) {
		owned(reached_close) struct reached reached = { .fd = -1 };

		if (!reach(sandbox->dir_fd, &reached))
			return lock_after_stop(sandbox, how, err);
		status = decide_alive(sandbox, reached.fd, how, &only_idle, err);
		if (status > 0)
			status = freeze(sandbox, &reached.fd, ret_frozen, err);
		else if (status == 0)
			status = stop(sandbox->dir_fd, &reached, only_idle, err);
		if (*ret_frozen)
			return 0;
		if (status == 0)
			return lock_after_stop(sandbox, how, err);
		if (status < 0 && !sandbox_was_left(reached.fd, err))
			return -1;
	}
	return attach_lost(0, err);
}

int sandbox_end_idle(int dir_fd, int fd, struct error *err)
{
	struct sandbox_processes alive = { 0 };
	struct reached reached = { .fd = fd }; /* the caller's */

	(void)supervisor_find(dir_fd, &reached.who);
	int status = find_alive(dir_fd, fd, &alive, err);

	sandbox_processes_done(&alive);
	if (status < 0 && sandbox_was_left(fd, err))
		return 1;
	if (status != 0)
		return status < 0 ? -1 : 0;
	status = stop(dir_fd, &reached, true, err);
	return status < 0 ? -1 : !status;
}

int app_thaw(struct sandbox *sandbox, struct error *err)
{
	owned(free_ptr) struct attach_packet *packet = xcalloc(1, sizeof(*packet));
	owned(fd_close) int fd = fd_take(&sandbox->freeze_fd);

	/* Who was ended meanwhile holds nothing. */
	return fd < 0 || ask(fd, ATTACH_THAW, ATTACH_DONE, packet, err) == 0 ||
			       sandbox_was_left(fd, err)
		       ? 0
		       : -1;
}

int app_freeze(const char *name, int *ret_fd, struct error *err)
{
	owned(free_ptr) struct attach_packet *packet = xcalloc(1, sizeof(*packet));
	owned(sandbox_place_close) struct sandbox_place place = { 0 };
	owned(fd_close) int fd = -1;

	if (sandbox_place_open(&place, name, SANDBOX_UNLOCKED, err) < 0)
		return -1;
	if (!sandbox_reach(place.sandbox.dir_fd, &fd))
		return error_set(err, ERROR_NOT_FOUND, "nothing runs in '%s'", name);
	if (ask(fd, ATTACH_FREEZE, ATTACH_DONE, packet, err) < 0)
		return -1;
	*ret_fd = fd_take(&fd);
	return 0;
}

int app_stop(const char *name, bool *ret_ended, struct error *err)
{
	owned(sandbox_place_close) struct sandbox_place place = { 0 };
	owned(reached_close) struct reached reached = { .fd = -1 };

	*ret_ended = false;
	if (app_store(&place.store, err) < 0)
		return -1;
	place.has_store = true;
	if (sandbox_open(&place.store, name, SANDBOX_UNLOCKED, &place.sandbox, err) < 0)
		return -1;
	place.has_sandbox = true;
	if (!reach(place.sandbox.dir_fd, &reached))
		return 0;
	*ret_ended = true;
	service_stop_all(place.sandbox.dir_fd);
	return stop(place.sandbox.dir_fd, &reached, false, err);
}
