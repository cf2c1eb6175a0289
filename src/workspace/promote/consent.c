/* SPDX-License-Identifier: Apache-2.0 */
/* What needs a person's word before it reaches the host. */
#include "workspace/promote/promote_parts.h"

#include "base/core/own.h"
#include "base/file/real_path.h"
#include "workspace/base/origin_index.h"
#include "workspace/disk/target.h"
#include "workspace/consent/trigger.h"
#include "workspace/consent/write_rule.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_allowed_path(const struct promote *promote, const char *path)
{
	const struct promote_request *request = promote->request;

	for (size_t i = 0; i < request->allow_paths.count; i++)
		if (promote_matches(promote, request->allow_paths.items[i], path))
			return true;
	return false;
}

static struct consent_side side_of(const struct txn_identity *identity,
				   const struct xattr_list *xattrs)
{
	return (struct consent_side){ .type = target_type(identity),
				      .mode = identity->mode & 07777,
				      .uid = identity->uid,
				      .gid = identity->gid,
				      .xattrs = xattrs };
}

/* What the host has of it: under its old name, when it was renamed. */
static const struct item *host_item(const struct promote *promote, const struct item *item)
{
	bool is_moved = !item->now.exists && item->twin != NO_ITEM;

	return is_moved ? &promote->items[item->twin] : item;
}

mode_t promote_mode(const struct promote *promote, const struct item *item, mode_t mode)
{
	const struct consent_side old = side_of(&host_item(promote, item)->now, NULL);
	const struct consent_side new = { .type = item->type, .mode = mode };
	bool is_own = delta_is_own(promote->stack, &item->entry.new, promote->sandbox->workspace);

	return consent_mode(&promote->caller, is_own ? &new : &old, &new);
}

/* What the sandbox was made with is read again at its next start: by then it would be what the sandbox wrote. */
static bool is_own_profile(const struct sandbox *sandbox, const char *relative)
{
	owned(free_ptr) char *path = xasprintf("%s/%s", sandbox->workspace, relative);
	const struct strv *words = &sandbox->settings;

	for (size_t i = 0; i + 1 < words->count; i += 2) {
		owned(free_ptr) char *real = strcmp(words->items[i], "--profile") == 0
						     ? path_real(words->items[i + 1])
						     : NULL;

		if (real && strcmp(real, path) == 0)
			return true;
	}
	return false;
}

static bool is_forbidden(const struct promote *promote, const char *relative)
{
	const char *target = promote->target;
	owned(free_ptr) char *path = xasprintf("%s/%s", target[1] ? target : "", relative);

	return write_rules_forbid(&promote->sandbox->settings, path);
}

static unsigned reasons_of(const struct promote *promote, const struct item *item)
{
	const struct item *real = host_item(promote, item);
	const struct delta_entry *entry = &item->entry;
	bool is_edit = entry->op == DELTA_MODIFIED || item->twin != NO_ITEM;
	owned(xattr_list_done) struct xattr_list had = { 0 };
	struct error ignored = { 0 };

	if (item->xattrs.count > 0 && promote->is_workspace && real->entry.old.exists)
		(void)delta_xattrs(promote->stack, &real->entry.old, &had, &ignored);
	const struct consent_case what = {
		.caller = &promote->caller,
		.path = item->path,
		.root = promote->target,
		.root_fd = promote->target_fd,
		.is_from_outside = !promote->request->artifact &&
				   delta_is_from_outside(promote->stack, &entry->new,
							 promote->sandbox->workspace),
		.is_git = promote->request->commits != NULL,
		.is_elsewhere = strcmp(promote->target, promote->sandbox->workspace) != 0,
		.old = side_of(&real->now, &had),
		.new = { .type = item->type,
			 .mode = item->meta.mode,
			 .uid = item->meta.uid,
			 .gid = item->meta.gid,
			 .xattrs = &item->xattrs },
		.link = item->type == 'l' && item->content == CONTENT_THEIRS
				? (entry->new.link ? entry->new.link : "/")
				: NULL,
		.tree = promote->tree,
		.named = promote->request->named,
		.is_linked = item->type == 'f' && entry->new.exists && entry->new.st.st_nlink > 1,
		.is_content_new = item->content != CONTENT_OURS && item->type != 'd' &&
				  (!is_edit || (entry->aspects & ASPECT_CONTENT)),
	};

	return consent_reasons(&what) |
	       (is_own_profile(promote->sandbox, item->path) ? CONSENT_TRIGGER : 0) |
	       (is_forbidden(promote, item->path) ? CONSENT_UNWRITABLE : 0);
}

static bool is_agreed(const struct promote_request *request, const char *path, const char *why)
{
	owned(free_ptr) char *row = xasprintf("%s %s", why, path);

	return strv_has(request->agreed, row);
}

/* Whether a change to PATH for that reason was agreed to, with FLAG or by a person. */
static bool is_allowed(const struct promote *promote, const char *path, const char *why,
		       const char *flag)
{
	const struct promote_request *request = promote->request;

	if (request->agreed)
		return is_agreed(request, path, why);
	if (request->allow_all)
		return true;
	if (strcmp(flag, "--allow-path") == 0)
		return is_allowed_path(promote, path);
	return strcmp(flag, "--allow-special") == 0 ? request->allow_special
						    : request->allow_privilege;
}

static void ask(struct promote *promote, const char *path, const char *why, const char *flag)
{
	struct promotion *promotion = promote->promotion;

	if (is_allowed(promote, path, why, flag))
		return;
	promotion->consents =
		xrealloc(promotion->consents, promotion->consent_count + 1, sizeof(struct consent));
	promotion->consents[promotion->consent_count++] = (struct consent){
		.path = xstrdup(path),
		.why = xstrdup(why),
		.flag = flag,
	};
}

void promote_ask_for(struct promote *promote, const char *path, const char *why)
{
	ask(promote, path, why, "--allow-path");
}

/* Whether what was there is gone, is of another kind, or may no longer be used by its owner. */
static bool is_taken_away(const struct item *item)
{
	const struct delta_side *old = &item->entry.old, *new = &item->entry.new;

	return !item->type || (old->exists && ((old->st.st_mode ^ new->st.st_mode) & S_IFMT ||
					       (old->st.st_mode & ~new->st.st_mode &S_IRWXU)));
}

/*
 * Whether the item holds rules of what git ignores, or takes away what makes a directory a repository, whose rules would
 * hold no more.
 */
static bool decides_ignored(const struct item *item)
{
	static const char *const needed[] = { ".git",	   ".git/HEAD", ".git/config",
					      ".git/info", ".git/refs", ".git/objects" };
	owned(free_ptr) char *path = xasprintf("/%s", item->path);
	bool is_asked = str_ends(path, "/.gitignore") || str_ends(path, "/info/exclude");

	for (size_t i = 0; !is_asked && i < sizeof(needed) / sizeof(needed[0]); i++) {
		owned(free_ptr) char *end = xasprintf("/%s", needed[i]);

		is_asked = str_ends(path, end) && is_taken_away(item);
	}
	return is_asked;
}

/* What is written by itself, without a person, must neither widen what is written next nor redo what was taken back. */
static void ask_unattended(struct promote *promote, const struct item *item)
{
	if (decides_ignored(item))
		ask(promote, item->path, "decides what git ignores", "--allow-path");
	else if (origin_index_is_undone(promote->origins, item->entry.path))
		ask(promote, item->path, "was taken back", "--allow-path");
}

static void ask_for(struct promote *promote, const struct item *item)
{
	unsigned found = reasons_of(promote, item);
	const char *slash = strrchr(item->path, '/');

	if (promote->request->leave)
		ask_unattended(promote, item);
	else if (!item->type && item->twin != NO_ITEM &&
		 trigger_is_git_name(slash ? slash + 1 : item->path))
		promote_ask_for(promote, item->path, "the repository would be elsewhere");
	if (item->is_carried)
		ask(promote, item->path, "git ignores it; its directory was renamed",
		    "--allow-path");

	for (unsigned reason = 1; reason < 1u << CONSENT_REASONS; reason <<= 1)
		if (found & reason)
			ask(promote, item->path, consent_words(reason, item->path),
			    consent_flag(reason));
}

static bool is_below_socket(const struct promote *promote, const struct item *item)
{
	for (size_t at = item->parent; at != NO_ITEM; at = promote->items[at].parent)
		if (promote->items[at].type == 's')
			return true;
	return false;
}

/* Sockets belong to a process that is gone. Where one took a directory's place, the directory stays with all it has. */
static void skip_sockets(struct promote *promote)
{
	for (size_t i = 0; i < promote->count; i++) {
		struct item *item = &promote->items[i];

		if (item->fate != FATE_APPLIED ||
		    (item->type != 's' && !is_below_socket(promote, item)))
			continue;
		item->fate = FATE_LEFT;
		strv_add(&promote->promotion->skipped, item->path);
	}
}

int promote_ask(struct promote *promote, struct error *err)
{
	const struct promotion *promotion = promote->promotion;
	char shown[STR_SHOWN_SIZE];

	skip_sockets(promote);
	for (size_t i = 0; i < promote->count; i++)
		if (promote->items[i].is_selected && promote->items[i].fate != FATE_LEFT)
			ask_for(promote, &promote->items[i]);
	if (promote_ask_git(promote, err) < 0)
		return -1;
	if (promotion->consent_count == 0)
		return 0;
	return error_set(err, ERROR_CONSENT, "%zu of the changes need your consent: '%s' (%s)%s",
			 promotion->consent_count, str_shown(promotion->consents[0].path, shown),
			 promotion->consents[0].why,
			 promotion->consent_count > 1 ? " and others" : "");
}
