/* SPDX-License-Identifier: Apache-2.0 */
/* The plan as plain data: its life, adding to its lists, and the names of layers. */
#include "spec/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const layer_names[LAYER_COUNT] = {
	[LAYER_USER] = "user",	     [LAYER_MOUNT] = "mount",	  [LAYER_PID] = "pid",
	[LAYER_NET] = "net",	     [LAYER_IPC] = "ipc",	  [LAYER_UTS] = "uts",
	[LAYER_CGROUP] = "cgroup",   [LAYER_SECCOMP] = "seccomp", [LAYER_LANDLOCK] = "landlock",
	[LAYER_OVERLAY] = "overlay", [LAYER_MASKS] = "masks",	  [LAYER_LIMITS] = "limits",
	[LAYER_DISK] = "disk",
};

const char *layer_name(enum layer layer)
{
	return layer < LAYER_COUNT ? layer_names[layer] : "unknown";
}

enum layer layer_find(const char *name)
{
	enum layer layer = LAYER_USER;

	while (layer < LAYER_COUNT && strcmp(layer_names[layer], name) != 0)
		layer++;
	return layer;
}

bool layer_is_mandatory(enum layer layer)
{
	const uint32_t mandatory = 1U << LAYER_USER | 1U << LAYER_MOUNT | 1U << LAYER_PID |
				   1U << LAYER_NET | 1U << LAYER_IPC | 1U << LAYER_UTS |
				   1U << LAYER_SECCOMP | 1U << LAYER_OVERLAY | 1U << LAYER_MASKS;

	return mandatory >> layer & 1;
}

bool layer_is_waivable(enum layer layer)
{
	return layer == LAYER_IPC || layer == LAYER_UTS;
}

bool root_is_idmapped(enum root_mode root)
{
	return root == ROOT_IDMAPPED || root == ROOT_PROJECT_IDMAPPED;
}

bool root_is_project(enum root_mode root)
{
	return root == ROOT_PROJECT || root == ROOT_PROJECT_IDMAPPED;
}

void spec_init(struct spec *spec)
{
	memset(spec, 0, sizeof(*spec));
}

static void free_lists(struct spec *spec)
{
	for (size_t i = 0; i < spec->tree_count; i++) {
		free(spec->trees[i].path);
		free(spec->trees[i].why);
	}
	for (size_t i = 0; i < spec->mask_count; i++) {
		free(spec->masks[i].path);
		free(spec->masks[i].content);
	}
	for (size_t i = 0; i < spec->bind_count; i++) {
		free(spec->binds[i].source);
		free(spec->binds[i].target);
	}
	free(spec->trees);
	free(spec->masks);
	free(spec->binds);
}

void spec_done(struct spec *spec)
{
	char *words[] = { spec->run_id,
			  spec->sandbox,
			  spec->trace_id,
			  spec->driver,
			  spec->workspace,
			  spec->cwd,
			  spec->home,
			  spec->hostname,
			  spec->seccomp,
			  spec->scan,
			  spec->cache,
			  spec->upper_dir,
			  spec->copy_dir,
			  spec->state_dir,
			  spec->store_dir,
			  spec->cache_dir,
			  spec->config_dir,
			  spec->groups.v2_path,
			  spec->groups.memory_path,
			  spec->groups.pids_path,
			  spec->groups.cpu_path,
			  spec->groups.cpuacct_path,
			  spec->groups.owner };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		free(words[i]);
	strv_done(&spec->command);
	strv_done(&spec->env);
	strv_done(&spec->allow);
	strv_done(&spec->deny);
	strv_done(&spec->publish);
	strv_done(&spec->syscalls);
	strv_done(&spec->gpu);
	strv_done(&spec->run_dirs);
	strv_done(&spec->secret_header);
	strv_done(&spec->secrets);
	strv_done(&spec->notes);
	strv_done(&spec->layers);
	free(spec->image);
	strv_done(&spec->image_layers);
	strv_done(&spec->image_env);
	free_lists(spec);
	spec_init(spec);
}

struct spec_tree *spec_add_tree(struct spec *spec, enum spec_tree_kind kind, const char *path)
{
	struct spec_tree *tree;

	spec->trees = xrealloc(spec->trees, spec->tree_count + 1, sizeof(*spec->trees));
	tree = &spec->trees[spec->tree_count++];
	*tree = (struct spec_tree){ .kind = kind, .path = xstrdup(path) };
	return tree;
}

bool mask_is_of_directory(enum mask_kind kind)
{
	return kind == MASK_HIDE || kind == MASK_EMPTY || kind == MASK_GONE ||
	       mask_kind_shows(kind);
}

bool mask_kind_shows(enum mask_kind kind)
{
	return kind == MASK_KEEP || kind == MASK_LIST;
}

struct spec_mask *spec_add_mask(struct spec *spec, enum mask_kind kind, const char *path)
{
	struct spec_mask *mask;

	spec->masks = xrealloc(spec->masks, spec->mask_count + 1, sizeof(*spec->masks));
	mask = &spec->masks[spec->mask_count++];
	*mask = (struct spec_mask){ .kind = kind, .path = xstrdup(path) };
	return mask;
}

struct spec_mask *spec_insert_mask(struct spec *spec, enum mask_kind kind, const char *path)
{
	struct spec_mask mask = *spec_add_mask(spec, kind, path);
	size_t at = spec->mask_count - 1;

	for (; at > 0 && strcmp(spec->masks[at - 1].path, path) > 0; at--)
		spec->masks[at] = spec->masks[at - 1];
	spec->masks[at] = mask;
	return &spec->masks[at];
}

struct spec_bind *spec_add_bind(struct spec *spec, const char *source, const char *target)
{
	struct spec_bind *bind;

	spec->binds = xrealloc(spec->binds, spec->bind_count + 1, sizeof(*spec->binds));
	bind = &spec->binds[spec->bind_count++];
	*bind = (struct spec_bind){ .source = xstrdup(source), .target = xstrdup(target) };
	return bind;
}

bool spec_run_dir_read(const char *word, struct spec_run_dir *ret_dir)
{
	static const char *const taken[] = { "aisbx", "lock", "secrets" };
	struct spec_run_dir dir;
	char more;

	if (sscanf(word, "%u %u %o %64[A-Za-z0-9_.:@+-]%c", &dir.uid, &dir.gid, &dir.mode, dir.name,
		   &more) != 4 ||
	    (dir.mode & ~(mode_t)(S_ISGID | S_ISVTX | 0777)) != 0 || dir.name[0] == '.')
		return false;
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
		if (strcmp(dir.name, taken[i]) == 0)
			return false;
	}
	*ret_dir = dir;
	return true;
}

bool spec_may_change_ids(const struct spec *spec)
{
	return spec->ids.count > 1 && spec->syscalls.count == 0 && !spec->seccomp;
}
