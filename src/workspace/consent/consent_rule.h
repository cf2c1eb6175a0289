/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which changes need the user's consent, and which modes the caller's umask narrows.
 *
 * One decision for the code that shows changes and the code that applies them: what is asked about is what was marked.
 */
#ifndef WORKSPACE_CONSENT_RULE_H
#define WORKSPACE_CONSENT_RULE_H

#include "base/core/str.h"
#include "workspace/consent/git_tree.h"
#include "workspace/disk/xattr.h"

#include <stdbool.h>
#include <sys/types.h>

enum consent_reason {
	CONSENT_TRIGGER = 1 << 0, /* makes something run (trigger.h) */
	CONSENT_LINK = 1 << 1,	  /* leads out of the workspace */
	CONSENT_SETUID = 1 << 2,
	CONSENT_SETGID = 1 << 3,
	CONSENT_CAPABILITY = 1 << 4,
	CONSENT_ATTRIBUTE = 1 << 5, /* other security attributes */
	CONSENT_ACL = 1 << 6,	    /* an access list that was not there */
	CONSENT_WRITABLE = 1 << 7,  /* group or others may write to what they could not */
	CONSENT_OWNER = 1 << 8,	    /* another owner's than before */
	CONSENT_DEVICE = 1 << 9,
	CONSENT_OUTSIDE = 1 << 10, /* content of the host's that the sandbox may never have read */
	CONSENT_UNWRITABLE = 1 << 11, /* the sandbox's rules about writing (write_rule.h) */
	CONSENT_GIT =
		1 << 12, /* in a git directory, or a link into one: neither file nor directory */
	CONSENT_REPOSITORY = 1 << 13, /* with it, a directory becomes a git directory */
};
#define CONSENT_REASONS 14

struct consent_side {
	char type; /* f d l p s c b; 0: nothing there */
	mode_t mode;
	uid_t uid;
	gid_t gid;
	const struct xattr_list *xattrs; /* NULL: none */
};

/* The caller; the same for all changes, and read once. */
struct consent_caller {
	mode_t umask;
	bool is_root;
};

struct consent_case {
	const struct consent_caller *caller;
	const char *path; /* relative to ROOT */
	const char *root; /* absolute: what a link must not lead out of */
	int root_fd;	  /* the same on the host: new entries inherit from there; -1: not known */
	struct consent_side old, new;
	const char *link; /* target of a new link; NULL: none, or the host's link is unchanged */
	struct git_tree *tree;	  /* as it will be with all changes */
	const struct strv *named; /* paths that the host's git configuration names; NULL: none */
	bool is_linked;		  /* the new file has other names in the sandbox */
	bool is_content_new;
	bool is_from_outside; /* the host's own object, from outside the workspace */
	bool is_git; /* ROOT is a git directory: the names of a work tree mean nothing in it */
	bool is_elsewhere; /* ROOT is not the workspace: the whole path counts */
};

struct consent_caller consent_caller(void);

/* CONSENT_* bits. */
unsigned consent_reasons(const struct consent_case *what);

/* Whether NAMED has PATH, or a directory that it lies in: a folder of hooks, a filter, a file to include. "" has all. */
bool consent_is_named(const struct strv *named, const char *path);

/* For people: "git hook", "setuid"; and the flag that permits it. REASON is one bit. */
const char *consent_words(unsigned reason, const char *path);
const char *consent_flag(unsigned reason);

/* The mode that the host gets: what is new there is made as if the caller had made it, under the caller's umask. */
mode_t consent_mode(const struct consent_caller *caller, const struct consent_side *old,
		    const struct consent_side *new);

/* Whether a link at PATH below ROOT leads out of it, by its words alone; one that climbs after it went down may. */
bool consent_leads_out(const char *root, const char *path, const char *target);

#endif
