/* SPDX-License-Identifier: Apache-2.0 */
/* Coding agents by the name of their program, and what their sandboxes need. */
#include "app/agent/agent.h"

#include "app/config/own_list.h"
#include "app/config/profile_load.h"
#include "base/core/own.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define TABLE "agents.tsv"
#define FIELDS 6
/* A session is for a day; hours are what the usual profiles allow a build. */
#define SESSION "24h"

static void read_row(struct agent *agent)
{
	char **at = agent->fields.items;

	agent->row = (struct agent_row){ at[0], at[1], at[2], at[3], at[4], at[5] };
}

/* One line of the user's table: 1 when it is the row of NAME, 0 when it is not, -1 when it is none at all. */
static int take_line(const char *line, size_t len, const char *name, struct agent *agent)
{
	owned(free_ptr) char *text = xstrndup(line, len);
	char *rest = NULL;

	if (len == 0 || line[0] == '#')
		return 0;
	strv_done(&agent->fields);
	for (char *field = strtok_r(text, "\t", &rest); field; field = strtok_r(NULL, "\t", &rest))
		strv_add(&agent->fields, field);
	if (agent->fields.count != FIELDS)
		return -1;
	read_row(agent);
	return strcmp(agent->row.agent, name) == 0;
}

/* 1, or 0 when the user has no such row. */
static int find_own(const char *name, struct agent *agent, struct error *err)
{
	owned(free_ptr) char *config = app_config_dir((const char *const *)environ);
	owned(fd_close) int dir_fd = config ? open(config, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	owned(str_done) struct str text = STR_INIT;
	unsigned number = 1;

	if (dir_fd < 0)
		return 0;
	if (own_list_read(dir_fd, TABLE, &text) < 0)
		return error_advise(err, ERROR_DENIED,
				    "make it a plain file of yours that only you may write to",
				    "%s/" TABLE " cannot be taken: %s", config, error_words(errno));
	for (const char *at = str_cstr(&text); *at; number++) {
		size_t len = strcspn(at, "\n");
		int found = take_line(at, len, name, agent);

		if (found < 0)
			return error_set(err, ERROR_INPUT,
					 "%s/" TABLE
					 ":%u: a row has %d columns with tabs between them",
					 config, number, FIELDS);
		if (found > 0)
			return 1;
		at += len + (at[len] == '\n');
	}
	return 0;
}

int agent_find(const char *path, struct agent *ret_agent, struct error *err)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char shown[STR_SHOWN_SIZE];
	int found;

	*ret_agent = (struct agent){ 0 };
	found = find_own(name, ret_agent, err);
	if (found != 0)
		return found < 0 ? -1 : 0;
	for (const struct agent_row *row = agent_rows; row->agent; row++) {
		if (strcmp(row->agent, name) == 0) {
			ret_agent->row = *row;
			return 0;
		}
	}
	return error_advise(err, ERROR_NOT_FOUND,
			    "add a row to ~/.config/aisbx/" TABLE " (docs/agents.md), or use "
			    "aisbx run --inject",
			    "no agent is called '%s'", str_shown(name, shown));
}

void agent_done(struct agent *agent)
{
	strv_done(&agent->fields);
}

char *agent_login(const struct agent *agent)
{
	char *name = xstrdup(agent->row.variable);

	for (char *at = name; *at; at++)
		*at = (char)tolower((unsigned char)*at);
	return name;
}

static int set(struct settings *flags, const char *name, const char *value, struct error *err)
{
	owned(free_ptr) char *where = xasprintf("--%s", name);

	return settings_set(flags, setting_find(name), where, value, err);
}

int agent_settings(const struct agent *agent, const char *login, struct settings *flags,
		   struct error *err)
{
	const struct agent_row *row = &agent->row;
	bool has_port = strchr(row->host, ':') != NULL;
	owned(free_ptr) char *host = xasprintf("%s%s", row->host, has_port ? "" : ":443");
	owned(free_ptr) char *more = xstrdup(strcmp(row->more, "-") == 0 ? "" : row->more);
	owned(free_ptr) char *inject = NULL, *variable = NULL;
	char *rest = NULL;

	if (flags->time_ms == SETTING_UNSET && set(flags, "time", SESSION, err) < 0)
		return -1;
	if (set(flags, "allow", host, err) < 0)
		return -1;
	for (char *word = strtok_r(more, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		if (set(flags, "allow", word, err) < 0)
			return -1;
	}
	if (!login)
		return 0;
	inject = xasprintf("%s:%s=%s", row->host, row->how, login);
	variable = xasprintf("%s=%s", row->variable, row->filler);
	return set(flags, "inject", inject, err) < 0 || set(flags, "env", variable, err) < 0 ? -1
											     : 0;
}
