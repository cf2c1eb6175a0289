/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walking what is below a directory.
 *
 * Payloads choose how deep a tree is and move directories while it is walked: what is in a directory is visited before one
 * of those in it is entered, only the upper KEPT_OPEN levels stay open, and the way back to others is by "..", compared with
 * where the walk came from.
 */
#include "base/file/walk.h"

#include "base/core/clock.h"
#include "base/file/dir.h"
#include "base/core/own.h"
#include "base/core/str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define KEPT_OPEN 64
/* Entries between two looks at the clocks. */
#define CLOCK_EVERY 64

/* 0: no limit. */
static const struct rule {
	size_t depth;
	uint64_t entries;
	bool goes_on;	    /* after a failure, which is noted in missed */
	bool passes_mounts; /* into mounted filesystems */
	bool visits_leaving;
	bool is_sorted; /* entries of one directory by their names */
} rules[] = {
	[WALK_TXN] = { .depth = WALK_DEPTH_MAX },
	[WALK_REPLACE] = { .depth = WALK_DEPTH_MAX, .visits_leaving = true },
	[WALK_MEASURE] = { .depth = WALK_DEPTH_MAX,
			   .entries = 1000000,
			   .goes_on = true,
			   .passes_mounts = true },
	[WALK_WATCH] = { .goes_on = true, .passes_mounts = true },
	[WALK_DRIFT] = { .goes_on = true, .passes_mounts = true },
	[WALK_SCAN] = { .goes_on = true, .passes_mounts = true },
	[WALK_LOGS] = { .depth = 17, .entries = 10000, .passes_mounts = true },
	[WALK_COPY] = { .depth = WALK_DEPTH_MAX,
			.goes_on = true,
			.passes_mounts = true,
			.visits_leaving = true },
	[WALK_PACK] = { .depth = WALK_PACK_DEPTH + 1,
			.passes_mounts = true,
			.visits_leaving = true,
			.is_sorted = true },
	[WALK_GROUPS] = { .depth = 64, .entries = 1000000, .goes_on = true },
};

struct level {
	int fd;		  /* -1: closed meanwhile */
	struct str below; /* names of directories in it, each with its NUL */
	size_t at;	  /* the next of them */
	size_t path_len;
	uint64_t ino;
	uint32_t dev_major, dev_minor;
};

struct state {
	struct walk *walk;
	const struct rule *rule;
	struct level *levels;
	size_t depth, room;
	struct str path;
	unsigned looks; /* at the limits */
	bool is_over;	/* beyond a limit that ends all of it */
};

static int fail(struct state *state)
{
	if (!state->walk->failed_at[0] && (errno != ENOENT || !state->rule->goes_on))
		(void)str_shown(str_cstr(&state->path), state->walk->failed_at);
	if (!state->rule->goes_on)
		return -1;
	if (errno == EACCES)
		state->walk->missed |= WALK_CLOSED;
	else if (errno == ELOOP || errno == ESTALE || errno == E2BIG || errno == ETIME)
		state->walk->missed |= WALK_CUT;
	else if (errno != ENOENT)
		state->walk->missed |= WALK_FAILED;
	return 0;
}

static int check_limits(struct state *state)
{
	const struct walk *walk = state->walk;

	if (state->rule->entries && walk->entries > state->rule->entries)
		errno = E2BIG;
	else if (state->looks++ % CLOCK_EVERY == 0 &&
		 ((walk->until_ns && clock_now_ns() >= walk->until_ns) ||
		  (walk->busy_until_ns && clock_busy_ns() >= walk->busy_until_ns)))
		errno = ETIME;
	else
		return 0;
	state->is_over = true;
	return fail(state);
}

static void level_done(struct level *level)
{
	fd_close(&level->fd);
	str_done(&level->below);
}

static bool identify(struct level *level)
{
	struct statx st;

	if (statx(level->fd, "", AT_EMPTY_PATH, STATX_INO, &st) < 0)
		return false;
	level->ino = st.stx_ino;
	level->dev_major = st.stx_dev_major;
	level->dev_minor = st.stx_dev_minor;
	return true;
}

static int visit(struct state *state, const char *name, const struct statx *st, bool is_leaving)
{
	const struct walk_entry entry = {
		.dir_fd = state->levels[state->depth - 1].fd,
		.name = name,
		.path = str_cstr(&state->path),
		.st = st,
		.is_leaving = is_leaving,
	};

	return state->walk->visit(&entry, state->walk->cookie);
}

static void name_path(struct state *state, const struct level *level, const char *name)
{
	str_truncate(&state->path, level->path_len);
	if (level->path_len > 0)
		str_add_char(&state->path, '/');
	str_add(&state->path, name);
}

static int look_at(struct state *state, struct level *level, const char *name)
{
	struct statx st;
	int answer;

	name_path(state, level, name);
	if (statx(level->fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		  STATX_BASIC_STATS | STATX_BTIME, &st) < 0)
		return fail(state);
	if (!state->rule->passes_mounts && (st.stx_attributes & STATX_ATTR_MOUNT_ROOT)) {
		errno = EXDEV;
		return fail(state);
	}
	answer = visit(state, name, &st, false);
	if (answer == 0 && S_ISDIR(st.stx_mode))
		str_add_bytes(&level->below, name, strlen(name) + 1);
	return answer < 0 ? -1 : 0;
}

static int list(struct state *state, struct level *level)
{
	/* A copy: opening "." needs more rights than listing does. */
	owned(fd_close) int fd = fcntl(level->fd, F_DUPFD_CLOEXEC, 0);
	owned(dir_close) DIR *dir = dir_take(&fd);
	owned(strv_done) struct strv names = STRV_INIT;
	struct dirent *entry;
	int more;

	while ((more = dir_next(dir, &entry)) > 0) {
		state->walk->entries++;
		if (check_limits(state) < 0)
			return -1;
		if (state->is_over)
			return 0;
		if (state->rule->is_sorted)
			strv_add(&names, entry->d_name);
		else if (look_at(state, level, entry->d_name) < 0)
			return -1;
	}
	if (more < 0)
		return fail(state);
	strv_sort(&names);
	for (size_t i = 0; i < names.count; i++)
		if (look_at(state, level, names.items[i]) < 0)
			return -1;
	return 0;
}

static struct level *push(struct state *state, const struct level *level)
{
	if (state->depth > KEPT_OPEN)
		fd_close(&state->levels[state->depth - 1].fd);
	if (state->depth == state->room) {
		state->room = state->room ? 2 * state->room : 16;
		state->levels = xrealloc(state->levels, state->room, sizeof(*state->levels));
	}
	state->levels[state->depth] = *level;
	return &state->levels[state->depth++];
}

/* Goes down into NAME, whose path is the present one. */
static int enter(struct state *state, int dir_fd, const char *name)
{
	struct level level = { .fd = -1, .path_len = state->path.len };

	if (state->rule->depth && state->depth >= state->rule->depth) {
		errno = ELOOP;
		return fail(state);
	}
	level.fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (level.fd >= 0 && identify(&level))
		return list(state, push(state, &level));
	level_done(&level);
	return fail(state);
}

/* Opens LEVEL again from one that was below it, if it still is. */
static bool open_again(struct level *level, int below_fd)
{
	struct level up = { .fd = openat(below_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC) };

	if (up.fd >= 0 && identify(&up) && up.ino == level->ino &&
	    up.dev_major == level->dev_major && up.dev_minor == level->dev_minor)
		level->fd = fd_take(&up.fd);
	fd_close(&up.fd);
	return level->fd >= 0;
}

/* Up to the next directory that is open or can be: moving them about does not end a walk that goes on. */
static int climb(struct state *state, int below_fd)
{
	while (state->depth > 0 && state->levels[state->depth - 1].fd < 0 &&
	       !open_again(&state->levels[state->depth - 1], below_fd)) {
		level_done(&state->levels[--state->depth]);
		errno = ESTALE;
		if (fail(state) < 0)
			return -1;
	}
	return 0;
}

static int leave(struct state *state)
{
	owned(level_done) struct level left = state->levels[--state->depth];
	size_t above = state->depth;
	struct statx st;

	if (climb(state, left.fd) < 0)
		return -1;
	if (!state->rule->visits_leaving || above == 0 || state->depth < above)
		return 0;
	str_truncate(&state->path, left.path_len);
	const char *path = str_cstr(&state->path), *slash = strrchr(path, '/');

	if (statx(left.fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &st) < 0)
		return fail(state);
	return visit(state, slash ? slash + 1 : path, &st, true);
}

static int run(struct state *state)
{
	while (state->depth > 0 && !state->is_over) {
		struct level *level = &state->levels[state->depth - 1];
		const char *name = str_cstr(&level->below) + level->at;

		if (level->at == level->below.len) {
			if (leave(state) < 0)
				return -1;
			continue;
		}
		level->at += strlen(name) + 1;
		name_path(state, level, name);
		if (check_limits(state) < 0 || enter(state, level->fd, name) < 0)
			return -1;
	}
	return 0;
}

int walk_tree(struct walk *walk, int dir_fd, const char *name)
{
	struct state state = { .walk = walk, .rule = &rules[walk->purpose] };
	int result = enter(&state, dir_fd, name);

	if (result == 0)
		result = run(&state);
	int saved = errno;

	while (state.depth > 0)
		level_done(&state.levels[--state.depth]);
	free(state.levels);
	str_done(&state.path);
	errno = saved;
	return result;
}

bool walk_is_too_deep(const char *path)
{
	int depth = 0;

	for (path = strchr(path, '/'); path && depth < WALK_DEPTH_MAX; path = strchr(path + 1, '/'))
		depth++;
	return depth >= WALK_DEPTH_MAX;
}
