/* SPDX-License-Identifier: Apache-2.0 */
/* What guard decides about: the commands in a command, as the scanner's parser sees them. */
#include "app/vet/guard_read.h"

#include "base/core/own.h"
#include "scan/judge/policy.h"
#include "scan/scan.h"

#include <string.h>

_Static_assert((int)PART_RUNS == (int)COMMAND_RUNS && (int)PART_WRITES == (int)COMMAND_WRITES &&
		       (int)PART_READS == (int)COMMAND_READS && GUARD_GAP == SCAN_GAP,
	       "the scanner's parts are guard's");

struct guard_reading {
	struct scan_report report;
	struct guard_part *parts;
	struct strv *messages; /* of findings, one word each */
	size_t message_count;
};

void guard_reading_free(struct guard_reading **reading)
{
	if (!*reading)
		return;
	for (size_t i = 0; i < (*reading)->message_count; i++)
		strv_done(&(*reading)->messages[i]);
	free((*reading)->messages);
	free((*reading)->parts);
	scan_report_done(&(*reading)->report);
	free(*reading);
	*reading = NULL;
}

/* What a text in another language does, and what is written to a disk: the words of commands do not show it. */
static enum guard_decision decision_of(const struct scan_finding *finding)
{
	bool is_grave = finding->severity >= SEVERITY_HIGH;

	if (is_grave && finding->rule == RULE_DEVICE)
		return GUARD_DENY;
	if (finding->language == SCAN_SHELL)
		return GUARD_DIRECT;
	if (is_grave && finding->rule == RULE_SECRET_READ)
		return GUARD_DENY;
	if (finding->rule == RULE_NETWORK || finding->rule == RULE_SEND ||
	    finding->rule == RULE_REVERSE_SHELL)
		return GUARD_ASK;
	return is_grave && finding->rule == RULE_PERSISTENCE ? GUARD_ASK : GUARD_DIRECT;
}

static size_t add_findings(struct guard_reading *reading, size_t count)
{
	const struct scan_report *report = &reading->report;

	for (size_t i = 0; i < report->count; i++) {
		enum guard_decision decision = decision_of(&report->findings[i]);
		struct strv *message = &reading->messages[reading->message_count];

		if (decision == GUARD_DIRECT)
			continue;
		strv_add(message, report->findings[i].message);
		reading->message_count++;
		reading->parts[count++] = (struct guard_part){
			.kind = PART_FOUND, .words = message, .directory = "", .at_least = decision
		};
	}
	return count;
}

/* Variables by which a shell, or the loader, runs something first, or something else. */
static bool is_steering(const char *variable)
{
	return str_starts(variable, "BASH_ENV=") || str_starts(variable, "ENV=") ||
	       str_starts(variable, "BASH_FUNC_") || str_starts(variable, "LD_") ||
	       str_starts(variable, "CDPATH=") || str_starts(variable, "GLOBIGNORE=") ||
	       str_starts(variable, "SHELLOPTS=") || str_starts(variable, "BASHOPTS=");
}

static const char *why_obscure(const struct scan_report *report, const char *const *environment)
{
	if (!report->is_analysable || report->has_unread)
		return "cannot be read to its end";
	if (report->has_more_commands)
		return "has more commands in it than are looked at";
	if (report->sets_names)
		return "sets variables or functions, calculates, or has words that only the run "
		       "knows";
	for (; environment && *environment; environment++) {
		if (is_steering(*environment))
			return "runs with variables that change what a shell runs";
	}
	return NULL;
}

/* A shell that is given a text, and nothing else: what it does is what the text does, which follows. */
static bool is_reader_of_text(const struct guard_reading *reading, size_t i)
{
	const struct strv *words = &reading->report.commands[i].words;
	const char *name = words->items[0], *slash = strrchr(name, '/');

	name = slash ? slash + 1 : name;
	return reading->report.commands[i].kind == COMMAND_RUNS && words->count == 3 &&
	       (strcmp(name, "sh") == 0 || strcmp(name, "bash") == 0 ||
		strcmp(name, "dash") == 0) &&
	       (strcmp(words->items[1], "-c") == 0 || strcmp(words->items[1], "-lc") == 0) &&
	       !strchr(words->items[2], SCAN_GAP) && i + 1 < reading->report.command_count;
}

static size_t add_commands(struct guard_reading *reading)
{
	size_t count = 0;

	for (size_t i = 0; i < reading->report.command_count; i++) {
		const struct scan_command *command = &reading->report.commands[i];

		reading->parts[count++] =
			(struct guard_part){ .kind = (enum guard_part_kind)command->kind,
					     .words = &command->words,
					     .starters = &command->starters,
					     .is_shell = is_reader_of_text(reading, i),
					     .directory = command->directory,
					     .is_lost = command->is_lost,
					     .is_privileged = command->is_privileged,
					     .is_wrapped = command->is_wrapped };
	}
	return count;
}

int guard_read(struct guard_request *request, const char *const *environment,
	       struct guard_reading **ret_reading, struct error *err)
{
	owned(scan_policy_done) struct scan_policy policy;
	struct guard_reading *reading;

	(void)err;
	*ret_reading = NULL;
	if (!scan_is_built())
		return 0;
	reading = xcalloc(1, sizeof(*reading));
	scan_policy_init(&policy);
	scan_report_init(&reading->report);
	reading->report.keeps_commands = true;
	scan_command(request->command, &policy, &reading->report);
	reading->parts = xcalloc(reading->report.command_count + reading->report.count + 1,
				 sizeof(*reading->parts));
	reading->messages = xcalloc(reading->report.count + 1, sizeof(*reading->messages));
	request->part_count = add_findings(reading, add_commands(reading));
	request->parts = reading->parts;
	request->obscure = why_obscure(&reading->report, environment);
	*ret_reading = reading;
	return 0;
}
