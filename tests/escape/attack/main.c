/* SPDX-License-Identifier: Apache-2.0 */
/* attack: one small program per attack in a single static file, `attack NAME ARGS`; `attack bare` is the control. */
#include "probe.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
	const char *name;
	attack_fn *run;
} attacks[] = {
	{ "namespaces", attack_namespaces },
	{ "clone", attack_clone },
	{ "setns", attack_setns },
	{ "mount-old", attack_mount_old },
	{ "mount-new", attack_mount_new },
	{ "uring", attack_uring },
	{ "bpf", attack_bpf },
	{ "keys", attack_keys },
	{ "modules", attack_modules },
	{ "handles", attack_handles },
	{ "peek", attack_peek },
	{ "unknown", attack_unknown },
	{ "state", attack_state },
	{ "snoop", attack_snoop },
	{ "optional", attack_optional },
	{ "personality", attack_personality },
	{ "foreign-abi", attack_foreign_abi },
	{ "filter", attack_filter },
	{ "swap-number", attack_swap_number },
	{ "storm", attack_storm },
	{ "status", attack_status },
	{ "ids", attack_ids },
	{ "setuid", attack_setuid },
	{ "limits-namespaces", attack_limits_namespaces },
	{ "families", attack_families },
	{ "netlink", attack_netlink },
	{ "ioctl", attack_ioctl },
	{ "setsockopt", attack_setsockopt },
	{ "connect", attack_connect },
	{ "reuse-socket", attack_reuse_socket },
	{ "netconfig", attack_netconfig },
	{ "scribble", attack_scribble },
	{ "odd-writers", attack_odd_writers },
	{ "reopen", attack_reopen },
	{ "traverse", attack_traverse },
	{ "descriptors", attack_descriptors },
	{ "devices", attack_devices },
	{ "open", attack_open },
	{ "overlay-xattrs", attack_overlay_xattrs },
	{ "wreck", attack_wreck },
	{ "swap-race", attack_swap_race },
	{ "lock", attack_lock },
	{ "cow-race", attack_cow_race },
	{ "filesystem", attack_filesystem },
	{ "device-metadata", attack_device_metadata },
	{ "mounts", attack_mounts },
	{ "readonly", attack_readonly },
	{ "helpers", attack_helpers },
	{ "remask", attack_remask },
	{ "sockets", attack_sockets },
	{ "sysv", attack_sysv },
	{ "signal-host", attack_signal_host },
	{ "abstract", attack_abstract },
	{ "keyring", attack_keyring },
	{ "write-files", attack_write_files },
	{ "inject", attack_inject },
	{ "daemon", attack_daemon },
	{ "init", attack_init },
	{ "zombies", attack_zombies },
	{ "hold", attack_hold },
	{ "forge", attack_forge },
	{ "crash", attack_crash },
	{ "deaf", attack_deaf },
	{ "storm-forks", attack_storm_forks },
	{ "sleep-files", attack_sleep_files },
	{ "memory", attack_memory },
	{ "fork-bomb", attack_fork_bomb },
	{ "thread-bomb", attack_thread_bomb },
	{ "open-files", attack_open_files },
	{ "pass-files", attack_pass_files },
	{ "raise", attack_raise },
	{ "starve", attack_starve },
	{ "aio", attack_aio },
	{ "inodes", attack_inodes },
	{ "disk", attack_disk },
	{ "deep", attack_deep },
	{ "flood", attack_flood },
	{ "spin", attack_spin },
	{ "inotify", attack_inotify },
	{ "pipes", attack_pipes },
	{ "pagecache", attack_pagecache },
};

static int run(int argc, char **argv)
{
	for (size_t i = 0; argc > 0 && i < COUNT(attacks); i++)
		if (strcmp(attacks[i].name, argv[0]) == 0)
			return attacks[i].run(argc - 1, argv + 1);
	fprintf(stderr, "attack: no such attack\n");
	return 2;
}

/*
 * The control: the same attack in namespaces of its own but without any other protection, so that what succeeds
 * there succeeds harmlessly. Needs root.
 */
static int run_bare(int argc, char **argv)
{
	int status;
	pid_t pid;

	if (unshare(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNET) != 0) {
		fprintf(stderr, "attack: no namespaces for the control: %s\n", strerror(errno));
		return 2;
	}
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		setsid();
		if (mount(NULL, "/", NULL, MS_PRIVATE | MS_REC, NULL) != 0 ||
		    mount("proc", "/proc", "proc", 0, NULL) != 0 ||
		    mount("tmpfs", "/tmp", "tmpfs", 0, NULL) != 0)
			_exit(2);
		_exit(run(argc, argv));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 2;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	/* copies of this program with the setuid bit say who they are, and do nothing else */
	if (getauxval(AT_SECURE) && (argc < 2 || strcmp(argv[1], "ids") != 0))
		return 2;
	if (argc > 2 && strcmp(argv[1], "bare") == 0)
		return run_bare(argc - 2, argv + 2);
	return run(argc - 1, argv + 1);
}
