/* SPDX-License-Identifier: Apache-2.0 */
/* Network rules the user keeps. */
#include "app/config/rule_list.h"

#include "base/core/own.h"
#include "app/config/own_list.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

/* One line, as parts of it. */
struct line {
	const char *text;
	size_t len;
	bool is_deny;
	const char *rule;
	size_t rule_len;
	const char *workspace; /* NULL where none is named */
	size_t workspace_len;
};

/* Whether it is one of ours. */
static bool read_line(const char *text, size_t len, struct line *ret_line)
{
	const char *end = text + len, *at = text, *space;

	*ret_line = (struct line){ .text = text, .len = len };
	if (len > 5 && memcmp(text, "deny ", 5) == 0) {
		ret_line->is_deny = true;
		at += 5;
	} else if (len > 6 && memcmp(text, "allow ", 6) == 0) {
		at += 6;
	} else {
		return false;
	}
	space = memchr(at, ' ', (size_t)(end - at));
	ret_line->rule = at;
	ret_line->rule_len = (size_t)((space ? space : end) - at);
	if (space) {
		ret_line->workspace = space + 1;
		ret_line->workspace_len = (size_t)(end - space - 1);
	}
	return ret_line->rule_len > 0;
}

static bool is_of(const struct line *line, const char *workspace)
{
	if (!workspace || !line->workspace)
		return !workspace && !line->workspace;
	return strlen(workspace) == line->workspace_len &&
	       memcmp(workspace, line->workspace, line->workspace_len) == 0;
}

/* Steps through a list. False at its end. */
static bool next_line(const char **at, const char **ret_text, size_t *ret_len)
{
	if (!**at)
		return false;
	*ret_text = *at;
	*ret_len = strcspn(*at, "\n");
	*at += *ret_len + ((*at)[*ret_len] == '\n');
	return true;
}

static int refuse(struct error *err)
{
	if (errno == EPERM)
		return error_set(err, ERROR_DENIED,
				 "the list '" RULE_LIST_NAME
				 "' of network rules is not yours alone: "
				 "take write permission from others (chmod go-w), or remove it");
	return error_errno(err, ERROR_HOST, "the list '" RULE_LIST_NAME "' of network rules");
}

int rule_list_read(int dir_fd, const char *workspace, struct strv *allow, struct strv *deny,
		   struct error *err)
{
	owned(str_done) struct str list = STR_INIT;
	const char *at, *text;
	size_t len;

	if (own_list_read(dir_fd, RULE_LIST_NAME, &list) < 0)
		return refuse(err);
	for (at = str_cstr(&list); next_line(&at, &text, &len);) {
		struct line line;

		if (read_line(text, len, &line) && is_of(&line, workspace))
			strv_take(line.is_deny ? deny : allow, xstrndup(line.rule, line.rule_len));
	}
	return 0;
}

static bool is_same_rule(const struct line *line, const char *rule)
{
	owned(strv_done) struct strv one = STRV_INIT;

	strv_take(&one, xstrndup(line->rule, line->rule_len));
	return rule_find(&one, rule) == 0;
}

/* The list without the rule, and whether it was there. */
static bool copy_without(const struct str *list, const char *workspace,
			 const struct rule_change *change, struct str *out)
{
	const char *at = str_cstr(list), *text;
	bool was_there = false;
	size_t len;

	while (next_line(&at, &text, &len)) {
		struct line line;

		if (read_line(text, len, &line) && is_of(&line, workspace) &&
		    line.is_deny == change->is_deny && is_same_rule(&line, change->rule)) {
			was_there = true;
			continue;
		}
		str_add_bytes(out, text, len);
		str_add_char(out, '\n');
	}
	return was_there;
}

static const char *word_of(const struct rule_change *change)
{
	return change->is_deny ? "deny" : "allow";
}

int rule_list_change(int dir_fd, const char *workspace, const struct rule_change *change,
		     struct error *err)
{
	owned(str_done) struct str list = STR_INIT, out = STR_INIT;
	owned(fd_close) int lock_fd = openat(dir_fd, ".", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	bool was_there;

	if (workspace && strpbrk(workspace, "\n"))
		return error_set(err, ERROR_INPUT,
				 "rules cannot be kept for a path with a line break");
	if (lock_fd < 0 || flock(lock_fd, LOCK_EX) < 0 ||
	    own_list_read(dir_fd, RULE_LIST_NAME, &list) < 0)
		return refuse(err);
	was_there = copy_without(&list, workspace, change, &out);
	if (change->is_removal && !was_there)
		return error_set(err, ERROR_NOT_FOUND, "no such rule is kept: %s %s",
				 word_of(change), change->rule);
	if (!change->is_removal)
		str_addf(&out, "%s %s%s%s\n", word_of(change), change->rule, workspace ? " " : "",
			 workspace ? workspace : "");
	if (own_list_replace(dir_fd, RULE_LIST_NAME, &out) < 0)
		return refuse(err);
	return 0;
}

int rule_list_of_workspace(const char *config_dir, const char *workspace, struct strv *allow,
			   struct strv *deny, struct error *err)
{
	owned(fd_close) int dir_fd = open(config_dir, O_DIRECTORY | O_PATH | O_CLOEXEC);

	if (dir_fd < 0)
		return 0;
	return rule_list_read(dir_fd, workspace, allow, deny, err);
}

int rule_list_apply(const struct request *request, const char *config_dir, const char *workspace,
		    struct settings *profile, struct error *err)
{
	owned(strv_done) struct strv unused = STRV_INIT;
	/* A settings file lists all that may be reached; what was allowed here before must not widen it unseen. */
	struct strv *allow =
		request->settings_file || request->only_flags ? &unused : &profile->allow;

	if (workspace && config_dir &&
	    rule_list_of_workspace(config_dir, workspace, allow, &profile->deny, err) < 0)
		return -1;
	strv_copy(&profile->allow, &request->allow);
	strv_copy(&profile->deny, &request->deny);
	return 0;
}
