/* SPDX-License-Identifier: Apache-2.0 */
/* From a request to a spec, and from a spec to a recorded run. */
#include "app/config/reads_yaml.h"
#include "app/config/secret_values.h"
#include "app/run/execute.h"
#include "app/run/change_scans.h"
#include "app/run/copied_workspace.h"
#include "app/run/hidden_words.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/core/bench_skip.h"
#include "driver/driver.h"
#include "app/prepare/alias_search.h"
#include "app/prepare/certificates.h"
#include "app/prepare/home_tools.h"
#include "app/prepare/image_root.h"
#include "app/prepare/mask_lists.h"
#include "app/prepare/driver_choice.h"
#include "app/config/profile_load.h"
#include "app/record/log_room.h"
#include "app/record/record.h"
#include "app/run/preset_run.h"
#include "app/vet/vet.h"
#include "app/config/mount_list.h"
#include "app/config/rule_list.h"
#include "net/inside/redirect.h"
#include "plan/plan.h"
#include "plan/variables.h"
#include "run/run.h"
#include "workspace/delta/change.h"
#include "workspace/store/layer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* In aisbx-full only. */
#pragma weak driver_choose
#pragma weak app_presets_expand

/* In the hot program: a seccomp file or a profile that is not built in is for aisbx-full. */
static bool needs_libraries(const struct request *request, const char *workspace)
{
	return !app_reads_yaml &&
	       (request->flags.seccomp || app_profile_needs_yaml(request, workspace));
}

static int refuse_widening(const char *what, struct error *err)
{
	return error_set(err, ERROR_DENIED,
			 "%s is beyond what this server's profile allows: ask for less, or have it "
			 "started with another --profile",
			 what);
}

/* A limit the profile is silent about has a default that only the plan knows; a wish beyond it is refused as well. */
static int check_defaults(const struct settings *flags, const struct spec_limits *limits,
			  struct error *err)
{
	const struct {
		const char *name;
		int64_t wish;
		uint64_t limit;
	} rows[] = {
		{ "cpu", flags->cpu_milli, limits->cpu_milli },
		{ "mem", flags->mem_bytes, limits->mem_bytes },
		{ "pids", flags->pids, limits->pids },
		{ "disk", flags->disk_bytes, limits->disk_bytes },
		{ "inodes", flags->inodes, limits->inodes },
		{ "time", flags->time_ms, limits->time_ms },
		{ "cpu-time", flags->cpu_time_ms, limits->cpu_time_ms },
		{ "fsize", flags->fsize_bytes, limits->fsize_bytes },
		{ "nofile", flags->nofile, limits->nofile },
		{ "output", flags->output_bytes, limits->output_bytes },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].wish != SETTING_UNSET && rows[i].limit &&
		    (uint64_t)rows[i].wish > rows[i].limit)
			return refuse_widening(rows[i].name, err);
	}
	return 0;
}

/*
 * The plan of a program that was given a ceiling: what tightens the profile is taken over into it, what widens is refused.
 * Variables are the command's own business.
 */
static int plan_narrowed(const struct request *request, struct settings *profile,
			 const struct plan_context *around, struct spec *ret_spec,
			 struct error *err)
{
	owned(strv_done) struct strv left_out = STRV_INIT;
	owned(settings_done) struct settings wishes;
	struct request narrowed = *request;

	settings_copy(&wishes, &request->flags);
	settings_init(&narrowed.flags);
	narrowed.flags.env = wishes.env;
	wishes.env = (struct strv)STRV_INIT;
	settings_narrow(profile, &wishes, &left_out);
	int status = left_out.count > 0 ? refuse_widening(left_out.items[0], err)
					: plan_make(&narrowed, profile, &around->host,
						    &around->paths, ret_spec, err);

	settings_done(&narrowed.flags);
	return status < 0 ? -1 : check_defaults(&wishes, &ret_spec->limits, err);
}

/* --driver auto: the request as if it had named the driver that was chosen; *ret_driver holds its name. */
static int choose_driver(struct request *request, const struct settings *profile,
			 const struct plan_context *around, char **ret_driver, struct strv *notes,
			 struct error *err)
{
	const char *asked = request->flags.driver ? request->flags.driver : profile->driver;

	if (asked && strcmp(asked, "auto") != 0 && driver_check_name(asked, err) < 0)
		return -1;
	if (!asked || strcmp(asked, "auto") != 0 || request->only_narrows)
		return 0;
	if (!app_reads_yaml)
		return error_set(err, ERROR_LIBRARIES, "this needs aisbx-full");
	*ret_driver = xstrdup(driver_choose(request, profile, around, notes));
	request->flags.driver = *ret_driver;
	/* What counts instructions is of no use to a native command, and was meant for the other case. */
	if (strcmp(*ret_driver, "wasm") != 0)
		request->flags.fuel = SETTING_UNSET;
	return 0;
}

bool app_presets_in(const struct strv *rules)
{
	for (size_t i = 0; i < rules->count; i++) {
		if (rules->items[i][0] == '@')
			return true;
	}
	return false;
}

/* What configuration files say about the registries, unless the user said something else for inside. */
static void set_registries(const struct strv *env, struct settings *profile, struct strv *notes)
{
	owned(str_done) struct str names = STR_INIT;

	for (size_t i = 0; i < env->count; i++) {
		owned(free_ptr) char *name = xstrndup(env->items[i], strcspn(env->items[i], "="));
		bool is_said = false;

		for (size_t j = 0; j < profile->env.count; j++)
			is_said |= str_starts(profile->env.items[j], name) &&
				   profile->env.items[j][strlen(name)] == '=';
		if (is_said || certificates_is_named_by(env->items[i]))
			continue;
		strv_add(&profile->env, env->items[i]);
		str_addf(&names, "%s%s", names.len ? ", " : "", name);
	}
	if (names.len > 0)
		strv_addf(notes,
			  "%s: set inside as your configuration has it, without user and password",
			  str_cstr(&names));
}

/* Each @NAME of flags and profile as the hosts it stands for; FLAGS has the flags' rules and what files say then. */
static int expand_presets(struct request *request, struct settings *profile,
			  const struct plan_context *around, const struct preset_use *flags,
			  struct error *err)
{
	const struct preset_use rest = { &profile->allow, flags->env, flags->notes };

	if ((!app_presets_in(&request->flags.allow) && !app_presets_in(&profile->allow)) ||
	    !plan_wants_network(&request->flags, profile))
		return 0;
	if (!app_reads_yaml)
		return error_set(err, ERROR_LIBRARIES, "this needs aisbx-full");
	strv_copy(flags->rules, &request->flags.allow);
	if (app_presets_expand(around, request->environ, flags, err) < 0 ||
	    app_presets_expand(around, request->environ, &rest, err) < 0)
		return -1;
	request->flags.allow = *flags->rules;
	set_registries(flags->env, profile, flags->notes);
	return 0;
}

/* What of SAID is set inside is so for each command that enters later. */
static void keep_authorities(const struct strv *said, const struct spec *spec,
			     struct settings *profile)
{
	for (size_t i = 0; i < said->count; i++) {
		if (strv_has(&spec->env, said->items[i]))
			settings_add_env(&profile->env, said->items[i]);
	}
}

/* The plan under PROFILE, with what there is of tools in the home. */
static int plan_with_tools(const struct request *request, struct settings *profile,
			   const struct plan_context *around, struct spec *ret_spec,
			   struct error *err)
{
	owned(home_tools_done) struct plan_tools tools = { 0 };
	owned(image_root_done) struct plan_image image = { 0 };
	bool has_image;
	owned(strv_done) struct strv words = STRV_INIT;
	struct plan_context with_tools = *around; /* borrows everything */

	strv_copy(&words, &profile->home_tools);
	/* Under a ceiling they are refused. */
	if (!request->only_narrows)
		strv_copy(&words, &request->flags.home_tools);
	if (home_tools_read(around->host.home, &words, &tools, err) < 0)
		return -1;
	if (image_root_find(request, profile, around->host.data_dir, &image, &has_image, err) < 0)
		return -1;
	with_tools.paths.image = has_image ? &image : NULL;
	with_tools.paths.tools = &tools;
	with_tools.paths.can_redirect =
		plan_wants_all(&request->flags, profile) && redirect_works();
	if (request->only_narrows)
		return plan_narrowed(request, profile, &with_tools, ret_spec, err);
	return plan_make(request, profile, &around->host, &with_tools.paths, ret_spec, err);
}

/* The same where a network is asked for, and configuration files name certificates that variables do not. */
static int plan_with_authorities(const struct request *given, struct settings *profile,
				 const struct plan_context *around, const struct strv *env,
				 struct spec *ret_spec, struct error *err)
{
	owned(authorities_done) struct authorities found = { 0 };
	owned(strv_done) struct strv all = STRV_INIT;
	struct plan_context with_files = *around; /* borrows everything */
	struct request request = *given;

	if (!plan_wants_network(&given->flags, profile) || !authorities_find(around, env, &found))
		return plan_with_tools(given, profile, around, ret_spec, err);
	certificates_add_said(given->environ, &found.said, &all);
	request.environ = (const char *const *)all.items;
	with_files.paths.certificates = found.files;
	with_files.paths.git_authorities = found.pairs;
	if (plan_with_tools(&request, profile, &with_files, ret_spec, err) < 0)
		return -1;
	keep_authorities(&found.said, ret_spec, profile);
	return 0;
}

int execute_check_secrets(const struct request *request, const struct spec *spec, struct error *err)
{
	owned(secrets_done) struct secrets secrets = { 0 };
	const struct secret_use use = { .workspace = spec->workspace,
					.profile =
						request->profile ? request->profile : "default" };
	owned(strv_done) struct strv stored = STRV_INIT;

	for (size_t i = 0; i < spec->secrets.count; i++) {
		if (secret_word_stored(spec->secrets.items[i]))
			strv_add(&stored, spec->secrets.items[i]);
	}
	return secret_values_read(&stored, &use, &secrets, err);
}

int execute_plan(const struct request *given, const struct plan_context *around,
		 struct spec *ret_spec, struct settings *ret_settings, struct error *err)
{
	owned(settings_done) struct settings profile;
	owned(strv_done) struct strv notes = STRV_INIT, allow = STRV_INIT, env = STRV_INIT;
	const struct preset_use presets = { &allow, &env, &notes };
	owned(free_ptr) char *driver = NULL;
	struct request chosen = *given; /* borrows everything */
	const struct request *request = &chosen;

	settings_init(&profile);
	if (needs_libraries(request, around->paths.workspace))
		return error_set(err, ERROR_LIBRARIES, "this needs aisbx-full");
	if (app_load_profile(request, around->paths.workspace, &profile, &notes, err) < 0 ||
	    rule_list_apply(request, around->host.config_dir, around->paths.workspace, &profile,
			    err) < 0 ||
	    mount_list_apply(request, around->host.config_dir, around->paths.workspace, &profile,
			     err) < 0 ||
	    choose_driver(&chosen, &profile, around, &driver, &notes, err) < 0 ||
	    expand_presets(&chosen, &profile, around, &presets, err) < 0)
		return -1;
	if (plan_with_authorities(request, &profile, around, &env, ret_spec, err) < 0)
		return -1;
	if (!around->is_view && execute_check_secrets(request, ret_spec, err) < 0)
		return -1;
	mask_lists_add(ret_spec);
	mask_apt_add(ret_spec);
	alias_search(&around->host, ret_spec);
	strv_copy(&ret_spec->notes, &notes);
	if (ret_settings) {
		settings_copy(ret_settings, &profile);
		settings_merge(ret_settings, &request->flags);
	}
	return 0;
}

int execute_enter(const struct request *request, const struct app_run_options *options,
		  struct pool_slot *ret_slot, struct run_result *result, struct error *err)
{
	owned(host_done) struct host host = { 0 };

	*ret_slot = POOL_SLOT_NONE;
	if (!options->uses_daemon)
		return 0;
	if (host_read_caller(&host, err) < 0 ||
	    pool_enter_now(host.runtime_dir, request->environ, options->insists, ret_slot, err) < 0)
		return -1;
	result->queued_ms = ret_slot->queued_ms;
	return 0;
}

struct inspection {
	const struct spec *spec;
	const struct execute *how;
	struct copied_workspace copied;
	bool is_lost;	   /* changes in the copy could not be kept */
	struct error lost; /* why */
};

/* Counts what the sandbox wrote, layer by layer, while the layers still exist. */
static void count_changes(const struct task *task, struct run_result *result, void *cookie)
{
	struct inspection *inspection = cookie;
	const struct spec *spec = inspection->spec;
	const struct execute *how = inspection->how;
	struct change_scan scan = {
		.workspace = spec->workspace,
		.user_xattr = !root_is_idmapped(spec->root),
		.list = how->options->list_changes ? &result->changed : NULL,
	};

	change_scan_masks(&scan, spec);
	/* Code that was vetted was so by this process. */
	if (how->options->ret_is_unused)
		*how->options->ret_is_unused =
			(task->is_lent || how->enter_fd > 0) && !spec->scan && !spec->signed_only;
	int top_fd = how->upper_fd >= 0 ? how->upper_fd : inspection->copied.area_fd;

	inspection->is_lost =
		spec->copy_dir &&
		copied_workspace_fold(&inspection->copied, spec, top_fd, &inspection->lost) < 0;
	if (inspection->is_lost)
		return;
	if (inspection->copied.copy.stayed > 0)
		strv_add(&result->notes,
			 "directories that hold what is not in the copy were not removed");
	if (top_fd >= 0)
		change_scan_top(&scan, top_fd);
	else
		change_scan_run(&scan, task);
	result->changes = (struct change_counts){ scan.inside.added, scan.inside.modified,
						  scan.inside.deleted };
	result->changes_outside = (struct change_counts){ scan.outside.added, scan.outside.modified,
							  scan.outside.deleted };
	/* A directory gives its entries in any order; scripts want the same one every time. */
	if (result->changed.count > 1)
		qsort(result->changed.items, result->changed.count, sizeof(char *), change_compare);
	if (how->ret_newest_ns)
		*how->ret_newest_ns = scan.is_partial ? UINT64_MAX : scan.newest_ns;
	if (how->ret_ended_ns)
		*how->ret_ended_ns = task->ended_ns;
	if (how->ret_is_shared)
		*how->ret_is_shared = task->is_shared;
	if (scan.is_partial)
		strv_add(&result->notes, "too much was changed to count all of it");
}

static void name_result(const struct spec *spec, struct run_result *result)
{
	result->run_id = xstrdup(spec->run_id);
	result->sandbox = xstrdup(spec->sandbox);
	result->trace_id = spec->trace_id ? xstrdup(spec->trace_id) : NULL;
	result->driver = xstrdup(spec->driver);
	strv_copy(&result->command, &spec->command);
	strv_copy(&result->notes, &spec->notes);
	secret_words_injected(&spec->secrets, &result->injected);
}

/* 0 where it is not known when the request came. */
static double ms_since(uint64_t asked_ns)
{
	return asked_ns ? (double)(clock_now_ns() - asked_ns) / 1e6 : 0;
}

/* Between two records: that it starts, and how it ended. */
static int run_recorded(const struct driver *driver, const struct spec *spec,
			const struct execute *how, const struct run_options *options,
			struct run_result *result, struct error *err)
{
	owned(fd_close) int spool_fd = -1;
	struct error ignored;
	int status;

	if (!bench_skip("history") && record_start(spec, how->owner, &spool_fd, err) < 0)
		return -1;
	result->plan_ms = ms_since(how->asked_ns);
	status = how->apart ? how->apart->announce(spec, how->apart->cookie, err) : 0;
	if (status < 0)
		result->status = RUN_INTERNAL;
	else
		status = run_execute(driver, spec, options, result, err);
	if (status < 0 && !result->message)
		result->message = xstrdup(err->text);
	/* A sandbox that is entered has its plan elsewhere: sandbox_exec.c. */
	if (spec->mask_count > 0 && hidden_words_are_due(&spec->command, result))
		hidden_words_add(spec, &spec->command, result);
	/* The command has run: a full disk now is no reason to lose its result. */
	result->teardown_ms = ms_since(how->asked_ns) - result->start_ms - result->duration_ms;
	if (spool_fd >= 0)
		(void)record_end(result, spool_fd, &ignored);
	log_room_keep(spec->state_dir, how->owner, result);
	return status;
}

/* For `secret show-use`. */
static void record_secrets(const struct spec *spec)
{
	for (size_t i = 0; i < spec->secrets.count; i++) {
		const char *name = secret_word_stored(spec->secrets.items[i]);
		owned(value_release) struct value *body = value_new_map();

		if (!name)
			continue;
		value_add(body, "run_id", value_new_text(spec->run_id));
		value_add(body, "as", secret_word_way(spec->secrets.items[i]));
		record_event(&(struct record_event){ .kind = "secret-used",
						     .sandbox = spec->sandbox,
						     .id = name,
						     .body = body });
	}
}

/* With the copy of the workspace that some drivers need: what was changed in it is in the top afterwards. */
static int run_copied(const struct driver *driver, struct spec *spec, const struct execute *how,
		      const struct run_options *options, struct run_result *result,
		      struct error *err)
{
	struct inspection *inspection = options->cookie;
	int status;

	if (!driver->copies)
		return run_recorded(driver, spec, how, options, result, err);
	if (driver->check(spec, err) < 0 ||
	    copied_workspace_begin(&inspection->copied, spec, how->upper_fd, &result->notes, err) <
		    0)
		return -1;
	result->workspace = "copied";
	status = run_recorded(driver, spec, how, options, result, err);
	if (status == 0 && inspection->is_lost) {
		*err = inspection->lost;
		copied_workspace_leave(&inspection->copied, spec, err);
		result->status = RUN_INTERNAL;
		status = -1;
	}
	copied_workspace_end(&inspection->copied, spec);
	return status;
}

int execute_spec(struct spec *spec, const struct execute *how, struct run_result *result,
		 struct error *err)
{
	struct inspection inspection = { .spec = spec, .how = how, .copied = { .area_fd = -1 } };
	struct run_options run_options = { .control = how->apart ? &how->apart->control : NULL,
					   .has_score = how->options->has_score,
					   .seen = how->options->seen,
					   .capture = how->options->capture,
					   .is_exact = how->options->is_exact,
					   .zygote_pool_fd = how->options->zygote_pool_fd,
					   .prestart = how->prestart,
					   .asked_ns = how->asked_ns,
					   .enter_fd = how->enter_fd,
					   .enter_env = how->enter_env,
					   .enter_user = how->enter_user,
					   .hidden = how->hidden,
					   .inspect = count_changes,
					   .cookie = &inspection,
					   .denied = how->options->denied,
					   .denied_cookie = how->options->denied_cookie };
	const struct driver *driver = driver_find(spec->driver);
	const struct secret_use use = { .workspace = spec->workspace };
	owned(secrets_done) struct secrets secrets = { 0 };
	owned(vetting_done) struct vetting vetting = { .count = 0 };

	strv_done(&result->command);
	name_result(spec, result);
	if ((spec->scan || spec->signed_only) &&
	    app_vet(spec, how->enter_fd > 0 ? how->vet_env : NULL, result, &vetting, err) < 0)
		return -1;
	if ((how->enter_fd <= 0 && secret_words_draw(&spec->secrets, NULL, err) < 0) ||
	    secret_values_read(&spec->secrets, &use, &secrets, err) < 0)
		return -1;
	if (secrets.count > 0)
		run_options.secrets = &secrets;
	if (driver && how->enter_fd > 0)
		driver = driver->enter;
	if (!driver)
		return error_set(err, ERROR_DENIED, "no driver '%s' in this build", spec->driver);
	record_secrets(spec);
	return run_copied(driver, spec, how, &run_options, result, err);
}
