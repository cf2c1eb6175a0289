/* SPDX-License-Identifier: Apache-2.0 */
/* A spec with something in every field, for the tests of spec/. */
#ifndef TESTS_SAMPLE_SPEC_H
#define TESTS_SAMPLE_SPEC_H

#include "spec/spec.h"

static void sample_lists(struct spec *spec)
{
	spec_add_tree(spec, TREE_OVERLAY, "/");
	spec_add_tree(spec, TREE_READONLY, "/boot")->dev = 7;
	spec->trees[1].ino = UINT64_MAX;
	spec_add_tree(spec, TREE_HIDDEN, "/net")->why = xstrdup("network filesystem");
	spec_add_mask(spec, MASK_GLOB, "/etc/ssh/*_key");
	spec_add_mask(spec, MASK_EMPTY, "/home");
	spec_add_mask(spec, MASK_HIDE, "/home/u/.ssh");
	spec_add_mask(spec, MASK_FILE, "/home/u/.gitconfig")->content = xstrdup("[user]\n");
	spec_add_mask(spec, MASK_KEEP, "/home/u/work");
	struct spec_mask file = spec->masks[3];

	spec->masks[3] = spec->masks[2];
	spec->masks[2] = file;
	struct spec_bind *bind = spec_add_bind(spec, "/srv/data", "/data");

	bind->writable = bind->through = true;
	bind->dev = 3;
	bind->ino = 4;
	spec_add_bind(spec, "/srv/more", "/tmp/more");
	strv_add(&spec->layers, "/home/u/.local/share/aisbx/layers/b");
	strv_add(&spec->layers, "/home/u/.local/share/aisbx/layers/a");
	spec->cache = xstrdup("0123456789abcdef0123456789abcdef");
	spec->upper_dir = xstrdup("/home/u/.local/share/aisbx/sbx/x/upper");
	spec->resident = true;
}

static void sample_numbers(struct spec *spec)
{
	spec->ids = (struct spec_ids){
		.uid = 1000,
		.gid = 1001,
		.host_uid = 200000,
		.host_gid = 300000,
		.count = 65536,
	};
	spec->limits = (struct spec_limits){
		.cpu_milli = 1500,
		.mem_bytes = 1 << 30,
		.pids = 128,
		.disk_bytes = 1 << 29,
		.inodes = 1000,
		.tmp_bytes = 1 << 20,
		.shm_bytes = 1 << 21,
		.time_ms = 30000,
		.cpu_time_ms = 20000,
		.fsize_bytes = 1 << 28,
		.nofile = 1024,
		.nofile_soft = 512,
		.memlock_bytes = 65536,
		.output_bytes = 1 << 20,
		.log_bytes = 1 << 26,
	};
	spec->groups.unified = true;
	spec->groups.v2_path = xstrdup("/sys/fs/cgroup/u");
	spec->groups.memory_path = xstrdup("/sys/fs/cgroup/memory/u");
	spec->groups.pids_path = xstrdup("/sys/fs/cgroup/pids/u");
	spec->groups.cpu_path = xstrdup("/sys/fs/cgroup/cpu/u");
	spec->groups.cpuacct_path = xstrdup("/sys/fs/cgroup/cpuacct/u");
	spec->groups.owner = xstrdup("aisbx-owner-0123456789abcdef");
	spec->groups.owner_bytes = 3u << 30;
	spec->require = 1u << LAYER_LANDLOCK | 1u << LAYER_USER;
	spec->allow_degraded = 1u << LAYER_DISK;
}

static void sample_spec(struct spec *spec)
{
	spec_init(spec);
	spec->run_id = xstrdup("01JABCDEFGHJKMNPQRSTVWXYZ0");
	spec->sandbox = xstrdup("s-7f3a91");
	spec->trace_id = xstrdup("trace \"1\"");
	spec->driver = xstrdup("linux");
	strv_add(&spec->command, "printf");
	strv_add(&spec->command, "\xff\xfe not UTF-8\n");
	strv_add(&spec->command, "");
	strv_add(&spec->env, "A=b");
	spec->workspace = xstrdup("/home/u/work");
	spec->cwd = xstrdup("/home/u/work/src");
	spec->home = xstrdup("/home/u");
	spec->hostname = xstrdup("sandbox");
	spec->root = ROOT_FOREST;
	sample_lists(spec);
	sample_numbers(spec);
	spec->net = NET_ALLOW;
	strv_add(&spec->allow, "example.org:443");
	strv_add(&spec->deny, "*.example.org:1-2");
	strv_add(&spec->publish, "8080:80");
	strv_add(&spec->run_dirs, "101 104 2775 postgresql");
	strv_add(&spec->secret_header, "api.example.org:Authorization=/srv/token");
	strv_add(&spec->secrets, "TOKEN=/home/u/token");
	spec->splice = true;
	spec->seccomp = xstrdup("/home/u/s.json");
	spec->state_dir = xstrdup("/home/u/.local/state/aisbx");
	spec->store_dir = xstrdup("/home/u/.local/share/aisbx");
	spec->cache_dir = xstrdup("/home/u/.cache/aisbx");
	spec->config_dir = xstrdup("/home/u/.config/aisbx");
	strv_add(&spec->notes, "a note");
}

#endif
