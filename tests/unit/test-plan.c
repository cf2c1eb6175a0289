/* SPDX-License-Identifier: Apache-2.0 */
/* The plan: defaults made explicit, flags over profiles, refusals, mounts, ids, binds. */
#include "plan/plan.h"

#include "base/core/own.h"
#include "plan/parts.h"
#include "tests/unit/plan_fixture.h"

static void test_defaults(void)
{
	struct fixture f;

	fixture_open(&f);
	fixture_must_plan(&f);
	const struct spec_limits *limits = &f.spec.limits;

	tap_is_str(f.spec.driver, "linux", "driver");
	tap_is_str(f.spec.cwd, "/home/u/work/src", "starts where the caller is");
	tap_is_str(f.spec.workspace, "/home/u/work", "workspace");
	tap_is_str(f.spec.home, "/home/u", "home");
	tap_is_str(f.spec.sandbox, "preview", "a name when none was given");
	tap_is_str(f.spec.hostname, f.spec.sandbox, "the host is called like the sandbox");
	tap_is_int(f.spec.net, NET_NONE, "no network");
	tap_ok(!f.spec.splice && !f.spec.seccomp, "no splice, no extra filter");
	tap_is_int((long long)limits->mem_bytes, 4LL << 30, "4 GiB of memory");
	tap_is_int((long long)limits->disk_bytes, 2LL << 30, "disk: half of it");
	tap_is_int((long long)limits->pids, 512, "pids");
	tap_is_int((long long)limits->time_ms, 600000, "ten minutes");
	tap_is_int((long long)limits->nofile, 65536, "open files, hard");
	tap_is_int((long long)limits->nofile_soft, 4096, "open files, soft");
	tap_is_int((long long)limits->inodes, 1 << 20, "inodes");
	tap_is_int((long long)limits->cpu_milli, 0, "all cores");
	tap_ok(f.spec.notes.count == 0, "nothing to remark");
	tap_is_str(f.spec.store_dir, f.host.data_dir, "where things are kept");
	f.request.interactive = true;
	fixture_must_plan(&f);
	tap_is_int((long long)f.spec.limits.time_ms, 0, "no wall limit on a terminal");
	f.host.memory_bytes = (uint64_t)1 << 30;
	fixture_must_plan(&f);
	tap_is_int((long long)f.spec.limits.mem_bytes, 512LL << 20, "half of a small machine");
	tap_is_int((long long)f.spec.limits.tmp_bytes, 256LL << 20, "tmp shrinks with it");
	f.host.memory_bytes = 0;
	fixture_must_plan(&f);
	tap_ok(f.spec.limits.mem_bytes > 0, "unknown memory is not unlimited memory");
	fixture_close(&f);
}

static void test_settings(void)
{
	struct fixture f;

	fixture_open(&f);
	f.profile.mem_bytes = 64 << 20;
	f.profile.pids = 7;
	fixture_flag(&f, "pids", "9");
	fixture_flag(&f, "time", "30s");
	fixture_flag(&f, "cpu", "1.5");
	fixture_flag(&f, "nofile", "64");
	fixture_flag(&f, "splice", "on");
	fixture_flag(&f, "seccomp", "filter.json");
	fixture_flag(&f, "deny", "example.org:443");
	fixture_flag(&f, "require", "landlock");
	fixture_flag(&f, "allow-degraded", "disk");
	fixture_flag(&f, "driver", "auto");
	f.paths.run_id = "01J";
	f.paths.sandbox = "s-1";
	fixture_text(&f.request.trace_id, "t");
	fixture_must_plan(&f);
	tap_is_int((long long)f.spec.limits.mem_bytes, 64 << 20, "the profile's memory");
	tap_is_int((long long)f.spec.limits.disk_bytes, 32 << 20, "the disk follows it");
	tap_is_int((long long)f.spec.limits.pids, 9, "a flag goes over the profile");
	tap_is_int((long long)f.spec.limits.time_ms, 30000, "time");
	tap_is_int((long long)f.spec.limits.cpu_milli, 1500, "cpu");
	tap_is_int((long long)f.spec.limits.nofile_soft, 64, "nofile is soft and hard");
	tap_ok(f.spec.splice, "splice");
	tap_is_str(f.spec.seccomp, "/home/u/work/src/filter.json",
		   "a filter from the current directory");
	tap_ok(f.spec.deny.count == 1, "denied places are kept");
	tap_is_int(f.spec.require, 1 << LAYER_LANDLOCK, "required layers");
	tap_is_int(f.spec.allow_degraded, 1 << LAYER_DISK, "layers that may be missing");
	tap_is_str(f.spec.driver, "linux", "auto chooses what isolates");
	tap_is_str(f.spec.run_id, "01J", "run id");
	tap_is_str(f.spec.trace_id, "t", "trace id");
	fixture_flag(&f, "seccomp", "/etc/filter.json");
	fixture_must_plan(&f);
	tap_is_str(f.spec.seccomp, "/etc/filter.json", "an absolute filter");
	strv_add(&f.profile.require, "moat");
	tap_ok(!fixture_plan(&f) && f.err.code == ERROR_USAGE, "an unknown layer: %s", f.err.text);
	strv_done(&f.profile.require);
	strv_add(&f.profile.allow_degraded, "moat");
	tap_ok(!fixture_plan(&f) && f.err.code == ERROR_USAGE, "in either list: %s", f.err.text);
	fixture_close(&f);
}

/* Of those that must hold, two can be given up; the refusal of the others says why, for each of them. */
static void test_mandatory(void)
{
	for (enum layer layer = LAYER_USER; layer < LAYER_COUNT; layer++) {
		struct fixture f;

		fixture_open(&f);
		fixture_flag(&f, "allow-degraded", layer_name(layer));
		if (layer_is_mandatory(layer) && !layer_is_waivable(layer))
			tap_ok(!fixture_plan(&f) && f.err.code == ERROR_DENIED &&
				       !strstr(f.err.text, "(null)"),
			       "%s", f.err.text);
		else
			tap_ok(fixture_plan(&f), "%s may be absent", layer_name(layer));
		fixture_close(&f);
	}
}

static void test_refusals(void)
{
	static const char *const flags[][2] = {
		{ "secret-header", "example.org:Authorization=/f" },
		{ "fuel", "1g" },
		{ "root", "alpine" },
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		struct fixture f;

		fixture_open(&f);
		fixture_flag(&f, flags[i][0], flags[i][1]);
		/* The first lacks a rule beside it: bad usage. */
		tap_ok(!fixture_plan(&f) && f.err.code == (i ? ERROR_DENIED : ERROR_USAGE),
		       "--%s %s: %s", flags[i][0], flags[i][1], f.err.text);
		fixture_close(&f);
	}
	struct fixture f;

	fixture_open(&f);
	fixture_flag(&f, "secret", "TOKEN=/f");
	fixture_flag(&f, "secret", "KEY=keys/k=1");
	fixture_must_plan(&f);
	tap_is_str(f.spec.secrets.items[0], "TOKEN=/f", "a secret's file");
	owned(free_ptr) char *wanted = xasprintf("KEY=%s/keys/k=1", f.host.cwd);

	tap_is_str(f.spec.secrets.items[1], wanted, "one that is relative to the caller");
	fixture_close(&f);
	fixture_open(&f);
	fixture_flag(&f, "net", "loopback");
	fixture_flag(&f, "scan", "off");
	fixture_flag(&f, "driver", "fake");
	fixture_flag(&f, "root", "host");
	fixture_must_plan(&f);
	tap_is_str(f.spec.driver, "fake", "what is here is not refused");
	fixture_close(&f);
}

static void test_command(void)
{
	struct fixture f;

	fixture_open(&f);
	strv_add(&f.profile.entrypoint, "/bin/sh");
	fixture_must_plan(&f);
	tap_is_str(f.spec.command.items[0], "true", "the command given");
	strv_done(&f.request.command);
	fixture_must_plan(&f);
	tap_is_str(f.spec.command.items[0], "/bin/sh", "else the profile's entrypoint");
	strv_done(&f.profile.entrypoint);
	tap_ok(!fixture_plan(&f) && f.err.code == ERROR_USAGE, "else an error: %s", f.err.text);
	fixture_close(&f);
}

static void test_ids(void)
{
	struct fixture f;

	fixture_open(&f);
	fixture_must_plan(&f);
	tap_ok(f.spec.ids.uid == 1000 && f.spec.ids.host_uid == 1000 && f.spec.ids.count == 1,
	       "a plain user is itself");
	tap_is_int(f.spec.root, ROOT_FOREST, "and gets a forest");
	f.host.uid = f.host.gid = 0;
	f.host.privileged = f.host.in_initial_userns = true;
	f.host.id_base = 0x70000000;
	f.host.id_count = 65536;
	fixture_must_plan(&f);
	tap_ok(f.spec.ids.uid == 0 && f.spec.ids.host_uid == 0x70000000 &&
		       f.spec.ids.count == 65536,
	       "root is mapped away");
	tap_is_int(f.spec.root, ROOT_IDMAPPED, "and gets the whole root");
	f.host.root_idmappable = false;
	fixture_must_plan(&f);
	tap_is_int(f.spec.root, ROOT_FOREST, "where its filesystem allows that");
	f.host.privileged = false;
	tap_ok(!fixture_plan(&f) && f.err.code == ERROR_DENIED, "root without capabilities: %s",
	       f.err.text);
	f.host.in_initial_userns = false;
	f.host.is_host_root = true;
	tap_ok(!fixture_plan(&f) && f.err.code == ERROR_DENIED,
	       "the machine's root in a user namespace: %s", f.err.text);
	f.host.is_host_root = false;
	fixture_must_plan(&f);
	tap_ok(f.spec.ids.nested && f.spec.ids.count == 1, "a container's root is a plain user");
	fixture_close(&f);
}

static void test_open_files(void)
{
	struct fixture f;

	fixture_open(&f);
	f.host.open_files = 63;
	tap_ok(!fixture_plan(&f) && f.err.code == ERROR_DENIED && strstr(f.err.text, "ulimit -n"),
	       "too few open files: %s", f.err.text);
	f.host.open_files = 64;
	fixture_must_plan(&f);
	f.host.open_files = UINT64_MAX;
	fixture_must_plan(&f);
	fixture_close(&f);
}

static void test_groups(void)
{
	struct fixture f;

	fixture_open(&f);
	f.host.cgroup.kind = CGROUP_V1;
	f.host.cgroup.memory_path = xstrdup("/m");
	f.host.cgroup.pids_path = xstrdup("/p");
	fixture_must_plan(&f);
	tap_ok(!f.spec.groups.unified && strcmp(f.spec.groups.memory_path, "/m") == 0 &&
		       !f.spec.groups.cpu_path,
	       "v1 groups");
	f.host.cgroup.kind = CGROUP_V2;
	f.host.cgroup.v2_path = xstrdup("/g");
	fixture_must_plan(&f);
	tap_ok(f.spec.groups.unified && strcmp(f.spec.groups.v2_path, "/g") == 0, "v2 group");
	f.host.cgroup.v2_is_own = true;
	fixture_must_plan(&f);
	tap_ok(!f.spec.groups.v2_path, "not one that the caller is in");
	fixture_close(&f);
}

static void test_mounts(void)
{
	struct fixture f;

	fixture_open(&f);
	fixture_mount(&f, "1 0 8:1 / / ro - ext4 a rw\n"
			  "2 1 0:21 / /proc rw - proc proc rw\n"
			  "3 1 8:2 / /home rw - ext4 b rw\n"
			  "4 1 8:3 / /usr/share ro - squashfs c ro\n"
			  "5 1 0:50 / /data rw - nfs4 d rw\n"
			  "6 1 0:51 / /opt/ssh rw - fuse.sshfs e rw\n"
			  "7 1 0:52 / /net rw - autofs f rw\n"
			  "8 1 0:53 / /tmp rw - tmpfs g rw\n"
			  "9 1 8:4 /h /etc/hosts rw - ext4 h rw\n"
			  "10 1 8:4 /s /etc/sock rw - ext4 h rw\n"
			  "11 1 8:5 / /closed rw - ext4 i rw\n"
			  "12 1 8:6 / /opt/x rw - ext4 j rw\n"
			  "13 12 8:7 / /opt/x rw - ext4 k rw\n"
			  "14 1 0:54 / /dev/shm rw - tmpfs l rw\n"
			  "15 1 8:8 / /var/lib/docker rw - ext4 m rw\n");
	f.host.mounts[8].is_directory = f.host.mounts[9].is_directory = false;
	f.host.mounts[8].is_regular = true;
	f.host.mounts[10].dev = 0;
	fixture_must_plan(&f);
	static const struct {
		const char *path;
		enum spec_tree_kind kind;
		const char *why;
	} want[] = {
		{ "/", TREE_OVERLAY, NULL },
		{ "/home", TREE_OVERLAY, NULL },
		{ "/usr/share", TREE_READONLY, NULL },
		{ "/data", TREE_HIDDEN, "network filesystem" },
		{ "/opt/ssh", TREE_HIDDEN, "fuse" },
		{ "/net", TREE_HIDDEN, "autofs" },
		{ "/tmp", TREE_HIDDEN, "masked" },
		{ "/etc/hosts", TREE_READONLY, "file" },
		{ "/etc/sock", TREE_HIDDEN, "not a directory" },
		{ "/closed", TREE_HIDDEN, "not accessible" },
		{ "/opt/x", TREE_OVERLAY, NULL },
		{ "/var/lib/docker", TREE_HIDDEN, "masked" },
	};

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		const struct spec_tree *tree = fixture_tree(&f, want[i].path);

		tap_ok(tree && tree->kind == want[i].kind, "mount %s", want[i].path);
		tap_is_str(tree ? tree->why : NULL, want[i].why, "and why");
	}
	tap_ok(!fixture_tree(&f, "/proc") && !fixture_tree(&f, "/dev/shm"),
	       "what is made afresh does not stand there");
	tap_is_int((long long)f.spec.tree_count, 12, "one of two at the same place");
	tap_is_int((long long)fixture_tree(&f, "/opt/x")->ino, 112,
		   "the later one, by its identity");
	fixture_close(&f);
}

static void test_workspace_mounts(void)
{
	struct fixture f;

	fixture_open(&f);
	fixture_mount(&f, "1 0 8:1 / / rw - ext4 a rw\n"
			  "2 1 0:50 / /data rw - nfs4 d rw\n"
			  "3 1 8:2 / /mnt/usb ro - vfat b ro\n"
			  "4 1 0:53 / /tmp rw - tmpfs g rw\n");
	fixture_text(&f.paths.workspace, "/data/proj");
	fixture_must_plan(&f);
	tap_is_int(fixture_tree(&f, "/data")->kind, TREE_OVERLAY,
		   "a network mount with the workspace");
	tap_is_str(f.spec.cwd, "/data/proj", "starts at the top when the caller is elsewhere");
	fixture_text(&f.paths.workspace, "/");
	fixture_text(&f.host.cwd, "/tmp/some/where");
	fixture_must_plan(&f);
	tap_is_str(f.spec.cwd, "/", "or in a place that the sandbox has of its own");
	fixture_text(&f.paths.workspace, "/mnt/usb/proj");
	fixture_must_plan(&f);
	tap_is_int(fixture_tree(&f, "/mnt/usb")->kind, TREE_OVERLAY,
		   "a read-only mount with the workspace is copied on write");
	fixture_text(&f.paths.workspace, "/tmp/proj");
	fixture_must_plan(&f);
	tap_is_int(fixture_tree(&f, "/tmp")->kind, TREE_OVERLAY, "a workspace on a tmpfs");
	fixture_close(&f);
}

static bool bind_is(const struct fixture *f, const char *value, const char *source,
		    const char *target)
{
	struct fixture copy = *f;

	settings_init(&copy.request.flags);
	spec_init(&copy.spec);
	fixture_flag(&copy, "rw", value);
	bool good = fixture_plan(&copy) && strcmp(copy.spec.binds[0].source, source) == 0 &&
		    strcmp(copy.spec.binds[0].target, target) == 0 && copy.spec.binds[0].writable &&
		    !copy.spec.binds[0].through;

	if (!good)
		printf("# %s\n", copy.err.text);
	spec_done(&copy.spec);
	settings_done(&copy.request.flags);
	return good;
}

static bool is_refused(const struct fixture *f, const char *host, const char *guest)
{
	struct fixture copy = *f;
	struct settings_mount mount = { .host = xstrdup(host),
					.guest = guest ? xstrdup(guest) : NULL };

	copy.profile.mounts = &mount;
	copy.profile.mount_count = 1;
	spec_init(&copy.spec);
	bool refused = !fixture_plan(&copy);

	spec_done(&copy.spec);
	free(mount.host);
	free(mount.guest);
	return refused;
}

static void test_binds(void)
{
	struct fixture f;

	fixture_open(&f);
	tap_ok(bind_is(&f, "/srv/data:/data", "/srv/data", "/data"), "absolute");
	tap_ok(bind_is(&f, "data:/data", "/home/u/work/src/data", "/data"), "from the directory");
	tap_ok(bind_is(&f, "./data:/data", "/home/u/work/src/data", "/data"), "with a dot");
	tap_ok(bind_is(&f, "../data:/data", "/home/u/work/data", "/data"), "one up");
	tap_ok(bind_is(&f, "../.././/d:/data", "/home/u/d", "/data"), "two up");
	tap_ok(bind_is(&f, "..:/data", "/home/u/work", "/data"), "the parent itself");
	tap_ok(bind_is(&f, "../../../../../../etc/x:/d", "/etc/x", "/d"), "not above the root");
	tap_ok(bind_is(&f, "/srv/data", "/srv/data", "/srv/data"), "the same place inside");
	tap_ok(is_refused(&f, "a/../b", "/d"), "a climb in the middle");
	tap_ok(is_refused(&f, "/home/u/.config/aisbx", "/d"), "a directory of ours");
	tap_ok(is_refused(&f, "/home/u/.config/aisbx/keys", "/d"), "something in it");
	tap_ok(is_refused(&f, "/home/u", "/d"), "something it lies in");
	tap_ok(is_refused(&f, "/", "/d"), "everything");
	tap_ok(is_refused(&f, "/srv", "/proc/x"), "over /proc");
	tap_ok(is_refused(&f, "/srv", "/run/aisbx"), "over what is ours inside");
	tap_ok(is_refused(&f, "/srv", "/"), "over everything");
	tap_ok(is_refused(&f, "/srv", "relative"), "at a relative path");
	fixture_flag(&f, "rw-through", "/srv/a:/a");
	fixture_flag(&f, "ro", "/srv/b:/b");
	fixture_must_plan(&f);
	tap_ok(f.spec.bind_count == 2 && f.spec.binds[0].through && !f.spec.binds[1].writable,
	       "kinds, in the order given");
	fixture_close(&f);
}

static void test_workspace(void)
{
	struct fixture f;

	fixture_open(&f);
	fixture_text(&f.paths.workspace, NULL);
	fixture_must_plan(&f);
	tap_ok(f.spec.workspace_made && f.spec.notes.count == 1,
	       "no workspace: an empty one, noted");
	tap_is_str(f.spec.cwd, f.spec.workspace, "the run starts in it");
	tap_is_str(f.spec.workspace, "/tmp/workspace", "it lies in /tmp");
	fixture_text(&f.host.home, "/tmp");
	fixture_must_plan(&f);
	tap_is_str(f.spec.workspace, "/tmp/workspace", "also when that is HOME");
	fixture_text(&f.host.home, "/tmp/h");
	fixture_must_plan(&f);
	tap_is_str(f.spec.workspace, "/var/tmp/workspace", "not with HOME below it");
	fixture_flag(&f, "ro", "/opt:/var/tmp/x");
	tap_ok(!fixture_plan(&f) && f.err.code == ERROR_DENIED, "no place left: %s", f.err.text);
	fixture_text(&f.host.home, "/home/u");
	fixture_must_plan(&f);
	tap_is_str(f.spec.workspace, "/tmp/workspace", "a mount elsewhere is in nobody's way");
	fixture_text(&f.paths.workspace, "/home/u/.local/share/aisbx/x");
	tap_ok(!fixture_plan(&f) && f.err.code == ERROR_DENIED, "not in the store: %s", f.err.text);
	fixture_text(&f.paths.workspace, "/dev/shm/x");
	tap_ok(!fixture_plan(&f) && f.err.code == ERROR_DENIED, "not in /dev: %s", f.err.text);
	fixture_text(&f.paths.workspace, "not/../clean");
	tap_ok(!fixture_plan(&f) && f.err.code == ERROR_INTERNAL, "not by an unresolved path");
	fixture_close(&f);
}

/* Directories with a .git, as "path owner" rows. */
struct repositories {
	const char *path[2];
	uid_t owner[2];
};

static bool look(void *cookie, const char *dir, bool *ret_has_git, uid_t *ret_owner)
{
	const struct repositories *all = cookie;

	if (strcmp(dir, "/closed") == 0)
		return false;
	*ret_has_git = false;
	*ret_owner = 1000;
	for (size_t i = 0; i < 2; i++) {
		if (all->path[i] && strcmp(all->path[i], dir) == 0) {
			*ret_has_git = true;
			*ret_owner = all->owner[i];
		}
	}
	return true;
}

static void check_default(const char *cwd, struct repositories all, const char *want)
{
	struct fixture f;

	fixture_open(&f);
	fixture_text(&f.host.cwd, cwd);
	owned(free_ptr) char *got = plan_default_workspace(&f.host, look, &all);

	tap_is_str(got, want, "in %s with .git in %s", cwd, all.path[0] ? all.path[0] : "nothing");
	fixture_close(&f);
}

static void test_default_workspace(void)
{
	struct repositories none = { { NULL, NULL }, { 0, 0 } };

	check_default("/home/u/work/src", none, "/home/u/work/src");
	check_default("/home/u/work/src", (struct repositories){ { "/home/u/work" }, { 1000 } },
		      "/home/u/work");
	check_default("/home/u/work/src", (struct repositories){ { "/home/u/work" }, { 0 } },
		      "/home/u/work/src");
	check_default("/home/u/work", (struct repositories){ { "/home/u" }, { 1000 } },
		      "/home/u/work");
	check_default("/home/u/a/b",
		      (struct repositories){ { "/home/u/a/b", "/home/u" }, { 1000, 1000 } },
		      "/home/u/a/b");
	check_default("/home/u", none, NULL);
	check_default("/home/other", none, NULL);
	check_default("/root", none, NULL);
	check_default("/", none, NULL);
	check_default("/etc/nginx", none, NULL);
	check_default("/etc", (struct repositories){ { "/etc" }, { 1000 } }, NULL);
	check_default("/usr/src/linux", none, NULL);
	check_default("/tmp", none, NULL);
	check_default("/tmp/x", none, "/tmp/x");
	check_default("/srv/app", none, "/srv/app");
	check_default("/closed", none, "/closed");
	check_default("/home/u/.local/share/aisbx/sbx", none, NULL);
}

int main(void)
{
	test_defaults();
	test_settings();
	test_mandatory();
	test_refusals();
	test_command();
	test_ids();
	test_open_files();
	test_groups();
	test_mounts();
	test_workspace_mounts();
	test_binds();
	test_workspace();
	test_default_workspace();
	return tap_done();
}
