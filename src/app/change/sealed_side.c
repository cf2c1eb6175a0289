/* SPDX-License-Identifier: Apache-2.0 */
/* The two sides of a change: what the sandbox found, whatever the host is by now, and what it made of it. */
#include "app/change/sealed_side.h"

#include "base/core/own.h"
#include "base/file/fd.h"
#include "workspace/base/origin.h"
#include "workspace/disk/digest.h"
#include "workspace/disk/target.h"
#include "workspace/store/cas.h"

#include <string.h>

/* The digest of no content: a base that is not known is never what another machine has. */
#define LOST "0000000000000000000000000000000000000000000000000000000000000000"

int sealed_sides_open(struct sealed_sides *sides, const struct sandbox *sandbox,
		      const struct view_stack *stack, const struct store *store, struct error *err)
{
	*sides = (struct sealed_sides){ .stack = stack, .store = store };
	return origin_index_open(sandbox, stack, &sides->origins, err);
}

void sealed_sides_done(struct sealed_sides *sides)
{
	if (sides->origins)
		origin_index_close(sides->origins);
	sides->origins = NULL;
}

/* Its content is read for the digest; whether it travels is decided when it is sent. */
static int put_base_content(const struct sealed_sides *sides, const struct delta_entry *entry,
			    const struct origin *origin, struct bundle_side *side,
			    struct error *err)
{
	owned(fd_close) int fd = -1;

	if (origin_open(sides->origins, entry, origin, &fd, err) < 0) {
		if (err->code != ERROR_NOT_FOUND && err->code != ERROR_CONFLICT)
			return -1;
		memcpy(side->sha256, LOST, SHA256_HEX_SIZE);
		return 0;
	}
	/* A deletion takes no copy of what the host has. */
	if (!entry->new.exists)
		return digest_fd(fd, side->sha256) == 0
			       ? 0
			       : error_errno(err, ERROR_HOST, "%s", entry->path);
	return cas_keep_fd(sides->store, fd, side->sha256, err);
}

/* Directories hold nothing that could be lost; and where the host has nothing, nothing is written over. */
static void put_lost(const struct delta_entry *entry, struct bundle_side *side)
{
	if (!entry->old.exists)
		return;
	side->mode = entry->old.st.st_mode & 07777;
	side->type = S_ISDIR(entry->old.st.st_mode) ? 'd' : 'f';
	if (side->type == 'f')
		memcpy(side->sha256, LOST, SHA256_HEX_SIZE);
}

static void put_unknown(struct bundle_side *side)
{
	side->type = 'f';
	memcpy(side->sha256, LOST, SHA256_HEX_SIZE);
}

int sealed_base(const struct sealed_sides *sides, const struct delta_entry *entry,
		struct bundle_side *side, struct error *err)
{
	owned(origin_done) struct origin origin = { 0 };

	if (origin_find(sides->origins, entry, &origin, err) < 0)
		return -1;
	if (origin.quality == ORIGIN_LOST || origin.quality == ORIGIN_APPROX) {
		put_lost(entry, side);
		return 0;
	}
	side->type = target_type(&origin.identity);
	if (!side->type)
		return 0;
	/* What is hidden from the sandbox is not read for it: the host's version stays here, whole. */
	if (sides->stack->shows && !sides->stack->shows(entry->path, sides->stack->cookie)) {
		put_unknown(side);
		return 0;
	}
	if (side->type == 'l') {
		side->link = xstrdup(origin.link ? origin.link : "");
		return 0;
	}
	side->mode = origin.identity.mode & 07777;
	if (side->type == 'f')
		return put_base_content(sides, entry, &origin, side, err);
	/* A fifo or a device that is gone or became something else: no other machine's is the same. */
	if (side->type != 'd')
		put_unknown(side);
	return 0;
}

bool sealed_is_special(const struct delta_side *side)
{
	mode_t mode = side->st.st_mode;

	return side->exists && !S_ISREG(mode) && !S_ISDIR(mode) && !S_ISLNK(mode);
}

int sealed_new(const struct sealed_sides *sides, const struct delta_entry *entry,
	       struct bundle_side *side, struct error *err)
{
	const struct stat *st = &entry->new.st;
	owned(fd_close) int fd = -1;

	if (!entry->new.exists)
		return 0;
	side->type = S_ISREG(st->st_mode) ? 'f' : S_ISDIR(st->st_mode) ? 'd' : 'l';
	if (side->type == 'l') {
		side->link = xstrdup(entry->new.link ? entry->new.link : "");
		return 0;
	}
	side->mode = st->st_mode & 07777;
	if (side->type == 'd')
		return 0;
	side->mtime_s = st->st_mtim.tv_sec > 0 ? (uint64_t)st->st_mtim.tv_sec : 0;
	fd = delta_open_side(sides->stack, &entry->new);
	return fd < 0 ? error_errno(err, ERROR_HOST, "cannot read it")
		      : cas_keep_fd(sides->store, fd, side->sha256, err);
}
