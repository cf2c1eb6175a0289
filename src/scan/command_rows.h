/* One command being looked at, and the table of those that are known. Private to command's files. */
#ifndef SCAN_COMMAND_ROWS_H
#define SCAN_COMMAND_ROWS_H

#include "scan/command.h"

struct command {
	struct scan_job *job;
	uint32_t at;
	const struct strv *words;
	size_t start;
	const char *name;
};

void command_find(const struct command *command, enum scan_rule rule, enum scan_severity severity);

/* What the command's own row says about it. */
void command_judge_rows(const struct command *command);

#endif
