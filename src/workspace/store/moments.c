/* SPDX-License-Identifier: Apache-2.0 */
/* When a sandbox began to look at the host's files anew. */
#include "workspace/store/moments.h"

#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "workspace/store/layer_commit.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define MOMENTS "moments"
/* Some hundred commands; when there are more, it begins again. */
#define MOMENTS_MAX 16384

struct moment {
	uint64_t now_ns, alone_ns;
};

/* Identifies a directory, also against a later one with the same name or inode number. */
struct place {
	uint64_t dev, ino, btime_ns;
};

struct moments {
	struct place
		place; /* that the workspace was from the first line on; 0: it was not, or it is not known */
	struct moment *items;
	size_t count;
	uint64_t listed_ns;
	uint64_t left_ns; /* 0: the last mount has not ended, as far as is known */
	bool is_empty;
	bool has_place;
};

static void moments_done(struct moments *moments)
{
	free(moments->items);
}

static bool is_same(const struct place *one, const struct place *other)
{
	return one->btime_ns == other->btime_ns && one->ino == other->ino && one->dev == other->dev;
}

/* Changes may have been made from what another directory of that name held, at any time: only the first one counts. */
static void take_place(struct moments *moments, const struct place *place)
{
	if (moments->is_empty && !moments->has_place)
		moments->place = *place;
	else if (!is_same(&moments->place, place))
		moments->place = (struct place){ 0 };
	moments->has_place = true;
}

static void take_line(struct moments *moments, const char *line)
{
	struct moment moment;
	struct place place;
	uint64_t at_ns;

	if (sscanf(line, "place %" SCNu64 " %" SCNu64 " %" SCNu64, &place.dev, &place.ino,
		   &place.btime_ns) == 3) {
		take_place(moments, &place);
		return;
	}
	moments->is_empty = false;
	if (sscanf(line, "fresh %" SCNu64 " %" SCNu64, &moment.now_ns, &moment.alone_ns) == 2) {
		moments->items = xrealloc(moments->items, moments->count + 1, sizeof(moment));
		moments->items[moments->count++] = moment;
		moments->left_ns = 0;
	} else if (sscanf(line, "left %" SCNu64, &at_ns) == 1) {
		moments->left_ns = at_ns;
	} else if (sscanf(line, "listed %" SCNu64, &at_ns) == 1 && at_ns > moments->listed_ns) {
		moments->listed_ns = at_ns;
	}
}

static void read_all(int dir_fd, struct moments *ret_moments)
{
	/* Larger by what several may add at the same moment. */
	owned(free_ptr) char *bytes = xmalloc(2 * MOMENTS_MAX);
	ssize_t len = file_read_small(dir_fd, MOMENTS, bytes, 2 * MOMENTS_MAX);
	char *end;

	*ret_moments = (struct moments){ .is_empty = true };
	if (len <= 0)
		return;
	/* A line without its end is being written. */
	for (char *at = bytes; (end = strchr(at, '\n')); at = end + 1) {
		*end = '\0';
		take_line(ret_moments, at);
	}
}

static void add_line(int dir_fd, const char *line, size_t len)
{
	owned(fd_close) int fd =
		openat(dir_fd, MOMENTS,
		       O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

	if (fd >= 0)
		(void)!write(fd, line, len);
}

static void add_place(int dir_fd, const struct place *place)
{
	char line[80];
	int len = snprintf(line, sizeof(line), "place %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
			   place->dev, place->ino, place->btime_ns);

	add_line(dir_fd, line, (size_t)len);
}

static struct place find_place(const char *path)
{
	struct statx stx;

	if (statx(AT_FDCWD, path, AT_NO_AUTOMOUNT, STATX_INO | STATX_BTIME, &stx) < 0 ||
	    !(stx.stx_mask & STATX_BTIME))
		return (struct place){ 0 };
	return (struct place){ .dev = makedev(stx.stx_dev_major, stx.stx_dev_minor),
			       .ino = stx.stx_ino,
			       .btime_ns = (uint64_t)stx.stx_btime.tv_sec * 1000000000u +
					   stx.stx_btime.tv_nsec };
}

static void begin_again(int dir_fd)
{
	owned(moments_done) struct moments moments;

	read_all(dir_fd, &moments);
	if (unlinkat(dir_fd, MOMENTS, 0) < 0)
		return;
	add_place(dir_fd, &moments.place);
	if (moments.listed_ns)
		moments_add_listed(dir_fd, moments.listed_ns);
}

void moments_add_fresh(int dir_fd, uint64_t now_ns, uint64_t alone_ns)
{
	struct stat st;
	char line[64];

	if (fstatat(dir_fd, MOMENTS, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size > MOMENTS_MAX)
		begin_again(dir_fd);
	int len = snprintf(line, sizeof(line), "fresh %" PRIu64 " %" PRIu64 "\n", now_ns, alone_ns);

	add_line(dir_fd, line, (size_t)len);
}

void moments_add_left(int dir_fd, uint64_t left_ns)
{
	char line[32];
	int len = snprintf(line, sizeof(line), "left %" PRIu64 "\n", left_ns);

	add_line(dir_fd, line, (size_t)len);
}

void moments_add_listed(int dir_fd, uint64_t listed_ns)
{
	char line[32];
	int len = snprintf(line, sizeof(line), "listed %" PRIu64 "\n", listed_ns);

	add_line(dir_fd, line, (size_t)len);
}

void moments_add_mount(const struct sandbox *sandbox)
{
	owned(moments_done) struct moments moments;
	uint64_t alone_ns = clock_now_ns();
	struct error ignored;
	bool is_dirty;

	read_all(sandbox->dir_fd, &moments);
	if (moments.left_ns || moments.is_empty) {
		/* In an empty top nothing was done before now. */
		if (layer_commit_top_is_dirty(sandbox, &is_dirty, &ignored) == 0 && !is_dirty)
			alone_ns = 0;
		else if (moments.left_ns)
			alone_ns = moments.left_ns;
	}
	moments_add_fresh(sandbox->dir_fd, clock_stamp_ns(), alone_ns);
	moments_add_place(sandbox);
}

void moments_add_place(const struct sandbox *sandbox)
{
	struct place place = find_place(sandbox->workspace);

	add_place(sandbox->dir_fd, &place);
}

uint64_t moments_last_fresh(int dir_fd)
{
	owned(moments_done) struct moments moments;

	read_all(dir_fd, &moments);
	return moments.count ? moments.items[moments.count - 1].now_ns : 0;
}

/* The last moment before what was done after it was last listed; nothing is done while no process is inside. */
static uint64_t before_unlisted(const struct moments *moments)
{
	uint64_t last_ns = 0;

	for (size_t i = 0; i < moments->count; i++) {
		if (moments->items[i].alone_ns <= moments->listed_ns &&
		    moments->items[i].now_ns > last_ns)
			last_ns = moments->items[i].now_ns;
	}
	return last_ns;
}

void moments_look(const struct sandbox *sandbox, uint64_t *ret_before_ns, bool *ret_is_same_place)
{
	owned(moments_done) struct moments moments;
	struct place now = find_place(sandbox->workspace);

	read_all(sandbox->dir_fd, &moments);
	*ret_before_ns = before_unlisted(&moments);
	*ret_is_same_place = now.btime_ns && is_same(&now, &moments.place);
}
