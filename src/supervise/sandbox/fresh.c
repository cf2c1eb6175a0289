/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sandbox's look at the host's files, taken anew for each command.
 *
 * An overlay keeps the names that it looked up, found or not, also when the host replaces what they stood for. So the
 * names are dropped once when the last process has ended and the last caller is gone, and once more before the next
 * command, when there is little left to drop. That second moment is noted: a file of the host that has not changed since
 * then is what the sandbox sees. It lies where the next caller connects, which then still has its command to prepare.
 *
 * Not before the caller is gone: it looks at what its command has changed, and a file that the host has replaced
 * meanwhile can be read only as long as an overlay holds it (origin_pin.c).
 */
#include "base/core/clock.h"
#include "base/core/own.h"
#include "supervise/sandbox/parts.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A caller sends its command sooner than that; after a longer time the names are dropped once more. */
#define PREPARED_NS 20000000u

static struct place place_of(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? (struct place){ 0 } : (struct place){ st.st_dev, st.st_ino };
}

/* The directory that holds a mount point of the sandbox inside the workspace. */
static struct place place_of_bind(const struct spec *spec, const struct spec_bind *bind)
{
	size_t len = strlen(spec->workspace);

	if (strncmp(bind->target, spec->workspace, len) != 0 || bind->target[len] != '/')
		return (struct place){ 0 };
	owned(free_ptr) char *parent = xstrdup(bind->target);

	*strrchr(parent, '/') = '\0';
	return place_of(parent);
}

void fresh_begin(struct supervisor *supervisor)
{
	const struct spec *spec = supervisor->options->spec;

	supervisor->left_ns = clock_now_ns();
	supervisor->workspace = place_of(spec->workspace);
	supervisor->bind_places = xcalloc(spec->bind_count + 1, sizeof(struct place));
	for (size_t i = 0; i < spec->bind_count; i++)
		supervisor->bind_places[i] = place_of_bind(spec, &spec->binds[i]);
}

void fresh_end(struct supervisor *supervisor)
{
	const struct supervisor_options *options = supervisor->options;

	options->note_left(options->dir_fd,
			   supervisor->is_idle ? supervisor->left_ns : clock_now_ns());
}

static bool is_same_place(struct place one, struct place other)
{
	return one.dev == other.dev && one.ino == other.ino;
}

/* Directories that mounts of the sandbox hold on to: no reconfiguring shows another one in their place. */
static bool are_places_the_same(const struct supervisor *supervisor)
{
	const struct spec *spec = supervisor->options->spec;

	if (!is_same_place(supervisor->workspace, place_of(spec->workspace)))
		return false;
	for (size_t i = 0; i < spec->bind_count; i++) {
		if (!is_same_place(supervisor->bind_places[i],
				   place_of_bind(spec, &spec->binds[i])))
			return false;
	}
	return true;
}

/* Whether a client is connected that started a command: it may still be reading what the command changed. */
static bool has_callers(const struct supervisor *supervisor)
{
	for (size_t i = 0; i < supervisor->client_count; i++) {
		if (supervisor->clients[i].pid)
			return true;
	}
	return false;
}

static int drop_names(struct supervisor *supervisor, bool only_workspace)
{
	bool is_current = held_names_are_current(&supervisor->held);

	if (!is_current)
		held_names_release(&supervisor->held);
	return root_overlays_drop_names(&supervisor->launch.overlays, only_workspace && is_current);
}

void fresh_tidy(struct supervisor *supervisor)
{
	if (!supervisor->is_idle || supervisor->is_tidy || !supervisor->was_entered ||
	    has_callers(supervisor))
		return;
	held_names_release(&supervisor->held);
	supervisor->is_tidy = root_overlays_drop_names(&supervisor->launch.overlays, false) == 0;
	if (supervisor->is_tidy)
		held_names_take(&supervisor->held, supervisor->launch.tree_fd,
				supervisor->options->spec);
}

/* What was dropped when the last command left has hardly any names by now. */
static bool drop_for_next(struct supervisor *supervisor)
{
	supervisor->prepared_ns = clock_now_ns();
	supervisor->fresh_ns = clock_stamp_ns();
	return are_places_the_same(supervisor) && drop_names(supervisor, supervisor->is_tidy) == 0;
}

void fresh_prepare_next(struct supervisor *supervisor)
{
	if (supervisor->is_idle && supervisor->is_tidy)
		supervisor->is_prepared = drop_for_next(supervisor);
}

bool fresh_look(struct supervisor *supervisor)
{
	bool is_idle = supervisor->was_entered && supervisor->is_idle;

	if (is_idle && supervisor->is_prepared &&
	    clock_now_ns() - supervisor->prepared_ns < PREPARED_NS)
		return true;
	if (is_idle)
		return drop_for_next(supervisor);
	supervisor->fresh_ns = 0;
	/*
	 * Before the first command the time of the mount is what counts. Names that processes hold stay cached, so no time
	 * is noted; dropping the others still shows those anew.
	 */
	if (supervisor->was_entered)
		(void)drop_names(supervisor, false);
	return true;
}

void fresh_refuse(struct supervisor *supervisor, const struct client *client)
{
	struct error err;

	/* Remove the socket first: the client tries again at once, and must reach a new supervisor. */
	(void)unlinkat(supervisor->options->dir_fd, SUPERVISOR_SOCKET, 0);
	error_advise(
		&err, ERROR_CONFLICT, "run the command again",
		"the sandbox has to be started anew, to show the files of the host as they are");
	err.errnum = ESTALE;
	client_fail(client, &err);
	supervisor->is_over = true;
}

void fresh_note(struct supervisor *supervisor)
{
	const struct supervisor_options *options = supervisor->options;

	supervisor->was_entered = true;
	supervisor->is_tidy = supervisor->is_prepared = false;
	if (supervisor->fresh_ns)
		options->note_fresh(options->dir_fd, supervisor->fresh_ns, supervisor->left_ns);
}
