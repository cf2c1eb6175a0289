/* SPDX-License-Identifier: Apache-2.0 */
/* How attacks report what they got: one line per probe, "name<TAB>OK", an errno's or a signal's name. */
#ifndef ESCAPE_PROBE_H
#define ESCAPE_PROBE_H

#include <stdbool.h>
#include <stddef.h>

/* RC is what a system call returned: anything but -1 is "OK", -1 prints the name of errno. */
void report(const char *name, long rc);

/* Prints NAME and any text. */
void report_text(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One try, made in a child of its own so that neither success nor SIGSYS ends the program. */
void attempt(const char *name, long (*act)(void *arg), void *arg);

/* A raw system call by number, as an attempt. */
struct call {
	const char *name;
	long number;
	long args[6];
};
void attempt_calls(const struct call *calls, size_t count);

/*
 * Whether a destructive payload may act: it sees the marker made inside the clone, does not see the host's, its
 * namespaces differ from the host's, and nothing writable is mounted that is not a throw-away filesystem. Prints
 * the reason when not. ARGV: marker inside, marker of the host, the host's ns/pid and ns/mnt links.
 */
bool tripwire_allows(int argc, char **argv);

/* Every attack has this shape; ARGV starts after the attack's name. Returns the exit status. */
typedef int attack_fn(int argc, char **argv);

attack_fn attack_namespaces, attack_clone, attack_setns, attack_mount_old, attack_mount_new,
	attack_uring, attack_bpf, attack_keys, attack_modules, attack_handles, attack_peek,
	attack_unknown, attack_state, attack_snoop, attack_optional, attack_personality;
attack_fn attack_foreign_abi, attack_filter, attack_swap_number, attack_storm, attack_status,
	attack_ids, attack_setuid, attack_limits_namespaces;
attack_fn attack_families, attack_netlink, attack_ioctl, attack_setsockopt, attack_cow_race,
	attack_filesystem, attack_device_metadata, attack_connect, attack_reuse_socket,
	attack_netconfig;
attack_fn attack_scribble, attack_odd_writers, attack_reopen, attack_traverse, attack_descriptors,
	attack_devices, attack_open, attack_overlay_xattrs, attack_wreck, attack_swap_race,
	attack_lock;
attack_fn attack_mounts, attack_readonly, attack_helpers, attack_remask;
attack_fn attack_sockets, attack_sysv, attack_signal_host, attack_abstract, attack_keyring,
	attack_write_files;
attack_fn attack_inject, attack_daemon, attack_init, attack_zombies, attack_hold, attack_forge,
	attack_crash, attack_deaf, attack_storm_forks, attack_sleep_files;
attack_fn attack_memory, attack_fork_bomb, attack_thread_bomb, attack_open_files, attack_pass_files,
	attack_raise, attack_aio, attack_inodes, attack_disk, attack_deep, attack_flood,
	attack_spin, attack_inotify, attack_pipes, attack_pagecache, attack_starve;

#endif
