/* SPDX-License-Identifier: Apache-2.0 */
/* From a verdict to what the host gets: strategies, merged texts, and the loser kept. */
#include "workspace/promote/promote_commits.h"
#include "workspace/promote/promote_parts.h"

#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "workspace/base/origin_index.h"
#include "workspace/disk/target.h"
#include "workspace/text/textdiff.h"

#include <string.h>
#include <unistd.h>

#define MERGE_BYTES_MAX (16u << 20)

/* Whose file the host's version of an item's content is: that of its old name, when it was renamed and the host edited it. */
static struct item *content_item(struct promote *promote, struct item *item)
{
	bool is_moved = item->verdict.kind && strcmp(item->verdict.kind, "rename/modify") == 0;

	return is_moved ? &promote->items[item->twin] : item;
}

/* Keeps what the other side had, so that no decision destroys anything. */
static int keep_loser(struct promote *promote, struct item *item, enum take winner,
		      struct conflict *conflict, struct error *err)
{
	struct item *real = content_item(promote, item);
	bool is_ours = winner != TAKE_OURS;
	owned(fd_close) int fd = -1;

	if (promote->request->dry_run)
		return 0;
	if (is_ours ? target_type(&real->now) != 'f'
		    : !item->entry.new.exists || !S_ISREG(item->entry.new.st.st_mode))
		return 0;
	fd = is_ours ? promote_open_ours(promote, real, err)
		     : promote_open_theirs(promote, item, err);
	if (fd < 0)
		return -1;
	if (cas_keep_fd(promote->sandbox->store, fd, conflict->loser, err) < 0)
		return -1;
	return promote_keep(promote, conflict->loser, err);
}

/* One of the three texts; false when it is too large or not text. */
static bool read_text(int fd, struct str *text)
{
	return fd >= 0 && fd_read_all(fd, MERGE_BYTES_MAX, text) == 0 &&
	       !text_is_binary(str_cstr(text), text->len);
}

/* Below .git lines mean nothing. */
static bool is_in_git(const char *path)
{
	for (const char *at = path; at; at = strchr(at, '/')) {
		at += *at == '/';
		if (strncmp(at, ".git", 4) == 0 && (at[4] == '/' || at[4] == '\0'))
			return true;
	}
	return false;
}

bool promote_has_markers(const struct promote *promote, const struct item *item)
{
	owned(str_done) struct str text = STR_INIT;
	struct error ignored = { 0 };
	owned(fd_close) int fd = promote_open_theirs(promote, item, &ignored);
	bool has_start, has_end;

	if (!read_text(fd, &text))
		return false;
	has_start =
		str_starts(str_cstr(&text), "<<<<<<< ") || strstr(str_cstr(&text), "\n<<<<<<< ");
	has_end = strstr(str_cstr(&text), "\n>>>>>>> ");
	return has_start && has_end;
}

/* What hinders a merge, or NULL when the three texts are read. */
static const char *read_texts(struct promote *promote, struct item *item,
			      struct str texts[static 3])
{
	owned(fd_close) int base = -1, ours = -1, theirs = -1;
	struct item *real = content_item(promote, item);
	struct error ignored = { 0 };

	if (is_in_git(item->path))
		return "binary";
	ours = promote_open_ours(promote, real, &ignored);
	theirs = promote_open_theirs(promote, item, &ignored);
	if (!read_text(ours, &texts[1]) || !read_text(theirs, &texts[2]))
		return "binary";
	if (!real->origin.identity.exists)
		return NULL;
	if (!promote_has_base(promote, &real->origin) ||
	    origin_open(promote->origins, &real->entry, &real->origin, &base, &ignored) < 0)
		return "base-lost";
	return read_text(base, &texts[0]) ? NULL : "binary";
}

int promote_merge_item(struct promote *promote, struct item *item, enum merge_favour favour,
		       struct conflict *conflict, struct error *err)
{
	struct str texts[3] = { STR_INIT, STR_INIT, STR_INIT };
	struct merge_result result = { 0 };
	int status = 1;

	(void)err;
	const char *hindrance = read_texts(promote, item, texts);

	if (hindrance) {
		if (strcmp(conflict->kind, "content") == 0)
			conflict->kind = hindrance;
	} else {
		struct merge_input input = {
			.base = str_cstr(&texts[0]),
			.ours = str_cstr(&texts[1]),
			.theirs = str_cstr(&texts[2]),
			.base_len = texts[0].len,
			.ours_len = texts[1].len,
			.theirs_len = texts[2].len,
			.favour = favour,
			.ours_label = "host",
			.theirs_label = promote->sandbox->name,
		};

		merge_text(&input, &result);
		item->merged = result.text;
		result.text = (struct str)STR_INIT;
		conflict->hunks = result.conflicts;
		conflict->hunk_count = result.conflict_count;
		result.conflicts = NULL;
		result.conflict_count = 0;
		status = conflict->hunk_count > 0 && favour == MERGE_MARK;
		merge_result_done(&result);
	}
	for (size_t i = 0; i < 3; i++)
		str_done(&texts[i]);
	return status;
}

static bool is_undecided(const struct verdict *verdict)
{
	return verdict->object == TAKE_UNDECIDED ||
	       (verdict->object == TAKE_MERGE &&
		(verdict->content == TAKE_UNDECIDED || verdict->mode == TAKE_UNDECIDED ||
		 verdict->owner == TAKE_UNDECIDED || verdict->xattrs == TAKE_UNDECIDED));
}

/* Combines the texts; what that leaves open the strategy's second half decides. */
static enum outcome merge_texts(struct promote *promote, struct item *item,
				struct conflict *conflict, struct error *err)
{
	enum promote_strategy strategy = promote->request->strategy;
	enum outcome rest = conflict_outcome_unmerged(strategy);
	enum merge_favour favour = rest == OUTCOME_OURS	    ? MERGE_OURS
				   : rest == OUTCOME_THEIRS ? MERGE_THEIRS
							    : MERGE_MARK;

	if (promote_merge_item(promote, item, favour, conflict, err) != 0)
		return rest;
	item->content = CONTENT_MERGED;
	item->verdict.content = TAKE_MERGE;
	if (rest != OUTCOME_OPEN) {
		struct verdict settled = item->verdict;

		conflict_settle(&settled, rest == OUTCOME_OURS ? TAKE_OURS : TAKE_THEIRS);
		settled.content = TAKE_MERGE;
		item->verdict = settled;
	}
	return is_undecided(&item->verdict) ? OUTCOME_OPEN : OUTCOME_MERGE;
}

static int decide(struct promote *promote, struct item *item, struct error *err)
{
	enum promote_strategy strategy = promote_strategy_for(promote, item);
	const struct timespec *theirs = &item->entry.new.st.st_ctim;
	struct conflict_times times = {
		.ours_ns = item->now.exists ? (uint64_t)item->now.ctime_ns : 0,
		.theirs_ns = item->entry.new.exists ? (uint64_t)theirs->tv_sec * 1000000000u +
							      (uint64_t)theirs->tv_nsec
						    : 0,
		.comparable = promote->origins->times_hold,
	};
	struct conflict *conflict = promote_add_conflict(promote, item, item->verdict.kind);
	enum outcome outcome = conflict_outcome(strategy, &item->verdict, &times);

	if (outcome == OUTCOME_MERGE)
		outcome = merge_texts(promote, item, conflict, err);
	item->fate = FATE_OPEN;
	if (outcome == OUTCOME_OPEN)
		return 0;
	conflict->resolution = promote_strategy_name(strategy);
	if (outcome == OUTCOME_OURS || outcome == OUTCOME_THEIRS)
		conflict_settle(&item->verdict, outcome == OUTCOME_OURS ? TAKE_OURS : TAKE_THEIRS);
	/* The host keeps its edit where it made it: the new name is not taken over either. */
	if (outcome == OUTCOME_OURS && content_item(promote, item) != item)
		item->verdict.object = TAKE_OURS;
	item->fate = verdict_is_nothing(&item->verdict) ? FATE_LEFT : FATE_APPLIED;
	return keep_loser(promote, item, outcome == OUTCOME_OURS ? TAKE_OURS : TAKE_THEIRS,
			  conflict, err);
}

static struct timespec time_of(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
}

static char type_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return 'd';
	case S_IFLNK:
		return 'l';
	case S_IFREG:
		return 'f';
	case S_IFIFO:
		return 'p';
	case S_IFSOCK:
		return 's';
	case S_IFCHR:
		return 'c';
	default:
		return 'b';
	}
}

/* A file's time goes with its content. */
static struct timespec mtime_of(const struct item *item)
{
	if (item->content == CONTENT_OURS)
		return time_of(item->now.mtime_ns);
	if (item->content == CONTENT_MERGED)
		return time_of((int64_t)clock_epoch_ms() * 1000000);
	return item->entry.new.st.st_mtim;
}

static struct stage_meta compose_meta(const struct promote *promote, const struct item *item)
{
	const struct verdict *verdict = &item->verdict;
	const struct stat *new = &item->entry.new.st;
	bool is_mixed = verdict->object == TAKE_MERGE;
	bool ours_mode = is_mixed && verdict->mode == TAKE_OURS;
	bool ours_owner = is_mixed && verdict->owner == TAKE_OURS;

	return (struct stage_meta){
		.mode = ours_mode ? item->now.mode & 07777
				  : promote_mode(promote, item, new->st_mode & 07777),
		.uid = ours_owner ? item->now.uid : new->st_uid,
		.gid = ours_owner ? item->now.gid : new->st_gid,
		.mtime = mtime_of(item),
		.set_owner = geteuid() == 0,
	};
}

int promote_compose(struct promote *promote, struct item *item, struct error *err)
{
	const struct verdict *verdict = &item->verdict;
	const struct delta_side *new = &item->entry.new;
	bool is_mixed = verdict->object == TAKE_MERGE;
	bool ours_xattrs = is_mixed && verdict->xattrs == TAKE_OURS;

	if (!new->exists)
		return 0;
	item->type = type_of(new->st.st_mode);
	if (is_mixed && item->content != CONTENT_MERGED)
		item->content = verdict->content == TAKE_OURS ? CONTENT_OURS : CONTENT_THEIRS;
	item->meta = compose_meta(promote, item);
	/* A directory on the way to an artifact's place is made from nothing that lies anywhere. */
	if (is_mixed && verdict->xattrs == TAKE_MERGE) {
		/* May be composed again. */
		if (item->merged_xattrs.items) {
			xattr_list_done(&item->xattrs);
			item->xattrs = item->merged_xattrs;
			item->merged_xattrs = (struct xattr_list){ 0 };
		}
		item->meta.xattrs = &item->xattrs;
		return 0;
	}
	if (new->layer_path && delta_xattrs(promote->stack, ours_xattrs ? &item->entry.old : new,
					    &item->xattrs, err) < 0)
		return -1;
	item->meta.xattrs = &item->xattrs;
	return 0;
}

int promote_resolve(struct promote *promote, struct item *item, struct error *err)
{
	if (item->verdict.kind) {
		if (decide(promote, item, err) < 0)
			return -1;
	} else {
		item->fate = verdict_is_nothing(&item->verdict) ? FATE_LEFT : FATE_APPLIED;
	}
	return promote_compose(promote, item, err);
}
