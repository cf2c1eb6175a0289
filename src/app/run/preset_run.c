/* SPDX-License-Identifier: Apache-2.0 */
/* Presets in use, and the sandboxes in which clients and indexes are asked. */
#include "app/run/preset_run.h"

#include "app/run/run_request.h"
#include "base/process/child.h"
#include "base/file/fd.h"
#include "base/core/own.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define ASK_TIME "2s"
#define LOOK_TIME "6s"
#define OUTPUT_MAX (2u << 20)

static bool set(struct request *request, const char *name, const char *value)
{
	struct error ignored;

	return settings_set(&request->flags, setting_find(name), name, value, &ignored) == 0;
}

/*
 * In a process of its own, since one that has started a sandbox is not fit to start another. At "/" there is no workspace:
 * an empty one is made.
 */
static bool run_apart(const struct preset_place *place, const char *program, const char *script,
		      const char *rule, int to_fd)
{
	const struct app_run_options options = { .capture = true, .is_own = true };
	owned(run_result_done) struct run_result result;
	owned(request_done) struct request request;
	owned(free_ptr) char *path = preset_search_path(place);
	owned(free_ptr) char *path_pair = xasprintf("PATH=%s", path);
	owned(fd_close) int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct error ignored;

	run_result_init(&result);
	request_init(&request);
	request.environ = place->environ;
	strv_add_script(&request.command, script);
	strv_add(&request.command, program);
	if (chdir("/") < 0 || null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0 ||
	    !set(&request, "time", rule ? LOOK_TIME : ASK_TIME) ||
	    !set(&request, "env", path_pair) || !set(&request, "env", "GOTOOLCHAIN=local") ||
	    !set(&request, rule ? "allow" : "net", rule ? rule : "none") ||
	    app_run(&request, &options, &result, &ignored) < 0)
		return false;
	return fd_write_all(to_fd, str_cstr(&result.out.kept), result.out.kept.len) == 0;
}

static bool ask_run(const struct preset_place *place, const char *program, const char *script,
		    const char *rule, struct str *ret_output)
{
	owned(fd_close) int from_fd = -1;
	struct error ignored;
	pid_t pid = child_fork(CHILD_WRITES, 0, &from_fd, &ignored);

	if (pid == 0)
		_exit(run_apart(place, program, script, rule, from_fd) ? 0 : 1);
	if (pid < 0)
		return false;
	bool is_read = fd_read_all(from_fd, OUTPUT_MAX, ret_output) == 0;

	fd_close(&from_fd);
	(void)child_wait(pid);
	return is_read;
}

static const struct preset_ask asking = { ask_run };

int app_presets_expand(const struct plan_context *around, const char *const *env,
		       const struct preset_use *use, struct error *err)
{
	const struct preset_place place = { .host = &around->host,
					    .workspace = around->paths.workspace,
					    .environ = env ? env : (const char *const *)environ };

	return preset_expand(&place, &asking, use, err);
}

int app_presets_expand_here(const char *workspace, struct strv *rules, struct strv *notes,
			    struct error *err)
{
	owned(plan_context_done) struct plan_context around = { 0 };
	owned(strv_done) struct strv unused = STRV_INIT;
	const struct preset_use use = { .rules = rules, .env = &unused, .notes = notes };
	owned(request_done) struct request request;

	request_init(&request);
	request.workspace = workspace ? xstrdup(workspace) : NULL;
	if (plan_context_read(&request, &around, err) < 0)
		return -1;
	return app_presets_expand(&around, NULL, &use, err);
}

static void add_preset(struct value *list, const struct preset *preset)
{
	struct value *row = value_append(list, value_new_map());
	struct value *hosts, *notes;

	value_add(row, "preset", value_new_text(preset->name));
	hosts = value_add(row, "hosts", value_new_list());
	for (size_t i = 0; i < preset->count; i++) {
		struct value *host = value_append(hosts, value_new_map());

		value_add(host, "rule", value_new_text(preset->hosts[i].rule));
		value_add(host, "how", value_new_text(preset->hosts[i].how));
	}
	notes = value_add(row, "notes", value_new_list());
	for (size_t i = 0; i < preset->notes.count; i++)
		(void)value_append(notes, value_new_text(preset->notes.items[i]));
}

int app_presets(const char *workspace, const char *const *env, bool refresh,
		struct value **ret_answer, struct error *err)
{
	owned(plan_context_done) struct plan_context around = { 0 };
	owned(strv_done) struct strv names = STRV_INIT;
	owned(request_done) struct request request;
	struct preset_place place = { .host = &around.host, .environ = env };

	request_init(&request);
	request.workspace = workspace ? xstrdup(workspace) : NULL;
	if (plan_context_read(&request, &around, err) < 0)
		return -1;
	place.workspace = around.paths.workspace;
	if (preset_names(&place, &names, err) < 0)
		return -1;
	*ret_answer = value_new_list();
	for (size_t i = 0; i < names.count; i++) {
		owned(preset_done) struct preset preset = { 0 };

		if (preset_find(&place, &asking, names.items[i], &preset, err) < 0 ||
		    (refresh && preset_refresh(&place, &asking, &preset, err) < 0))
			return -1;
		add_preset(*ret_answer, &preset);
	}
	return 0;
}
