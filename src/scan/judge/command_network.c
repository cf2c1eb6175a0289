/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that speak to other machines. */
#include "base/core/own.h"
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
	const char *at = strchr(value, '@');

	if (is_file && command_leaves(at ? at + 1 : value) == SEVERITY_LOW)
		return SEVERITY_LOW;
	/* A form with places to fill in. */
	if (!is_file && value[0] == '{')
		return SEVERITY_LOW;
	/* Words that stand in the command are what an interface is asked with. */
	return is_file || strchr(value, FOLD_GAP) ? SEVERITY_HIGH : SEVERITY_LOW;
}

/* How bad it is to ask for a place with ONE in it. */
static enum scan_severity severity_of_word(const char *one)
{
	if (str_starts(one, "--post-file=") || str_starts(one, "--body-file="))
		return SEVERITY_HIGH;
	return strchr(one, '?') && (strchr(one, FOLD_GAP) || strstr(one, "{}")) ? SEVERITY_MEDIUM
										: SEVERITY_LOW;
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

enum scan_severity command_leaves(const char *place)
{
	enum place_kind kind = place_of(place);

	if (kind == PLACE_SECRET || kind == PLACE_ACCOUNTS)
		return SEVERITY_HIGH;
	if (kind != PLACE_PLAIN && kind != PLACE_TEMPORARY)
		return SEVERITY_MEDIUM;
	/* A file of the project by its name is what is published; all of it, or what is not known, is not. */
	if (strchr(place, FOLD_GAP) || place_is_home(place) || place[0] == '*' ||
	    strcmp(place, ".") == 0 || str_starts(place, "./*") || strcmp(place, "./") == 0)
		return SEVERITY_MEDIUM;
	return SEVERITY_LOW;
}

/* host:path, with nothing that makes it a local one. */
static bool is_remote(const char *word)
{
	const char *colon = strchr(word, ':');

	return word[0] != '-' && colon && !memchr(word, '/', (size_t)(colon - word));
}

/* Copies to another machine send what they name; those from there are downloads. */
void command_judge_copy_away(const struct command *command)
{
	enum scan_severity severity = SEVERITY_LOW;
	const char *one, *last = NULL;
	bool has_remote = false;

	for (size_t i = 0; (one = command_word(command, i)); i++) {
		if (one[0] == '-')
			continue;
		has_remote = has_remote || is_remote(one);
		last = one;
		if (!is_remote(one) && command_leaves(one) > severity)
			severity = command_leaves(one);
	}
	if (!has_remote)
		return;
	command->job->traits |= TRAIT_NETWORK;
	if (!is_remote(last)) {
		command_find(command, RULE_NETWORK, SEVERITY_LOW);
		return;
	}
	command->job->traits |= TRAIT_SENDS;
	command_find(command, RULE_SEND, command_is_fed(command) ? SEVERITY_MEDIUM : severity);
}

/* ssh [options] host words: what is run there is judged as if it were run here. */
void command_judge_remote(const struct command *command)
{
	owned(str_done) struct str text = STR_INIT;
	bool is_behind = false;
	const char *one;

	command->job->traits |= TRAIT_NETWORK | TRAIT_SENDS;
	for (size_t i = 0; (one = command_word(command, i)); i++) {
		if (is_behind)
			str_addf(&text, "%s%s", text.len > 0 ? " " : "", one);
		else if (one[0] == '-' && one[1] && !one[2] &&
			 strchr("bcDEeFIiJLlmOopQRSWw", one[1]))
			i++;
		else
			is_behind = one[0] != '-';
	}
	if (text.len > 0)
		(void)job_nested(command->job, command->at, SCAN_SHELL, str_cstr(&text), text.len);
}
