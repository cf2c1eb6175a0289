/* SPDX-License-Identifier: Apache-2.0 */
/* Ready sandboxes: handed from their maker to the process that has a command for one. */
#include "launch/ready.h"

#include "base/fd.h"
#include "base/id.h"
#include "base/own.h"
#include "confine/rlimit.h"
#include "launch/resident/attach.h"
#include "launch/start/ahead.h"
#include "launch/start/birth.h"
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
struct card {
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

static bool add_texts(struct card *card, size_t *len, const struct strv *list)
{
	for (size_t i = 0; i < list->count; i++) {
		size_t size = strlen(list->items[i]) + 1;

		if (size > CARD_TEXT_MAX - *len)
			return false;
		memcpy(card->text + *len, list->items[i], size);
		*len += size;
	}
	return true;
}

/* How many bytes the card has; 0 where it has no room for all. */
static size_t fill(struct card *card, const struct launch *launch, const struct spec *spec)
{
	const struct cgroup *group = &launch->group;
	size_t len = 0;

	*card = (struct card){
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
	memcpy(card->group_name, group->name, sizeof(card->group_name));
	if (strlen(spec->sandbox) >= sizeof(card->sandbox) ||
	    !add_texts(card, &len, &launch->unit_paths) || !add_texts(card, &len, &group->unused))
		return 0;
	memcpy(card->sandbox, spec->sandbox, strlen(spec->sandbox));
	return offsetof(struct card, text) + len;
}

int ready_give(int socket_fd, struct launch *launch, const struct spec *spec)
{
	int fds[CARD_FDS_MAX] = { launch->init_fd, launch->control_fd, launch->payload_fd,
				  launch->upper_fd };
	struct card *card = xmalloc(sizeof(*card));
	size_t size = fill(card, launch, spec), count = CARD_FDS;
	int status = -1;

	for (size_t i = 0; i < launch->group.count; i++) {
		fds[count++] = launch->group.dirs[i];
		fds[count++] = launch->group.parents[i];
	}
	errno = E2BIG;
	if (size > 0 && launch->upper_fd >= 0 &&
	    root_overlays_drop_names(&launch->overlays, false) == 0)
		status = fd_send(socket_fd, card, size, fds, count);
	int saved = errno;

	/* Its new holder ends it, and removes its groups. */
	if (status == 0)
		launch->init_pid = 0;
	launch_done(launch, true);
	free(card);
	errno = saved;
	return status;
}

static bool take_texts(const struct card *card, size_t len, size_t *at, uint32_t count,
		       struct strv *list)
{
	for (uint32_t i = 0; i < count; i++) {
		size_t left = len - *at, text_len = strnlen(card->text + *at, left);

		if (text_len == left)
			return false;
		strv_add(list, card->text + *at);
		*at += text_len + 1;
	}
	return true;
}

static bool is_sane(const struct card *card, size_t size, size_t fd_count)
{
	const int8_t dirs[] = { card->memory, card->pids, card->cpu, card->cpuacct };

	if (size < offsetof(struct card, text) || card->version != CARD_VERSION ||
	    fd_count < CARD_FDS || fd_count % 2 != 0 || card->init_pid <= 1 ||
	    !memchr(card->sandbox, 0, sizeof(card->sandbox)) ||
	    !memchr(card->group_name, 0, sizeof(card->group_name)))
		return false;
	for (size_t i = 0; i < sizeof(dirs); i++) {
		if (dirs[i] < -1 || dirs[i] >= (int)((fd_count - CARD_FDS) / 2))
			return false;
	}
	return card->has_group || error_is_sane(&card->limits_error);
}

/* The descriptors are the launch's. */
static bool read_card(struct launch *launch, const struct card *card, size_t size, const int *fds,
		      size_t count)
{
	struct cgroup *group = &launch->group;
	size_t len = size - offsetof(struct card, text), at = 0;

	launch->init_fd = fds[0];
	launch->control_fd = fds[1];
	launch->payload_fd = fds[2];
	launch->upper_fd = fds[3];
	launch->init_pid = card->init_pid;
	launch->missing = card->missing;
	launch->has_group = card->has_group;
	launch->limits_error = card->limits_error;
	launch->leaves_things = launch->was_ready = true;
	for (size_t i = CARD_FDS; i < count; i += 2) {
		group->dirs[group->count] = fds[i];
		group->parents[group->count] = fds[i + 1];
		group->enter[group->count++] = -1;
	}
	group->unified = card->is_unified;
	memcpy(group->name, card->group_name, sizeof(group->name));
	group->memory = card->memory;
	group->pids = card->pids;
	group->cpu = card->cpu;
	group->cpuacct = card->cpuacct;
	return take_texts(card, len, &at, card->unit_count, &launch->unit_paths) &&
	       take_texts(card, len, &at, card->unused_count, &group->unused) && at == len;
}

/* A sandbox keeps the name it was made under. */
static void rename_spec(struct spec *spec, const struct card *card)
{
	for (size_t i = 0; i < spec->env.count; i++) {
		if (!str_starts(spec->env.items[i], "AISBX_SANDBOX="))
			continue;
		free(spec->env.items[i]);
		spec->env.items[i] = xasprintf("AISBX_SANDBOX=%s", card->sandbox);
	}
	free(spec->sandbox);
	free(spec->hostname);
	spec->sandbox = xstrdup(card->sandbox);
	spec->hostname = xstrdup(card->sandbox);
	spec->ids.host_uid = card->host_uid;
	spec->ids.host_gid = card->host_gid;
}

struct launch_ahead *ready_receive(int socket_fd, struct spec *spec)
{
	struct card *card = xmalloc(sizeof(*card));
	struct launch_ahead *ahead = NULL;
	int fds[CARD_FDS_MAX];
	size_t count = 0;
	ssize_t got = fd_receive(socket_fd, card, sizeof(*card), fds, CARD_FDS_MAX, &count);

	if (got > 0 && is_sane(card, (size_t)got, count)) {
		ahead = xcalloc(1, sizeof(*ahead));
		launch_init(&ahead->launch);
		ahead->is_ready = true;
		if (read_card(&ahead->launch, card, (size_t)got, fds, count)) {
			rename_spec(spec, card);
		} else {
			launch_abandon(ahead);
			ahead = NULL;
		}
	} else {
		for (size_t i = 0; i < count; i++)
			close(fds[i]);
	}
	free(card);
	return ahead;
}

static int send_command(int socket_fd, const struct spec *spec, const struct launch_io *io)
{
	struct attach_message message = { .kind = ATTACH_EXEC };
	struct strv words[ATTACH_GROUPS] = {
		[ATTACH_COMMAND] = spec->command, [ATTACH_ENVIRON] = spec->env
	};
	struct rlimit_all limits;
	size_t count = 0;
	int fds[3];

	for (int i = 0; i < 3; i++) {
		message.exec.tty[i] = io->tty[i];
		if (!io->tty[i])
			fds[count++] = io->fds[i];
	}
	message.exec.rows = io->rows;
	message.exec.columns = io->columns;
	if (rlimit_read(&limits) < 0 || fd_send(socket_fd, &limits, sizeof(limits), NULL, 0) < 0)
		return -1;
	strv_add(&words[ATTACH_DIRECTORY], spec->cwd);
	int status = attach_send_exec(socket_fd, &message, words, fds, count);

	strv_done(&words[ATTACH_DIRECTORY]);
	return status;
}

bool ready_take(const struct spec *spec, const struct launch_io *io, struct launch *ret_launch)
{
	struct launch_ahead *ahead = io->ahead ? *io->ahead : NULL;

	if (!ahead || !ahead->is_ready)
		return false;
	*io->ahead = NULL;
	if (io->extra_filter || io->has_score || io->secrets || io->hands || io->waits ||
	    send_command(ahead->launch.payload_fd, spec, io) < 0) {
		launch_abandon(ahead);
		return false;
	}
	*ret_launch = ahead->launch;
	free(ahead);
	/* As any start leaves its supervisor. */
	birth_raise_descriptors();
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
