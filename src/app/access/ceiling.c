/* SPDX-License-Identifier: Apache-2.0 */
/* What a server holds its clients to: profiles, as they were when it was started. */
#include "app/access/ceiling.h"

#include "base/core/own.h"
#include "base/file/real_path.h"
#include "app/sandbox/owner.h"
#include "app/config/profile_load.h"
#include "app/prepare/plan_context.h"
#include "app/change/workspace_parts.h"

#include <string.h>

void ceiling_profiles_done(struct ceiling_profiles *profiles)
{
	strv_done(&profiles->words);
	strv_done(&profiles->digests);
}

/* Whether PATH lies in DIR; both are resolved. */
static bool lies_in(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return strncmp(path, dir, len) == 0 && (path[len] == '/' || (len == 1 && *dir == '/'));
}

static int check_places(const char *word, const struct profile_pin *pin, const char *workspace,
			struct error *err)
{
	for (size_t i = 0; workspace && i < pin->paths.count; i++) {
		if (lies_in(pin->paths.items[i], workspace))
			return error_advise(err, ERROR_DENIED,
					    "keep it elsewhere, as in ~/.config/aisbx/profiles",
					    "--profile %s: %s lies in the workspace, where what is "
					    "promoted could change it",
					    word, pin->paths.items[i]);
	}
	return 0;
}

/* The resolved workspace, owned by the caller; NULL when there is none. */
static char *workspace_here(const char *const *env, struct error *err)
{
	owned(plan_context_done) struct plan_context around = { 0 };
	owned(request_done) struct request request;

	request_init(&request);
	request.environ = env;
	if (plan_context_read(&request, &around, err) < 0)
		return NULL;
	return path_real(around.paths.workspace ? around.paths.workspace : around.host.cwd);
}

int app_ceiling_read(struct ceiling_profiles *profiles, const char *const *env, struct error *err)
{
	owned(free_ptr) char *workspace = workspace_here(env, err);

	if (!workspace)
		return error_context(err, "the workspace");
	profiles->has_gates = true;
	for (size_t i = 0; i < profiles->words.count; i++) {
		owned(profile_pin_done) struct profile_pin pin;

		if (app_pin_profile(profiles->words.items[i], env, &pin, err) < 0 ||
		    check_places(profiles->words.items[i], &pin, workspace, err) < 0)
			return -1;
		profiles->has_gates = profiles->has_gates && pin.settings.gates.count > 0;
		strv_add(&profiles->digests, pin.digest);
	}
	return 0;
}

int app_ceiling_check(const struct ceiling_profiles *profiles, const char *const *env,
		      struct error *err)
{
	for (size_t i = 0; i < profiles->words.count; i++) {
		owned(profile_pin_done) struct profile_pin pin;
		struct error ignored;

		if (app_pin_profile(profiles->words.items[i], env, &pin, &ignored) < 0 ||
		    strcmp(pin.digest, profiles->digests.items[i]) != 0)
			return error_advise(err, ERROR_DENIED, "have it started again",
					    "the profile %s changed since this server was started",
					    profiles->words.items[i]);
	}
	return 0;
}

/* What SETTINGS has beyond the profile WORD, in *ret_beyond (owned by the caller); NULL there when nothing. */
static int find_beyond(const char *word, const struct settings *settings, const char *const *env,
		       char **ret_beyond, struct error *err)
{
	owned(strv_done) struct strv left_out = STRV_INIT;
	owned(profile_pin_done) struct profile_pin pin;

	if (app_pin_profile(word, env, &pin, err) < 0)
		return -1;
	/* Where a profile has a list, none is more than that. */
	if (pin.settings.syscalls.count > 0 && settings->syscalls.count == 0)
		strv_add(&left_out, "syscalls");
	settings_narrow(&pin.settings, settings, &left_out);
	*ret_beyond = left_out.count > 0 ? xstrdup(left_out.items[0]) : NULL;
	return 0;
}

/* What the sandbox was made with comes to SETTINGS; *ret_is_same when that is one of the ceiling's own profiles, narrowed. */
static int read_settings(const struct sandbox *sandbox, const struct ceiling_profiles *profiles,
			 const char *const *env, struct profile_pin *made, bool *ret_is_same,
			 struct error *err)
{
	owned(request_done) struct request request;

	request_init(&request);
	if (app_sandbox_request(sandbox, &request, err) < 0 ||
	    app_pin_request(&request, env, made, err) < 0)
		return -1;
	*ret_is_same = request.only_narrows && strv_has(&profiles->digests, made->digest);
	settings_merge(&made->settings, &request.flags);
	strv_done(&made->settings.env);
	return 0;
}

/* Opened once for both questions: they are of the same sandbox. */
static int open_owned(const char *word, const char *owner, struct opened *opened, struct error *err)
{
	owned(free_ptr) char *name = NULL, *snapshot = NULL;

	workspace_split_name(word, &name, &snapshot);
	if (opened_open(opened, name, SANDBOX_UNLOCKED, err) < 0)
		return opened->has_store ? owner_refuse(name, err) : -1;
	return owner_has(&opened->sandbox, owner) ? 0 : owner_refuse(name, err);
}

int app_ceiling_covers(const struct ceiling_profiles *profiles, const char *sandbox,
		       const char *owner, const char *const *env, struct error *err)
{
	owned(opened_close) struct opened opened;
	struct profile_pin made = { .digest = "" };
	owned(free_ptr) char *beyond = NULL;
	bool is_same = false;
	int status;

	opened_init(&opened);
	if (open_owned(sandbox, owner, &opened, err) < 0)
		return -1;
	settings_init(&made.settings);
	status = read_settings(&opened.sandbox, profiles, env, &made, &is_same, err);
	for (size_t i = 0; status == 0 && !is_same && i < profiles->words.count; i++) {
		free_ptr(&beyond);
		status = find_beyond(profiles->words.items[i], &made.settings, env, &beyond, err);
		if (!beyond)
			break;
	}
	profile_pin_done(&made);
	if (status == 0 && beyond)
		return error_advise(
			err, ERROR_DENIED,
			"have the server started with the profile it was made with",
			"the sandbox %s may do more than this server's profile allows (%s)",
			sandbox, beyond);
	return status;
}
