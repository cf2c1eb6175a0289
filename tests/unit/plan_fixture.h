/* SPDX-License-Identifier: Apache-2.0 */
/* A made-up machine and user to plan for. */
#ifndef TESTS_PLAN_FIXTURE_H
#define TESTS_PLAN_FIXTURE_H

#include "plan/plan.h"
#include "tests/tap.h"
#include "tests/unit/plan_fixture_tools.h"

struct fixture {
	struct host host;
	struct request request;
	struct settings profile;
	struct plan_paths paths;
	struct plan_tools tools; /* every one of the table is there */
	struct spec spec;
	struct error err;
};

static const char fixture_mounts[] = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
				     "2 1 0:21 / /proc rw - proc proc rw\n"
				     "3 1 0:5 / /dev rw - devtmpfs devtmpfs rw\n";

/* Puts other mounts on the machine; all look like directories that were looked at. */
static inline void fixture_mount(struct fixture *fixture, const char *mountinfo)
{
	struct host *host = &fixture->host;

	host_mounts_free(host->mounts, host->mount_count);
	host->mounts = NULL;
	host->mount_count = 0;
	if (host_parse_mountinfo(mountinfo, strlen(mountinfo), &host->mounts, &host->mount_count,
				 &fixture->err) < 0)
		tap_bail(fixture->err.text);
	for (size_t i = 0; i < host->mount_count; i++) {
		host->mounts[i].is_directory = true;
		host->mounts[i].dev = 7;
		host->mounts[i].ino = 100 + i;
	}
}

static inline void fixture_open(struct fixture *fixture)
{
	struct host *host = &fixture->host;

	memset(fixture, 0, sizeof(*fixture));
	host->uid = host->gid = 1000;
	host->user = xstrdup("u");
	host->home = xstrdup("/home/u");
	host->cwd = xstrdup("/home/u/work/src");
	host->memory_bytes = (uint64_t)16 << 30;
	host->cores = 4;
	host->root_idmappable = true;
	host->data_dir = xstrdup("/home/u/.local/share/aisbx");
	host->state_dir = xstrdup("/home/u/.local/state/aisbx");
	host->cache_dir = xstrdup("/home/u/.cache/aisbx");
	host->config_dir = xstrdup("/home/u/.config/aisbx");
	host->runtime_dir = xstrdup("/run/user/1000/aisbx");
	fixture_mount(fixture, fixture_mounts);
	request_init(&fixture->request);
	strv_add(&fixture->request.command, "true");
	settings_init(&fixture->profile);
	fixture->paths.workspace = xstrdup("/home/u/work");
	fixture_add_tools(&fixture->tools);
	fixture->paths.tools = &fixture->tools;
	spec_init(&fixture->spec);
}

static inline void fixture_close(struct fixture *fixture)
{
	spec_done(&fixture->spec);
	host_done(&fixture->host);
	request_done(&fixture->request);
	settings_done(&fixture->profile);
	free(fixture->paths.workspace);
	fixture_tools_done(&fixture->tools);
}

static inline void fixture_text(char **slot, const char *text)
{
	free(*slot);
	*slot = text ? xstrdup(text) : NULL;
}

/* One flag of the request. */
static inline void fixture_flag(struct fixture *fixture, const char *name, const char *value)
{
	const struct setting_row *row = setting_find(name);

	if (!row || settings_set(&fixture->request.flags, row, name, value, &fixture->err) < 0)
		tap_bail(row ? fixture->err.text : name);
}

/* Plans again; false with fixture->err when it is refused. */
static inline bool fixture_plan(struct fixture *fixture)
{
	spec_done(&fixture->spec);
	spec_init(&fixture->spec);
	memset(&fixture->err, 0, sizeof(fixture->err));
	return plan_make(&fixture->request, &fixture->profile, &fixture->host, &fixture->paths,
			 &fixture->spec, &fixture->err) == 0;
}

/* As fixture_plan, where refusal is a failure of the test. */
static inline void fixture_must_plan(struct fixture *fixture)
{
	if (!fixture_plan(fixture))
		tap_ok(false, "planned: %s", fixture->err.text);
}

static inline const struct spec_mask *fixture_mask(const struct fixture *fixture, const char *path)
{
	for (size_t i = 0; i < fixture->spec.mask_count; i++) {
		if (strcmp(fixture->spec.masks[i].path, path) == 0)
			return &fixture->spec.masks[i];
	}
	return NULL;
}

static inline bool fixture_has_mask(const struct fixture *fixture, enum mask_kind kind,
				    const char *path)
{
	const struct spec_mask *mask = fixture_mask(fixture, path);

	return mask && mask->kind == kind;
}

static inline const struct spec_tree *fixture_tree(const struct fixture *fixture, const char *path)
{
	for (size_t i = 0; i < fixture->spec.tree_count; i++) {
		if (strcmp(fixture->spec.trees[i].path, path) == 0)
			return &fixture->spec.trees[i];
	}
	return NULL;
}

/* Value of a variable inside, or NULL. */
static inline const char *fixture_env(const struct fixture *fixture, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < fixture->spec.env.count; i++) {
		const char *pair = fixture->spec.env.items[i];

		if (strncmp(pair, name, len) == 0 && pair[len] == '=')
			return pair + len + 1;
	}
	return NULL;
}

#endif
