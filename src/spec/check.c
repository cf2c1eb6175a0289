/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules across the fields of a spec: the last look before anything is started.
 *
 * plan makes specs, but they are also read back from text, so nothing is taken for granted here. Every violation
 * is reported, one per line, as far as the error's text has room; the rest is counted.
 */
#include "spec/spec.h"

#include "base/text/clean_path.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Room for "\n(and N more)" is kept free. */
#define TAIL_ROOM 40

struct findings {
	struct error *err;
	size_t used;
	unsigned count, unsent;
};

__attribute__((format(printf, 2, 3))) static void finding(struct findings *findings,
							  const char *format, ...)
{
	char line[256];
	size_t room = sizeof(findings->err->text) - TAIL_ROOM - findings->used;
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	findings->count++;
	if (len < 0 || (size_t)len + 2 > room) {
		findings->unsent++;
		return;
	}
	findings->used += (size_t)snprintf(findings->err->text + findings->used, room, "%s%s",
					   findings->used ? "\n" : "", line);
}

static bool check_path(struct findings *findings, const char *what, const char *path)
{
	char shown[STR_SHOWN_SIZE];

	if (path && path_is_clean(path))
		return true;
	if (path)
		finding(findings, "%s: '%s' is not a clean absolute path", what,
			str_shown(path, shown));
	else
		finding(findings, "%s: path is missing", what);
	return false;
}

static void check_word(struct findings *findings, const char *what, const char *word, size_t max)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
		"._-";
	char shown[STR_SHOWN_SIZE];

	if (!word || !word[0])
		finding(findings, "%s: missing", what);
	else if (word[strspn(word, letters)] || strlen(word) > max || word[0] == '.' ||
		 word[0] == '-')
		finding(findings, "%s: '%s' is not a name", what, str_shown(word, shown));
}

static void check_names(const struct spec *spec, struct findings *findings)
{
	check_word(findings, "run_id", spec->run_id, 63);
	check_word(findings, "sandbox", spec->sandbox, 63);
	check_word(findings, "driver", spec->driver, 63);
	check_word(findings, "hostname", spec->hostname, 64);
	check_path(findings, "workspace", spec->workspace);
	check_path(findings, "cwd", spec->cwd);
	check_path(findings, "home", spec->home);
	if (spec->seccomp)
		check_path(findings, "seccomp", spec->seccomp);
	if (spec->command.count == 0 || !spec->command.items[0][0])
		finding(findings, "command: missing");
	for (size_t i = 0; i < spec->env.count; i++) {
		if (strchrnul(spec->env.items[i], '=')[0] != '=' || spec->env.items[i][0] == '=')
			finding(findings, "env: entry %zu is not K=V", i + 1);
	}
}

/*
 * With a map that holds host id 0 a process inside could become the host's root. In a nested user namespace 0 is some
 * plain user of the machine, and the only id there is.
 */
static void check_map(struct findings *findings, const char *what, uint32_t inside, uint32_t first,
		      const struct spec_ids *ids)
{
	const uint32_t count = ids->count;

	if (first == 0 && !(ids->nested && count == 1))
		finding(findings, "%s: the map would reach host id 0", what);
	if (count == 0)
		finding(findings, "%s: the map is empty", what);
	else if (first > UINT32_MAX - count)
		finding(findings, "%s: the map runs past the last id", what);
	if (count > 1 && inside >= count)
		finding(findings, "%s: id %u is not in the map", what, inside);
}

static void check_least(struct findings *findings, const char *what, uint64_t value, uint64_t least)
{
	if (value != 0 && value < least)
		finding(findings, "limits.%s: too small", what);
}

static void check_limits(const struct spec *spec, struct findings *findings)
{
	const struct spec_limits *limits = &spec->limits;

	if (limits->pids == 0)
		finding(findings, "limits.pids: missing");
	check_least(findings, "cpu_milli", limits->cpu_milli, 10);
	check_least(findings, "mem_bytes", limits->mem_bytes, 1 << 20);
	check_least(findings, "nofile", limits->nofile, 8);
	if (limits->output_bytes == 0)
		finding(findings, "limits.output_bytes: missing");
}

static void check_layers(const struct spec *spec, struct findings *findings)
{
	const uint32_t known = (UINT32_C(1) << LAYER_COUNT) - 1;

	if ((spec->require | spec->allow_degraded) & ~known)
		finding(findings, "require, allow_degraded: unknown layer");
	for (enum layer layer = LAYER_USER; layer < LAYER_COUNT; layer++) {
		if (spec->require & spec->allow_degraded & UINT32_C(1) << layer)
			finding(findings, "layer '%s' is both required and allowed to be missing",
				layer_name(layer));
	}
}

/* Whether every path of the lists can be compared with others. */
static bool check_list_paths(const struct spec *spec, struct findings *findings)
{
	bool good = true;

	for (size_t i = 0; i < spec->tree_count; i++)
		good &= check_path(findings, "trees", spec->trees[i].path);
	for (size_t i = 0; i < spec->mask_count; i++)
		good &= check_path(findings, "masks", spec->masks[i].path);
	for (size_t i = 0; i < spec->bind_count; i++) {
		good &= check_path(findings, "binds", spec->binds[i].source);
		good &= check_path(findings, "binds", spec->binds[i].target);
	}
	return good;
}

static void check_trees(const struct spec *spec, struct findings *findings)
{
	char shown[STR_SHOWN_SIZE];

	/* An image is a tree of its own. */
	if (spec->tree_count == 0 && !spec->image)
		finding(findings, "trees: none, so there is nothing to run in");
	for (size_t i = 0; i < spec->tree_count; i++) {
		if (i > 0 && strcmp(spec->trees[i - 1].path, spec->trees[i].path) >= 0)
			finding(findings, "trees: '%s' is out of order",
				str_shown(spec->trees[i].path, shown));
	}
}

static void check_masks(const struct spec *spec, struct findings *findings)
{
	char shown[STR_SHOWN_SIZE];

	if (spec->mask_count == 0)
		finding(findings, "masks: none, so credentials would show");
	for (size_t i = 0; i < spec->mask_count; i++) {
		const struct spec_mask *mask = &spec->masks[i];

		if (i > 0 && strcmp(spec->masks[i - 1].path, mask->path) >= 0)
			finding(findings, "masks: '%s' is out of order",
				str_shown(mask->path, shown));
		if ((mask->kind == MASK_FILE) != (mask->content != NULL))
			finding(findings, "masks: '%s' has content without being a file, or none",
				str_shown(mask->path, shown));
	}
}

/* Filesystems that a sandbox always gets afresh. */
static const char *const fresh_dirs[] = { "/dev", "/proc", "/run", "/sys", "/tmp" };

static bool is_fresh(const char *path, bool but_tmp)
{
	for (size_t i = 0; i < sizeof(fresh_dirs) / sizeof(fresh_dirs[0]); i++) {
		if (path_is_within(path, fresh_dirs[i]))
			return !but_tmp || strcmp(fresh_dirs[i], "/tmp") != 0;
	}
	return false;
}

/* A copy of a service's state lies two levels below the store's "services"; what is written to it stays in the sandbox. */
static bool is_service_copy(const struct spec *spec, const struct spec_bind *bind)
{
	size_t len = spec->store_dir ? strlen(spec->store_dir) : 0;
	const char *below = bind->source + len;

	return len > 0 && !bind->through && bind->writable &&
	       path_is_within(bind->source, spec->store_dir) && str_starts(below, "/services/") &&
	       str_ends(below, "/data") &&
	       strchr(below + strlen("/services/"), '/') == strrchr(below, '/');
}

static void check_binds(const struct spec *spec, struct findings *findings)
{
	char shown[STR_SHOWN_SIZE];

	for (size_t i = 0; i < spec->bind_count; i++) {
		const struct spec_bind *bind = &spec->binds[i];

		if (strcmp(bind->target, "/") == 0 || is_fresh(bind->target, true))
			finding(findings, "binds: '%s' cannot be a target",
				str_shown(bind->target, shown));
		if (bind->through && !bind->writable)
			finding(findings, "binds: '%s' writes through but is read-only",
				str_shown(bind->target, shown));
		if (bind->stored && !is_service_copy(spec, bind))
			finding(findings, "binds: '%s' is no copy of a service",
				str_shown(bind->source, shown));
	}
}

/* What decides whether a path is seen: the longest entry above it. At equal length hiding wins. */
struct sight {
	const char *path;
	size_t best;
	bool shown;
};

static void look(struct sight *sight, const char *above, bool shown)
{
	size_t len = strlen(above);

	if (!path_is_within(sight->path, above) || len < sight->best)
		return;
	sight->shown = len == sight->best ? sight->shown && shown : shown;
	sight->best = len;
}

/* Whether PATH, as seen inside, shows the host's content. */
static bool is_shown(const struct spec *spec, const char *path, const struct spec_bind *bind)
{
	struct sight sight = { .path = path, .shown = false };

	for (size_t i = 0; i < spec->tree_count; i++)
		look(&sight, spec->trees[i].path, spec->trees[i].kind != TREE_HIDDEN);
	for (size_t i = 0; i < sizeof(fresh_dirs) / sizeof(fresh_dirs[0]); i++)
		look(&sight, fresh_dirs[i], false);
	/* Shown also where it lies in a directory that is made afresh; one that launch makes shows nothing. */
	if (spec->workspace && !spec->workspace_made)
		look(&sight, spec->workspace, true);
	if (bind)
		look(&sight, bind->target, true);
	for (size_t i = 0; i < spec->mask_count; i++)
		look(&sight, spec->masks[i].path, mask_kind_shows(spec->masks[i].kind));
	return sight.shown;
}

/* The store and its kin hold what other sandboxes wrote and what decides about trust. */
static void check_own_dir(const struct spec *spec, struct findings *findings, const char *what,
			  const char *dir)
{
	char shown[STR_SHOWN_SIZE];

	if (!check_path(findings, what, dir))
		return;
	if (is_shown(spec, dir, NULL))
		finding(findings, "%s: '%s' would be visible inside", what, str_shown(dir, shown));
	for (size_t i = 0; i < spec->bind_count; i++) {
		const struct spec_bind *bind = &spec->binds[i];
		char inside[8192];

		if (path_is_within(bind->source, dir) && !bind->stored)
			finding(findings, "binds: '%s' lies in our own %s",
				str_shown(bind->source, shown), what);
		if (!path_is_within(dir, bind->source))
			continue;
		(void)snprintf(inside, sizeof(inside), "%s%s", bind->target,
			       dir + (bind->source[1] ? strlen(bind->source) : 0));
		if (is_shown(spec, inside, bind))
			finding(findings, "binds: '%s' would show our own %s",
				str_shown(bind->source, shown), what);
	}
}

/* Layers are opened by their names in one directory; what is written above them has to stay, too. */
static void check_kept(const struct spec *spec, struct findings *findings)
{
	const char *first = spec->layers.count ? spec->layers.items[0] : NULL;
	size_t parent = 0;

	if (spec->layers.count > SPEC_LAYERS_MAX)
		finding(findings, "layers: more than %d", SPEC_LAYERS_MAX);
	if (spec->layers.count > 0 && !spec->upper_dir)
		finding(findings, "layers: without a writable top");
	if (spec->upper_dir)
		check_path(findings, "upper_dir", spec->upper_dir);
	if (spec->image_layers.count > SPEC_IMAGE_LAYERS_MAX ||
	    (spec->image_layers.count > 0 && (!spec->image || !root_is_project(spec->root))))
		finding(findings, "image_layers: too many, or without an image");
	for (size_t i = 0; i < spec->image_layers.count; i++)
		(void)check_path(findings, "image_layers", spec->image_layers.items[i]);
	for (size_t i = 0; i < spec->layers.count; i++) {
		const char *path = spec->layers.items[i];

		if (!check_path(findings, "layers", path))
			return;
		parent = i == 0 ? (size_t)(strrchr(path, '/') - path) : parent;
		if ((size_t)(strrchr(path, '/') - path) != parent ||
		    strncmp(path, first, parent) != 0)
			finding(findings, "layers: not all in one directory");
	}
}

static void check_groups(const struct spec *spec, struct findings *findings)
{
	const struct spec_groups *groups = &spec->groups;
	const char *const paths[] = { groups->v2_path, groups->memory_path, groups->pids_path,
				      groups->cpu_path, groups->cpuacct_path };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if (paths[i])
			check_path(findings, "groups", paths[i]);
	}
	if (groups->unified && !groups->v2_path)
		finding(findings, "groups: unified, but no path is given");
	if (groups->owner && (!*groups->owner || *groups->owner == '.' ||
			      strchr(groups->owner, '/') || !groups->owner_bytes))
		finding(findings, "groups: an owner without a name or a limit");
}

/* Nodes of one driver, and nothing that leads elsewhere. */
static void check_gpu(const struct spec *spec, struct findings *findings)
{
	for (size_t i = 0; i < spec->gpu.count; i++) {
		const char *name = spec->gpu.items[i];
		bool is_part = str_starts(name, SPEC_GPU_PARTS "/nvidia-cap");

		if (!str_starts(name, "nvidia") || strlen(name) > SPEC_GPU_NAME_MAX ||
		    strchr(is_part ? strchr(name, '/') + 1 : name, '/'))
			finding(findings, "gpu: no node of the NVIDIA driver is called that");
	}
}

static void check_run_dirs(const struct spec *spec, struct findings *findings)
{
	for (size_t i = 0; i < spec->run_dirs.count; i++) {
		struct spec_run_dir dir;

		if (!spec_run_dir_read(spec->run_dirs.items[i], &dir) || spec->ids.count == 1 ||
		    dir.uid >= spec->ids.count || dir.gid >= spec->ids.count)
			finding(findings, "run_dirs: not one of a service in this sandbox");
	}
}

static void check_sight(const struct spec *spec, struct findings *findings)
{
	check_trees(spec, findings);
	check_masks(spec, findings);
	check_binds(spec, findings);
	check_own_dir(spec, findings, "state_dir", spec->state_dir);
	check_own_dir(spec, findings, "store_dir", spec->store_dir);
	check_own_dir(spec, findings, "cache_dir", spec->cache_dir);
	check_own_dir(spec, findings, "config_dir", spec->config_dir);
}

int spec_check(const struct spec *spec, struct error *err)
{
	struct error text = { .code = ERROR_INTERNAL };
	struct findings findings = { .err = &text };

	check_names(spec, &findings);
	check_map(&findings, "ids.uid", spec->ids.uid, spec->ids.host_uid, &spec->ids);
	check_map(&findings, "ids.gid", spec->ids.gid, spec->ids.host_gid, &spec->ids);
	check_limits(spec, &findings);
	check_groups(spec, &findings);
	check_kept(spec, &findings);
	check_gpu(spec, &findings);
	check_run_dirs(spec, &findings);
	check_layers(spec, &findings);
	if (check_list_paths(spec, &findings))
		check_sight(spec, &findings);
	if (findings.count == 0)
		return 0;
	if (findings.unsent > 0)
		(void)snprintf(text.text + findings.used, sizeof(text.text) - findings.used,
			       "%s(and %u more)", findings.used ? "\n" : "", findings.unsent);
	*err = text;
	return -1;
}
