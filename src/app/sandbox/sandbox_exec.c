/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entering a named sandbox: by its supervisor where one lives, else by starting one.
 *
 * The quick way knows the sandbox's directory, its state and its socket, and nothing else: no plan is made, no mount is
 * looked at. sandbox_enter.c has the slow way.
 */
#include "base/core/clock.h"
#include "base/core/own.h"
#include "app/prepare/alias_search.h"
#include "app/run/execute.h"
#include "app/run/hidden_words.h"
#include "app/run/warm_cache.h"
#include "app/config/profile_load.h"
#include "app/config/reads_yaml.h"
#include "app/config/secret_values.h"
#include "app/vet/rego.h"
#include "app/vet/vet.h"
#include "app/sandbox/given_secrets.h"
#include "app/sandbox/sandbox_state.h"
#include "app/sandbox/sandbox_parts.h"
#include "app/sandbox/sandbox_policy.h"
#include "app/sandbox/sandbox_patterns.h"
#include "app/sandbox/service_copy.h"
#include "plan/plan.h"
#include "workspace/store/moments.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

struct entry {
	const char *name;
	const struct request *request;
	const struct host *host;
	struct execute how;
	struct spec_limits most;  /* what policies allow; 0: they do not say */
	char run_id[ID_RUN_SIZE]; /* one on record, also where it is tried again */
};

/* What this command may differ in from the sandbox: only downwards, unless the limit is a default. */
static void narrow(const int64_t *wish, uint64_t *limit, bool was_said)
{
	uint64_t value = *wish == SETTING_UNSET ? 0 : (uint64_t)*wish;

	if (value && (!*limit || value < *limit || !was_said))
		*limit = value;
}

/* A program may only shorten it, and has no say in what happens when the time is over. */
static void take_grace(uint64_t grace_ms, bool only_narrows, struct spec_limits *limits)
{
	if (only_narrows && grace_ms > limits->grace_ms)
		return;
	limits->grace_ms = grace_ms;
	if (!only_narrows || grace_ms < limits->time_grace_ms)
		limits->time_grace_ms = grace_ms;
}

/* The stricter of what the sandbox and this command ask for. */
static void describe_vetting(const struct request *request, const struct sandbox_state *state,
			     struct spec *spec)
{
	enum state_scan asked = state_scan_named(request->flags.scan);
	const char *word = state_scan_name(asked > state->scan ? asked : state->scan);

	spec->scan = word ? xstrdup(word) : NULL;
	spec->signed_only = state->signed_only || request->flags.require_signature;
}

/* What this command alone is given may turn up in the output of any that comes later. */
static int note_own_secrets(const struct entry *entry, int dir_fd, struct error *err)
{
	owned(spec_done) struct spec own;

	spec_init(&own);
	plan_secrets(&entry->request->flags, entry->host, &own);
	return own.secrets.count > 0 ? given_secrets_note(dir_fd, &own.secrets, err) : 0;
}

/* As much of a spec as a command in a running sandbox needs. */
static void describe(const struct entry *entry, const struct sandbox_state *state,
		     struct spec *spec)
{
	const struct request *request = entry->request;
	const struct host *host = entry->host;

	spec->run_id = xstrdup(entry->run_id);
	spec->sandbox = xstrdup(entry->name);
	spec->trace_id = request->trace_id ? xstrdup(request->trace_id) : NULL;
	spec->driver = xstrdup("linux");
	spec->workspace = xstrdup(state->workspace);
	spec->home = xstrdup(host->home);
	spec->cwd = xstrdup(host->cwd);
	spec->state_dir = xstrdup(host->state_dir);
	spec->config_dir = app_config_dir((const char *const *)environ);
	spec->ids = state->ids;
	spec->root = state->root;
	spec->limits = state->limits;
	spec->aliases_cut = state->aliases_cut;
	if ((request->interactive && !state->time_said) || request->is_service)
		spec->limits.time_ms = 0;
	narrow(&request->flags.time_ms, &spec->limits.time_ms,
	       state->time_said || request->only_narrows);
	narrow(&request->flags.cpu_time_ms, &spec->limits.cpu_time_ms, true);
	if (request->flags.grace_ms != SETTING_UNSET)
		take_grace((uint64_t)request->flags.grace_ms, request->only_narrows, &spec->limits);
	narrow(&request->flags.output_bytes, &spec->limits.output_bytes, true);
	strv_copy(&spec->secrets, &state->secrets);
	plan_secrets(&request->flags, host, spec);
	describe_vetting(request, state, spec);
	strv_copy(&spec->command, &request->command);
	for (const char *const *at = request->environ; at && *at; at++)
		strv_add(&spec->env, *at);
}

/*
 * After the command, with the store open, which exec_quickly() does without. Processes in the sandbox keep the files they
 * looked up since SINCE_NS: those that the host has replaced are noted.
 */
static void look_after(const struct entry *entry, bool is_capture_due, uint64_t since_ns,
		       struct run_result *result)
{
	owned(sandbox_place_close) struct sandbox_place place = { 0 };
	struct error ignored;

	if ((!is_capture_due && !since_ns) ||
	    sandbox_place_open(&place, entry->name, SANDBOX_SHARED, &ignored) < 0)
		return;
	if (is_capture_due)
		sandbox_capture(&place.sandbox);
	if (since_ns)
		sandbox_note_older(&place.sandbox, since_ns, &result->notes);
}

/* A command that did not find something, in a sandbox whose plan may hide it; ENV are its variables. */
static void explain_hidden(const struct entry *entry, const struct strv *env,
			   struct run_result *result)
{
	owned(sandbox_place_close) struct sandbox_place place = { 0 };
	owned(spec_done) struct spec spec;
	struct error ignored;

	spec_init(&spec);
	if (!hidden_words_are_due(&entry->request->command, result) ||
	    sandbox_place_open(&place, entry->name, SANDBOX_SHARED, &ignored) < 0 ||
	    sandbox_plan_masks(&place.sandbox, &spec, &ignored) < 0)
		return;
	strv_done(&spec.env);
	strv_copy(&spec.env, env);
	hidden_words_add(&spec, &entry->request->command, result);
}

static int run_inside(struct entry *entry, int dir_fd, struct run_result *result, struct error *err)
{
	owned(sandbox_state_done) struct sandbox_state state = { 0 };
	owned(strv_done) struct strv vet_env = STRV_INIT;
	owned(secrets_done) struct secrets hidden = { 0 };
	owned(spec_done) struct spec spec;
	uint64_t newest_ns = 0, ended_ns = 0;
	bool is_shared = false;
	int status;

	spec_init(&spec);
	if (sandbox_state_read(dir_fd, &state, err) < 0 ||
	    note_own_secrets(entry, dir_fd, err) < 0 ||
	    given_secrets_read(dir_fd, &hidden, err) < 0)
		return -1;
	describe(entry, &state, &spec);
	entry->how.hidden = &hidden;
	if (policy_lower && sandbox_policy_lower(entry->name, &entry->most, &state, &spec, err) < 0)
		return -1;
	if (state.has_services && !entry->request->is_service &&
	    service_start_all(entry->name, dir_fd, err) < 0)
		return -1;
	if (entry->request->flags.secret.count + entry->request->flags.secret_env.count > 0 &&
	    warm_cache_taint(dir_fd, err) < 0)
		return -1;
	if (entry->how.apart)
		narrow(&entry->request->flags.output_bytes, &spec.limits.log_bytes, true);
	entry->how.enter_env = &entry->request->flags.env;
	entry->how.enter_user = entry->request->user;
	strv_copy(&vet_env, &entry->request->flags.env);
	strv_copy(&vet_env, &state.env);
	entry->how.vet_env = &vet_env;
	entry->how.upper_fd =
		openat(dir_fd, "upper", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	entry->how.ret_newest_ns = &newest_ns;
	entry->how.ret_ended_ns = &ended_ns;
	entry->how.ret_is_shared = &is_shared;
	bool has_top = entry->how.upper_fd >= 0;

	status = execute_spec(&spec, &entry->how, result, err);
	fd_close(&entry->how.upper_fd);
	explain_hidden(entry, &spec.env, result);
	bool is_capture_due = sandbox_capture_is_due(dir_fd, newest_ns);

	if (!is_capture_due && has_top && ended_ns)
		moments_add_listed(dir_fd, ended_ns);
	look_after(entry, is_capture_due, is_shared ? moments_last_fresh(dir_fd) : 0, result);
	return status;
}

/* The way of the first caller; also the one that reports what is wrong with a name. */
static int exec_slowly(struct entry *entry, struct run_result *result, struct error *err)
{
	owned(sandbox_place_close) struct sandbox_place place = { 0 };
	owned(fd_close) int fd = -1, dir_fd = -1;

	if (sandbox_place_open(&place, entry->name, SANDBOX_SHARED, err) < 0)
		return -1;
	if (sandbox_enter_within(&place.sandbox, entry->request, &entry->most, &fd, err) < 0)
		return -1;
	/* The supervisor holds the sandbox from here on; a store that is held for as long as a command takes is never cleaned. */
	dir_fd = fd_take(&place.sandbox.dir_fd);
	sandbox_place_close(&place);
	entry->how.enter_fd = fd;
	int status = run_inside(entry, dir_fd, result, err);

	/* It has a child now. */
	if (entry->how.options->ret_is_unused)
		*entry->how.options->ret_is_unused = false;
	return status;
}

/* A process that is alive sees it already: refusing this command would hide nothing. */
static void note_shown(const struct entry *entry, const struct sandbox_outdated *outdated,
		       struct run_result *result)
{
	char shown[STR_SHOWN_SIZE];

	if (outdated->linked)
		strv_addf(&result->notes,
			  "%s, which is hidden, has got another name since '%s' was started, which "
			  "is hidden only from the next start on; end the processes there with "
			  "`aisbx stop %s`",
			  str_shown(outdated->linked, shown), entry->name, entry->name);
	if (outdated->shown)
		strv_addf(&result->notes,
			  "%s was made after '%s' was started, and a pattern hides it only from "
			  "the next start on; end the processes there with `aisbx stop %s`",
			  str_shown(outdated->shown, shown), entry->name, entry->name);
	if (outdated->listed)
		strv_addf(&result->notes,
			  "%s has changed, and its own files are shown as they were when '%s' was "
			  "started; to see them as they are, end the processes there with "
			  "`aisbx stop %s`",
			  str_shown(outdated->listed, shown), entry->name, entry->name);
}

/*
 * Whether a secret that is injected was set anew since the sandbox was started, whose gateway knows the old value. In the program
 * with libraries only, to which such a sandbox leads in any case.
 */
static int secrets_are_old(int dir_fd, bool *ret_are_old, struct error *err)
{
	owned(sandbox_state_done) struct sandbox_state state = { 0 };
	uint64_t set_ms;

	*ret_are_old = false;
	if (!app_reads_yaml)
		return 0;
	if (sandbox_state_read(dir_fd, &state, err) < 0 ||
	    secret_values_stamp(&state.secrets, &set_ms, err) < 0)
		return -1;
	*ret_are_old = set_ms != state.secrets_set_ms;
	return 0;
}

/* 1 when it had to be ended to forget a secret's old value. */
static int renew_secrets(const struct entry *entry, int dir_fd, int fd, struct error *err)
{
	bool are_old;
	int ended;

	if (secrets_are_old(dir_fd, &are_old, err) < 0)
		return -1;
	ended = are_old ? sandbox_end_idle(dir_fd, fd, err) : 0;
	if (ended != 0 || !are_old)
		return ended;
	return error_advise(err, ERROR_DENIED, "end the processes there with aisbx stop",
			    "a secret that is injected was set or removed since '%s' was started, "
			    "and what runs there still uses its old value",
			    entry->name);
}

/* 1 when the sandbox has no supervisor. */
static int exec_quickly(struct entry *entry, struct run_result *result, struct error *err)
{
	owned(free_ptr) char *path = xasprintf("%s/sbx/%s", entry->host->data_dir, entry->name);
	owned(fd_close) int dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	owned(sandbox_outdated_done) struct sandbox_outdated outdated = { 0 };
	owned(fd_close) int fd = -1;

	if (dir_fd < 0 || !sandbox_reach(dir_fd, &fd))
		return 1;
	if (sandbox_patterns_compare(dir_fd, &outdated, err) < 0)
		return -1;
	if (outdated.is_outdated) {
		int ended = sandbox_end_idle(dir_fd, fd, err);

		if (ended != 0)
			return ended;
		note_shown(entry, &outdated, result);
	}
	int renewed = renew_secrets(entry, dir_fd, fd, err);

	if (renewed != 0)
		return renewed;
	entry->how.enter_fd = fd;
	return run_inside(entry, dir_fd, result, err);
}

/*
 * Secrets of the command's own flags are held to the profile that the sandbox was made with; those of the sandbox were when it was
 * planned, and execute_spec() asks about the workspace.
 */
static int check_own_secrets(const struct entry *entry, struct error *err)
{
	const struct settings *flags = &entry->request->flags;
	owned(sandbox_place_close) struct sandbox_place place = { 0 };
	owned(request_done) struct request made_with;
	owned(spec_done) struct spec spec;

	spec_init(&spec);
	request_init(&made_with);
	if (flags->secret.count + flags->secret_env.count == 0)
		return 0;
	if (sandbox_place_open(&place, entry->name, SANDBOX_UNLOCKED, err) < 0 ||
	    app_sandbox_request(&place.sandbox, &made_with, err) < 0)
		return -1;
	plan_secrets(flags, entry->host, &spec);
	return execute_check_secrets(&made_with, &spec, err);
}

int sandbox_judge(const char *name, const struct request *request, uint64_t *ret_time_ms,
		  struct error *err)
{
	owned(sandbox_place_close) struct sandbox_place place = { 0 };
	owned(sandbox_state_done) struct sandbox_state state = { 0 };
	owned(vetting_done) struct vetting vetting = { .count = 0 };
	owned(run_result_done) struct run_result result;
	owned(host_done) struct host host = { 0 };
	struct entry entry = { .name = name, .request = request, .host = &host };
	owned(spec_done) struct spec spec;

	spec_init(&spec);
	run_result_init(&result);
	if (sandbox_policy(name, request, &entry.most, err) < 0 ||
	    host_read_caller(&host, err) < 0 ||
	    sandbox_place_open(&place, name, SANDBOX_UNLOCKED, err) < 0 ||
	    sandbox_state_read(place.sandbox.dir_fd, &state, err) < 0 ||
	    id_run(entry.run_id, err) < 0)
		return -1;
	describe(&entry, &state, &spec);
	if (sandbox_policy_lower(name, &entry.most, &state, &spec, err) < 0)
		return -1;
	*ret_time_ms = spec.limits.time_ms;
	strv_copy(&state.env, &request->flags.env);
	return spec.scan || spec.signed_only ? app_vet(&spec, &state.env, &result, &vetting, err)
					     : 0;
}

/* A supervisor that was just about to end took the call and did nothing with it: then the result is as if there had been none. */
static bool may_repeat(const struct sandbox_exec *exec, struct run_result *result,
		       struct error *err)
{
	if (exec->apart ||
	    (err->errnum != ESTALE && err->errnum != ECONNRESET && err->errnum != EPIPE))
		return false;
	run_result_done(result);
	run_result_init(result);
	result->status = RUN_DENIED;
	strv_copy(&result->command, &exec->request->command);
	*err = (struct error){ 0 };
	return true;
}

int sandbox_exec(const struct sandbox_exec *exec, struct run_result *ret_result, struct error *err)
{
	const char *name = exec->name;
	const struct request *request = exec->request;
	owned(host_done) struct host host = { 0 };
	owned(pool_leave) struct pool_slot slot = POOL_SLOT_NONE;
	struct entry entry = { .name = name,
			       .request = request,
			       .host = &host,
			       .how = { .options = exec->options,
					.owner = request->owner,
					.apart = exec->apart,
					.asked_ns = clock_now_ns() } };
	int status;

	ret_result->status = RUN_DENIED;
	strv_copy(&ret_result->command, &request->command);
	if (sandbox_check_name(name, err) < 0 || id_run(entry.run_id, err) < 0 ||
	    policy_hand_over(err) < 0 ||
	    (policy_start && sandbox_policy(name, request, &entry.most, err) < 0) ||
	    host_read_caller(&host, err) < 0 || check_own_secrets(&entry, err) < 0)
		return -1;
	if (exec->options->uses_daemon && pool_enter_now(host.runtime_dir, request->environ,
							 exec->options->insists, &slot, err) < 0)
		return -1;
	entry.how.asked_ns += slot.queued_ms * 1000000;
	ret_result->queued_ms = exec->queued_ms + slot.queued_ms;
	status = exec_quickly(&entry, ret_result, err);
	bool is_stale = status < 0 && err->errnum == ESTALE;

	if (status < 0 && may_repeat(exec, ret_result, err))
		status = 1;
	if (status != 1)
		return status;
	status = exec_slowly(&entry, ret_result, err);
	/* Another command that found the sandbox outdated may have ended it before this one was inside. */
	if (status < 0 && may_repeat(exec, ret_result, err))
		status = exec_slowly(&entry, ret_result, err);
	if (is_stale && status == 0)
		strv_add(&ret_result->notes,
			 "the sandbox was started anew: only so could it show the files of the "
			 "host as they are");
	return status;
}

int app_exec(const char *name, const struct request *request, const struct app_run_options *options,
	     struct run_result *ret_result, struct error *err)
{
	const struct sandbox_exec exec = { .name = name, .request = request, .options = options };

	return sandbox_exec(&exec, ret_result, err);
}
