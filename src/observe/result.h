/* SPDX-License-Identifier: Apache-2.0 */
/* What came of a run: the result object of cli.md as a plain struct, and its JSON. */
#ifndef OBSERVE_RESULT_H
#define OBSERVE_RESULT_H

#include "base/text/json_write.h"
#include "base/core/str.h"
#include "observe/samples.h"

#include <stdbool.h>
#include <stdint.h>

enum run_status {
	RUN_SUCCESS,
	RUN_ERROR,
	RUN_TIMEOUT,
	RUN_OOM,
	RUN_KILLED,
	RUN_LIMIT,
	RUN_DENIED,
	RUN_INTERNAL,
};

const char *run_status_name(enum run_status status);

struct denial {
	char *layer; /* "seccomp", "net" */
	char *what;  /* "connect 1.2.3.4:443", "mount(2)" */
	char *rule;
	char *hint;
	uint64_t count;
	/* Of the network, where the gateway saw it; else NULL and 0. */
	char *name, *address, *process;
	unsigned port;
	uint64_t time_ms; /* of the first, since the epoch */
};

#define DENIALS_KEPT 100

/* 100 distinct ones, then a count. */
struct denials {
	struct denial *items;
	size_t count;
	uint64_t beyond; /* further distinct ones, not kept */
};

/* Counts up an equal denial or keeps a copy. */
void denials_add(struct denials *denials, const char *layer, const char *what, const char *rule,
		 const char *hint);
/* The same with all that is known; LIKE is copied, its count taken as it is. */
void denials_add_like(struct denials *denials, const struct denial *like);
void denials_done(struct denials *denials);

/* What went through the network of a run. */
struct network_use {
	bool is_known;
	bool is_changed; /* its rules, while it ran */
	uint64_t connections, sent_bytes, received_bytes;
};

struct change_counts {
	uint64_t added, modified, deleted;
};

struct captured {
	struct str kept; /* head of the stream, up to --output */
	uint64_t bytes;	 /* all that was written */
};

struct run_result {
	char *run_id, *trace_id, *sandbox, *driver;
	struct strv command;
	enum run_status status;
	int exit_code; /* what the shell would see; always set once the run ended */
	int signal;    /* 0 when none */
	struct captured out, err;
	bool truncated;
	uint64_t started_ms;		      /* since the epoch */
	double duration_ms, cpu_ms, start_ms; /* start_ms: request to exec */
	double plan_ms,
		teardown_ms; /* of the start the first part; from the command's end to the record */
	uint64_t queued_ms;  /* waited before that, while others ran */
	uint64_t peak_memory_bytes;
	/* Of all processes together, where no control group counts what they hold in the kernel; 0 where one does. */
	uint64_t descriptors_limit;
	const char *isolation;
	const char *workspace; /* copied: the command worked in a private copy; else NULL */
	const char *start;     /* of a sandbox for this run: pool, cold; else NULL */
	struct strv layers, degraded, limits_hit;
	struct denials denials;
	size_t denials_shown; /* the first so many of them were shown while it ran */
	struct network_use network;
	bool has_fuel;
	uint64_t fuel_consumed;
	struct change_counts changes, changes_outside;
	struct strv changed;	/* with --name-status: git's letter, a tab, the path */
	struct strv warnings;	/* limits it came near to, in the order met */
	struct samples samples; /* what it used while it ran */
	struct strv injected;	/* secrets that requests got outside, by name: HOST:PORT:HOW=NAME */
	struct strv notes;	/* words for people: which limit, why it ended, what was degraded */
	char *message;		/* why a run was refused or failed inside aisbx; NULL otherwise */
	char *hint;		/* the way out of that; NULL: none is known */
	const char *error_code; /* with the message of a run that was refused: error_code_name's */
};

void run_result_init(struct run_result *result);
void run_result_done(struct run_result *result);

/* The object of cli.md, one line, no newline at the end. */
void run_result_write(const struct run_result *result, struct str *out);
/* The same without the streams' content: what history keeps. */
void run_result_write_record(const struct run_result *result, struct str *out);

#endif
