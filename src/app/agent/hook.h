/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks of coding agents: one JSON object of the agent in, one answer out.
 *
 *   agent ──PreToolUse──> hook_read ──> what is to be done ──> hook_sandbox: the session's own, made at first use
 *                                          │
 *                                          ├ shell:   the command becomes `aisbx exec SANDBOX -- bash -c COMMAND`
 *                                          ├ files:   read, written, edited in the sandbox, by `files`
 *                                          ├ refused: with a sentence that names the way
 *                                          └ passed:  neither runs anything nor touches files
 *
 * The agent's own file tools never get a path into a sandbox: a link planted inside would lead to the host's files.
 * Whatever is not understood is an error, and an error refuses the tool.
 */
#ifndef APP_AGENT_HOOK_H
#define APP_AGENT_HOOK_H

#include "base/core/error.h"
#include "base/core/value.h"

enum hook_agent { HOOK_CLAUDE_CODE, HOOK_CODEX, HOOK_AGENTS };

enum hook_deed {
	HOOK_RUN,
	HOOK_READ,
	HOOK_WRITE,
	HOOK_EDIT,
	HOOK_REFUSE,
	HOOK_PASS,
	HOOK_END, /* the session, or a turn of it, is over */
};

/* A Write carries a file's content. */
#define HOOK_BYTES_MAX ((size_t)8 << 20)
/* Linux takes 128 KiB as one argument, and quoting makes it longer. */
#define HOOK_COMMAND_MAX ((size_t)64 << 10)
#define HOOK_NAME_SIZE 32

struct hook_call {
	enum hook_agent agent;
	enum hook_deed deed;
	char sandbox[HOOK_NAME_SIZE]; /* the session's */
	struct value *message;	      /* the agent's object; owned */
	const char *cwd, *tool;	      /* in it; tool is NULL at the end of a session */
	struct value *input;	      /* in it: the tool's arguments; NULL likewise */
};

/* HOOK_AGENTS for a word that is none. */
enum hook_agent hook_agent_find(const char *name);
const char *hook_agent_name(enum hook_agent agent);

/* Reads the agent's object. Tools listed in PASS (may be NULL) are passed. On failure nothing is to be released. */
int hook_read(enum hook_agent agent, const char *bytes, size_t len, const struct strv *pass,
	      struct hook_call *ret_call, struct error *err);
void hook_call_done(struct hook_call *call);

/* The name of the sandbox of SESSION. */
void hook_name(enum hook_agent agent, const char *session, char ret_name[static HOOK_NAME_SIZE]);

struct hook_options {
	const char *profile;	    /* of a new sandbox; NULL: dev */
	const char *const *environ; /* of the caller; borrowed */
	bool writes;		    /* --write workspace */
};

/*
 * Makes sure that CALL's sandbox is there: made at first use, for the workspace that `cwd` lies in. One that was made
 * before and is gone is ERROR_NOT_FOUND: a new one would hide that the session's work is lost.
 */
int hook_sandbox(const struct hook_call *call, const struct hook_options *options,
		 struct error *err);

/* COMMAND as a line for a shell that runs it in SANDBOX. */
int hook_line(const char *sandbox, const char *command, const struct hook_options *options,
	      struct str *ret_line, struct error *err);

/*
 * Asks for the promotion of what SANDBOX changed; one line says what came of it. *RET_ID is the question's, the caller's to free; NULL
 * where nothing was changed.
 */
int hook_ask(const char *sandbox, const char *owner, const char *const *env, struct str *ret_line,
	     char **ret_id, struct error *err);

/* Asks for the promotion of what the session changed, in place of what it asked for before; one line says what came of it. */
int hook_end(const struct hook_call *call, const struct hook_options *options, struct str *ret_line,
	     struct error *err);

#endif
