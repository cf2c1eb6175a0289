/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guard: whether a command is safe enough to run directly, belongs into a sandbox, or needs a person.
 *
 * direct   only what is on the list of commands that read and print, with options that are listed too, found first in a
 *          directory of the system that only root can write to. Not git: a repository's configuration makes it run
 *          programs. Nothing that reads whole trees, or prints the environment.
 * deny     what touches block devices, our own store, or credentials
 * ask      what needs the network, or writes outside the workspace
 * sandbox  everything else
 *
 * A command that hands a text to a shell, or starts another one (env, xargs, sudo, timeout), is what its parts are: the
 * caller parses, the strictest part decides, and the reason names it. What cannot be parsed, or has a name that only the
 * run knows, is never direct.
 *
 * It only decides. Load of the machine turns direct into sandbox, never the reverse.
 */
#ifndef GUARD_GUARD_H
#define GUARD_GUARD_H

#include "base/core/str.h"

#include <stdbool.h>

enum guard_decision { GUARD_DIRECT, GUARD_SANDBOX, GUARD_ASK, GUARD_DENY };
enum guard_risk { RISK_NONE, RISK_LOW, RISK_MEDIUM, RISK_HIGH, RISK_CRITICAL };

const char *guard_decision_name(enum guard_decision decision);
const char *guard_risk_name(enum guard_risk risk);

/* What a command comes to that is a text for a shell, or starts others: each part is decided about, the strictest counts. */
enum guard_part_kind {
	PART_RUNS,   /* a program and its words */
	PART_WRITES, /* a place that a redirection writes */
	PART_READS,  /* likewise, reads */
	PART_FOUND,  /* words for people: what the scanner found, at least AT_LEAST */
};

/* In the words of a part: what only the run knows. */
#define GUARD_GAP '\x01'

struct guard_part {
	enum guard_part_kind kind;
	const struct strv *words;
	const struct strv
		*starters;     /* programs in front that only start it: env, timeout; NULL: none */
	const char *directory; /* where it runs, from cwd; "": there */
	bool is_shell;	       /* it only reads a text whose parts are listed, too */
	bool is_lost;	       /* it runs where that cannot be determined */
	bool is_privileged;    /* behind sudo */
	bool is_wrapped;       /* behind something that does more than start it */
	enum guard_decision at_least;
};

struct guard_request {
	const struct strv *command;
	const char *path;      /* PATH of the caller; NULL: none */
	const char *cwd;       /* absolute */
	const char *workspace; /* absolute */
	/* Whether the real path PATH is a credential or ours; the caller knows the lists. */
	bool (*is_secret)(const char *path, void *cookie);
	bool (*is_ours)(const char *path, void *cookie);
	void *cookie;
	const char *home;		/* NULL: not known */
	const struct guard_part *parts; /* NULL: the command itself is all there is */
	size_t part_count;
	const char
		*obscure; /* why the parts may not be all there is, or mean something else; NULL */
	bool is_busy;	  /* the machine has more to do than processors */
};

struct guard_verdict {
	enum guard_decision decision;
	enum guard_risk risk;
	struct strv reasons; /* words for people */
};

/* Whether the command is on the list of those that only read, as it is: there is nothing in it to be parsed. */
bool guard_is_plain(const struct guard_request *request);

/* Looks at files (links are resolved, the program is looked up), changes nothing. */
void guard_decide(const struct guard_request *request, struct guard_verdict *ret_verdict);
void guard_verdict_done(struct guard_verdict *verdict);

#endif
