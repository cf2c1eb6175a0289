/* SPDX-License-Identifier: Apache-2.0 */
/* Presets: from the rows of presets.tsv to the hosts of a registry. */
#include "app/preset/preset.h"

#include "app/config/own_list.h"
#include "app/preset/preset_table.h"
#include "app/preset/preset_text.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/text/suggest.h"
#include "base/text/url.h"
#include "base/text/wildcard.h"
#include "net/rule/policy.h"
#include "spec/net_words.h"
#include "wasm/unpack.h"

#include <fcntl.h>
#include <string.h>

#define BETWEEN " \t\r\n,|"
#define OWN_LIST "presets"

/* One search: where, for which preset, and the row that is being read. */
struct search {
	const struct preset_place *place;
	const struct preset_ask *ask;
	const struct preset_row *row;
	struct preset *preset;
};

void preset_done(struct preset *preset)
{
	for (size_t i = 0; i < preset->count; i++) {
		free(preset->hosts[i].rule);
		free(preset->hosts[i].url);
		free(preset->hosts[i].how);
	}
	free(preset->hosts);
	free(preset->name);
	strv_done(&preset->env);
	strv_done(&preset->notes);
	memset(preset, 0, sizeof(*preset));
}

static struct preset_host *find_rule(const struct preset *preset, const char *rule)
{
	for (size_t i = 0; i < preset->count; i++) {
		if (strcmp(preset->hosts[i].rule, rule) == 0)
			return &preset->hosts[i];
	}
	return NULL;
}

bool preset_add_rule(struct preset *preset, const char *rule, const char *how)
{
	struct net_rule parsed;
	struct error ignored;

	if (find_rule(preset, rule))
		return true;
	if (preset->count == PRESET_HOSTS_MAX || net_rule_parse(rule, &parsed, &ignored) < 0)
		return false;
	preset->hosts = xrealloc(preset->hosts, preset->count + 1, sizeof(*preset->hosts));
	preset->hosts[preset->count++] =
		(struct preset_host){ .rule = xstrdup(rule), .how = xstrdup(how) };
	return true;
}

/* The loopback is the sandbox's own, but by this name. */
static bool is_loopback(const char *host)
{
	return str_starts(host, "127.") || strcmp(host, "[::1]") == 0 ||
	       strcmp(host, NET_LOCALHOST) == 0;
}

bool preset_add_url(struct preset *preset, const char *text, bool is_index, const char *how)
{
	owned(free_ptr) char *rule = NULL;
	struct preset_host *host;
	struct url url;

	/* Blockers of Maven's are mirrors at 0.0.0.0. */
	if (!url_parse(text, strlen(text), &url) || strcmp(url.host, "0.0.0.0") == 0)
		return false;
	rule = xasprintf("%s:%u", is_loopback(url.host) ? NET_LOCALHOST : url.host, url.port);
	if (!preset_add_rule(preset, rule, how))
		return false;
	host = find_rule(preset, rule);
	host->is_index |= is_index;
	if (!host->url)
		host->url = url_list_without_users(text);
	return true;
}

/* A word of a value: a URL, or a bare name as Go and pip have them ("sum.example.org+KEY"). */
static bool take_word(const struct search *search, const char *word, const char *how)
{
	bool is_index = strcmp(search->row->slot, "index") == 0;
	owned(free_ptr) char *url = NULL;

	if (!strstr(word, "://")) {
		size_t len = strcspn(word, "+/:");

		if (len == 0 || !memchr(word, '.', len) || word[len] == '/' || word[len] == ':')
			return false;
		url = xasprintf("https://%.*s", (int)len, word);
	}
	return preset_add_url(search->preset, url ? url : word, is_index, how);
}

static bool take_values(const struct search *search, const struct strv *values, const char *how)
{
	bool found = false;

	for (size_t i = 0; i < values->count; i++) {
		const char *at = values->items[i];

		for (size_t len; *at; at += len) {
			at += strspn(at, BETWEEN);
			len = strcspn(at, BETWEEN);
			owned(free_ptr) char *word = xstrndup(at, len);

			found |= len > 0 && take_word(search, word, how);
		}
	}
	return found;
}

static bool read_env(const struct search *search)
{
	bool found = false;

	for (const char *const *at = search->place->environ; at && *at; at++) {
		owned(free_ptr) char *name = xstrndup(*at, strcspn(*at, "="));
		owned(strv_done) struct strv values = STRV_INIT;

		if (!wildcard_matches(search->row->place, name, 0) || !(*at)[strlen(name)])
			continue;
		strv_add(&values, *at + strlen(name) + 1);
		found |= take_values(search, &values, name);
	}
	return found;
}

/* The member of a jar that holds a model of Maven's. */
static bool read_member(const struct search *search, const char *path, struct str *ret_text)
{
	const char *colon = strchr(search->row->keys, ':');
	owned(free_ptr) char *member =
		xstrndup(search->row->keys, (size_t)(colon - search->row->keys));
	owned(fd_close) int fd = -1;
	struct error ignored;

	return preset_open(path, &fd, &search->preset->notes) &&
	       wasm_unpack_text(fd, member, PRESET_FILE_BYTES, ret_text, &ignored) == 0;
}

/* The file is hidden inside, where the client would take another registry without a word: a variable says the same. */
static void set_variable(const struct search *search, const struct strv *values)
{
	owned(str_done) struct str joined = STR_INIT;

	for (size_t i = 0; i < values->count; i++)
		str_addf(&joined, "%s%s", i ? " " : "", values->items[i]);
	owned(free_ptr) char *bare = url_list_without_users(str_cstr(&joined));

	for (size_t i = 0; i < preset_rows_count; i++) {
		const struct preset_row *row = &preset_rows[i];

		if (row->form != PRESET_SET || strcmp(row->preset, search->row->preset) != 0 ||
		    strcmp(row->slot, search->row->slot) != 0)
			continue;
		if (bare)
			strv_addf(&search->preset->env, "%s=%s", row->place, bare);
		else
			strv_addf(&search->preset->notes,
				  "%s is not set inside: the address in your configuration may "
				  "have a token in it",
				  row->place);
	}
}

/* The file of certificates that a configuration names last: what the planner shows of it, and whether, is its own matter. */
static bool take_authority(const struct search *search, const struct strv *values)
{
	const char *last = values->count > 0 ? values->items[values->count - 1] : "";
	owned(strv_done) struct strv one = STRV_INIT;

	if (str_starts(last, "~/"))
		strv_addf(&one, "%s%s", search->place->host->home, last + 1);
	else if (last[0] == '/')
		strv_add(&one, last);
	if (one.count > 0)
		set_variable(search, &one);
	return one.count > 0;
}

static bool read_path(const struct search *search, const char *path)
{
	const struct preset_row *row = search->row;
	const char *keys = row->form == PRESET_JAR ? strchr(row->keys, ':') + 1 : row->keys;
	owned(strv_done) struct strv values = STRV_INIT;
	owned(str_done) struct str text = STR_INIT;

	if (row->form == PRESET_JAR ? !read_member(search, path, &text)
				    : !preset_read(path, &text, &search->preset->notes))
		return false;
	preset_text_read(row->form, str_cstr(&text), text.len, keys, &values);
	if (strcmp(row->slot, "authority") == 0)
		return take_authority(search, &values);
	if (!take_values(search, &values, path))
		return false;
	if (row->form == PRESET_INI)
		set_variable(search, &values);
	return true;
}

/* Cargo keeps each index in a directory HOST-HASH. NULL when PATH is none. */
static char *index_host(const char *path)
{
	const char *name = strrchr(path, '/') + 1, *dash = strrchr(name, '-');

	if (!dash || strlen(dash + 1) != 16 || strspn(dash + 1, "0123456789abcdef") != 16)
		return NULL;
	return xstrndup(name, (size_t)(dash - name));
}

static bool read_index(const struct search *search, const char *path)
{
	owned(free_ptr) char *host = index_host(path);
	owned(free_ptr) char *rule = host ? xasprintf("%s:443", host) : NULL;
	owned(free_ptr) char *config = xasprintf("%s/config.json", path);
	owned(strv_done) struct strv values = STRV_INIT;

	if (!host)
		return false;
	if (search->row->form == PRESET_INDEX_FILES)
		return find_rule(search->preset, rule) && read_path(search, config);
	strv_add(&values, host);
	return take_values(search, &values, path);
}

static bool read_files(const struct search *search)
{
	enum preset_form form = search->row->form;
	owned(strv_done) struct strv paths = STRV_INIT;
	bool found = false;

	preset_paths(search->place, search->row->place, &paths, &search->preset->notes);
	for (size_t i = 0; i < paths.count; i++)
		found |= form == PRESET_INDEX_NAME || form == PRESET_INDEX_FILES
				 ? read_index(search, paths.items[i])
				 : read_path(search, paths.items[i]);
	return found;
}

static bool ask_client(const struct search *search)
{
	owned(free_ptr) char *program = preset_program(search->place, search->row->place);
	owned(free_ptr) char *how = xasprintf("asked %s", program ? program : "");
	owned(strv_done) struct strv values = STRV_INIT;
	owned(str_done) struct str output = STR_INIT;

	if (!program || !search->ask ||
	    !search->ask->run(search->place, program, search->row->keys, NULL, &output))
		return false;
	preset_text_read(PRESET_ASK, str_cstr(&output), output.len, "", &values);
	return take_values(search, &values, how);
}

static bool read_row(const struct search *search)
{
	enum preset_form form = search->row->form;

	if (form == PRESET_LOOK || form == PRESET_SET)
		return false;
	if (form == PRESET_ENV)
		return read_env(search);
	return form == PRESET_ASK ? ask_client(search) : read_files(search);
}

/* Reads the rows of a preset; of each slot no further than to the first that knows something. */
static bool read_rows(struct search *search)
{
	const char *known_slot = "";
	bool is_preset = false;

	for (size_t i = 0; i < preset_rows_count; i++) {
		search->row = &preset_rows[i];
		if (strcmp(search->row->preset, search->preset->name) != 0)
			continue;
		is_preset = true;
		if (strcmp(search->row->slot, known_slot) != 0 && read_row(search))
			known_slot = search->row->slot;
	}
	return is_preset;
}

/* The user's own list; "" when there is none. */
static int read_own(const struct preset_place *place, struct str *ret_text, struct error *err)
{
	owned(fd_close) int dir_fd =
		open(place->host->config_dir, O_DIRECTORY | O_PATH | O_CLOEXEC);

	if (dir_fd >= 0 && own_list_read(dir_fd, OWN_LIST, ret_text) < 0)
		return error_errno(err, ERROR_DENIED, "%s/" OWN_LIST, place->host->config_dir);
	return 0;
}

/* The next line `NAME WORD` of the list; false at its end. Both are the caller's. */
static bool next_own(const char **at, char **ret_name, char **ret_word)
{
	while (**at) {
		const char *line = *at + strspn(*at, " \t");
		size_t len = strcspn(line, "\n"), name = strcspn(line, " \t\n");

		*at = line + len + (line[len] == '\n');
		if (name == 0 || name == len || line[0] == '#')
			continue;
		*ret_name = xstrndup(line, name);
		line += name + strspn(line + name, " \t");
		*ret_word = xstrndup(line, strcspn(line, " \t\r\n"));
		return true;
	}
	return false;
}

/* Whether the user's list has the preset; its rules are added. */
static int add_own(const struct preset_place *place, struct preset *preset, bool *ret_is_preset,
		   struct error *err)
{
	owned(free_ptr) char *path = xasprintf("%s/" OWN_LIST, place->host->config_dir);
	owned(str_done) struct str text = STR_INIT;

	if (read_own(place, &text, err) < 0)
		return -1;
	for (const char *at = str_cstr(&text);;) {
		owned(strv_done) struct strv rules = STRV_INIT;
		owned(free_ptr) char *name = NULL, *word = NULL;

		if (!next_own(&at, &name, &word))
			return 0;
		if (strcmp(name, preset->name) != 0)
			continue;
		*ret_is_preset = true;
		if (net_words_expand(word, false, path, &rules, err) < 0)
			return -1;
		for (size_t i = 0; i < rules.count; i++)
			(void)preset_add_rule(preset, rules.items[i], path);
	}
}

int preset_names(const struct preset_place *place, struct strv *ret_names, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;

	if (read_own(place, &text, err) < 0)
		return -1;
	for (size_t i = 0; i < preset_rows_count; i++) {
		if (!strv_has(ret_names, preset_rows[i].preset))
			strv_add(ret_names, preset_rows[i].preset);
	}
	for (const char *at = str_cstr(&text);;) {
		owned(free_ptr) char *name = NULL, *word = NULL;

		if (!next_own(&at, &name, &word))
			break;
		if (!strv_has(ret_names, name))
			strv_add(ret_names, name);
	}
	strv_sort(ret_names);
	return 0;
}

static int refuse_name(const struct preset_place *place, const char *name, struct error *err)
{
	owned(strv_done) struct strv names = STRV_INIT;
	char shown[STR_SHOWN_SIZE];
	struct suggest suggest;

	if (preset_names(place, &names, err) < 0)
		return -1;
	suggest_init(&suggest, name);
	for (size_t i = 0; i < names.count; i++)
		suggest_try(&suggest, names.items[i]);
	return error_set(err, ERROR_USAGE,
			 "no preset is called '@%s' (%s%s): `aisbx net presets` lists them, and "
			 "your own go into %s/" OWN_LIST,
			 str_shown(name, shown), suggest.best ? "did you mean @" : "use @",
			 suggest.best ? suggest.best : names.items[0], place->host->config_dir);
}

int preset_find(const struct preset_place *place, const struct preset_ask *ask, const char *name,
		struct preset *ret_preset, struct error *err)
{
	struct preset preset = { .name = xstrdup(name) };
	struct search search = { .place = place, .ask = ask, .preset = &preset };
	bool is_preset = read_rows(&search);

	if (add_own(place, &preset, &is_preset, err) < 0 ||
	    (!is_preset && refuse_name(place, name, err) < 0) ||
	    preset_kept_read(place, &preset, err) < 0) {
		preset_done(&preset);
		return -1;
	}
	*ret_preset = preset;
	return 0;
}

static int expand_one(const struct preset_place *place, const struct preset_ask *ask,
		      const char *name, const struct preset_use *use, struct error *err)
{
	owned(preset_done) struct preset preset = { 0 };

	if (preset_find(place, ask, name, &preset, err) < 0)
		return -1;
	strv_copy(use->notes, &preset.notes);
	strv_copy(use->env, &preset.env);
	if (preset.count == 0)
		return error_advise(err, ERROR_USAGE, "name the hosts: --allow HOST[,HOST...]",
				    "@%s is unknown here: no file of yours or of this machine, and "
				    "no client names its registry%s%s",
				    name, preset.notes.count > 0 ? "; " : "",
				    preset.notes.count > 0 ? preset.notes.items[0] : "");
	for (size_t i = 0; i < preset.count; i++) {
		if (!strv_has(use->rules, preset.hosts[i].rule))
			strv_add(use->rules, preset.hosts[i].rule);
	}
	return 0;
}

int preset_expand(const struct preset_place *place, const struct preset_ask *ask,
		  const struct preset_use *use, struct error *err)
{
	owned(strv_done) struct strv given = *use->rules;

	*use->rules = (struct strv)STRV_INIT;
	for (size_t i = 0; i < given.count; i++) {
		if (given.items[i][0] != '@')
			strv_add(use->rules, given.items[i]);
		else if (expand_one(place, ask, given.items[i] + 1, use, err) < 0)
			return -1;
	}
	return 0;
}
