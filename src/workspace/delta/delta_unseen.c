/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories that the sandbox and the host made independently of each other.
 *
 * The kernel marks a directory that is made inside as opaque, whether or not it takes the place of one. Where it does
 * not, everything that the host has in its directory of that name came without the sandbox seeing it, and its absence
 * inside is no deletion. There was no directory if the base's record has it as absent, or if the host's is younger than
 * the one in the layer. What has a record of its own was seen, or promoted from here: its absence is a deletion.
 */
#include "workspace/delta/delta_unseen.h"

#include "base/core/own.h"
#include "workspace/base/origin_index.h"

#include <fcntl.h>
#include <linux/stat.h>
#include <sys/stat.h>

/* The record of PATH in *ret_record, NULL for none. The records are read when first asked for: few deltas need them. */
static int find_record(struct delta_walk *walk, const char *path,
		       const struct origin_record **ret_record)
{
	const struct delta_options *options = walk->options;

	*ret_record = NULL;
	if (!options->sandbox || options->old_from != walk->stack->count)
		return 0;
	if (!walk->origins &&
	    origin_index_open(options->sandbox, walk->stack, &walk->origins, walk->err) < 0)
		return -1;
	*ret_record = origin_index_record(walk->origins, path);
	return 0;
}

static bool was_absent(const struct origin_record *record)
{
	return record && record->origin.quality != ORIGIN_LOST && !record->origin.identity.exists;
}

static uint64_t birth_of(int fd)
{
	struct statx stx;

	if (statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, STATX_BTIME, &stx) < 0 ||
	    !(stx.stx_mask & STATX_BTIME))
		return 0;
	return (uint64_t)stx.stx_btime.tv_sec * 1000000000u + stx.stx_btime.tv_nsec;
}

bool delta_hides_host(const struct delta_walk *walk, const struct view_found *new)
{
	const struct view_dir *dir = &new->dir;
	size_t host = walk->stack->count;

	return walk->options->old_from == host && dir->count > 0 &&
	       dir->items[dir->count - 1].layer != host;
}

int delta_is_unseen(struct delta_walk *walk, const struct view_found *new,
		    const struct view_found *old)
{
	const struct view_dir *dir = &new->dir;
	const struct origin_record *record;
	uint64_t birth;

	if (!delta_hides_host(walk, new) || new->split_name || old->dir.count == 0)
		return 0;
	/* The lowest of the layers' directories is the one that hides the host's. */
	birth = birth_of(dir->items[dir->count - 1].fd);
	if (birth > 0 && old->stat.btime_ns > birth)
		return 1;
	if (find_record(walk, walk->path.data, &record) < 0)
		return -1;
	return was_absent(record);
}

int delta_is_unseen_entry(struct delta_walk *walk, const char *path)
{
	const struct origin_record *record;

	if (find_record(walk, path, &record) < 0)
		return -1;
	return !record;
}

int delta_was_absent(struct delta_walk *walk, const char *path)
{
	const struct origin_record *record;

	if (find_record(walk, path, &record) < 0)
		return -1;
	return was_absent(record);
}
