/* SPDX-License-Identifier: Apache-2.0 */
/* What to do about a layer that does not work here, and settings of this machine that deserve a warning. */
#include "app/doctor/doctor_advice.h"
#include "app/doctor/fix_steps.h"

#include "base/file/fd.h"
#include "base/core/own.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool has_file(const struct doctor_machine *machine, const char *path)
{
	char full[PATH_MAX];

	(void)snprintf(full, sizeof(full), "%s%s", machine->root, path);
	return access(full, F_OK) == 0;
}

/* Value of /proc/sys/NAME, or ABSENT. */
static long sysctl_value(const struct doctor_machine *machine, const char *name, long absent)
{
	char full[PATH_MAX], text[64];
	char *end;
	long value;

	(void)snprintf(full, sizeof(full), "%s/proc/sys/%s", machine->root, name);
	if (file_read_small(AT_FDCWD, full, text, sizeof(text)) <= 0)
		return absent;
	value = strtol(text, &end, 10);
	return end == text ? absent : value;
}

static void advise_sysctl(const struct doctor_machine *machine, struct doctor_advice *advice,
			  const char *name, const char *value)
{
	advice->fix = fix_sysctl(machine, name, value);
	str_addf(&advice->remedy,
		 "sudo sysctl -w %s=%s; to keep it: echo '%s = %s' | sudo tee "
		 "/etc/sysctl.d/90-aisbx.conf",
		 name, value, name, value);
}

/* AppArmor lets a program through that a profile names; the whole machine need not be opened. */
static void advise_apparmor(const struct doctor_machine *machine, struct doctor_advice *advice)
{
	advice->fix = fix_apparmor(machine);
	str_addf(
		&advice->remedy,
		"printf 'abi <abi/4.0>,\\ninclude <tunables/global>\\nprofile aisbx %s "
		"flags=(unconfined) {\\n  userns,\\n}\\n' | sudo tee /etc/apparmor.d/aisbx && "
		"sudo apparmor_parser -r /etc/apparmor.d/aisbx; or, for every program: sudo sysctl "
		"-w kernel.apparmor_restrict_unprivileged_userns=0",
		machine->program);
}

static bool is_container(const struct doctor_machine *machine)
{
	return has_file(machine, "/.dockerenv") || has_file(machine, "/run/.containerenv");
}

/* A chroot has no mount of its own at "/": the kernel refuses user namespaces there. */
static bool is_chroot(const struct host *host)
{
	for (size_t i = 0; i < host->mount_count; i++) {
		if (strcmp(host->mounts[i].point, "/") == 0)
			return false;
	}
	return true;
}

static void advise_namespaces(const struct doctor_machine *machine, int errnum,
			      struct doctor_advice *advice)
{
	bool is_root = machine->host->uid == 0;

	if (getenv("AISBX_SANDBOX")) {
		str_add(&advice->why, "this is a sandbox of aisbx already");
		str_add(&advice->remedy, "run aisbx outside of it");
		return;
	}
	if (sysctl_value(machine, "user/max_user_namespaces", 1) == 0) {
		str_add(&advice->why, "user.max_user_namespaces is 0");
		return advise_sysctl(machine, advice, "user.max_user_namespaces", "15000");
	}
	if (!is_root && sysctl_value(machine, "kernel/unprivileged_userns_clone", 1) == 0) {
		str_add(&advice->why, "kernel.unprivileged_userns_clone is 0");
		return advise_sysctl(machine, advice, "kernel.unprivileged_userns_clone", "1");
	}
	if (!is_root && sysctl_value(machine, "kernel/apparmor_restrict_unprivileged_userns", 0)) {
		str_add(&advice->why, "AppArmor restricts user namespaces "
				      "(kernel.apparmor_restrict_unprivileged_userns is 1)");
		return advise_apparmor(machine, advice);
	}
	if (errnum == ENOSYS || errnum == EINVAL) {
		str_add(&advice->why, "this kernel was built without it");
		str_add(&advice->remedy,
			"boot a kernel with CONFIG_USER_NS, CONFIG_PID_NS, CONFIG_NET_NS, "
			"CONFIG_IPC_NS and CONFIG_UTS_NS (any distribution kernel from 5.15)");
		return;
	}
	if (errnum == ENOSPC) {
		str_add(&advice->why, "the limit on namespaces is used up");
		return advise_sysctl(machine, advice, "user.max_user_namespaces", "15000");
	}
	if (is_chroot(machine->host)) {
		str_add(&advice->why, "this is a chroot, where the kernel refuses user namespaces");
		str_add(&advice->remedy, "run aisbx outside the chroot, or enter the tree with "
					 "systemd-nspawn instead of chroot");
		return;
	}
	if (is_container(machine)) {
		str_add(&advice->why, "this is a container whose engine refuses it");
		str_add(&advice->remedy,
			"start the container with --security-opt seccomp=unconfined "
			"--security-opt apparmor=unconfined --security-opt "
			"systempaths=unconfined, or run aisbx on the host");
		return;
	}
	str_add(&advice->remedy, "see dmesg for the security module that refused it");
}

static void advise_pid(const struct doctor_machine *machine, int errnum,
		       struct doctor_advice *advice)
{
	if (errnum != EPERM || !is_container(machine))
		return advise_namespaces(machine, errnum, advice);
	str_add(&advice->why,
		"parts of /proc are covered in this container, so the kernel refuses a fresh one");
	str_add(&advice->remedy, "docker run --security-opt systempaths=unconfined ... (podman run "
				 "--security-opt unmask=ALL ...)");
}

static void advise_overlay(const struct doctor_machine *machine, int errnum,
			   struct doctor_advice *advice)
{
	if (errnum == ENODEV) {
		advice->fix = fix_module(machine, "overlay");
		str_add(&advice->why, "the kernel has no overlay filesystem");
		str_add(&advice->remedy,
			"sudo modprobe overlay; to keep it: echo overlay | sudo tee "
			"/etc/modules-load.d/aisbx.conf");
		return;
	}
	if (machine->host->privileged) {
		str_add(&advice->why,
			"the filesystem of / cannot be shown with other ids (inside a container "
			"it is an overlay itself), or the kernel is older than 5.19");
		str_add(&advice->remedy,
			"run as a plain user, or with --root project; a volume of ext4, xfs or "
			"btrfs as root filesystem gives the whole clone");
		return;
	}
	str_add(&advice->why,
		"overlays inside a user namespace need kernel 5.11, and a root that is not "
		"stacked twice already");
	str_add(&advice->remedy, "aisbx run --root project, or a newer kernel");
}

static void advise_landlock(const struct doctor_machine *machine, struct doctor_advice *advice)
{
	char full[PATH_MAX], text[256];

	(void)snprintf(full, sizeof(full), "%s/sys/kernel/security/lsm", machine->root);
	if (file_read_small(AT_FDCWD, full, text, sizeof(text)) > 0 && !strstr(text, "landlock")) {
		str_add(&advice->why, "it is not among the security modules started at boot");
		str_addf(&advice->remedy, "add lsm=landlock,%s to the kernel command line", text);
		return;
	}
	str_add(&advice->why, "it needs kernel 5.13 with CONFIG_SECURITY_LANDLOCK");
	str_add(&advice->remedy,
		"nothing has to be done: it is a second lock; a newer kernel brings it");
}

static void advise_limits(const struct doctor_machine *machine, struct doctor_advice *advice)
{
	bool is_v2 = has_file(machine, "/sys/fs/cgroup/cgroup.controllers");
	bool has_systemd = has_file(machine, "/run/systemd/system");

	str_add(&advice->why, "limits fall back to rlimits and a watchdog");
	if (machine->host->uid == 0) {
		str_add(&advice->remedy,
			is_container(machine)
				? "start the container with a writable cgroup tree "
				  "(--cgroupns=private "
				  "-v /sys/fs/cgroup:/sys/fs/cgroup:rw, or --privileged)"
				: "mount the cgroup tree writable: mount -t cgroup2 none "
				  "/sys/fs/cgroup");
		return;
	}
	if (!is_v2) {
		str_addf(&advice->remedy,
			 "cgroup v1 gives a plain user no groups: boot with "
			 "systemd.unified_cgroup_hierarchy=1, or let root prepare one: for c in "
			 "memory "
			 "pids cpu; do mkdir -p /sys/fs/cgroup/$c/%s && chown -R %s "
			 "/sys/fs/cgroup/$c/%s && echo PID > /sys/fs/cgroup/$c/%s/cgroup.procs; "
			 "done",
			 machine->host->user, machine->host->user, machine->host->user,
			 machine->host->user);
		return;
	}
	if (!has_systemd) {
		str_addf(&advice->remedy,
			 "let root delegate a group: mkdir /sys/fs/cgroup/%s && chown -R %s "
			 "/sys/fs/cgroup/%s, and move your shell into a group below it",
			 machine->host->user, machine->host->user, machine->host->user);
		return;
	}
	advice->fix = fix_delegation(machine);
	str_addf(
		&advice->remedy,
		"systemd-run --user --scope -p Delegate=yes aisbx run ... (or once: sudo mkdir -p "
		"/etc/systemd/system/user@.service.d && printf '[Service]\\nDelegate=cpu memory "
		"pids\\n' | sudo tee /etc/systemd/system/user@.service.d/delegate.conf && sudo "
		"systemctl daemon-reload; without a login session: sudo loginctl enable-linger %s)",
		machine->host->user);
}

void doctor_advice_done(struct doctor_advice *advice)
{
	str_done(&advice->why);
	str_done(&advice->remedy);
	value_free(advice->fix);
}

void doctor_advise(const struct doctor_machine *machine, enum layer layer, int errnum,
		   struct doctor_advice *advice)
{
	switch (layer) {
	case LAYER_PID:
		return advise_pid(machine, errnum, advice);
	case LAYER_SECCOMP:
		str_add(&advice->why,
			"the kernel needs CONFIG_SECCOMP_FILTER, and a surrounding sandbox must "
			"let it through");
		str_add(&advice->remedy,
			"boot a distribution kernel; in a container allow the seccomp call");
		return;
	case LAYER_LANDLOCK:
		return advise_landlock(machine, advice);
	case LAYER_OVERLAY:
		return advise_overlay(machine, errnum, advice);
	case LAYER_MASKS:
		str_add(&advice->why, "masks are made of overlay whiteouts");
		str_add(&advice->remedy, "a kernel from 5.15");
		return;
	case LAYER_DISK:
		str_add(&advice->why,
			"before 6.6 a tmpfs cannot hold what overlays of a plain user write");
		str_add(&advice->remedy, "a kernel from 6.6");
		return;
	case LAYER_LIMITS:
		return advise_limits(machine, advice);
	case LAYER_USER:
	case LAYER_MOUNT:
	case LAYER_NET:
	case LAYER_IPC:
	case LAYER_UTS:
	case LAYER_CGROUP:
	case LAYER_COUNT:
		break;
	}
	advise_namespaces(machine, errnum, advice);
}

/* A host setting and the least (or, with `is_upper`, greatest) value that protects. */
struct watched {
	const char *path, *name;
	long bound;
	bool is_upper;
	const char *detail;
	const char *mends; /* NULL: the bound */
};

static const struct watched watched[] = {
	{ "fs/protected_symlinks", "fs.protected_symlinks", 1, false,
	  "links planted in shared directories such as /tmp are followed by other users", NULL },
	{ "fs/protected_hardlinks", "fs.protected_hardlinks", 1, false,
	  "users can hard-link files they cannot write; an alias of a secret is not masked", NULL },
	{ "fs/protected_fifos", "fs.protected_fifos", 1, false,
	  "a fifo planted in a shared directory can stand in for a file", NULL },
	{ "fs/protected_regular", "fs.protected_regular", 1, false,
	  "a file planted in a shared directory can stand in for another", NULL },
	{ "kernel/kptr_restrict", "kernel.kptr_restrict", 1, false,
	  "kernel addresses are shown to everybody outside sandboxes", NULL },
	{ "kernel/dmesg_restrict", "kernel.dmesg_restrict", 1, false,
	  "the kernel log is shown to everybody outside sandboxes", NULL },
	{ "kernel/unprivileged_bpf_disabled", "kernel.unprivileged_bpf_disabled", 1, false,
	  "plain users can load BPF programs outside sandboxes",
	  /* 1 could not be taken back before the machine starts anew. */
	  "2" },
	{ "dev/tty/legacy_tiocsti", "dev.tty.legacy_tiocsti", 0, true,
	  "a program on a terminal can type into it; sandboxes have a pty of their own", NULL },
	{ "vm/unprivileged_userfaultfd", "vm.unprivileged_userfaultfd", 0, true,
	  "plain users can stop the kernel in the middle of a copy", NULL },
	{ "kernel/perf_event_paranoid", "kernel.perf_event_paranoid", 2, false,
	  "plain users can measure the kernel", NULL },
};

struct value *doctor_warnings(const struct doctor_machine *machine, struct value *fixes)
{
	struct value *list = value_new_list();

	for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++) {
		const struct watched *one = &watched[i];
		long value = sysctl_value(machine, one->path, one->bound);
		owned(free_ptr) char *mends =
			one->mends ? xstrdup(one->mends) : xasprintf("%ld", one->bound);

		if (one->is_upper ? value <= one->bound : value >= one->bound)
			continue;
		owned(free_ptr) char *remedy = xasprintf("sudo sysctl -w %s=%s", one->name, mends);
		struct value *row = value_append(list, value_new_map());
		struct value *fix = value_append(fixes, fix_sysctl(machine, one->name, mends));

		value_add(fix, "why", value_new_text(one->detail));
		value_set(row, "setting", value_new_text(one->name));
		value_set(row, "value", value_new_int(value));
		value_set(row, "detail", value_new_text(one->detail));
		value_set(row, "remedy", value_new_text(remedy));
	}
	return list;
}
