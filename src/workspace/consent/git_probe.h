/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to git about objects that a sandbox wrote.
 *
 * Such objects are hostile: git must not read them on the host. They are copied into a bare repository of our own,
 * below /tmp, beside the questions; the caller has a git answer all of them at once in a throw-away sandbox that sees
 * that directory and the host's object store, nothing else of the repository, for GIT_PROBE_MS at most. A question
 * without an answer makes promotion ask a person.
 */
#ifndef WORKSPACE_GIT_PROBE_H
#define WORKSPACE_GIT_PROBE_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "base/process/tmp_dir.h"

#include <stdbool.h>
#include <stdint.h>

#define GIT_PROBE_MS 10000
/* Where the sandbox sees the host's object store. */
#define GIT_PROBE_OBJECTS "/mnt/aisbx-objects"

struct git_answer {
	bool is_known;
	bool is_denied; /* git ended with another status than 0; neither: it did not answer */
	struct strv
		paths; /* that differ, each behind a letter: l where it becomes a symbolic link, else f */
};

struct git_probe {
	struct tmp_dir dir;
	char token[65]; /* ends an answer: no object can hold it, it is made after them */
	struct str questions;
	size_t count;
	uint64_t bytes, files; /* that were copied */
	bool is_full;	       /* more than may be copied: nothing is known */
	struct git_answer *answers;
};

/*
 * Runs the shell text in TEXT with git in a sandbox whose workspace is DIRECTORY, with OBJECTS (absolute, the host's) at
 * GIT_PROBE_OBJECTS; *ret_output is what it printed. -1 when it did not end well within the time.
 */
typedef int git_probe_runner(const char *directory, const char *objects, const char *text,
			     struct str *ret_output, struct error *err);

int git_probe_open(struct git_probe *probe, bool is_sha256, struct error *err);
void git_probe_close(struct git_probe *probe);

/* Copies the file at FD to NAME below the directory: "objects/ab/cd...", "index-1". */
int git_probe_add(struct git_probe *probe, const char *name, int fd, struct error *err);

/* Each returns the number of its answer. OLD is "" for nothing: what has no past differs in all that it has. */
size_t git_probe_ask_trees(struct git_probe *probe, const char *old, const char *new);
/* Two index files that were added; OLD may be missing. */
size_t git_probe_ask_index(struct git_probe *probe, const char *old, const char *new);
/* Whether the added pack matches its index NAME (git verify-pack). */
size_t git_probe_ask_pack(struct git_probe *probe, const char *name);

/* Whether the commit OLD is NEW or one of its ancestors. */
size_t git_probe_ask_forward(struct git_probe *probe, const char *old, const char *new);
/* Whether the loose objects that were added are what their names say. */
size_t git_probe_ask_objects(struct git_probe *probe);

/*
 * Fills in the answers; those that there are none to stay unknown. OBJECTS: the host's object store, which may be
 * missing.
 */
void git_probe_run(struct git_probe *probe, git_probe_runner *run, const char *objects);

#endif
