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
		       "--upload-file --post-file --post-data --body-data --body-file --json "
		       "-sd -sF -sT -sSd -sSF -sST -fsSd -fsSF -fsST",
		       option);
}

/* What a build made is there to be published, unless something of a person's was read before. */
static bool is_published(const struct scan_job *job, const char *place)
{
	return place_is_output(place) && !(job->traits & TRAIT_PRIVATE);
}

/* How bad it is to send VALUE, which stands behind OPTION. Words that stand there are what an interface is asked with. */
static enum scan_severity severity_of_upload(const struct scan_job *job, const char *option,
					     const char *value)
{
	bool is_form = str_ends(option, "F") || in_list("--form --data-urlencode", option);
	const char *at = is_form ? strpbrk(value, "@<") : value[0] == '@' ? value : NULL;
	const char *file = str_ends(option, "T") || str_ends(option, "-file") ? value
			   : at && strcmp(option, "--data-raw") != 0	      ? at + 1
									      : NULL;

	if (file)
		return is_published(job, file) ? SEVERITY_LOW : SEVERITY_HIGH;
	return strchr(value, FOLD_GAP) ? SEVERITY_HIGH : SEVERITY_LOW;
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
			severity = worse(severity, severity_of_upload(command->job, one, value));
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
	/* All of the project, what is hidden in it or lies beside it, and what is not known. */
	if (strchr(place, FOLD_GAP) || place_is_home(place) || place[0] == '*' || place[0] == '.' ||
	    strstr(place, "/."))
		return SEVERITY_MEDIUM;
	return SEVERITY_LOW;
}

/* host:path, with nothing that makes it a local one. */
static bool is_remote(const char *word)
{
	const char *colon = strchr(word, ':');

	return word[0] != '-' && colon && !memchr(word, '/', (size_t)(colon - word));
}

/* An option of ssh or scp that stays with how the connection is made, and starts or opens nothing. */
static bool is_plain_setting(const char *option, const char *value)
{
	static const char *const names[] = { "ConnectTimeout", "StrictHostKeyChecking",
					     "BatchMode",      "UserKnownHostsFile",
					     "ServerAlive",    "ConnectionAttempts",
					     "LogLevel",       "IdentitiesOnly" };

	if (option[1] != 'o')
		return !strchr("RDwFSIW", option[1]);
	value = option[2] ? option + 2 : value;
	for (size_t i = 0; value && i < sizeof(names) / sizeof(names[0]); i++) {
		if (strncasecmp(value, names[i], strlen(names[i])) == 0)
			return true;
	}
	return false;
}

/* What a copy to another machine comes to there: a key or a start file is grave. */
static bool is_obeyed_there(const char *remote)
{
	enum place_kind place = place_of(strchr(remote, ':') + 1);

	return place != PLACE_PLAIN && place != PLACE_TEMPORARY && place != PLACE_SYSTEM &&
	       place != PLACE_EVERYTHING;
}

/* Copies to another machine send what they name; those from there are downloads. */
void command_judge_copy_away(const struct command *command)
{
	enum scan_severity severity = command_is_fed(command) ? SEVERITY_MEDIUM : SEVERITY_LOW;
	bool has_remote = false, is_scp = strcmp(command->name, "scp") == 0;
	const char *one, *last = NULL;

	for (size_t i = 0; (one = command_word(command, i)); i++) {
		const char *value = command_word(command, i + 1);

		if (one[0] == '-' && one[1]) {
			/* rsync -e ssh, -ave ssh */
			bool is_shell = !is_scp && one[1] != '-' && str_ends(one, "e");
			bool is_plain = is_scp ? is_plain_setting(one, value)
					       : !is_shell || (value && str_starts(value, "ssh"));

			severity = is_plain ? severity : SEVERITY_MEDIUM;
			i += is_shell || (is_scp && !one[2] && strchr("cFiJloPSX", one[1]));
			continue;
		}
		has_remote = has_remote || is_remote(one);
		last = one;
		if (!is_remote(one) && !is_published(command->job, one))
			severity = worse(SEVERITY_MEDIUM, worse(severity, command_leaves(one)));
	}
	if (!has_remote)
		return;
	command->job->traits |= TRAIT_NETWORK;
	if (!is_remote(last)) {
		judge_target(command->job, command->at, last);
		command_find(command, RULE_NETWORK, SEVERITY_LOW);
		return;
	}
	command->job->traits |= TRAIT_SENDS;
	command_find(command, RULE_SEND, is_obeyed_there(last) ? SEVERITY_HIGH : severity);
}

/* ssh [options] host [options] words: what is run there is judged as if it were run here. */
void command_judge_remote(const struct command *command)
{
	const struct strv *words = command->words;
	size_t remote = command_remote(words, command->start);
	owned(str_done) struct str text = STR_INIT;
	enum scan_severity severity = SEVERITY_LOW;

	for (size_t i = command->start + 1; i < remote; i++) {
		const char *one = words->items[i];

		if (one[0] == '-' && one[1] &&
		    !is_plain_setting(one, i + 1 < remote ? words->items[i + 1] : NULL))
			severity = SEVERITY_MEDIUM;
	}
	for (size_t i = remote; i < words->count; i++)
		str_addf(&text, "%s%s", i > remote ? " " : "", words->items[i]);
	/* What is not known, or is made of what comes in. */
	if (text.len > 0 && (text.data[0] == FOLD_GAP || str_starts(str_cstr(&text), "cat >") ||
			     str_starts(str_cstr(&text), "cat>")))
		severity = SEVERITY_MEDIUM;
	command->job->traits |= TRAIT_NETWORK | TRAIT_SENDS;
	command_find(command, RULE_NETWORK, severity);
	if (text.len > 0)
		(void)job_nested(command->job, command->at, SCAN_SHELL, str_cstr(&text), text.len);
}
