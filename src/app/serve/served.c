/* SPDX-License-Identifier: Apache-2.0 */
/* Sandboxes for the clients of a server of ours. */
#include "app/serve/served.h"

#include "app/change/workspace.h"
#include "app/sandbox/owner.h"
#include "app/sandbox/sandbox_parts.h"
#include "app/sandbox/sandbox_state.h"
#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "launch/exec/attach.h"
#include "workspace/store/image.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define START_MS 30000
/* Longer than any client may ask for: what no sweep has found goes then. */
#define TTL_MS (UINT64_C(25) * 3600 * 1000)
/* Of a snapshot, and of what was made from one. */
#define COPY_TTL_MS (30 * TTL_MS)

/* The server's request with what one sandbox has of its own. */
static void make_request(const struct served_plan *plan, const struct served_wish *wish,
			 struct request *ret_request)
{
	request_init(ret_request);
	settings_copy(&ret_request->flags, &plan->request->flags);
	ret_request->environ = plan->request->environ;
	ret_request->owner = plan->owner;
	ret_request->owner_max = SERVED_MAX;
	if (wish->profile || plan->profiles->count)
		ret_request->profile =
			xstrdup(wish->profile ? wish->profile : plan->profiles->items[0]);
	if (wish->image) {
		free(ret_request->flags.root);
		ret_request->flags.root = xstrdup(wish->image);
	}
	settings_add_mount(&ret_request->flags, plan->agent, plan->agent, false, false);
	if (wish->has_no_net) {
		free(ret_request->flags.net);
		ret_request->flags.net = xstrdup("none");
		strv_done(&ret_request->flags.allow);
	}
	strv_add(&ret_request->command, plan->agent);
}

/* The agent as a command of the sandbox, with these descriptors as its streams. */
static int send_agent(int fd, const struct request *request, const struct served_wish *wish,
		      const char *workspace, const int *streams, struct error *err)
{
	struct attach_message message = { .kind = ATTACH_EXEC };
	struct strv words[ATTACH_GROUPS] = { [ATTACH_COMMAND] = request->command };

	strv_add(&words[ATTACH_DIRECTORY], workspace);
	for (const char *const *at = request->environ; at && *at; at++)
		strv_add(&words[ATTACH_ENVIRON], *at);
	strv_copy(&words[ATTACH_SET], &wish->env);
	strv_addf(&words[ATTACH_SET], "HOME=%s", workspace);
	int status = attach_send_exec(fd, &message, words, streams, 3);

	if (status < 0)
		error_errno(err, ERROR_HOST, "cannot reach the sandbox's supervisor");
	strv_done(&words[ATTACH_DIRECTORY]);
	strv_done(&words[ATTACH_ENVIRON]);
	strv_done(&words[ATTACH_SET]);
	return status;
}

static int await_agent(int fd, struct error *err)
{
	owned(free_ptr) struct attach_packet *packet = xcalloc(1, sizeof(*packet));
	uint64_t until_ns = clock_now_ns() + UINT64_C(1000000) * START_MS;

	for (;;) {
		if (fd_wait_until(fd, POLLIN, until_ns) <= 0)
			return error_set(err, ERROR_HOST, "the sandbox does not start");
		int got = attach_receive(fd, packet);

		if (got <= 0)
			return attach_lost(got, err);
		attach_close(packet);
		if (packet->message.kind == ATTACH_RUNNING)
			return 0;
		if (packet->message.kind == ATTACH_FAILED) {
			*err = packet->message.error;
			return -1;
		}
	}
}

/* Enters the sandbox with two pipes of its own: neither leads anywhere but to the server. */
static int enter(const struct request *request, const struct served_wish *wish,
		 struct served *ret_served, struct served_facts *ret_facts, struct error *err)
{
	owned(sandbox_place_close) struct sandbox_place place = { 0 };
	owned(sandbox_state_done) struct sandbox_state state = { 0 };
	owned(fd_close) int fd = -1, null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int to[2] = { -1, -1 }, from[2] = { -1, -1 };

	if (sandbox_place_open(&place, wish->name, SANDBOX_SHARED, err) < 0 ||
	    sandbox_enter(&place.sandbox, request, &fd, err) < 0 ||
	    sandbox_state_read(place.sandbox.dir_fd, &state, err) < 0)
		return -1;
	if (null_fd < 0 || pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
		return error_errno(err, ERROR_HOST, "pipe");
	owned(fd_close) int to_fd = to[1], from_fd = from[0], in_fd = to[0], out_fd = from[1];
	const int streams[] = { in_fd, out_fd, null_fd };

	if (send_agent(fd, request, wish, state.workspace, streams, err) < 0 ||
	    await_agent(fd, err) < 0)
		return -1;
	*ret_served = (struct served){ .control_fd = fd_take(&fd),
				       .to_fd = fd_take(&to_fd),
				       .from_fd = fd_take(&from_fd) };
	*ret_facts = (struct served_facts){ .cpu_milli = (unsigned)state.limits.cpu_milli,
					    .mem_bytes = state.limits.mem_bytes,
					    .disk_bytes = state.limits.disk_bytes,
					    .time_ms = state.time_said ? state.limits.time_ms : 0,
					    .is_vetted = state.scan != STATE_SCAN_OFF ||
							 state.signed_only };
	return 0;
}

static int copy(const struct served_plan *plan, const char *from, const char *new_name,
		struct error *err)
{
	const struct app_fork fork = { .from = from,
				       .new_name = new_name,
				       .owner = plan->owner,
				       .ttl_ms = COPY_TTL_MS,
				       .how = QUIET_FREEZE };
	struct value *answer = NULL;
	int status = app_fork(&fork, &answer, err);

	value_free(answer);
	return status;
}

/* The agent is one of them. */
static int refuse_busy(const char *name, struct error *err)
{
	owned(sandbox_place_close) struct sandbox_place place = { 0 };
	owned(sandbox_processes_done) struct sandbox_processes processes = { 0 };

	if (sandbox_place_open(&place, name, SANDBOX_UNLOCKED, err) < 0 ||
	    app_processes(&place.sandbox, &processes, err) < 0)
		return -1;
	if (processes.count <= 1)
		return 0;
	return error_set(err, ERROR_CONFLICT,
			 "%zu processes run in it, and a copy has files alone: end them first",
			 processes.count - 1);
}

int served_copy(const struct served_plan *plan, const char *from, const char *new_name,
		enum served_copying how, struct error *err)
{
	if (how == SERVED_ALL && refuse_busy(from, err) < 0)
		return -1;
	return copy(plan, from, new_name, err);
}

void served_images(const struct served_plan *plan, struct strv *ret_names)
{
	struct error ignored;

	(void)image_list(plan->store_dir, ret_names, &ignored);
}

int served_start(const struct served_plan *plan, const struct served_wish *wish,
		 struct served *ret_served, struct served_facts *ret_facts, struct error *err)
{
	const struct app_create create = { .name = wish->name, .ttl_ms = TTL_MS };
	owned(request_done) struct request request;
	struct error ignored;

	make_request(plan, wish, &request);
	/* From here no directory is taken as a workspace: the sandbox begins with an empty one. */
	if (chdir("/") < 0)
		return error_errno(err, ERROR_HOST, "/");
	if (!wish->is_there && (wish->from ? copy(plan, wish->from, wish->name, err)
					   : app_create(&request, &create, err)) < 0)
		return -1;
	if (enter(&request, wish, ret_served, ret_facts, err) < 0) {
		(void)app_remove(wish->name, &ignored);
		return -1;
	}
	return 0;
}

bool served_handle(int control_fd)
{
	owned(free_ptr) struct attach_packet *packet = xmalloc(sizeof(*packet));

	while (fd_wait(control_fd, POLLIN, 0) > 0) {
		if (attach_receive(control_fd, packet) <= 0)
			return false;
		attach_close(packet);
		if (packet->message.kind == ATTACH_ENDED || packet->message.kind == ATTACH_FAILED)
			return false;
	}
	return true;
}

int served_figures(const char *name, uint64_t *ret_cpu_us, uint64_t *ret_memory_bytes,
		   struct error *err)
{
	owned(sandbox_place_close) struct sandbox_place place = { 0 };
	owned(sandbox_processes_done) struct sandbox_processes processes = { 0 };

	if (sandbox_place_open(&place, name, SANDBOX_UNLOCKED, err) < 0 ||
	    app_processes(&place.sandbox, &processes, err) < 0)
		return -1;
	*ret_cpu_us = processes.cpu_us;
	*ret_memory_bytes = processes.memory_bytes;
	return 0;
}

/* In the store, a file for each server, named after its owner and locked as long as the server lives. */
static int open_places(bool make)
{
	owned(store_close) struct store store = { .fd = -1, .lock_fd = -1 };
	struct error ignored;

	if (app_store(&store, &ignored) < 0)
		return -1;
	if (make)
		(void)mkdirat(store.fd, "served", 0700);
	return openat(store.fd, "served", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int served_hold(const char *owner, int *ret_fd, struct error *err)
{
	owned(fd_close) int dir_fd = -1, fd = -1;

	served_sweep(NULL);
	dir_fd = open_places(true);
	/* The file is free until it is locked, and no sweep may look at it then. */
	(void)flock(dir_fd, LOCK_EX);
	fd = openat(dir_fd, owner, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return error_errno(err, ERROR_HOST, "cannot note in the store that a server lives");
	*ret_fd = fd_take(&fd);
	return 0;
}

static void list_owned(const char *owner, struct strv *ret_names)
{
	owned(store_close) struct store store = { .fd = -1, .lock_fd = -1 };
	owned(strv_done) struct strv names = STRV_INIT;
	struct error ignored;

	if (app_store(&store, &ignored) < 0 || sandbox_list(&store, &names, &ignored) < 0)
		return;
	for (size_t i = 0; i < names.count; i++) {
		struct sandbox sandbox;

		if (sandbox_open(&store, names.items[i], SANDBOX_UNLOCKED, &sandbox, &ignored) < 0)
			continue;
		if (owner_has(&sandbox, owner))
			strv_add(ret_names, names.items[i]);
		sandbox_close(&sandbox);
	}
}

/* Whether none is left. */
static bool remove_owned(const char *owner, struct strv *removed)
{
	owned(strv_done) struct strv names = STRV_INIT;
	bool is_done = true;
	struct error err;

	list_owned(owner, &names);
	for (size_t i = 0; i < names.count; i++) {
		bool is_gone = app_remove(names.items[i], &err) == 0;

		if (is_gone && removed)
			strv_add(removed, names.items[i]);
		is_done = is_done && (is_gone || err.code == ERROR_NOT_FOUND);
	}
	return is_done;
}

void served_remove_all(const char *owner)
{
	owned(fd_close) int dir_fd = open_places(false);

	if (remove_owned(owner, NULL))
		(void)unlinkat(dir_fd, owner, 0);
}

void served_sweep(struct strv *removed)
{
	owned(fd_close) int dir_fd = open_places(false);
	owned(dir_close) DIR *dir = dir_open(dir_fd, ".");
	struct dirent *entry;

	if (flock(dir_fd, LOCK_EX | LOCK_NB) < 0)
		return;
	while (dir_next(dir, &entry) > 0) {
		owned(fd_close) int fd = file_open(dir_fd, entry->d_name, O_NOFOLLOW, NULL);

		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
		    remove_owned(entry->d_name, removed))
			(void)unlinkat(dir_fd, entry->d_name, 0);
	}
}
