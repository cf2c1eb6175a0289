/* SPDX-License-Identifier: Apache-2.0 */
/* Ready sandboxes: handed from their maker to the process that has a command for one. */
#include "launch/ready.h"

#include "base/file/fd.h"
#include "base/core/id.h"
#include "base/core/own.h"
#include "launch/exec/attach.h"
#include "launch/start/prestart.h"
#include "launch/start/ready_take.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define CARD_VERSION 1
#define CARD_TEXT_MAX 16384
/* init, its socket, the payload's, the writable layers; then two of each group. */
#define CARD_FDS 4
#define CARD_FDS_MAX (CARD_FDS + 2 * CGROUP_DIRS_MAX)

/* What its supervisor knows of a sandbox, beside descriptors. */
struct state {
	uint32_t version;
	int32_t init_pid;
	uint32_t missing;
	uint32_t host_uid, host_gid;
	char sandbox[ID_SHORT_SIZE];
	bool has_group, is_unified;
	int8_t memory, pids, cpu, cpuacct;
	char group_name[OWNER_NAME_SIZE];
	struct error limits_error;
	uint32_t unit_count, unused_count; /* texts, each with its NUL */
	char text[CARD_TEXT_MAX];
};

static bool add_texts(struct state *state, size_t *len, const struct strv *list)
{
	for (size_t i = 0; i < list->count; i++) {
		size_t size = strlen(list->items[i]) + 1;

		if (size > CARD_TEXT_MAX - *len)
			return false;
		memcpy(state->text + *len, list->items[i], size);
		*len += size;
	}
	return true;
}

/* How many bytes the state has; 0 where it has no room for all. */
static size_t fill(struct state *state, const struct launch *launch, const struct spec *spec)
{
	const struct cgroup *group = &launch->group;
	size_t len = 0;

	*state = (struct state){
		.version = CARD_VERSION,
		.init_pid = launch->init_pid,
		.missing = launch->missing,
		.host_uid = spec->ids.host_uid,
		.host_gid = spec->ids.host_gid,
		.has_group = launch->has_group,
		.is_unified = group->unified,
		.memory = (int8_t)group->memory,
		.pids = (int8_t)group->pids,
		.cpu = (int8_t)group->cpu,
		.cpuacct = (int8_t)group->cpuacct,
		.limits_error = launch->limits_error,
		.unit_count = (uint32_t)launch->unit_paths.count,
		.unused_count = (uint32_t)group->unused.count,
	};
	memcpy(state->group_name, group->name, sizeof(state->group_name));
	if (strlen(spec->sandbox) >= sizeof(state->sandbox) ||
	    !add_texts(state, &len, &launch->unit_paths) || !add_texts(state, &len, &group->unused))
		return 0;
	memcpy(state->sandbox, spec->sandbox, strlen(spec->sandbox));
	return offsetof(struct state, text) + len;
}

int ready_give(int socket_fd, struct launch *launch, const struct spec *spec,
	       const struct rlimit_all *limits, struct cgroup *ret_group)
{
	int fds[CARD_FDS_MAX] = { launch->init_fd, launch->control_fd, launch->payload_fd,
				  launch->upper_fd };
	struct state *state = xmalloc(sizeof(*state));
	size_t size = fill(state, launch, spec), count = CARD_FDS;
	int status = -1;

	for (size_t i = 0; i < launch->group.count; i++) {
		fds[count++] = launch->group.dirs[i];
		fds[count++] = launch->group.parents[i];
	}
	errno = E2BIG;
	/* Overlays that init did not make are the maker's to refresh. */
	if (size > 0 && launch->upper_fd >= 0 &&
	    root_overlays_drop_names(&launch->overlays, false) == 0 &&
	    fd_send(launch->payload_fd, limits, sizeof(*limits), NULL, 0) == 0)
		status = fd_send(socket_fd, state, size, fds, count);
	int saved = errno;

	/* Its new holder ends it, and removes its groups. */
	if (status == 0) {
		launch->init_pid = 0;
		*ret_group = launch->group;
		cgroup_init(&launch->group);
	}
	launch_done(launch, true);
	free(state);
	errno = saved;
	return status;
}

static bool take_texts(const struct state *state, size_t len, size_t *at, uint32_t count,
		       struct strv *list)
{
	for (uint32_t i = 0; i < count; i++) {
		size_t left = len - *at, text_len = strnlen(state->text + *at, left);

		if (text_len == left)
			return false;
		strv_add(list, state->text + *at);
		*at += text_len + 1;
	}
	return true;
}

static bool is_sane(const struct state *state, size_t size, size_t fd_count)
{
	const int8_t dirs[] = { state->memory, state->pids, state->cpu, state->cpuacct };

	if (size < offsetof(struct state, text) || state->version != CARD_VERSION ||
	    fd_count < CARD_FDS || fd_count % 2 != 0 || state->init_pid <= 1 ||
	    !memchr(state->sandbox, 0, sizeof(state->sandbox)) ||
	    !memchr(state->group_name, 0, sizeof(state->group_name)))
		return false;
	for (size_t i = 0; i < sizeof(dirs); i++) {
		/* Those of processor time may be missing. */
		if (dirs[i] < (state->has_group && i < 2 ? 0 : -1) ||
		    dirs[i] >= (int)((fd_count - CARD_FDS) / 2))
			return false;
	}
	return state->has_group || (fd_count == CARD_FDS && error_is_sane(&state->limits_error));
}

/* The descriptors are the launch's. */
static bool read_state(struct launch *launch, const struct state *state, size_t size,
		       const int *fds, size_t count)
{
	struct cgroup *group = &launch->group;
	size_t len = size - offsetof(struct state, text), at = 0;

	launch->init_fd = fds[0];
	launch->control_fd = fds[1];
	launch->payload_fd = fds[2];
	launch->upper_fd = fds[3];
	launch->init_pid = state->init_pid;
	launch->missing = state->missing;
	launch->has_group = state->has_group;
	launch->limits_error = state->limits_error;
	launch->leaves_things = launch->was_ready = true;
	for (size_t i = CARD_FDS; i < count; i += 2) {
		group->dirs[group->count] = fds[i];
		group->parents[group->count] = fds[i + 1];
		group->enter[group->count++] = -1;
	}
	group->unified = state->is_unified;
	memcpy(group->name, state->group_name, sizeof(group->name));
	group->memory = state->memory;
	group->pids = state->pids;
	group->cpu = state->cpu;
	group->cpuacct = state->cpuacct;
	return take_texts(state, len, &at, state->unit_count, &launch->unit_paths) &&
	       take_texts(state, len, &at, state->unused_count, &group->unused) && at == len;
}

/* A sandbox keeps the name it was made under. */
static void rename_spec(struct spec *spec, const struct state *state)
{
	for (size_t i = 0; i < spec->env.count; i++) {
		if (!str_starts(spec->env.items[i], "AISBX_SANDBOX="))
			continue;
		free(spec->env.items[i]);
		spec->env.items[i] = xasprintf("AISBX_SANDBOX=%s", state->sandbox);
	}
	free(spec->sandbox);
	free(spec->hostname);
	spec->sandbox = xstrdup(state->sandbox);
	spec->hostname = xstrdup(state->sandbox);
	spec->ids.host_uid = state->host_uid;
	spec->ids.host_gid = state->host_gid;
}

struct launch_prestart *ready_receive(int socket_fd, struct spec *spec)
{
	struct state *state = xmalloc(sizeof(*state));
	struct launch_prestart *prestart = NULL;
	int fds[CARD_FDS_MAX];
	size_t count = 0;
	ssize_t got = fd_receive(socket_fd, state, sizeof(*state), fds, CARD_FDS_MAX, &count);

	if (got > 0 && is_sane(state, (size_t)got, count)) {
		prestart = xcalloc(1, sizeof(*prestart));
		launch_init(&prestart->launch);
		prestart->is_ready = true;
		if (read_state(&prestart->launch, state, (size_t)got, fds, count)) {
			rename_spec(spec, state);
		} else {
			launch_abandon(prestart);
			prestart = NULL;
		}
	} else {
		for (size_t i = 0; i < count; i++)
			close(fds[i]);
	}
	free(state);
	return prestart;
}

static int send_command(int socket_fd, const struct spec *spec, const struct launch_io *io)
{
	struct attach_message message = { .kind = ATTACH_EXEC };
	struct strv words[ATTACH_GROUPS] = {
		[ATTACH_COMMAND] = spec->command, [ATTACH_ENVIRON] = spec->env
	};
	size_t count = 0;
	int fds[3];

	for (int i = 0; i < 3; i++) {
		message.exec.tty[i] = io->tty[i];
		if (!io->tty[i])
			fds[count++] = io->fds[i];
	}
	message.exec.rows = io->rows;
	message.exec.columns = io->columns;
	strv_add(&words[ATTACH_DIRECTORY], spec->cwd);
	int status = attach_send_exec(socket_fd, &message, words, fds, count);

	strv_done(&words[ATTACH_DIRECTORY]);
	return status;
}

bool ready_take(const struct spec *spec, const struct launch_io *io, struct launch *ret_launch)
{
	struct launch_prestart *prestart = io->prestart ? *io->prestart : NULL;

	if (!prestart || !prestart->is_ready)
		return false;
	*io->prestart = NULL;
	if (io->extra_filter || io->calls || io->has_score || io->secrets || io->passed_fds ||
	    io->waits || send_command(prestart->launch.payload_fd, spec, io) < 0) {
		launch_abandon(prestart);
		return false;
	}
	*ret_launch = prestart->launch;
	free(prestart);
	/* As any start leaves its supervisor. */
	rlimit_raise_descriptors();
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return true;
}

int ready_await(int socket_fd, struct launch_io *ret_io, struct ready_command *ret_command,
		struct error *err)
{
	struct attach_packet *packet = xmalloc(sizeof(*packet));
	struct strv words[ATTACH_GROUPS] = { 0 };
	struct rlimit_all limits;
	size_t taken = 0;

	/* Its holder is gone, or has no use for it: nothing is left to report to. */
	if (read(socket_fd, &limits, sizeof(limits)) != (ssize_t)sizeof(limits) ||
	    attach_receive(socket_fd, packet) <= 0 || packet->message.kind != ATTACH_EXEC)
		_exit(125);
	if (rlimit_take(&limits) < 0)
		return error_errno(err, ERROR_HOST, "cannot take the caller's limits");
	if (attach_words(packet, words, err) < 0)
		return -1;
	for (int i = 0; i < 3; i++) {
		ret_io->tty[i] = packet->message.exec.tty[i];
		if (!ret_io->tty[i] && taken == packet->fd_count)
			return error_set(err, ERROR_INTERNAL, "start: descriptors are missing");
		ret_io->fds[i] = ret_io->tty[i] ? -1 : packet->fds[taken++];
	}
	ret_io->rows = packet->message.exec.rows;
	ret_io->columns = packet->message.exec.columns;
	*ret_command = (struct ready_command){ words[ATTACH_DIRECTORY].items[0],
					       words[ATTACH_COMMAND], words[ATTACH_ENVIRON] };
	return 0;
}
