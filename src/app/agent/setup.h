/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coding agents configured for aisbx: an entry in the file where each one reads its MCP servers, its hooks, its settings.
 *
 * What was written is recorded in STATE/setup, before it is written, so that it can be taken back byte by byte; everything
 * else in those files is the user's and stays. Files are replaced as a whole, by rename.
 */
#ifndef APP_AGENT_SETUP_H
#define APP_AGENT_SETUP_H

#include "base/core/error.h"
#include "base/core/value.h"

enum setup_part { SETUP_MCP, SETUP_HOOK, SETUP_PARTS };

/* How the file is written. */
enum setup_form { SETUP_JSON, SETUP_TOML, SETUP_YAML };

/* One entry of one agent. */
struct setup_row {
	const char *agent;
	enum setup_part part;
	enum setup_form form;
	const char *env, *env_file; /* a variable that moves the user's file, and its name there */
	const char *user_file;	    /* below HOME */
	const char *project_file;   /* below the project; NULL: the agent reads none */
	const char *keys; /* JSON: the object or list that gets the entry, with '/' between */
	const char *name; /* JSON: the entry's key; NULL for one of a list */
	/* What is written; @ is the program, @@ the same as a word for a shell, @+ flags. */
	const char *text;
};

/* Ended by a row without an agent. */
extern const struct setup_row setup_rows[];

/* What of the agent's own tools is covered then, and what is not; NULL for no agent. */
const char *setup_covers(const char *agent, enum setup_part part);

struct setup {
	const char *agent;	 /* NULL: all, to remove */
	bool parts[SETUP_PARTS]; /* none: what the agent has */
	bool is_project, is_removal, dry_run;
	bool writes; /* the hook gets --write workspace */
};

/* [{file, state: "written", "removed" or "unchanged", diff, notes}], one for each file. */
int setup_agent(const struct setup *setup, struct value **ret_answer, struct error *err);

#endif
