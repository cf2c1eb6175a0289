/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of tools.tsv, as gen_table.c makes them at build time: one row for each tool and set of words. */
#ifndef SCAN_TOOL_TABLE_H
#define SCAN_TOOL_TABLE_H

#include "scan/rule.h"

/* The parts of a row about the command's words; tools.tsv explains each. */
enum tool_effect {
	TOOL_IS,
	TOOL_OPERANDS,
	TOOL_LAST,
	TOOL_WRITES,
	TOOL_VALUE,
	TOOL_SHELL,
	TOOL_MARKED,
	TOOL_CODE,
	TOOL_TEXTS,
	TOOL_BEHIND,
	TOOL_NAMED,
	TOOL_SENDS,
	TOOL_SQL,
};

struct tool_row {
	const char *tool;
	const char *words;
	enum tool_effect effect;
	enum scan_rule rule;
	enum scan_severity severity;
};

/* Ended by a row without a tool. */
extern const struct tool_row tool_rows[];

#endif
