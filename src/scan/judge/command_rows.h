/* SPDX-License-Identifier: Apache-2.0 */
/* One command being looked at, and the table of those that are known. Private to command's files. */
#ifndef SCAN_COMMAND_ROWS_H
#define SCAN_COMMAND_ROWS_H

#include "scan/judge/command.h"

struct command {
	struct scan_job *job;
	uint32_t at;
	const struct strv *words;
	size_t start;
	const char *name;
};

void command_find(const struct command *command, enum scan_rule rule, enum scan_severity severity);

/* The words behind the command's name, one after the other; NULL at the end. */
const char *command_word(const struct command *command, size_t position);
/* Whether one of them is OPTION. */
bool command_has(const struct command *command, const char *option);
/* -rf, -fr, -r -f: a letter among joined ones. */
bool command_has_letter(const struct command *command, char letter);

/* curl and wget; nc and its relatives; copies to other machines. */
void command_judge_fetch(const struct command *command);
void command_judge_packages(const struct command *command);
void command_judge_netcat(const struct command *command);
void command_judge_copy_away(const struct command *command);
void command_judge_remote(const struct command *command);
/* How grave it is that what lies at PLACE goes to another machine. */
enum scan_severity command_leaves(const char *place);
/* Where the command for the other machine begins, behind ssh at AT, its options and its host. */
size_t command_remote(const struct strv *words, size_t at);
/* Whether what sudo starts at START is what people need rights for every day. */
bool command_is_administration(const struct strv *words, size_t start);
/* Whether its operands come from elsewhere: behind xargs. */
bool command_is_fed(const struct command *command);

/* Secrets among the words of what only reads. */
void command_judge_readers(const struct command *command);
/* Readers that can start programs: awk by its language, tar by its options. */
void command_judge_awk(const struct command *command);
void command_judge_tar(const struct command *command);
void command_judge_trap(const struct command *command);
void command_judge_editor(const struct command *command);
void command_judge_sed(const struct command *command);
void command_judge_git(const struct command *command);
void command_judge_alias(const struct command *command);

/* What the rules of tools.tsv say about it; whether one of their tools has a name that PATTERN covers. */
void command_judge_tools(const struct command *command);
bool command_tool_is(const char *pattern);
/* Code of a language that is not parsed here: words that speak for themselves. */
void command_judge_unread(const struct command *command, const char *code);

/* The command's own row. */
void command_judge_rows(const struct command *command);

#endif
