/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a renamed directory takes along: whether some of it becomes, or ceases to be, what a person is asked about, or was
 * hidden from the sandbox.
 */
#include "workspace/promote/promote_parts.h"

#include "base/core/own.h"
#include "base/file/walk.h"
#include "workspace/consent/consent_rule.h"
#include "workspace/disk/sys.h"
#include "workspace/disk/target.h"
#include "workspace/consent/trigger.h"
#include "workspace/consent/write_rule.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct carrying {
	const struct promote *promote;
	const char *from, *to; /* the directory's names */
};

/* What would be asked about the entry if it came as it is, at PATH. */
static unsigned reasons_at(const struct promote *promote, const struct walk_entry *entry,
			   const char *path, const char *link)
{
	const struct txn_identity identity = { .exists = true, .mode = entry->st->stx_mode };
	const struct consent_side side = { .type = target_type(&identity),
					   .mode = entry->st->stx_mode & 07777,
					   .uid = entry->st->stx_uid,
					   .gid = entry->st->stx_gid };
	const struct consent_case what = { .caller = &promote->caller,
					   .path = path,
					   .root = promote->target,
					   .root_fd = promote->target_fd,
					   .old = side,
					   .new = side,
					   .tree = promote->tree,
					   .named = promote->request->named,
					   .link = link };

	return consent_reasons(&what);
}

static bool is_forbidden(const struct promote *promote, const char *relative)
{
	owned(free_ptr) char *path =
		xasprintf("%s/%s", promote->target[1] ? promote->target : "", relative);

	return write_rules_forbid(&promote->sandbox->settings, path);
}

/* Whether masks hide RELATIVE from the sandbox. */
static bool is_hidden(const struct promote *promote, const char *relative)
{
	const struct view_stack *stack = promote->stack;
	owned(free_ptr) char *path = xasprintf("%s/%s", promote->sandbox->workspace, relative);

	return stack->shows && !stack->shows(path, stack->cookie);
}

static bool is_same_word(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* Whether tools look for a directory of that name by themselves: an environment's, or one that begins with a dot. */
static bool is_looked_for(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return name[0] == '.' || strcmp(name, "venv") == 0 || strcmp(name, "env") == 0;
}

/* -1: it has to be asked about by itself. */
static int visit(const struct walk_entry *entry, void *cookie)
{
	const struct carrying *carrying = cookie;
	const struct promote *promote = carrying->promote;
	owned(free_ptr) char *old = xasprintf("%s/%s", carrying->from, entry->path),
			     *new = xasprintf("%s/%s", carrying->to, entry->path);
	char link[PATH_MAX] = "";
	bool is_link = S_ISLNK(entry->st->stx_mode);

	/* What is written without a person must not take the host's own rules from where they hold. */
	if (promote->request->leave &&
	    (strcmp(entry->name, ".gitignore") == 0 || strcmp(entry->name, ".git") == 0))
		return -1;
	if (is_link && readlinkat(entry->dir_fd, entry->name, link, sizeof(link) - 1) < 0)
		return -1;
	/* At its new place no rule would hide it any more. */
	if (is_hidden(promote, old))
		return -1;
	if (is_forbidden(promote, old) || is_forbidden(promote, new) ||
	    reasons_at(promote, entry, old, is_link ? link : NULL) !=
		    reasons_at(promote, entry, new, is_link ? link : NULL))
		return -1;
	if (S_ISDIR(entry->st->stx_mode))
		return 0;
	/* Tools find "v/bin/activate" when they are pointed to it, and ".venv/bin/activate" by themselves. */
	if (trigger_why(new) && is_looked_for(carrying->to) && !is_looked_for(carrying->from))
		return -1;
	return is_same_word(trigger_why(old), trigger_why(new)) ? 0 : -1;
}

bool promote_carries_quietly(const struct promote *promote, const char *from, const char *to)
{
	struct carrying carrying = { .promote = promote, .from = from, .to = to };
	owned(fd_close) int fd = sys_open_beneath(promote->target_fd, from, O_RDONLY | O_DIRECTORY);

	struct walk walk = { .purpose = WALK_TXN, .visit = visit, .cookie = &carrying };

	return fd >= 0 && walk_tree(&walk, fd, ".") == 0;
}
