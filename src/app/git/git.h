/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's git as a tool that runs nothing but itself.
 *
 * A repository is foreign: its configuration can name programs for hooks, filters, file watching, pagers, signatures
 * and remotes. Objects, trees and commits are made through a git directory of our own, which has the repository's object
 * store and none of its configuration; the few calls that need the real one have every such setting overridden. git
 * itself is looked for where no sandbox can have put it: outside the workspace.
 */
#ifndef APP_GIT_H
#define APP_GIT_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "base/process/tmp_dir.h"

#include <stdbool.h>

struct git {
	struct strv directories; /* git directories as we found them ourselves (git_plain.h) */
	char *program;
	char *top;		/* of the work tree, absolute */
	char *directory;	/* .git, absolute */
	char *objects, *index;	/* absolute */
	struct tmp_dir private; /* a git directory of ours */
	const char *nothing;	/* the name of no object: zeros */
	struct strv env;	/* all that git sees of the environment */
};

/* A git outside TARGET, to be run there, with nothing asked yet: only for calls in the real git directory. */
int git_locate(const char *target, const char *const *environ, struct git *ret_git,
	       struct error *err);

/* Finds the repository that TARGET lies in; ERROR_NOT_FOUND when it lies in none. */
int git_open(const char *target, const char *const *environ, struct git *ret_git,
	     struct error *err);
void git_close(struct git *git);

struct git_call {
	const char *const *words; /* behind "git", ended by NULL */
	bool is_real;		  /* in the real git directory; else in ours */
	const char *index;	  /* another index file than the directory's own; NULL */
	const struct strv *env;	  /* more variables; may be NULL */
	const void *input;
	size_t input_len;
	int input_fd;	 /* instead of INPUT when above 0: the file's own descriptor */
	bool may_say_no; /* exit 1 is an answer: *ret_output is empty then */
	int limit_ms;	 /* 0: a minute */
};

/* Runs it within its time; its output without newlines at the end. */
int git_run(const struct git *git, const struct git_call *call, struct str *ret_output,
	    struct error *err);

/*
 * Hands each of the blobs called NAMES to TAKE, in order, with the index of its name and the bytes for as long as the call
 * lasts; those that git does not have are left out.
 */
void git_read_blobs(const struct git *git, const struct strv *names,
		    void (*take)(void *cookie, size_t index, const char *bytes, size_t len),
		    void *cookie);

#endif
