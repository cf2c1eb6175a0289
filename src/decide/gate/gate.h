/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gates: conditions on what a sandbox did, as a small language.
 *
 *   tests==pass            the named tests end with 0, each in a throw-away copy
 *   no-network-violations  nothing inside was refused a connection since the base was taken
 *   no-secrets             no secret that the sandbox was given, or that is stored, is in what was changed
 *   scan==clean            the scanner finds nothing above low in what was changed
 *   METRIC OP VALUE        diff.files diff.lines duration peak_memory exit_code; == != < <= > >=
 *   cmd:TEXT               sh -c TEXT ends with 0 in a throw-away copy
 *
 * Parsing and comparing know nothing of sandboxes: facts come in, a verdict with its evidence goes out.
 */
#ifndef GATE_GATE_H
#define GATE_GATE_H

#include "base/core/error.h"

#include <stdbool.h>
#include <stdint.h>

#define GATE_TEXT_MAX 4096

enum gate_kind { GATE_METRIC, GATE_TESTS, GATE_NETWORK, GATE_SECRETS, GATE_SCAN, GATE_COMMAND };

enum gate_metric {
	METRIC_FILES,
	METRIC_LINES,
	METRIC_DURATION,
	METRIC_MEMORY,
	METRIC_EXIT,
	METRIC_COUNT
};

enum gate_op { OP_EQUAL, OP_NOT_EQUAL, OP_LESS, OP_AT_MOST, OP_MORE, OP_AT_LEAST };

struct gate {
	enum gate_kind kind;
	enum gate_metric metric;
	enum gate_op op;
	int64_t value; /* files, lines, milliseconds, bytes, exit code */
	char *text;    /* as written */
};

/* The message of ERROR_USAGE has the place of the first mistake, and what could stand there. */
int gate_parse(const char *text, struct gate *ret_gate, struct error *err);
void gate_done(struct gate *gate);

/* What the condition of a GATE_COMMAND is: the text behind "cmd:". */
const char *gate_command(const struct gate *gate);

/* What is known; each is asked for only by the gates that need it. */
struct gate_facts {
	bool has_run; /* the sandbox ran something: duration, peak_memory and exit_code mean it */
	int64_t metrics[METRIC_COUNT];
	uint64_t network_denials;
};

struct gate_verdict {
	bool holds;
	char *evidence; /* "2 files"; owned */
};

/* Decides a GATE_METRIC or GATE_NETWORK. */
void gate_decide(const struct gate *gate, const struct gate_facts *facts,
		 struct gate_verdict *ret_verdict);

#endif
