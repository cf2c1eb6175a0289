/* SPDX-License-Identifier: Apache-2.0 */
/* Request + profile + host facts -> complete spec: every default made explicit, nothing touched. */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include "base/core/error.h"
#include "host/host.h"
#include "plan/request.h"
#include "spec/spec.h"

#include <stdbool.h>

/* A symlink below HOME. */
struct plan_link {
	char *name;   /* below HOME: ".ssh", ".config/gh" */
	char *target; /* resolved */
};

/* A git directory outside the workspace that belongs to it, or an object store that it borrows from. */
struct plan_git {
	char *path;		 /* no rule that hides something may cover it */
	struct spec_mask *masks; /* what of it is seen, and with which configuration */
	size_t count;
	bool is_borrowed; /* another repository's objects alone, named by a file that a workspace may bring along */
};

/* Directories of tools in HOME, as they are there now. Names are below HOME. */
struct plan_tools {
	struct strv shown;   /* directories, and links to what is shown anyway */
	struct strv hidden;  /* credentials in them; a last part may be a pattern */
	struct strv targets; /* absolute: what links on the way to such credentials lead to */
};

/* Another root. */
struct plan_image {
	const char *name;
	struct strv layers; /* directories, topmost first */
	struct strv env, entrypoint;
	struct strv policy; /* image_policy.h */
};

/*
 * What plan needs to know about paths and names; engine fills it by looking, tests by saying. Paths are absolute
 * and resolved; all of it is owned by the caller.
 */
struct plan_paths {
	char *workspace; /* resolved -C, or the default of rules 16; NULL: an empty one is made */
	bool workspace_given; /* by -C */
	const char *run_id;   /* of the run to come; NULL gives "preview" */
	const char *sandbox;  /* its name; NULL gives "preview" */
	const char *git_name,
		*git_email;	 /* of the caller's git configuration; NULL where unknown */
	struct plan_link *links; /* those of HOME that plan_link_matters picks */
	size_t link_count;
	const struct plan_tools *tools; /* NULL: none are there */
	const struct plan_image *image; /* that --root names; NULL: none */
	struct strv
		git_authorities; /* addresses, and the file of certificates that git trusts there, in turn; "": all others */
	struct strv
		certificates; /* files of HOME that variables name: path, and what is shown of it, in turn */
	struct strv staging;  /* directories in which promotions of the caller's were prepared */
	struct strv services; /* where services that were seen to run keep their state */
	struct plan_git *git; /* the workspace's own first, if it has one outside */
	char *git_own; /* that one's part for this worktree, relative to it; NULL: it has none */
	size_t git_count;
	bool can_redirect; /* net/inside/redirect.h works here; looked at for plan_wants_all alone */
	struct strv git_notes; /* one sentence for each that is not shown, or not whole */
};

/* Whether a symlink of HOME called NAME may lead to a credential. */
bool plan_link_matters(const char *name);

/* Whether below HOME's directory NAME there may be such a link. */
bool plan_link_may_follow(const char *name);

/*
 * The setting `home_tools` as names below HOME. Refused: what is not below it, and what the table of HOME calls a
 * credential.
 */
int plan_home_tools(const struct strv *words, const char *home, struct strv *ret_names,
		    struct error *err);

/* The table's credential that NAME, below HOME, is or lies in; NULL: none. */
const char *plan_credential(const char *name);

/* Adds the table's credentials in DIR, a directory below HOME. Any part of a name may be a pattern. */
void plan_tool_secrets(const char *dir, struct strv *ret_names);

/*
 * Whether a link in the place of a tool's directory may be shown: it leads to a system directory, or into one of SHOWN,
 * which are names below HOME. TARGET is resolved.
 */
bool plan_tool_may_lead(const char *home, const struct strv *shown, const char *target);

/* Looks at DIR: has it a .git, and whose is it? False when it cannot be looked at. */
typedef bool (*plan_look)(void *cookie, const char *dir, bool *ret_has_git, uid_t *ret_owner);

/*
 * The workspace when -C did not name one: the git root around the current directory if the caller owns it, else
 * the current directory; never HOME, /, a system directory or a place of our own. NULL (an empty one) then.
 * Owned by the caller of it.
 */
char *plan_default_workspace(const struct host *host, plan_look look, void *cookie);

/*
 * Every path at which the host shows one of our own folders, or a part of one: those of this caller, those of the accounts
 * with HOMES, and their second names through other mounts.
 */
void plan_own_places(const struct host *host, const struct strv *homes, struct strv *ret_paths);

/*
 * Refuses a workspace in which our data, state or cache folder lies though the caller's home does not: what is in it may
 * have come with the project, records of sandboxes and compiled code alike. In a home they lie where they always do.
 */
int plan_check_brought(const struct host *host, const char *workspace, struct error *err);

/* The ids of a sandbox of this caller's; refused where there are none that are not the machine's root. */
int plan_ids(const struct host *host, struct spec_ids *ret_ids, struct error *err);

/* Whether it is to be let out. Flags beat the profile; a rule to allow implies `net: allow`. */
bool plan_wants_network(const struct settings *flags, const struct settings *settings);
/* And that everywhere, by --net all. */
bool plan_wants_all(const struct settings *flags, const struct settings *settings);

/*
 * PROFILE is the merged profile (built in, user's, narrowed by the workspace's); the request's flags are
 * laid over it here. A pure function: no file is opened, no process started.
 */
int plan_make(const struct request *request, const struct settings *profile,
	      const struct host *host, const struct plan_paths *paths, struct spec *ret_spec,
	      struct error *err);

/*
 * The environment of one more command in a sandbox that was planned as SPEC under SETTINGS (the profile with the flags
 * laid over it), for a caller whose variables are ENVIRON.
 */
void plan_command_environment(const struct spec *spec, const struct settings *settings,
			      const struct host *host, const char *const *environ,
			      struct strv *ret_env);

/* Adds those of SETTINGS to the secrets of a spec: files that are relative are so to the caller. */
void plan_secrets(const struct settings *settings, const struct host *host, struct spec *spec);

#endif
