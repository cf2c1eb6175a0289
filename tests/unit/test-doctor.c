/* SPDX-License-Identifier: Apache-2.0 */
/* Doctor: the remedy named for each known cause, on made-up machines; and what it says of this one. */
#include "app/doctor/doctor_advice.h"
#include "app/run/run_request.h"

#include "base/core/own.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

#include <errno.h>

struct machine {
	struct scratch scratch;
	struct host host;
	struct host_mount root;
	struct doctor_machine doctor;
};

static void machine_open(struct machine *machine)
{
	static char point[] = "/", user[] = "u";

	memset(machine, 0, sizeof(*machine));
	scratch_open(&machine->scratch);
	machine->root.point = point;
	machine->host = (struct host){
		.uid = 1000,
		.user = user,
		.mounts = &machine->root,
		.mount_count = 1,
	};
	machine->doctor = (struct doctor_machine){
		.root = machine->scratch.dir,
		.host = &machine->host,
		.program = "/usr/bin/aisbx",
	};
}

static void machine_has(struct machine *machine, const char *path, const char *text)
{
	free(scratch_write(&machine->scratch, path, text));
}

/* Whether the advice for LAYER failing with ERRNUM names WHY and REMEDY, and FIX is what mends it. */
static void check_fix(struct machine *machine, enum layer layer, int errnum, const char *why,
		      const char *remedy, const char *fix)
{
	owned(doctor_advice_done) struct doctor_advice got = { .fix = NULL };

	doctor_advise(&machine->doctor, layer, errnum, &got);
	bool is_right = strstr(str_cstr(&got.why), why) && strstr(str_cstr(&got.remedy), remedy) &&
			str_same(value_get_text(got.fix, "name"), fix);

	tap_ok(is_right, "%s, %s: %s", layer_name(layer), why, remedy);
	if (!is_right)
		printf("#   why: %s\n#   remedy: %s\n#   fix: %s\n", str_cstr(&got.why),
		       str_cstr(&got.remedy), fix ? fix : "none");
}

static void check_advice(struct machine *machine, enum layer layer, int errnum, const char *why,
			 const char *remedy)
{
	check_fix(machine, layer, errnum, why, remedy, NULL);
}

static void test_namespaces(void)
{
	struct machine m;

	machine_open(&m);
	check_advice(&m, LAYER_NET, EPERM, "", "dmesg");
	check_advice(&m, LAYER_USER, ENOSYS, "built without", "CONFIG_USER_NS");
	check_fix(&m, LAYER_USER, ENOSPC, "used up",
		  "user.max_user_namespaces=", "user.max_user_namespaces");
	machine_has(&m, ".dockerenv", "");
	check_advice(&m, LAYER_USER, EPERM, "container", "seccomp=unconfined");
	check_advice(&m, LAYER_PID, EPERM, "/proc", "systempaths=unconfined");
	m.host.mount_count = 0;
	check_advice(&m, LAYER_IPC, EPERM, "chroot", "outside the chroot");
	m.host.mount_count = 1;
	machine_has(&m, "proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
	check_fix(&m, LAYER_MOUNT, EACCES, "AppArmor", "profile aisbx /usr/bin/aisbx",
		  "kernel.apparmor_restrict_unprivileged_userns");
	machine_has(&m, "usr/sbin/apparmor_parser", "");
	machine_has(&m, "etc/apparmor.d/lsb_release", "");
	check_fix(&m, LAYER_UTS, EPERM, "AppArmor",
		  "kernel.apparmor_restrict_unprivileged_userns=0", "apparmor");
	machine_has(&m, "proc/sys/kernel/unprivileged_userns_clone", "0\n");
	check_fix(&m, LAYER_USER, EPERM, "unprivileged_userns_clone is 0",
		  "sysctl -w kernel.unprivileged_userns_clone=1",
		  "kernel.unprivileged_userns_clone");
	machine_has(&m, "proc/sys/user/max_user_namespaces", "0\n");
	check_fix(&m, LAYER_USER, ENOSPC, "max_user_namespaces is 0",
		  "user.max_user_namespaces=", "user.max_user_namespaces");
	m.host.uid = 0;
	machine_has(&m, "proc/sys/user/max_user_namespaces", "junk\n");
	check_advice(&m, LAYER_PID, ENOSYS, "built without", "CONFIG_PID_NS");
	scratch_close(&m.scratch);
}

static void test_layers(void)
{
	struct machine m;

	machine_open(&m);
	check_advice(&m, LAYER_SECCOMP, EINVAL, "CONFIG_SECCOMP_FILTER", "kernel");
	check_fix(&m, LAYER_OVERLAY, ENODEV, "no overlay", "modprobe overlay", "overlay");
	check_advice(&m, LAYER_OVERLAY, EINVAL, "5.11", "--root project");
	m.host.privileged = true;
	check_advice(&m, LAYER_OVERLAY, EINVAL, "other ids", "--root project");
	check_advice(&m, LAYER_MASKS, EPERM, "whiteouts", "5.15");
	check_advice(&m, LAYER_DISK, 0, "tmpfs", "6.6");
	check_advice(&m, LAYER_LANDLOCK, 0, "5.13", "newer kernel");
	machine_has(&m, "sys/kernel/security/lsm", "capability,apparmor");
	check_advice(&m, LAYER_LANDLOCK, 0, "at boot", "lsm=landlock,capability,apparmor");
	scratch_close(&m.scratch);
}

static void test_limits(void)
{
	struct machine m;

	machine_open(&m);
	check_advice(&m, LAYER_LIMITS, 0, "watchdog", "cgroup v1");
	machine_has(&m, "sys/fs/cgroup/cgroup.controllers", "memory pids\n");
	check_advice(&m, LAYER_LIMITS, 0, "watchdog", "mkdir /sys/fs/cgroup/u");
	scratch_mkdir(&m.scratch, "run");
	scratch_mkdir(&m.scratch, "run/systemd");
	scratch_mkdir(&m.scratch, "run/systemd/system");
	check_fix(&m, LAYER_LIMITS, 0, "watchdog", "systemd-run --user --scope -p Delegate=yes",
		  "delegation");
	check_fix(&m, LAYER_LIMITS, 0, "watchdog", "loginctl enable-linger u", "delegation");
	scratch_mkdir(&m.scratch, "sys/fs/cgroup/user.slice");
	scratch_mkdir(&m.scratch, "sys/fs/cgroup/user.slice/user-1000.slice");
	machine_has(&m,
		    "sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/cgroup.controllers",
		    "cpu memory pids\n");
	check_advice(&m, LAYER_LIMITS, 0, "watchdog", "systemd-run");
	m.host.uid = 0;
	check_advice(&m, LAYER_LIMITS, 0, "watchdog", "mount -t cgroup2");
	machine_has(&m, "run/.containerenv", "");
	check_advice(&m, LAYER_LIMITS, 0, "watchdog", "--cgroupns=private");
	scratch_close(&m.scratch);
}

static void test_warnings(void)
{
	struct machine m;

	machine_open(&m);
	owned(value_release) struct value *fixes = value_new_list();
	owned(value_release) struct value *none = doctor_warnings(&m.doctor, fixes);

	tap_is_int((long long)none->many.count, 0, "settings that cannot be read are no warning");
	machine_has(&m, "proc/sys/fs/protected_symlinks", "0\n");
	machine_has(&m, "proc/sys/fs/protected_hardlinks", "1\n");
	machine_has(&m, "proc/sys/dev/tty/legacy_tiocsti", "1\n");
	machine_has(&m, "proc/sys/kernel/perf_event_paranoid", "-1\n");
	owned(value_release) struct value *some = doctor_warnings(&m.doctor, fixes);

	tap_is_int((long long)some->many.count, 3, "one for each that is too weak");
	tap_is_str(value_get_text(some->many.items[0], "setting"), "fs.protected_symlinks",
		   "by name");
	tap_is_str(value_get_text(some->many.items[1], "remedy"),
		   "sudo sysctl -w dev.tty.legacy_tiocsti=0", "with the remedy");
	tap_is_int((long long)fixes->many.count, 3, "and what mends it");
	scratch_close(&m.scratch);
}

static void test_here(void)
{
	owned(value_release) struct value *answer = NULL;
	struct error err;
	bool fit = true, complete = true;

	if (!tap_ok(app_doctor(&answer, &err) == 0, "this machine can be examined"))
		return;
	const struct value *layers = value_get(answer, "layers");

	tap_is_int((long long)layers->many.count, LAYER_COUNT, "every layer is told");
	for (size_t i = 0; i < layers->many.count; i++) {
		const struct value *row = layers->many.items[i];
		const char *state = value_get_text(row, "state"),
			   *detail = value_get_text(row, "detail");

		complete &= state && detail && detail[0];
		/* What does not work must come with something to do. */
		complete &=
			state && (strcmp(state, "works") == 0) == !value_get_text(row, "remedy");
		if (state && strcmp(state, "missing") == 0)
			fit = false;
		printf("# %s: %s, %s\n", value_get_text(row, "layer"), state, detail);
	}
	tap_ok(complete, "each with its state, detail, and a remedy where it does not work");
	tap_ok(value_get(answer, "fit")->truth == fit, "fit when nothing mandatory is missing");
}

int main(void)
{
	test_namespaces();
	test_layers();
	test_limits();
	test_warnings();
	test_here();
	return tap_done();
}
