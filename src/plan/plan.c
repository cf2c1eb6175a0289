/* SPDX-License-Identifier: Apache-2.0 */
/* Request + profile + host facts -> complete spec: the order of the steps, and the parts too small for a file. */
#include "plan/plan.h"

#include "base/core/own.h"
#include "base/hash/path_hash.h"
#include "plan/image_policy.h"
#include "plan/parts.h"

#include <string.h>

/* About forty in use at most, and some the caller left open. */
#define OPEN_FILES_MIN 64u

static char *copy_or_null(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

static void plan_names(const struct planning *planning)
{
	const struct settings *settings = planning->settings;
	const struct host *host = planning->host;
	const char *sandbox = planning->paths->sandbox, *run_id = planning->paths->run_id;
	struct spec *spec = planning->spec;

	spec->run_id = xstrdup(run_id ? run_id : "preview");
	spec->sandbox = xstrdup(sandbox ? sandbox : "preview");
	spec->hostname = xstrdup(spec->sandbox);
	spec->trace_id = copy_or_null(planning->request->trace_id);
	/* An "auto" that is still open becomes the driver that takes every command. */
	spec->driver =
		xstrdup(settings->driver && strcmp(settings->driver, "auto") != 0 ? settings->driver
										  : "linux");
	if (settings->scan && strcmp(settings->scan, "off") != 0)
		spec->scan = xstrdup(settings->scan);
	spec->signed_only =
		settings->require_signature && strcmp(settings->require_signature, "true") == 0;
	spec->state_dir = xstrdup(host->state_dir);
	spec->store_dir = xstrdup(host->data_dir);
	spec->cache_dir = xstrdup(host->cache_dir);
	spec->config_dir = xstrdup(host->config_dir);
}

static int plan_command(const struct planning *planning, struct error *err)
{
	const struct strv *given = &planning->request->command;
	const struct plan_image *image = planning->paths->image;
	const struct strv *entrypoint = &planning->settings->entrypoint;

	if (entrypoint->count == 0 && image)
		entrypoint = &image->entrypoint;

	if (given->count == 0 && entrypoint->count == 0)
		return error_set(
			err, ERROR_USAGE,
			"no command: write one behind --, or give the profile an entrypoint%s",
			image ? "; the image has none, either" : "");
	if (given->count && !given->items[0][0])
		return error_set(err, ERROR_USAGE,
				 "the command is an empty word: name a program behind --");
	strv_copy(&planning->spec->command, given->count ? given : entrypoint);
	return 0;
}

/* Host uid 0 is in no map: without capabilities it still owns every file of the kernel's configuration. */
int plan_ids(const struct host *host, struct spec_ids *ret_ids, struct error *err)
{
	*ret_ids = (struct spec_ids){
		.uid = host->uid,
		.gid = host->gid,
		.host_uid = host->uid,
		.host_gid = host->gid,
		.count = 1,
	};
	if (host->privileged) {
		ret_ids->host_uid = ret_ids->host_gid = host->id_base;
		ret_ids->count = host->id_count;
		return 0;
	}
	if (host->uid == 0 && host->in_initial_userns)
		return error_advise(
			err, ERROR_DENIED,
			"run as a plain user (docker run --user 1000: --driver landlock "
			"needs none of them), or give the container those three",
			"root without CAP_SYS_ADMIN, CAP_SETUID and CAP_SETGID: there "
			"is no id to map it to");
	if (host->is_host_root)
		return error_set(
			err, ERROR_DENIED,
			"uid %u in this user namespace is the machine's root, which no sandbox is "
			"given: run outside of the namespace, or map another id into it",
			(unsigned)host->uid);
	ret_ids->nested = host->uid == 0;
	return 0;
}

/* A launch that runs out of descriptors half-way can only say at which of its steps. */
static int plan_open_files(const struct planning *planning, struct error *err)
{
	uint64_t open_files = planning->host->open_files;

	if (open_files == 0 || open_files >= OPEN_FILES_MIN)
		return 0;
	return error_set(
		err, ERROR_DENIED,
		"only %u files may be open at once here, a start needs %u: raise the limit "
		"first (ulimit -n %u)",
		(unsigned)open_files, OPEN_FILES_MIN, OPEN_FILES_MIN);
}

/* What stays to the machine when an owner's sandboxes have taken all they may. */
#define OWNER_SHARE(memory_bytes) ((memory_bytes) / 4 * 3)

/* One owner of two stores is two: the other store's sandboxes are not known here. */
static void plan_owner(const struct planning *planning, struct spec_groups *groups)
{
	const struct request *request = planning->request;
	owned(free_ptr) char *whose = xasprintf("%s %s", planning->host->data_dir, request->owner);
	char name[PATH_HASH_SIZE];

	path_hash('o', whose, name);
	groups->owner = xasprintf(SPEC_OWNER_PREFIX "%s", name + strlen("o-"));
	groups->owner_bytes = request->owner_bytes ? request->owner_bytes
						   : OWNER_SHARE(planning->host->memory_bytes);
}

/* A group of which the caller would have to move out first is of no use to a launch. */
static void plan_groups(const struct planning *planning)
{
	const struct host_cgroup *found = &planning->host->cgroup;
	struct spec_groups *groups = &planning->spec->groups;

	groups->unified = found->kind == CGROUP_V2 && !found->v2_is_own;
	groups->v2_path = groups->unified ? copy_or_null(found->v2_path) : NULL;
	groups->memory_path = copy_or_null(found->memory_path);
	groups->pids_path = copy_or_null(found->pids_path);
	groups->cpu_path = copy_or_null(found->cpu_path);
	groups->cpuacct_path = copy_or_null(found->cpuacct_path);
	if (planning->request->owner)
		plan_owner(planning, groups);
}

static int layer_bits(const struct strv *names, const char *flag, uint32_t *ret_bits,
		      struct error *err)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < names->count; i++) {
		enum layer layer = layer_find(names->items[i]);

		if (layer == LAYER_COUNT)
			return error_set(err, ERROR_USAGE, "%s: no layer is called '%.40s'", flag,
					 names->items[i]);
		bits |= (uint32_t)1 << layer;
	}
	*ret_bits = bits;
	return 0;
}

void plan_secrets(const struct settings *settings, const struct host *host, struct spec *spec)
{
	for (size_t i = 0; i < settings->secret.count; i++)
		strv_take(&spec->secrets, settings_file_pair(settings->secret.items[i], host->cwd));
	for (size_t i = 0; i < settings->secret_env.count; i++)
		strv_addf(&spec->secrets, "$%s", settings->secret_env.items[i]);
}

static int plan_policy(const struct planning *planning, struct error *err)
{
	const struct settings *settings = planning->settings;
	struct spec *spec = planning->spec;

	if (plan_network(planning, err) < 0)
		return -1;
	if (plan_gpu(planning, err) < 0)
		return -1;
	spec->splice = settings->splice && strcmp(settings->splice, "on") == 0;
	if (settings->seccomp)
		spec->seccomp = settings->seccomp[0] == '/'
					? xstrdup(settings->seccomp)
					: plan_join(planning->host->cwd, settings->seccomp);
	strv_copy(&spec->syscalls, &settings->syscalls);
	plan_secrets(settings, planning->host, spec);
	if (layer_bits(&settings->require, "--require", &spec->require, err) < 0)
		return -1;
	return layer_bits(&settings->allow_degraded, "--allow-degraded", &spec->allow_degraded,
			  err);
}

static int plan_all(const struct planning *planning, struct error *err)
{
	if (plan_refuse_absent(planning, err) < 0 || plan_open_files(planning, err) < 0)
		return -1;
	plan_names(planning);
	plan_groups(planning);
	if (plan_command(planning, err) < 0 || plan_binds(planning, err) < 0 ||
	    plan_workspace(planning, err) < 0 ||
	    plan_ids(planning->host, &planning->spec->ids, err) < 0 ||
	    plan_policy(planning, err) < 0 || plan_masks(planning, err) < 0 ||
	    plan_certificates(planning, err) < 0)
		return -1;
	plan_trees(planning);
	plan_cache(planning);
	plan_limits(planning);
	plan_environment(planning);
	return spec_check(planning->spec, err);
}

int plan_make(const struct request *request, const struct settings *profile,
	      const struct host *host, const struct plan_paths *paths, struct spec *ret_spec,
	      struct error *err)
{
	owned(settings_done) struct settings settings;
	struct request narrowed = *request; /* borrows everything */
	struct spec spec;
	int status = 0;
	struct planning planning = {
		.request = request,
		.settings = &settings,
		.host = host,
		.paths = paths,
		.spec = &spec,
	};

	settings_copy(&settings, profile);
	settings_merge(&settings, &request->flags);
	spec_init(&spec);
	/* Flags are not to be looked at for themselves then: they are no more than the image permits. */
	if (paths->image && paths->image->policy.count > 0) {
		settings_init(&narrowed.flags);
		planning.request = &narrowed;
		status = image_policy_apply(&paths->image->policy, &settings, err);
	}
	if (status < 0 || plan_all(&planning, err) < 0) {
		spec_done(&spec);
		return -1;
	}
	*ret_spec = spec;
	return 0;
}
