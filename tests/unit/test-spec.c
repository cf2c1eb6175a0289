/* SPDX-License-Identifier: Apache-2.0 */
/* The plan: layers' names, and every rule across its fields. */
#include "base/core/own.h"
#include "tests/tap.h"
#include "tests/unit/sample_spec.h"

static void test_layers(void)
{
	bool same = true;

	for (int layer = 0; layer < LAYER_COUNT; layer++)
		same &= layer_find(layer_name((enum layer)layer)) == (enum layer)layer;
	tap_ok(same, "every layer is found by its name");
	tap_is_str(layer_name(LAYER_OVERLAY), "overlay", "names are those of the result");
	tap_is_int(layer_find("nonsense"), LAYER_COUNT, "others are not found");
	tap_is_str(layer_name(LAYER_COUNT), "unknown", "what is none has no name");
}

static void set_text(char **slot, const char *text)
{
	free(*slot);
	*slot = text ? xstrdup(text) : NULL;
}

/* Expects the spec to be refused with PART in the text, and frees it. */
static void is_refused(struct spec *spec, const char *part)
{
	struct error err = { 0 };
	int got = spec_check(spec, &err);

	tap_ok(got < 0 && strstr(err.text, part), "%s", part);
	if (got == 0 || !strstr(err.text, part))
		printf("# got: %s\n", err.text);
	spec_done(spec);
}

#define REFUSED(change, part)            \
	do {                             \
		struct spec spec;        \
		sample_spec(&spec);      \
		change;                  \
		is_refused(&spec, part); \
	} while (0)

static void test_good(void)
{
	struct error err = { 0 };
	struct spec spec;

	sample_spec(&spec);
	tap_ok(spec_check(&spec, &err) == 0, "the sample holds: %s", err.text);
	set_text(&spec.seccomp, NULL);
	set_text(&spec.trace_id, NULL);
	tap_ok(spec_check(&spec, &err) == 0, "also without what may be missing: %s", err.text);
	set_text(&spec.state_dir, "/tmp/state");
	set_text(&spec.store_dir, "/run/user/0/aisbx");
	tap_ok(spec_check(&spec, &err) == 0, "fresh directories hide: %s", err.text);
	spec.ids = (struct spec_ids){ .uid = 1000, .gid = 1000, .count = 1, .nested = true };
	strv_done(&spec.run_dirs);
	tap_ok(spec_check(&spec, &err) == 0, "in a nested user namespace 0 is not root: %s",
	       err.text);
	spec_done(&spec);
	spec_done(&spec);
	tap_ok(spec.command.count == 0, "a spec can be freed twice");
}

static void test_names(void)
{
	REFUSED(set_text(&spec.run_id, NULL), "run_id: missing");
	REFUSED(set_text(&spec.run_id, "a/b"), "run_id: 'a/b' is not a name");
	REFUSED(set_text(&spec.sandbox, "../x"), "sandbox: '../x' is not a name");
	REFUSED(set_text(&spec.sandbox, "-x"), "sandbox: '-x' is not a name");
	REFUSED(set_text(&spec.sandbox,
			 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
		"is not a name");
	REFUSED(set_text(&spec.driver, ""), "driver: missing");
	REFUSED(set_text(&spec.hostname, "a b"), "hostname: 'a b' is not a name");
	REFUSED(set_text(&spec.workspace, NULL), "workspace: path is missing");
	REFUSED(set_text(&spec.cwd, "src"), "cwd: 'src' is not a clean absolute path");
	REFUSED(set_text(&spec.home, "/home/../root"), "home: '/home/../root' is not");
	REFUSED(set_text(&spec.seccomp, "s.json"), "seccomp: 's.json' is not");
	REFUSED(strv_done(&spec.command), "command: missing");
	REFUSED(set_text(&spec.command.items[0], ""), "command: missing");
	REFUSED(strv_add(&spec.env, "NOVALUE"), "env: entry 2 is not K=V");
	REFUSED(strv_add(&spec.env, "=x"), "env: entry 2 is not K=V");
}

static void test_numbers(void)
{
	REFUSED(spec.ids.host_uid = 0, "ids.uid: the map would reach host id 0");
	REFUSED(spec.ids.host_gid = 0, "ids.gid: the map would reach host id 0");
	REFUSED((spec.ids.host_uid = 0, spec.ids.nested = true),
		"ids.uid: the map would reach host id 0");
	REFUSED(spec.ids.count = 0, "ids.uid: the map is empty");
	REFUSED(spec.ids.host_uid = UINT32_MAX - 5, "ids.uid: the map runs past the last id");
	REFUSED(spec.ids.gid = 65536, "ids.gid: id 65536 is not in the map");
	REFUSED(spec.limits.pids = 0, "limits.pids: missing");
	REFUSED(spec.limits.output_bytes = 0, "limits.output_bytes: missing");
	REFUSED(spec.limits.mem_bytes = 4096, "limits.mem_bytes: too small");
	REFUSED(spec.limits.cpu_milli = 1, "limits.cpu_milli: too small");
	REFUSED(spec.limits.nofile = 3, "limits.nofile: too small");
	REFUSED(spec.require = 1u << LAYER_COUNT, "unknown layer");
	REFUSED(spec.require |= 1u << LAYER_DISK,
		"layer 'disk' is both required and allowed to be missing");
	REFUSED(set_text(&spec.groups.pids_path, "pids"), "groups: 'pids' is not");
	REFUSED(set_text(&spec.groups.v2_path, NULL), "groups: unified, but no path is given");
}

static void drop_masks(struct spec *spec)
{
	for (size_t i = 0; i < spec->mask_count; i++) {
		free(spec->masks[i].path);
		free(spec->masks[i].content);
	}
	spec->mask_count = 0;
}

static void test_lists(void)
{
	REFUSED(set_text(&spec.trees[0].path, NULL), "trees: path is missing");
	REFUSED(set_text(&spec.trees[0].path, "/zzz"), "trees: '/boot' is out of order");
	REFUSED(set_text(&spec.trees[1].path, "/net"), "trees: '/net' is out of order");
	REFUSED(set_text(&spec.masks[0].path, "etc"), "masks: 'etc' is not");
	REFUSED(set_text(&spec.masks[1].path, "/a"), "masks: '/a' is out of order");
	REFUSED(set_text(&spec.masks[0].content, "x"), "has content without being a file");
	REFUSED(set_text(&spec.masks[2].content, NULL),
		"has content without being a file, or none");
	REFUSED(drop_masks(&spec), "masks: none, so credentials would show");
	REFUSED((free(spec.trees[0].path), free(spec.trees[1].path), free(spec.trees[2].path),
		 free(spec.trees[2].why), spec.tree_count = 0),
		"trees: none");
	REFUSED(set_text(&spec.binds[0].source, NULL), "binds: path is missing");
	REFUSED(set_text(&spec.binds[0].target, "data"), "binds: 'data' is not");
	REFUSED(set_text(&spec.binds[0].target, "/"), "binds: '/' cannot be a target");
	REFUSED(set_text(&spec.binds[0].target, "/proc/sys"),
		"binds: '/proc/sys' cannot be a target");
	REFUSED(set_text(&spec.binds[0].target, "/run"), "binds: '/run' cannot be a target");
	REFUSED(spec.binds[0].writable = false, "binds: '/data' writes through but is read-only");
}

/* Our own directories must not be seen, by whatever way. */
static void test_kept(void)
{
	REFUSED(set_text(&spec.upper_dir, "up"), "upper_dir: 'up' is not a clean absolute path");
	REFUSED(set_text(&spec.upper_dir, NULL), "layers: without a writable top");
	REFUSED(strv_add(&spec.layers, "a"), "layers: 'a' is not a clean absolute path");
	REFUSED(strv_add(&spec.layers, "/home/u/other/c"), "layers: not all in one directory");
	REFUSED(for (int i = 0; i < SPEC_LAYERS_MAX; i++)
			strv_add(&spec.layers, "/home/u/.local/share/aisbx/layers/c"),
		"layers: more than 64");
}

static void test_own_dirs(void)
{
	REFUSED(set_text(&spec.store_dir, "/var/lib/aisbx"),
		"store_dir: '/var/lib/aisbx' would be visible inside");
	REFUSED(set_text(&spec.config_dir, "/home/u/work/.aisbx"), "would be visible inside");
	REFUSED(set_text(&spec.cache_dir, NULL), "cache_dir: path is missing");
	REFUSED(set_text(&spec.state_dir, "/"), "state_dir: '/' would be visible inside");
	REFUSED((set_text(&spec.workspace, "/tmp/w"), set_text(&spec.state_dir, "/tmp/w/state")),
		"state_dir: '/tmp/w/state' would be visible inside");
	REFUSED(set_text(&spec.binds[0].source, "/home/u"),
		"binds: '/home/u' would show our own state_dir");
	REFUSED(set_text(&spec.binds[0].source, "/"), "binds: '/' would show our own state_dir");
	REFUSED(set_text(&spec.binds[0].source, "/home/u/.config/aisbx/profiles"),
		"lies in our own config_dir");
	REFUSED(set_text(&spec.binds[0].source, "/home/u/.config/aisbx"),
		"lies in our own config_dir");
	struct error err = { 0 };
	struct spec spec;

	sample_spec(&spec);
	set_text(&spec.binds[0].source, "/home/u/.cache");
	set_text(&spec.binds[0].target, "/home/u/.cache");
	tap_ok(spec_check(&spec, &err) < 0, "a bind uncovers what a mask above it hides");
	set_text(&spec.masks[3].path, "/home/u/.cache/aisbx");
	struct spec_mask moved = spec.masks[3];

	spec.masks[3] = spec.masks[2];
	spec.masks[2] = moved;
	tap_ok(spec_check(&spec, &err) == 0, "unless a mask lies in it: %s", err.text);
	set_text(&spec.workspace, "/tmp/w");
	set_text(&spec.state_dir, "/tmp/w/state");
	spec.workspace_made = true;
	tap_ok(spec_check(&spec, &err) == 0, "a workspace that is made shows nothing: %s",
	       err.text);
	spec_done(&spec);
}

static void test_many(void)
{
	struct error err = { .code = ERROR_NONE };
	struct spec spec;
	size_t lines = 1;

	spec_init(&spec);
	tap_ok(spec_check(&spec, &err) < 0, "an empty spec is refused");
	for (const char *at = err.text; (at = strchr(at, '\n')); at++)
		lines++;
	tap_ok(lines > 10 && strstr(err.text, "command: missing") && strstr(err.text, "more)"),
	       "with all there is to say, and a count (%zu lines)", lines);
	tap_is_int(err.code, ERROR_INTERNAL, "as a mistake of our own");
}

static void test_run_dirs(void)
{
	static const char *const bad[] = {
		"",
		"101 104 2775",
		"101 104 2775 ",
		"101 104 2775 a/b",
		"101 104 2775 ..",
		"101 104 2775 .a",
		"101 104 2775 a b",
		"101 104 4755 a",
		"101 104 755 secrets",
		"101 104 755 aisbx",
		"101 104 755 lock",
		"a 104 755 a",
	};
	struct spec_run_dir dir = { .mode = 0 };

	tap_ok(spec_run_dir_read("101 104 2775 postgresql", &dir) && dir.uid == 101 &&
		       dir.gid == 104 && dir.mode == 02775 && strcmp(dir.name, "postgresql") == 0,
	       "a directory of a service in /run");
	tap_ok(spec_run_dir_read("101 104 755 redis-6.2@a", &dir), "with a number in its name");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		tap_ok(!spec_run_dir_read(bad[i], &dir), "none is '%s'", bad[i]);
		REFUSED(strv_add(&spec.run_dirs, bad[i]), "run_dirs: not one of a service");
	}
	REFUSED(strv_add(&spec.run_dirs, "65536 104 755 a"), "run_dirs: not one of a service");
	REFUSED(strv_add(&spec.run_dirs, "101 65536 755 a"), "run_dirs: not one of a service");
	REFUSED(spec.ids.count = 1, "run_dirs: not one of a service");
}

int main(void)
{
	test_layers();
	test_good();
	test_names();
	test_numbers();
	test_lists();
	test_run_dirs();
	test_kept();
	test_own_dirs();
	test_many();
	return tap_done();
}
