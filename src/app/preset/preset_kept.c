/* SPDX-License-Identifier: Apache-2.0 */
/* What a look at an index found: other hosts that its files come from, kept as `PRESET INDEX RULE` lines. */
#include "app/preset/preset.h"

#include "app/config/own_list.h"
#include "app/preset/preset_table.h"
#include "app/preset/preset_text.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/text/url.h"
#include "net/rule/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#define KEPT_LIST "presets"
#define NAME_SIZE 128
#define RULE_SIZE 300
/* Answers longer than a megabyte are cut; five seconds; no configuration of curl's, no token, no other place. */
#define LOOK_SCRIPT                                                                          \
	"exec \"$0\" -q -sS -g --proto =http,https -m 5 -H Accept:\\ */* -- '%s' | head -c " \
	"1048576"

struct kept_line {
	char preset[NAME_SIZE], index[RULE_SIZE], rule[RULE_SIZE];
};

/* The next line that can be read; false at the end. */
static bool next_line(const char **at, struct kept_line *ret_line)
{
	while (**at) {
		const char *line = *at;
		int used = sscanf(line, "%127s %299s %299s", ret_line->preset, ret_line->index,
				  ret_line->rule);

		*at += strcspn(line, "\n");
		*at += **at == '\n';
		if (used == 3)
			return true;
	}
	return false;
}

static bool has_index(const struct preset *preset, const char *index)
{
	for (size_t i = 0; i < preset->count; i++) {
		if (preset->hosts[i].is_index && strcmp(preset->hosts[i].rule, index) == 0)
			return true;
	}
	return false;
}

static int refuse_list(const struct preset_place *place, struct error *err)
{
	return error_errno(err, ERROR_HOST, "%s/" KEPT_LIST, place->host->state_dir);
}

int preset_kept_read(const struct preset_place *place, struct preset *preset, struct error *err)
{
	owned(fd_close) int dir_fd = open(place->host->state_dir, O_DIRECTORY | O_PATH | O_CLOEXEC);
	owned(str_done) struct str text = STR_INIT;
	struct kept_line line;

	if (dir_fd < 0)
		return 0;
	if (own_list_read(dir_fd, KEPT_LIST, &text) < 0)
		return refuse_list(place, err);
	for (const char *at = str_cstr(&text); next_line(&at, &line);) {
		owned(free_ptr) char *how = xasprintf("index at %s", line.index);

		if (strcmp(line.preset, preset->name) == 0 && has_index(preset, line.index))
			(void)preset_add_rule(preset, line.rule, how);
	}
	return 0;
}

/* All other lines, then those of FOUND, a preset of hosts alone, for the index. */
static int keep_found(const struct preset_place *place, const char *name, const char *index,
		      const struct preset *found, struct error *err)
{
	owned(str_done) struct str text = STR_INIT, out = STR_INIT;
	owned(fd_close) int dir_fd = -1;
	struct kept_line line;

	if (dir_make_all(place->host->state_dir) < 0)
		return refuse_list(place, err);
	dir_fd = open(place->host->state_dir, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	if (dir_fd < 0 || flock(dir_fd, LOCK_EX) < 0 || own_list_read(dir_fd, KEPT_LIST, &text) < 0)
		return refuse_list(place, err);
	for (const char *at = str_cstr(&text); next_line(&at, &line);) {
		if (strcmp(line.preset, name) != 0 || strcmp(line.index, index) != 0)
			str_addf(&out, "%s %s %s\n", line.preset, line.index, line.rule);
	}
	for (size_t i = 0; i < found->count; i++)
		str_addf(&out, "%s %s %s\n", name, index, found->hosts[i].rule);
	return own_list_replace(dir_fd, KEPT_LIST, &out) < 0 ? refuse_list(place, err) : 0;
}

/* An index may name other hosts, but neither addresses nor servers of this machine. */
static bool is_public_name(const char *text)
{
	char name[NET_NAME_SIZE];
	struct url url;

	return url_parse(text, strlen(text), &url) &&
	       net_name_canonical(url.host, strlen(url.host), name) && strchr(name, '.') &&
	       strcmp(name, NET_HOST_NAME) != 0;
}

/* What the index at HOST names, by ROW; false when it cannot be looked at. */
static bool look_at(const struct preset_place *place, const struct preset_ask *ask,
		    const struct preset_row *row, const struct preset_host *host,
		    struct preset *found)
{
	owned(free_ptr) char *curl = preset_program(place, "curl");
	owned(free_ptr) char *url = xasprintf("%s%s%s", strcasestr(host->url, "http"),
					      str_ends(host->url, "/") ? "" : "/", row->place);
	owned(free_ptr) char *script = xasprintf(LOOK_SCRIPT, url);
	owned(strv_done) struct strv values = STRV_INIT;
	owned(str_done) struct str output = STR_INIT;

	if (!curl || !ask->run(place, curl, script, host->rule, &output) || output.len == 0)
		return false;
	preset_text_read(PRESET_LOOK, str_cstr(&output), output.len, row->keys, &values);
	for (size_t i = 0; i < values.count; i++) {
		if (is_public_name(values.items[i]))
			(void)preset_add_url(found, values.items[i], false, host->rule);
	}
	return true;
}

static int refresh_host(const struct preset_place *place, const struct preset_ask *ask,
			const struct preset_row *row, size_t index, struct preset *preset,
			struct error *err)
{
	owned(preset_done) struct preset found = { 0 };
	const char *rule = preset->hosts[index].rule;
	owned(free_ptr) char *how = xasprintf("index at %s", rule);

	if (!look_at(place, ask, row, &preset->hosts[index], &found)) {
		strv_addf(&preset->notes, "the index at %s could not be looked at", rule);
		return 0;
	}
	if (keep_found(place, preset->name, rule, &found, err) < 0)
		return -1;
	for (size_t i = 0; i < found.count; i++)
		(void)preset_add_rule(preset, found.hosts[i].rule, how);
	return 0;
}

int preset_refresh(const struct preset_place *place, const struct preset_ask *ask,
		   struct preset *preset, struct error *err)
{
	for (size_t i = 0; i < preset_rows_count; i++) {
		const struct preset_row *row = &preset_rows[i];
		size_t known = preset->count;

		if (row->form != PRESET_LOOK || strcmp(row->preset, preset->name) != 0)
			continue;
		for (size_t j = 0; j < known; j++) {
			if (preset->hosts[j].is_index && preset->hosts[j].url &&
			    refresh_host(place, ask, row, j, preset, err) < 0)
				return -1;
		}
	}
	return 0;
}
