/* SPDX-License-Identifier: Apache-2.0 */
/* Commands as they are met, kept for a caller that decides about each of them. */
#include "base/core/own.h"
#include "scan/follow/in_list.h"
#include "scan/follow/fold.h"
#include "scan/judge/command.h"

#include <ctype.h>
#include <string.h>

_Static_assert(SCAN_GAP == FOLD_GAP, "callers see gaps as the scanner does");

static struct scan_command *add(struct scan_job *job, enum scan_command_kind kind)
{
	struct scan_report *report = job->report;
	struct scan_command *command;

	report->has_more_commands = report->command_count >= SCAN_MAX_COMMANDS;
	if (!report->keeps_commands || report->has_more_commands)
		return NULL;
	report->commands =
		xrealloc(report->commands, report->command_count + 1, sizeof(*report->commands));
	command = &report->commands[report->command_count++];
	*command = (struct scan_command){ .kind = kind,
					  .directory = xstrdup(str_cstr(&job->common->directory)),
					  .is_lost = job->common->is_lost };
	return command;
}

/* A program that does nothing but start another one, perhaps slower or for a shorter time. */
static bool is_starter(const char *word)
{
	return in_list("env nice time timeout stdbuf command builtin xargs ionice",
		       command_name(word));
}

/*
 * What STARTER may be given without doing more than start a command. The same letters mean something else elsewhere: -oL
 * sets a buffer for stdbuf, and names a file to write for time.
 */
static bool is_starters_option(const char *starter, const char *word)
{
	static const struct {
		const char *name, *words, *prefix;
		bool has_numbers;
	} rows[] = {
		{ "ionice", "-c -n -t", "-n", true },
		{ "nice", "-n", "-n", true },
		{ "stdbuf", "-iL -i0 -oL -o0 -eL -e0", NULL, false },
		{ "time", "-p", NULL, false },
		{ "timeout", "-k -s", NULL, true },
		{ "xargs", "-0 -r -P -L -t -n {}", "-n", true },
		{ "xargs", "", "-I", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i].name, starter) == 0 &&
		    (in_list(rows[i].words, word) ||
		     (rows[i].prefix && str_starts(word, rows[i].prefix)) ||
		     (rows[i].has_numbers && isdigit((unsigned char)word[0]))))
			return true;
	}
	return false;
}

void job_keep_command(struct scan_job *job, const struct strv *words, size_t start)
{
	static const char gap[] = { FOLD_GAP, '\0' };
	struct scan_command *command = words->count > 0 ? add(job, COMMAND_RUNS) : NULL;
	const char *starter = "";
	bool is_fed = false;

	if (!command)
		return;
	for (size_t i = 0; i < start && i < words->count; i++) {
		const char *name = command_name(words->items[i]);

		command->is_privileged =
			command->is_privileged || in_list("sudo doas su runuser pkexec", name);
		if (is_starter(words->items[i])) {
			strv_add(&command->starters, words->items[i]);
			starter = name;
		} else if (!is_starters_option(starter, words->items[i]))
			command->is_wrapped = true;
		is_fed = is_fed || in_list("xargs parallel", name);
	}
	/* A wrapper that starts nothing is a command itself: env shows all variables. */
	for (size_t i = start < words->count ? start : 0; i < words->count; i++)
		strv_add(&command->words, words->items[i]);
	if (is_fed)
		strv_add(&command->words, gap);
	command->is_privileged = command->is_privileged ||
				 in_list("su pkexec", command_name(command->words.items[0]));
}

void job_keep_place(struct scan_job *job, enum scan_command_kind kind, const char *place)
{
	struct scan_command *command = add(job, kind);

	if (command)
		strv_add(&command->words, place);
}
