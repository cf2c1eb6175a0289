/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts that are begun before their plan is known.
 *
 * Half of a start needs no plan: init and its namespaces, the payload and its network. Making the plan takes as long, so
 * both are done at the same time. Then the plan is laid out in memory that was shared before the clone, at the same
 * address in all processes, and PLAN announces it; descriptors that were opened meanwhile come with it.
 */
#include "launch/start/prestart.h"

#include "base/file/fd.h"
#include "base/process/process.h"
#include "launch/start/clone_init.h"
#include "launch/setup/handshake.h"
#include "spec/image.h"

#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

/* A plan with a long environment; one that is longer is started the other way. Untouched pages cost nothing. */
#define MEMORY_SIZE ((size_t)256 << 10)

struct memory {
	struct start start;
	struct launch_io io;
	_Alignas(max_align_t) char rest[];
};

static void let_go(struct launch_prestart *prestart)
{
	if (prestart->memory)
		(void)munmap(prestart->memory, MEMORY_SIZE);
	free(prestart);
}

static void end(struct launch_prestart *prestart)
{
	launch_done(&prestart->launch, true);
	let_go(prestart);
}

void launch_abandon(struct launch_prestart *prestart)
{
	if (!prestart)
		return;
	end(prestart);
	/* As a start leaves it. */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

struct launch_prestart *launch_begin(const struct spec_ids *ids)
{
	struct launch_prestart *prestart = xcalloc(1, sizeof(*prestart));
	void *memory =
		mmap(NULL, MEMORY_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct error ignored;
	sigset_t handled, saved;

	launch_init(&prestart->launch);
	prestart->ids = *ids;
	if (memory != MAP_FAILED) {
		prestart->memory = memory;
		prestart->memory->start = (struct start){ .is_prestarted = true, .inside_fd = -1 };
		/* As in launch_start: else a plain user could not map ids. */
		(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
		/* A signal that the supervisor will handle for all of them must not end one of them before. */
		process_handled_signals(&handled);
		(void)sigprocmask(SIG_BLOCK, &handled, &saved);
		int status =
			clone_init(&prestart->launch, &prestart->memory->start, ids, 0, &ignored);

		(void)sigprocmask(SIG_SETMASK, &saved, NULL);
		if (status == 0)
			return prestart;
	}
	end(prestart);
	return NULL;
}

static bool is_same(const struct spec_ids *one, const struct spec_ids *other)
{
	return one->uid == other->uid && one->gid == other->gid &&
	       one->host_uid == other->host_uid && one->host_gid == other->host_gid &&
	       one->count == other->count;
}

/* What lies in memory of ours alone, or had to be there at the clone, came too late for it. */
static bool suits(const struct launch_prestart *prestart, const struct start *start)
{
	const struct launch_io *io = start->io;

	return !prestart->is_ready && is_same(&prestart->ids, &start->spec->ids) &&
	       !start->spec->resident && !start->storage && start->inside_fd < 0 &&
	       !io->extra_filter && !io->calls && !io->has_score && !io->secrets &&
	       !io->passed_fds && io->lock_fds[0] < 0 && io->lock_fds[1] < 0;
}

static int give_plan(struct launch_prestart *prestart, const struct start *start)
{
	const struct message message = { .kind = MESSAGE_PLAN };
	struct memory *memory = prestart->memory;
	size_t count = 0;
	int fds[3];

	memory->start.spec =
		spec_image_make(start->spec, memory->rest, MEMORY_SIZE - sizeof(*memory));
	if (!memory->start.spec)
		return -1;
	memory->io = *start->io;
	memory->io.prestart = NULL;
	memory->start.io = &memory->io;
	memory->start.landlock_abi = start->landlock_abi;
	memcpy(memory->start.group_name, start->group_name, sizeof(start->group_name));
	for (int i = 0; i < 3; i++) {
		if (start->io->fds[i] >= 0)
			fds[count++] = start->io->fds[i];
	}
	if (handshake_send(prestart->launch.payload_fd, &message, fds, count) < 0)
		return -1;
	return handshake_send(prestart->launch.control_fd, &message, NULL, 0);
}

bool prestart_take(struct launch *launch, const struct start *start)
{
	struct launch_prestart *prestart = start->io->prestart ? *start->io->prestart : NULL;

	if (!prestart)
		return false;
	*start->io->prestart = NULL;
	if (!suits(prestart, start) || give_plan(prestart, start) < 0) {
		end(prestart);
		return false;
	}
	launch->init_pid = prestart->launch.init_pid;
	launch->init_fd = prestart->launch.init_fd;
	launch->control_fd = prestart->launch.control_fd;
	launch->payload_fd = prestart->launch.payload_fd;
	let_go(prestart);
	return true;
}

int prestart_await(const struct start *start, int socket_fd, struct launch_io *ret_io,
		   struct error *err)
{
	struct message_fds fds;
	struct message message;
	size_t taken = 0;

	if (handshake_expect(socket_fd, MESSAGE_PLAN, &message, &fds, err) < 0)
		return -1;
	if (!ret_io)
		return 0;
	*ret_io = *start->io;
	for (int i = 0; i < 3; i++) {
		if (ret_io->fds[i] < 0)
			continue;
		if (taken == fds.count)
			return error_set(err, ERROR_INTERNAL, "start: descriptors are missing");
		ret_io->fds[i] = fds.items[taken++];
	}
	return 0;
}
