/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that speak to other machines. */
#include "base/core/str.h"
#include "scan/follow/in_list.h"
#include "scan/judge/command_rows.h"
#include "scan/follow/fold.h"

#include <string.h>

static bool is_here(const char *url)
{
	return strstr(url, "localhost") || strstr(url, "127.0.0.1") || strstr(url, "[::1]");
}

/* Of curl and wget: an option that sends something, and what. */
static bool is_upload(const char *option)
{
	return in_list("-d --data --data-binary --data-raw --data-urlencode -F --form -T "
		       "--upload-file --post-file --post-data --body-data --body-file --json",
		       option);
}

/* How bad it is to send VALUE, which stands behind OPTION. */
static enum scan_severity severity_of_upload(const char *option, const char *value)
{
	bool is_file = strchr(value, '@') || strcmp(option, "-T") == 0;

	return is_file || strchr(value, FOLD_GAP) ? SEVERITY_HIGH : SEVERITY_MEDIUM;
}

/* How bad it is to ask for a place with ONE in it. */
static enum scan_severity severity_of_word(const char *one)
{
	if (str_starts(one, "--post-file=") || str_starts(one, "--body-file="))
		return SEVERITY_HIGH;
	return strchr(one, '?') && strchr(one, FOLD_GAP) ? SEVERITY_MEDIUM : SEVERITY_LOW;
}

static enum scan_severity worse(enum scan_severity one, enum scan_severity other)
{
	return one > other ? one : other;
}

void command_judge_fetch(const struct command *command)
{
	enum scan_severity severity = SEVERITY_LOW;
	enum scan_rule rule = RULE_NETWORK;
	const char *one, *value;
	bool is_local = false;

	command->job->traits |= TRAIT_NETWORK;
	for (size_t i = 0; (one = command_word(command, i)); i++) {
		is_local = is_local || is_here(one);
		if (place_is_metadata(one))
			job_find(command->job, command->at, RULE_SECRET_READ, SEVERITY_HIGH, one);
		severity = worse(severity, severity_of_word(one));
		value = is_upload(one) ? command_word(command, i + 1) : NULL;
		if (value) {
			rule = RULE_SEND;
			severity = worse(severity, severity_of_upload(one, value));
		}
	}
	if (severity == SEVERITY_HIGH)
		command->job->traits |= TRAIT_SENDS;
	command_find(command, severity == SEVERITY_HIGH ? RULE_SEND : rule,
		     is_local ? SEVERITY_LOW : severity);
}

/* Packages, which are code, taken over a connection on which they can be replaced. */
void command_judge_packages(const struct command *command)
{
	const char *one;

	for (size_t i = 0; (one = command_word(command, i)); i++) {
		if (strstr(one, "http://") && !is_here(one)) {
			command_find(command, RULE_NETWORK, SEVERITY_MEDIUM);
			return;
		}
	}
}

void command_judge_netcat(const struct command *command)
{
	bool starts = command_has_letter(command, 'e') || command_has_letter(command, 'c');
	const char *one;

	for (size_t i = 0; (one = command_word(command, i)); i++)
		starts = starts || strcasestr(one, "exec:") || strcasestr(one, "system:");
	command->job->traits |= TRAIT_NETWORK | TRAIT_SENDS;
	if (starts)
		command_find(command, RULE_REVERSE_SHELL, SEVERITY_CRITICAL);
	else
		command_find(command, RULE_NETWORK,
			     command_has_letter(command, 'z') ? SEVERITY_LOW : SEVERITY_MEDIUM);
}

/* host:path, with nothing that makes it a local one. */
void command_judge_copy_away(const struct command *command)
{
	const char *one;

	for (size_t i = 0; (one = command_word(command, i)); i++) {
		const char *colon = strchr(one, ':');

		if (one[0] != '-' && colon && !memchr(one, '/', (size_t)(colon - one))) {
			command->job->traits |= TRAIT_NETWORK | TRAIT_SENDS;
			command_find(command, RULE_SEND, SEVERITY_MEDIUM);
			return;
		}
	}
}
