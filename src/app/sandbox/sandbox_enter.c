/* SPDX-License-Identifier: Apache-2.0 */
/* The slow way into a named sandbox: plans, and forks the supervisor; a second caller waits for the first one's supervisor. */
#include "base/text/clean_path.h"
#include "base/core/clock.h"
#include "base/core/own.h"
#include "app/config/secret_values.h"
#include "app/prepare/certificates.h"
#include "app/prepare/alias_search.h"
#include "app/run/execute.h"
#include "app/vet/rego.h"
#include "app/sandbox/sandbox_state.h"
#include "app/sandbox/sandbox_parts.h"
#include "app/sandbox/sandbox_policy.h"
#include "app/sandbox/sandbox_patterns.h"
#include "app/sandbox/service_copy.h"
#include "supervise/sandbox/supervisor.h"
#include "plan/plan.h"
#include "workspace/store/moments.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define IDLE_MS (15u * 60 * 1000)
/* For a test of the end by idleness; a shorter life does no harm. */
#define IDLE_VARIABLE "AISBX_KEEPER_IDLE_MS"
/* A dead supervisor's sandbox is swept up within this time, or never. */
#define START_TRIES 15000u

/* What a supervisor's callbacks need of the plan; lives as long as the supervisor. */
struct plan_memory {
	struct spec spec;
	struct settings settings;
	struct plan_context around;
	struct request request;
	uint64_t since_ns; /* clock_stamp_ns() before the plan was made */
};

static void plan_memory_done(struct plan_memory *memory)
{
	spec_done(&memory->spec);
	settings_done(&memory->settings);
	plan_context_done(&memory->around);
	request_done(&memory->request);
}

static void environment(const struct strv *given, struct strv *ret_env, void *cookie)
{
	const struct plan_memory *memory = cookie;

	plan_command_environment(&memory->spec, &memory->settings, &memory->around.host,
				 (const char *const *)given->items, ret_env);
}

static const char *directory_of(const char *cwd, void *cookie)
{
	const struct plan_memory *memory = cookie;
	const struct spec *spec = &memory->spec;

	if (spec->workspace_made || !path_is_within(cwd, spec->workspace))
		return spec->workspace;
	return cwd;
}

bool sandbox_reach(int dir_fd, int *ret_fd)
{
	struct error ignored;

	return supervisor_connect(dir_fd, ret_fd, &ignored) == 0;
}

static int plan_start(struct sandbox *sandbox, const struct request *request,
		      const struct spec_limits *most, struct plan_memory *memory, struct error *err)
{
	if (sandbox_look_around(sandbox, &memory->request, &memory->around, err) < 0)
		return -1;
	certificates_read(request->environ, memory->around.host.home,
			  &memory->around.paths.certificates);
	memory->request.owner = sandbox->owner;
	memory->request.owner_bytes = request->owner_bytes;
	memory->request.owner_caches = request->owner_caches;
	/* A plan needs a command; init brings none. */
	strv_copy(&memory->request.command, &request->command);
	if (execute_plan(&memory->request, &memory->around, &memory->spec, &memory->settings, err) <
	    0)
		return -1;
	if (policy_lower)
		(void)policy_lower(&memory->spec.limits, most);
	memory->spec.resident = true;
	return sandbox_lay(sandbox, &memory->spec, err);
}

/* Their copies are the only mounts of something that the store keeps. */
static bool has_services(const struct spec *spec)
{
	return spec->bind_count > 0 && spec->binds[spec->bind_count - 1].stored;
}

static int write_card(const struct sandbox *sandbox, const struct plan_memory *memory,
		      uint64_t secrets_set_ms, struct error *err)
{
	const struct sandbox_state state = {
		.secrets_set_ms = secrets_set_ms,
		.limits = memory->spec.limits,
		.ids = memory->spec.ids,
		.root = memory->spec.root,
		.time_said = memory->settings.time_ms != SETTING_UNSET,
		.scan = state_scan_named(memory->spec.scan),
		.signed_only = memory->spec.signed_only,
		.aliases_cut = memory->spec.aliases_cut,
		.has_services = has_services(&memory->spec),
		.workspace = memory->spec.workspace,
		.secrets = memory->spec.secrets,
		.env = memory->settings.env,
	};

	return sandbox_state_write(sandbox->dir_fd, &state, err);
}

static uint64_t idle_ms(void)
{
	const char *text = getenv(IDLE_VARIABLE);
	uint64_t given = text ? strtoull(text, NULL, 10) : 0;

	return given && given < IDLE_MS ? given : IDLE_MS;
}

/* Placeholders stay what they were at an earlier start: a file inside may hold one. */
static int draw_placeholders(int dir_fd, struct strv *words, struct error *err)
{
	owned(sandbox_state_done) struct sandbox_state before = { 0 };
	struct error ignored;

	(void)sandbox_state_read(dir_fd, &before, &ignored);
	return secret_words_draw(words, &before.secrets, err);
}

/*
 * Values that the sandbox's gateway needs from its start on; files and variables come with each command. *RET_SET_MS is taken before
 * them: what is set meanwhile is noticed by the next command.
 */
static int read_injected(const struct spec *spec, struct secrets *ret_secrets, uint64_t *ret_set_ms,
			 struct error *err)
{
	const struct secret_use use = { .workspace = spec->workspace };
	owned(strv_done) struct strv words = STRV_INIT;

	if (secret_values_stamp(&spec->secrets, ret_set_ms, err) < 0)
		return -1;
	for (size_t i = 0; i < spec->secrets.count; i++) {
		if (spec->secrets.items[i][0] == '@')
			strv_add(&words, spec->secrets.items[i]);
	}
	return secret_values_read(&words, &use, ret_secrets, err);
}

/* The caller connects before there is a supervisor: then nothing it has to say can be missed. */
static int start_supervisor(struct sandbox *sandbox, int supervisor_lock_fd,
			    struct plan_memory *memory, int *ret_fd, struct error *err)
{
	owned(free_ptr) char *directory =
		xasprintf("%s/sbx/%s", sandbox->store->path, sandbox->name);
	struct supervisor_options options = {
		.spec = &memory->spec,
		.dir_fd = sandbox->dir_fd,
		.directory = directory,
		.lock_fds = { sandbox->lock_fd, supervisor_lock_fd },
		.expires_ms = sandbox->expires_ms,
		.idle_ms = idle_ms(),
		.environment = environment,
		.directory_of = directory_of,
		.cookie = memory,
		.note_fresh = moments_add_fresh,
		.note_left = moments_add_left,
	};
	owned(fd_close) int listen_fd = -1, fd = -1;
	owned(secrets_done) struct secrets injected = { 0 };
	owned(strv_done) struct strv hidden = STRV_INIT;
	uint64_t set_ms;

	/* Those of an earlier supervisor have ended with it. */
	if (has_services(&memory->spec))
		(void)unlinkat(sandbox->dir_fd, SERVICES_UP, 0);
	alias_list(&memory->around.host, &memory->spec, &hidden);
	memory->spec.aliases_cut |= hidden.count > SANDBOX_HIDDEN_MAX;
	if (draw_placeholders(sandbox->dir_fd, &memory->spec.secrets, err) < 0 ||
	    read_injected(&memory->spec, &injected, &set_ms, err) < 0)
		return -1;
	options.secrets = injected.count > 0 ? &injected : NULL;
	if (write_card(sandbox, memory, set_ms, err) < 0 ||
	    sandbox_patterns_note(sandbox->dir_fd, &memory->spec, &hidden, memory->since_ns, err) <
		    0 ||
	    supervisor_listen(sandbox->dir_fd, &listen_fd, err) < 0 ||
	    supervisor_connect(sandbox->dir_fd, &fd, err) < 0)
		return -1;
	options.listen_fd = listen_fd;
	if (supervisor_start(&options, err) < 0)
		return -1;
	*ret_fd = fd_take(&fd);
	return 0;
}

/* 1 when the lock is ours and there is no supervisor; 0 when a supervisor was reached; -1. */
static int claim(const struct sandbox *sandbox, int *ret_lock_fd, int *ret_fd, struct error *err)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	owned(fd_close) int fd =
		openat(sandbox->dir_fd, SUPERVISOR_LOCK,
		       O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

	if (fd < 0)
		return error_errno(err, ERROR_HOST, "the lock of the sandbox's supervisor");
	for (unsigned i = 0; i < START_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
			*ret_lock_fd = fd_take(&fd);
			return 1;
		}
		if (errno != EWOULDBLOCK && errno != EINTR)
			return error_errno(err, ERROR_HOST, "the lock of the sandbox's supervisor");
		if (sandbox_reach(sandbox->dir_fd, ret_fd))
			return 0;
		(void)nanosleep(&pause, NULL);
	}
	return error_set(err, ERROR_HOST, "the sandbox '%s' does not answer", sandbox->name);
}

int sandbox_enter_within(struct sandbox *sandbox, const struct request *request,
			 const struct spec_limits *most, int *ret_fd, struct error *err)
{
	owned(plan_memory_done) struct plan_memory memory = { 0 };
	owned(fd_close) int supervisor_lock_fd = -1;

	settings_init(&memory.settings);
	int claimed = claim(sandbox, &supervisor_lock_fd, ret_fd, err);

	if (claimed <= 0)
		return claimed;
	memory.since_ns = clock_stamp_ns();
	if (plan_start(sandbox, request, most, &memory, err) < 0)
		return -1;
	return start_supervisor(sandbox, supervisor_lock_fd, &memory, ret_fd, err);
}

int sandbox_enter(struct sandbox *sandbox, const struct request *request, int *ret_fd,
		  struct error *err)
{
	struct spec_limits most = { 0 };

	if (policy_start && sandbox_policy(sandbox->name, request, &most, err) < 0)
		return -1;
	return sandbox_enter_within(sandbox, request, &most, ret_fd, err);
}
