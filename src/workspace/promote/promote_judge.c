/* SPDX-License-Identifier: Apache-2.0 */
/* Each change judged against what it started from and what the host is now. */
#include "workspace/promote/promote_link.h"

#include "base/file/dir.h"
#include "base/core/id.h"
#include "base/core/own.h"
#include "workspace/disk/digest.h"
#include "workspace/base/origin_index.h"
#include "workspace/disk/target.h"

#include <string.h>
#include <unistd.h>

/* The identity of a layer's object, as far as stat has it. */
static void identity_of_side(const struct delta_side *side, struct txn_identity *ret_identity)
{
	bool is_device = S_ISCHR(side->st.st_mode) || S_ISBLK(side->st.st_mode);

	*ret_identity = (struct txn_identity){ 0 };
	if (!side->exists)
		return;
	*ret_identity = (struct txn_identity){
		.exists = true,
		.dev = side->st.st_dev,
		.ino = side->st.st_ino,
		.btime_ns = side->btime_ns,
		.size = is_device ? side->st.st_rdev : (uint64_t)side->st.st_size,
		.mtime_ns = side->st.st_mtim.tv_sec * 1000000000 + side->st.st_mtim.tv_nsec,
		.ctime_ns = side->st.st_ctim.tv_sec * 1000000000 + side->st.st_ctim.tv_nsec,
		.mode = side->st.st_mode,
		.uid = side->st.st_uid,
		.gid = side->st.st_gid,
	};
}

static void put_side(struct conflict_side *side, const struct txn_identity *identity,
		     const char *sha256)
{
	side->exists = identity->exists;
	side->type = target_type(identity);
	side->identity = *identity;
	memcpy(side->sha256, sha256, SHA256_HEX_SIZE);
}

struct conflict *promote_add_conflict(struct promote *promote, struct item *item, const char *kind)
{
	struct promotion *promotion = promote->promotion;
	struct txn_identity theirs;
	struct conflict *conflict;
	struct error ignored = { 0 };

	promotion->conflicts =
		xrealloc(promotion->conflicts, promotion->conflict_count + 1, sizeof(*conflict));
	conflict = &promotion->conflicts[promotion->conflict_count++];
	*conflict = (struct conflict){ .path = xstrdup(item->path), .kind = kind };
	(void)id_run(conflict->id, &ignored);
	conflict->base_quality = item->origin.quality;
	/* Both digests are shown; a side that cannot be read has none. */
	(void)promote_digest_ours(promote, item, &ignored);
	(void)promote_digest_theirs(promote, item, &ignored);
	identity_of_side(&item->entry.new, &theirs);
	put_side(&conflict->base, &item->origin.identity, item->origin.sha256);
	put_side(&conflict->ours, &item->now, item->now_sha256);
	put_side(&conflict->theirs, &theirs, item->new_sha256);
	return conflict;
}

/* Texts that aspects point to. */
struct aspect_texts {
	char base[SHA256_HEX_SIZE];
	char ours_xattrs[SHA256_HEX_SIZE], theirs_xattrs[SHA256_HEX_SIZE];
};

static void digest_attributes(const struct promote *promote, const struct delta_side *side,
			      char ret_hex[static SHA256_HEX_SIZE])
{
	owned(xattr_list_done) struct xattr_list list = { 0 };
	struct error ignored = { 0 };

	ret_hex[0] = '\0';
	if (side->exists && delta_xattrs(promote->stack, side, &list, &ignored) == 0)
		origin_digest_xattrs(&list, ret_hex);
}

static void aspects_of(const struct txn_identity *identity, const char *sha256, const char *link,
		       struct aspects *ret_aspects)
{
	*ret_aspects = (struct aspects){
		.type = target_type(identity),
		.mode = identity->mode & 07777,
		.uid = identity->uid,
		.gid = identity->gid,
		.content = "",
		.xattrs = "",
	};
	if (ret_aspects->type == 'f')
		ret_aspects->content = sha256;
	else if (ret_aspects->type == 'l')
		ret_aspects->content = link ? link : "";
	else if (ret_aspects->type == 'c' || ret_aspects->type == 'b')
		ret_aspects->device = identity->size;
}

/* Digest of the base's content, where the base is the live file of the workspace. */
static int digest_base(const struct promote *promote, const struct item *item,
		       char ret_hex[static SHA256_HEX_SIZE], struct error *err)
{
	owned(fd_close) int fd = -1;
	char shown[STR_SHOWN_SIZE];

	memcpy(ret_hex, item->origin.sha256, SHA256_HEX_SIZE);
	if (ret_hex[0] || target_type(&item->origin.identity) != 'f')
		return 0;
	if (origin_open(promote->origins, &item->entry, &item->origin, &fd, err) < 0)
		return -1;
	return digest_fd(fd, ret_hex) == 0
		       ? 0
		       : error_errno(err, ERROR_HOST, "%s", str_shown(item->path, shown));
}

/* Puts DIGEST, that of what FD holds, in HEX's place where both stand for the same content. 1: it does, 0, or -1. */
static int put_digest(int fd, const struct item *item, const char *digest,
		      char hex[static SHA256_HEX_SIZE], struct error *err)
{
	char shown[STR_SHOWN_SIZE];
	int is_same = digest_matches(fd, hex);

	if (is_same < 0)
		return error_errno(err, ERROR_HOST, "cannot read '%s'",
				   str_shown(item->path, shown));
	if (is_same)
		memcpy(hex, digest, SHA256_HEX_SIZE);
	return is_same;
}

/*
 * HEX, the digest of the base, may come from a record of an earlier version, which has another form for large files: it
 * becomes that of the side, both of which have their digests, that holds the same content.
 */
static int renew_digest(const struct promote *promote, const struct item *item,
			char hex[static SHA256_HEX_SIZE], struct error *err)
{
	const struct txn_identity *base = &item->origin.identity, *now = &item->now;
	const struct delta_side *new = &item->entry.new;
	owned(fd_close) int ours_fd = -1, theirs_fd = -1;
	int found = 0;

	if (target_type(base) != 'f' || base->size <= DIGEST_WHOLE_MAX ||
	    base->size > DIGEST_EARLIER_WHOLE_MAX || strcmp(hex, item->now_sha256) == 0 ||
	    strcmp(hex, item->new_sha256) == 0)
		return 0;
	if (target_type(now) == 'f' && now->size == base->size) {
		ours_fd = promote_open_ours(promote, item, err);
		found = ours_fd < 0 ? -1 : put_digest(ours_fd, item, item->now_sha256, hex, err);
	}
	if (found == 0 && new->exists && S_ISREG(new->st.st_mode) &&
	    (uint64_t) new->st.st_size == base->size) {
		theirs_fd = promote_open_theirs(promote, item, err);
		found = theirs_fd < 0 ? -1
				      : put_digest(theirs_fd, item, item->new_sha256, hex, err);
	}
	return found < 0 ? -1 : 0;
}

/* An ancestor is no base unless the request names it: what was made and taken back since then would come again. */
bool promote_has_base(const struct promote *promote, const struct origin *origin)
{
	return origin->quality != ORIGIN_LOST &&
	       (origin->quality != ORIGIN_APPROX || promote->request->approx_base);
}

/* Git knows neither modes nor owners nor attributes: where the two sides differ in one, either may have changed it. */
static void blur_base(const struct aspects *ours, const struct aspects *theirs,
		      struct aspects *base)
{
	base->mode = ours->mode == theirs->mode ? ours->mode : UINT32_MAX;
	base->uid = ours->uid == theirs->uid ? ours->uid : UINT32_MAX;
	base->gid = ours->gid == theirs->gid ? ours->gid : UINT32_MAX;
	base->xattrs = strcmp(ours->xattrs, theirs->xattrs) == 0 ? ours->xattrs : "?";
}

/* The base, or NULL when it is lost. That something was there is enough to see that the host has it no more. */
static int base_aspects(const struct promote *promote, const struct item *item,
			struct aspect_texts *texts, struct aspects *base,
			const struct aspects **ret_base, struct error *err)
{
	*ret_base = NULL;
	if (!promote_has_base(promote, &item->origin)) {
		if (!item->origin.identity.exists || item->now.exists)
			return 0;
		*base = (struct aspects){
			.type = item->entry.new.exists &&S_ISDIR(item->entry.new.st.st_mode) ? 'd'
											     : 'f',
			.content = "?",
			.xattrs = ""
		};
		*ret_base = base;
		return 0;
	}
	if (digest_base(promote, item, texts->base, err) < 0 ||
	    renew_digest(promote, item, texts->base, err) < 0)
		return -1;
	aspects_of(&item->origin.identity, texts->base, item->origin.link, base);
	base->xattrs = item->origin.xattrs;
	*ret_base = base;
	return 0;
}

/* Attributes that both sides changed, but not the same ones. */
static void merge_attributes(const struct promote *promote, struct item *item, const char *base)
{
	owned(xattr_list_done) struct xattr_list ours = { 0 }, theirs = { 0 };
	struct verdict *verdict = &item->verdict;
	struct error ignored = { 0 };

	if (verdict->object != TAKE_MERGE || verdict->xattrs != TAKE_UNDECIDED ||
	    delta_xattrs(promote->stack, &item->entry.old, &ours, &ignored) < 0 ||
	    delta_xattrs(promote->stack, &item->entry.new, &theirs, &ignored) < 0)
		return;
	xattr_list_done(&item->merged_xattrs);
	if (!xattr_merge(&ours, &theirs, base, &item->merged_xattrs))
		return;
	verdict->xattrs = TAKE_MERGE;
	if (verdict->kind && strcmp(verdict->kind, "xattr") == 0)
		verdict->kind = NULL;
}

/* All three versions compared; reads contents. */
static int judge_versions(struct promote *promote, struct item *item, struct error *err)
{
	struct aspects base, ours, theirs;
	const struct aspects *known;
	struct aspect_texts texts = { 0 };
	struct txn_identity new;

	if (promote_digest_ours(promote, item, err) < 0 ||
	    promote_digest_theirs(promote, item, err) < 0 ||
	    base_aspects(promote, item, &texts, &base, &known, err) < 0)
		return -1;
	identity_of_side(&item->entry.new, &new);
	aspects_of(&item->now, item->now_sha256, item->now_link, &ours);
	aspects_of(&new, item->new_sha256, item->entry.new.link, &theirs);
	digest_attributes(promote, &item->entry.new, texts.theirs_xattrs);
	theirs.xattrs = texts.theirs_xattrs;
	if (promote->is_workspace && item->entry.old.exists)
		digest_attributes(promote, &item->entry.old, texts.ours_xattrs);
	else
		memcpy(texts.ours_xattrs, known ? known->xattrs : texts.theirs_xattrs,
		       SHA256_HEX_SIZE);
	ours.xattrs = texts.ours_xattrs;
	/* A plain user's files are the user's on both sides, whatever the owner in a layer. */
	if (geteuid() != 0) {
		theirs.uid = ours.uid;
		theirs.gid = ours.gid;
		base.uid = ours.uid;
		base.gid = ours.gid;
	}
	if (known && item->origin.quality == ORIGIN_APPROX)
		blur_base(&ours, &theirs, &base);
	conflict_judge(known, &ours, &theirs, &item->verdict);
	if (known && promote->is_workspace)
		merge_attributes(promote, item, known->xattrs);
	return 0;
}

/* Whether the host still has the object of IDENTITY in the directory of FROM, under another name. */
static bool is_beside(const struct promote *promote, const char *from,
		      const struct txn_identity *identity)
{
	owned(fd_close) int parent_fd = -1;
	const char *name;
	struct dirent *entry;

	if (target_parent(promote->target_fd, from, &parent_fd, &name) < 0)
		return false;
	owned(dir_close) DIR *dir = dir_open(parent_fd, ".");

	while (dir && dir_next(dir, &entry) > 0) {
		struct txn_identity other = { 0 };

		if (entry->d_ino != identity->ino)
			continue;
		txn_identity_of(parent_fd, entry->d_name, &other);
		if (other.exists && other.btime_ns == identity->btime_ns)
			return true;
	}
	return false;
}

/* What the host and the sandbox made of one old name, when both renamed it or one of them removed it. */
static void judge_lost_name(struct promote *promote, struct item *item)
{
	const char *from = item->origin.from
				   ? target_relative(promote->sandbox->workspace, item->origin.from)
				   : NULL;
	const struct origin_record *record;
	struct txn_identity now;

	if (!from || item->twin != NO_ITEM || item->verdict.kind)
		return;
	record = origin_index_record(promote->origins, item->origin.from);
	target_look(promote->target_fd, from, &now);
	if (record && record->origin.identity.exists && !now.exists)
		item->verdict = (struct verdict){
			.kind = is_beside(promote, from, &record->origin.identity)
					? "rename/rename"
					: "modify/delete",
			.object = TAKE_UNDECIDED,
		};
}

/* A directory that goes is judged by its entries, which are looked at later; its times change with every entry. */
static bool is_going_directory(const struct item *item)
{
	return target_type(&item->now) == 'd' && item->entry.old.exists &&
	       S_ISDIR(item->entry.old.st.st_mode) &&
	       !(item->entry.new.exists &&S_ISDIR(item->entry.new.st.st_mode));
}

/* Whether the host has a directory above PATH, in the workspace, that masks hide. -1 with ERR when the lookup fails. */
static int is_below_hidden(const struct promote *promote, const char *path, struct error *err)
{
	const struct view_stack *stack = promote->stack;
	owned(free_ptr) char *above = xstrdup(path);

	for (char *slash; (slash = strrchr(above, '/')) && slash > above;) {
		const char *relative;
		struct txn_identity now;

		*slash = '\0';
		relative = target_relative(promote->sandbox->workspace, above);
		if (!relative || !*relative)
			return 0;
		if (stack->shows(above, stack->cookie))
			continue;
		if (target_see(promote->target_fd, relative, &now, err) < 0)
			return -1;
		if (target_type(&now) == 'd')
			return 1;
	}
	return 0;
}

/*
 * Masks hid the host's file from the sandbox: the sandbox added its own without ever having seen it. Below a directory
 * that was hidden, that holds for every new name: it joins what the sandbox took for an empty directory.
 */
static int is_unseen(const struct promote *promote, const struct item *item, struct error *err)
{
	const struct view_stack *stack = promote->stack;

	if (!promote->is_workspace || item->entry.op != DELTA_ADDED || !stack->shows ||
	    stack->shows(item->entry.path, stack->cookie))
		return 0;
	if (item->now.exists && target_type(&item->now) != 'd')
		return 1;
	return item->now.exists ? 0 : is_below_hidden(promote, item->entry.path, err);
}

static int judge_item(struct promote *promote, struct item *item, struct error *err)
{
	int unseen;

	/* Of what is gone a deletion would count as done. */
	if (target_see(promote->target_fd, item->place, &item->now, err) < 0)
		return -1;
	if (target_type(&item->now) == 'l')
		item->now_link = target_read_link(promote->target_fd, item->place);
	if (origin_find(promote->origins, &item->entry, &item->origin, err) < 0)
		return -1;
	unseen = is_unseen(promote, item, err);
	if (unseen < 0)
		return -1;
	/* The usual case: the host has not moved, and nothing needs to be read. */
	if (unseen)
		item->verdict = (struct verdict){ .kind = "add/add", .object = TAKE_UNDECIDED };
	else if (promote->is_workspace && item->origin.quality == ORIGIN_EXACT &&
		 target_is_same(&item->origin.identity, &item->now))
		item->verdict = (struct verdict){ .object = TAKE_THEIRS };
	else if (is_going_directory(item))
		item->verdict = (struct verdict){ .object = TAKE_THEIRS };
	else if (judge_versions(promote, item, err) < 0)
		return -1;
	judge_lost_name(promote, item);
	if (item->origin.is_merged_in && !verdict_is_nothing(&item->verdict) &&
	    promote_has_markers(promote, item))
		item->verdict =
			(struct verdict){ .kind = CONFLICT_UNRESOLVED, .object = TAKE_UNDECIDED };
	return 0;
}

/* Renamed here, edited there: the edit belongs to the new name. */
static void judge_rename(struct promote *promote, struct item *gone)
{
	struct item *fresh = gone->twin == NO_ITEM ? NULL : &promote->items[gone->twin];

	if (!fresh || gone->entry.op != DELTA_DELETED || !gone->verdict.kind ||
	    fresh->verdict.kind || fresh->now.exists || !gone->now.exists ||
	    !S_ISREG(fresh->entry.new.st.st_mode) || target_type(&gone->now) != 'f')
		return;
	gone->verdict = (struct verdict){ .object = TAKE_THEIRS };
	fresh->verdict = (struct verdict){
		.kind = "rename/modify",
		.object = TAKE_MERGE,
		.content = TAKE_MERGE,
		.mode = TAKE_THEIRS,
		.owner = TAKE_THEIRS,
		.xattrs = TAKE_THEIRS,
	};
}

/* The deletion half of a rename follows the other half: without the new name, the old one stays. */
static void follow_twin(struct promote *promote, struct item *item)
{
	struct item *twin = item->twin == NO_ITEM ? NULL : &promote->items[item->twin];

	if (twin && item->entry.op == DELTA_DELETED && item->fate == FATE_APPLIED &&
	    twin->fate != FATE_APPLIED)
		item->fate = FATE_LEFT;
}

/* Nothing can be put into a directory that the host does not have and does not get. */
static void follow_parent(struct promote *promote, struct item *item)
{
	const struct item *above = item->parent == NO_ITEM ? NULL : &promote->items[item->parent];

	if (above && above->is_selected && item->entry.new.exists &&
	    above->fate != FATE_APPLIED &&target_type(&above->now) != 'd')
		item->fate = FATE_LEFT;
}

/* Judges each item; then what the judgements took for granted must still hold, or all of them are made anew. */
static int judge_items(struct promote *promote, struct error *err)
{
	char shown[STR_SHOWN_SIZE];
	const char *replaced;

	for (size_t i = 0; i < promote->count; i++)
		if (promote->items[i].is_selected &&
		    judge_item(promote, &promote->items[i], err) < 0)
			return -1;
	replaced = origin_index_find_replaced(promote->origins);
	if (!replaced)
		return 0;
	for (size_t i = 0; i < promote->count; i++)
		if (strcmp(promote->items[i].entry.path, replaced) == 0)
			promote_add_conflict(promote, &promote->items[i], "changed");
	return error_set(err, ERROR_CONFLICT,
			 "a directory above '%s' was replaced meanwhile: try again",
			 str_shown(replaced, shown));
}

int promote_judge(struct promote *promote, struct error *err)
{
	if (judge_items(promote, err) < 0)
		return -1;
	for (size_t i = 0; i < promote->count; i++)
		judge_rename(promote, &promote->items[i]);
	for (size_t i = 0; i < promote->count; i++)
		if (promote->items[i].is_selected &&
		    promote_resolve(promote, &promote->items[i], err) < 0)
			return -1;
	for (size_t i = 0; i < promote->count; i++)
		follow_parent(promote, &promote->items[i]);
	for (size_t i = 0; i < promote->count; i++)
		follow_twin(promote, &promote->items[i]);
	promote_leave_moved(promote);
	if (promote_find_anchors(promote, err) < 0)
		return -1;
	return promote_guard_trees(promote, err);
}
