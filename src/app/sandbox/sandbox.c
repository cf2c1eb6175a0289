/* SPDX-License-Identifier: Apache-2.0 */
/* Named sandboxes: made, planned, and kept after a run. */
#include "app/sandbox/sandbox.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "app/config/secret_values.h"
#include "driver/driver.h"
#include "app/run/execute.h"
#include "app/run/warm_cache.h"
#include "app/sandbox/owner.h"
#include "app/config/profile_load.h"
#include "app/record/record.h"
#include "app/config/rule_list.h"
#include "app/sandbox/sandbox_parts.h"
#include "app/sandbox/service_copy.h"
#include "confine/root/root.h"
#include "app/config/settings_file.h"
#include "app/prepare/mask_lists.h"
#include "app/vet/rego.h"
#include "host/host.h"
#include "workspace/disk/fields.h"
#include "workspace/store/cache.h"
#include "workspace/store/moments.h"
#include "workspace/promote/promote.h"
#include "workspace/promote/promotions.h"

#include <string.h>
#include <unistd.h>

int app_store(struct store *ret_store, struct error *err)
{
	owned(host_done) struct host host;
	struct error ignored;

	memset(&host, 0, sizeof(host));
	if (host_read_caller(&host, err) < 0 || plan_context_check_store(&host, err) < 0 ||
	    store_open(host.data_dir, ret_store, err) < 0)
		return -1;
	sandbox_sweep(ret_store, NULL);
	cache_collect_tops(ret_store);
	/* One that cannot be finished here is in the way of promotions to its target, and of nothing else. */
	(void)promotion_recover(ret_store, NULL, &ignored);
	return 0;
}

int sandbox_place_open(struct sandbox_place *place, const char *name, enum sandbox_lock lock,
		       struct error *err)
{
	if (app_store(&place->store, err) < 0)
		return -1;
	place->has_store = true;
	if (sandbox_open(&place->store, name, lock, &place->sandbox, err) < 0)
		return -1;
	place->has_sandbox = true;
	return 0;
}

void sandbox_place_close(struct sandbox_place *place)
{
	if (place->has_sandbox)
		sandbox_close(&place->sandbox);
	if (place->has_store)
		store_close(&place->store);
	place->has_store = place->has_sandbox = false;
}

const char *sandbox_root_name(enum root_mode root)
{
	switch (root) {
	case ROOT_IDMAPPED:
		return "idmapped";
	case ROOT_FOREST:
		return "forest";
	case ROOT_PROJECT_IDMAPPED:
		return "project-idmapped";
	case ROOT_PROJECT:
		break;
	}
	return "project";
}

/* "" for one that was made with a built-in profile. */
static int read_kept_profile(const struct sandbox *sandbox, char **ret_kept, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;

	if (fields_read_bytes(sandbox->dir_fd, SANDBOX_PROFILE, FIELDS_BYTES_MAX, &text, err) < 0 &&
	    err->code != ERROR_NOT_FOUND)
		return error_context(err, "the profile of '%s'", sandbox->name);
	*ret_kept = xstrdup(str_cstr(&text));
	return 0;
}

int app_sandbox_request(const struct sandbox *sandbox, struct request *ret_request,
			struct error *err)
{
	struct request request;

	request_init(&request);
	if (sandbox_words_read(&sandbox->settings, &request, err) < 0 ||
	    read_kept_profile(sandbox, &request.kept_profile, err) < 0) {
		request_done(&request);
		return -1;
	}
	if (rule_list_read(sandbox->dir_fd, NULL, &request.allow, &request.deny, err) < 0) {
		request_done(&request);
		return -1;
	}
	if (!sandbox_makes_workspace(sandbox))
		request.workspace = xstrdup(sandbox->workspace);
	*ret_request = request;
	return 0;
}

int sandbox_look_around(const struct sandbox *sandbox, struct request *ret_request,
			struct plan_context *ret_around, struct error *err)
{
	if (app_sandbox_request(sandbox, ret_request, err) < 0 ||
	    plan_context_read(ret_request, ret_around, err) < 0)
		return -1;
	/* The caller's present directory does not matter. */
	if (sandbox_makes_workspace(sandbox))
		free_ptr(&ret_around->paths.workspace);
	return 0;
}

/* What the request asks for must be possible now; what it becomes is planned at each start. */
static int plan_once(const struct request *request, struct plan_context *around,
		     struct spec *ret_spec, struct error *err)
{
	struct request trial = *request;
	owned(settings_done) struct settings settings;
	struct strv command = STRV_INIT;
	struct secrets secrets = { 0 };
	int status;

	settings_init(&settings);
	/* A sandbox has no command, but a plan needs one. */
	strv_add(&command, "true");
	if (trial.command.count == 0)
		trial.command = command;
	status = plan_context_read(request, around, err) < 0
			 ? -1
			 : execute_plan(&trial, around, ret_spec, &settings, err);
	if (status == 0)
		status = secret_values_read(&ret_spec->secrets, NULL, &secrets, err);
	secrets_done(&secrets);
	strv_done(&command);
	return status;
}

/* What a program forgets to remove goes by itself. */
static uint64_t expiry(const struct request *request, uint64_t ttl_ms)
{
	uint64_t lives_ms = ttl_ms ? ttl_ms : request->owner ? OWNED_TTL_MS : 0;

	return lives_ms ? clock_epoch_ms() + lives_ms : 0;
}

/* Which copies of services it has. */
static void write_copies(const struct request *request, const struct strv *copies,
			 struct strv *words)
{
	for (size_t i = 0; i < copies->count; i++) {
		strv_add(words, SERVICE_COPY_WORD);
		strv_add(words, copies->items[i]);
	}
	if (copies->count > 0 && request->services_with_network) {
		strv_add(words, SERVICE_NETWORK_WORD);
		strv_add(words, "yes");
	}
}

/* What a start reads again. WORDS must be empty. */
static int write_words(const struct request *request, const struct plan_context *around,
		       const struct spec *spec, struct strv *words, struct error *err)
{
	owned(request_done) struct request kept;

	request_init(&kept);
	if (request->settings_file &&
	    settings_file_keep(request, around->paths.workspace, &kept, words, err) < 0)
		return -1;
	sandbox_words_write(request->settings_file ? &kept : request, around->host.cwd,
			    spec->workspace_made, words);
	return 0;
}

static int make(struct sandbox_place *place, const struct request *request,
		const struct app_create *create, const struct plan_context *around,
		const struct spec *spec, struct error *err)
{
	owned(strv_done) struct strv words = STRV_INIT;
	owned(service_set_done) struct service_set set = { .lock_fds = NULL };
	struct sandbox_make wish = {
		.name = create->name,
		.workspace = spec->workspace,
		.root = sandbox_root_name(spec->root),
		.owner = request->owner,
		.settings = &words,
		.profile = request->kept_profile,
		.expires_ms = expiry(request, create->ttl_ms),
		.head = "",
	};

	if (write_words(request, around, spec, &words, err) < 0 ||
	    (request->services.count > 0 && service_set_make(request, spec, &set, err) < 0))
		return -1;
	write_copies(request, &set.ids, &words);
	if (app_store(&place->store, err) < 0)
		return -1;
	place->has_store = true;
	if (owner_has_room(&place->store, request->owner, request->owner_max, err) < 0)
		return -1;
	if (sandbox_make(&place->store, &wish, &place->sandbox, err) < 0)
		return -1;
	place->has_sandbox = true;
	return 0;
}

/* What a sandbox is entered by has to be there for it, and what it mounts is refused now rather than by each command. */
static int check_stays(const struct spec *spec, struct error *err)
{
	const struct driver *driver = driver_find(spec->driver);

	if (driver && driver->enter)
		return root_check_binds(spec, err);
	if (driver && driver->copies)
		return 0;
	error_set(err, ERROR_DENIED, "the %s driver keeps no sandbox between commands",
		  spec->driver);
	return error_add_hint(err, "use `aisbx run --driver %s`, or create it with --driver linux",
			      spec->driver);
}

/* A sandbox whose services do not come up is of no use. */
static int start_services(const char *name, struct error *err)
{
	owned(sandbox_place_close) struct sandbox_place place = { 0 };
	struct error ignored;
	bool frozen;

	if (app_services_up(name, err) == 0)
		return 0;
	if (sandbox_place_open(&place, name, SANDBOX_UNLOCKED, &ignored) == 0 &&
	    app_quiesce(&place.sandbox, QUIET_KILL, &frozen, &ignored) == 0 &&
	    sandbox_remove(&place.sandbox, &ignored) == 0)
		service_copies_sweep(&place.store);
	return -1;
}

int app_create(const struct request *given, const struct app_create *create, struct error *err)
{
	struct request with_profile = *given; /* borrows everything else */
	const struct request *request = &with_profile;
	owned(free_ptr) char *profile = NULL;
	owned(sandbox_place_close) struct sandbox_place place = { 0 };
	owned(plan_context_done) struct plan_context around = { 0 };
	owned(spec_done) struct spec spec;

	spec_init(&spec);
	if (sandbox_check_name(create->name, err) < 0 || policy_hand_over(err) < 0 ||
	    app_keep_profile(given, &profile, err) < 0)
		return -1;
	/* What is planned is what is kept. */
	with_profile.kept_profile = profile;
	/* Services are cloned, and no part of a plan. */
	with_profile.services = given->flags.with_services;
	with_profile.flags.with_services = (struct strv)STRV_INIT;
	if (plan_once(request, &around, &spec, err) < 0 || check_stays(&spec, err) < 0 ||
	    (policy_start && policy_start(request, "create", &spec, NULL, err) < 0) ||
	    make(&place, request, create, &around, &spec, err) < 0)
		return -1;
	record_named("create", create->name, place.sandbox.id);
	sandbox_place_close(&place);
	return request->services.count > 0 ? start_services(create->name, err) : 0;
}

/* The chain of layers it stands on, by their paths. */
static int lay_layers(const struct sandbox *sandbox, struct spec *spec, struct error *err)
{
	struct layer_chain chain;

	if (layer_chain_read(sandbox->store, sandbox->head, &chain, err) < 0)
		return -1;
	for (size_t i = 0; i < chain.count; i++)
		strv_addf(&spec->layers, "%s/layers/%s", sandbox->store->path, chain.items[i].id);
	layer_chain_done(&chain);
	return 0;
}

/* What the top gets from now on may be lost with this boot. One that is torn already stays so. */
static int note_boot(struct sandbox *sandbox, struct error *err)
{
	char boot_id[37];

	if (store_boot_id(boot_id, err) < 0)
		return -1;
	if (strcmp(sandbox->upper_boot_id, boot_id) == 0 || sandbox_is_torn(sandbox, boot_id))
		return 0;
	memcpy(sandbox->upper_boot_id, boot_id, sizeof(boot_id));
	return sandbox_save(sandbox, err);
}

int sandbox_lay(struct sandbox *sandbox, struct spec *spec, struct error *err)
{
	owned(fd_close) int upper_fd = -1;
	bool is_new = !sandbox->head[0] && !sandbox->upper_boot_id[0];

	/* Changes in a copied workspace lie in a unit of their own, which an overlay would not show. */
	if (spec->resident && driver_find(spec->driver)->copies)
		return error_advise(err, ERROR_DENIED, "make one with --driver linux",
				    "exec is not for sandboxes of the %s driver", spec->driver);
	if (sandbox->root && strcmp(sandbox->root, sandbox_root_name(spec->root)) != 0)
		return error_set(err, ERROR_DENIED,
				 "the sandbox '%s' was made as %s root, which cannot be had here",
				 sandbox->name, sandbox->root);
	if (sandbox_open_upper(sandbox, &upper_fd, err) < 0 || lay_layers(sandbox, spec, err) < 0 ||
	    note_boot(sandbox, err) < 0)
		return -1;
	spec->upper_dir = xasprintf("%s/sbx/%s/upper", sandbox->store->path, sandbox->name);
	/* Those are decided by the sandbox's own layers. */
	mask_home_lists_add(spec);
	if (service_copies_lay(sandbox, spec, err) < 0 ||
	    warm_cache_lay(sandbox, is_new, spec, err) < 0)
		return -1;
	free(spec->sandbox);
	free(spec->hostname);
	spec->sandbox = xstrdup(sandbox->name);
	spec->hostname = xstrdup(sandbox->name);
	if (spec_check(spec, err) < 0)
		return -1;
	moments_add_mount(sandbox);
	return 0;
}

/* Services and other ids need a supervisor, whose sandbox the command then enters. */
static int run_entered(const struct request *request, const struct app_create *create,
		       const struct app_run_options *options, struct run_result *ret_result,
		       struct error *err)
{
	bool ended;
	struct error ignored;

	ret_result->status = RUN_DENIED;
	if (app_create(request, create, err) < 0)
		return -1;
	int status = app_exec(create->name, request, options, ret_result, err);

	/* As after any other run that is kept, nothing runs in it. */
	(void)app_stop(create->name, &ended, &ignored);
	return status;
}

/*
 * Runs it in SANDBOX, which is new. The run's network rules may be changed meanwhile, and should this process be killed, no
 * other knows of that: until its end, what it leaves is taken for no cache.
 */
static int execute_kept(const struct sandbox *sandbox, struct spec *spec, struct execute *how,
			struct run_result *result, struct error *err)
{
	bool is_cache = spec->cache && !warm_cache_is_tainted(sandbox->dir_fd);

	if (is_cache && warm_cache_taint(sandbox->dir_fd, err) < 0)
		return -1;
	int status = execute_spec(spec, how, result, err);

	if (is_cache && status == 0 && !result->network.is_changed)
		warm_cache_untaint(sandbox->dir_fd);
	return status;
}

int app_run_kept(const struct request *given, const char *name, uint64_t ttl_ms,
		 const struct app_run_options *options, struct run_result *ret_result,
		 struct error *err)
{
	struct request with_profile = *given; /* borrows everything else */
	const struct request *request = &with_profile;
	owned(free_ptr) char *profile = NULL;
	owned(sandbox_place_close) struct sandbox_place place = { 0 };
	owned(plan_context_done) struct plan_context around = { 0 };
	const struct app_create create = { .name = name, .ttl_ms = ttl_ms };
	struct execute how = { .options = options, .owner = request->owner, .upper_fd = -1 };
	owned(pool_leave) struct pool_slot slot = POOL_SLOT_NONE;
	owned(settings_done) struct settings settings;
	owned(spec_done) struct spec spec;
	struct error ignored;
	int status;

	settings_init(&settings);
	spec_init(&spec);
	if (given->flags.with_services.count > 0 || given->user)
		return run_entered(given, &create, options, ret_result, err);
	ret_result->status = RUN_DENIED;
	strv_copy(&ret_result->command, &request->command);
	if (sandbox_check_name(name, err) < 0 || policy_hand_over(err) < 0 ||
	    app_keep_profile(given, &profile, err) < 0 ||
	    execute_enter(request, options, &slot, ret_result, err) < 0)
		return -1;
	with_profile.kept_profile = profile;
	how.asked_ns = clock_now_ns();
	if (plan_context_read(request, &around, err) < 0 ||
	    execute_plan(request, &around, &spec, &settings, err) < 0 ||
	    (policy_start && policy_start(request, "run", &spec, NULL, err) < 0) ||
	    make(&place, request, &create, &around, &spec, err) < 0)
		return -1;
	if (sandbox_relock(&place.sandbox, SANDBOX_SHARED, err) < 0 ||
	    sandbox_lay(&place.sandbox, &spec, err) < 0 ||
	    sandbox_open_upper(&place.sandbox, &how.upper_fd, err) < 0)
		return -1;
	status = execute_kept(&place.sandbox, &spec, &how, ret_result, err);
	moments_add_left(place.sandbox.dir_fd, clock_now_ns());
	fd_close(&how.upper_fd);
	if (status == 0)
		sandbox_capture(&place.sandbox);
	if (status < 0)
		(void)sandbox_remove(&place.sandbox, &ignored);
	return status;
}
