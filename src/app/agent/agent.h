/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A coding agent in a sandbox of its own: its login is used by requests and not held.
 *
 *   agents.tsv ──> agent_find ──> create: --allow HOST --inject HOST:HOW=LOGIN --env VARIABLE=FILLER
 *                                   │
 *                                  exec: the agent itself ──> a request for promotion
 *
 * Where an agent has its token in a file only, that file is given to it as a secret, and copied to its place inside; what it is there
 * in the end goes back to the host when nothing but its tokens, times and numbers changed.
 */
#ifndef APP_AGENT_AGENT_H
#define APP_AGENT_AGENT_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "base/core/value.h"
#include "spec/settings.h"

/* A row of agents.tsv. */
struct agent_row {
	const char *agent, *host, *how, *variable, *filler, *more;
};

/* Ended by a row without an agent. */
extern const struct agent_row agent_rows[];

/* One agent, the caller's to release. */
struct agent {
	struct strv fields; /* what the row below points to */
	struct agent_row row;
};

/* The row of the program PATH, the user's first. ERROR_NOT_FOUND names the table. */
int agent_find(const char *path, struct agent *ret_agent, struct error *err);
void agent_done(struct agent *agent);

/* The name under which its login is stored; the caller frees it. */
char *agent_login(const struct agent *agent);

/* Adds what the agent needs to the flags of its sandbox. LOGIN is NULL where it brings a file. */
int agent_settings(const struct agent *agent, const char *login, struct settings *flags,
		   struct error *err);

/* A file with a token: read before the agent starts, written back after it ended. */
struct agent_file {
	char *path; /* absolute, in the home; inside the same */
	struct value *content;
	struct str bytes;
};

int agent_file_read(const char *path, struct agent_file *ret_file, struct error *err);
void agent_file_done(struct agent_file *file);

/*
 * 1 when BYTES were written: the same JSON but for tokens, times and numbers, the host's file being what it was. 0 when they were not:
 * *RET_WHY, NULL where they are the same.
 */
int agent_file_renew(const struct agent_file *file, const char *bytes, size_t len,
		     const char **ret_why, struct error *err);

#endif
