/* SPDX-License-Identifier: Apache-2.0 */
/* What to change on this machine, as data. */
#include "app/doctor/fix_steps.h"

#include "base/core/own.h"
#include "base/file/fd.h"

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

static struct value *new_fix(const char *name, struct value **ret_steps)
{
	struct value *fix = value_new_map();

	value_add(fix, "name", value_new_text(name));
	*ret_steps = value_add(fix, "steps", value_new_list());
	return fix;
}

/* Owns both texts, either of which may be NULL. */
static struct value *add_commands(struct value *steps, char *forth, char *back)
{
	struct value *step = value_append(steps, value_new_map());

	value_add(step, "do", value_new_text(forth));
	value_add(step, "undo", value_new_text(back));
	free(forth);
	free(back);
	return step;
}

static void add_text(struct value *steps, const char *path, const char *text)
{
	struct value *step = value_append(steps, value_new_map());

	value_add(step, "file", value_new_text(path));
	value_add(step, "text", value_new_text(text));
}

/*
 * A file DIR/NAME of the machine's configuration; small machines lack some of these directories. Each fix makes the directory,
 * for another one may have made it meanwhile, and the last one that is taken back removes it.
 */
static void add_file(const struct doctor_machine *machine, struct value *steps, const char *dir,
		     const char *name, const char *text)
{
	owned(free_ptr) char *path = xasprintf("%s/%s", dir, name);

	struct value *step;

	if (!has_file(machine, dir)) {
		step = add_commands(steps, xasprintf("mkdir -p %s", dir),
				    xasprintf("rmdir --ignore-fail-on-non-empty %s", dir));
		value_add(step, "dir", value_new_text(dir));
	}
	add_text(steps, path, text);
}

struct value *fix_sysctl(const struct doctor_machine *machine, const char *name, const char *value)
{
	owned(free_ptr) char *live = xasprintf("/proc/sys/%s", name);
	owned(free_ptr) char *live_text = xasprintf("%s\n", value);
	owned(free_ptr) char *kept = xasprintf("90-aisbx-%s.conf", name);
	owned(free_ptr) char *kept_text = xasprintf("%s = %s\n", name, value);
	struct value *steps, *fix = new_fix(name, &steps);

	for (char *at = live; *at; at++) {
		if (*at == '.')
			*at = '/';
	}
	add_text(steps, live, live_text);
	/* A file for each setting: one can be taken back without the others. */
	add_file(machine, steps, "/etc/sysctl.d", kept, kept_text);
	return fix;
}

/* Whether PATH stands for itself in a profile of AppArmor. */
static bool is_plain_path(const char *path)
{
	return path[0] == '/' &&
	       path[strspn(path, "abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-")] == '\0';
}

struct value *fix_apparmor(const struct doctor_machine *machine)
{
	static const char parser[] = "apparmor_parser", dir[] = "/etc/apparmor.d";
	struct value *steps, *fix;
	bool is_there = has_file(machine, "/etc/apparmor.d/aisbx");

	if (!is_plain_path(machine->program) || !has_file(machine, dir) ||
	    !(has_file(machine, "/usr/sbin/apparmor_parser") ||
	      has_file(machine, "/sbin/apparmor_parser")))
		return fix_sysctl(machine, "kernel.apparmor_restrict_unprivileged_userns", "0");
	owned(free_ptr) char *text =
		xasprintf("abi <abi/4.0>,\ninclude <tunables/global>\nprofile aisbx %s "
			  "flags=(unconfined) {\n  userns,\n}\n",
			  machine->program);

	fix = new_fix("apparmor", &steps);
	if (is_there)
		add_commands(steps, NULL, xasprintf("%s -r %s/aisbx", parser, dir));
	add_file(machine, steps, dir, "aisbx", text);
	add_commands(steps, xasprintf("%s -r %s/aisbx", parser, dir),
		     is_there ? NULL : xasprintf("%s -R %s/aisbx", parser, dir));
	return fix;
}

struct value *fix_module(const struct doctor_machine *machine, const char *name)
{
	owned(free_ptr) char *text = xasprintf("%s\n", name);
	struct value *steps, *fix = new_fix(name, &steps);

	add_commands(steps, xasprintf("modprobe %s", name), xasprintf("modprobe -r %s", name));
	add_file(machine, steps, "/etc/modules-load.d", "aisbx.conf", text);
	return fix;
}

struct value *fix_delegation(const struct doctor_machine *machine)
{
	unsigned uid = (unsigned)machine->host->uid;
	owned(free_ptr) char *group =
		xasprintf("/sys/fs/cgroup/user.slice/user-%u.slice/user@%u.service", uid, uid);
	owned(free_ptr) char *linger = xasprintf("/var/lib/systemd/linger/%s", machine->host->user);
	owned(free_ptr) char *path = xasprintf("%s%s/cgroup.controllers", machine->root, group);
	char text[512];
	struct value *steps, *fix;

	if (file_read_small(AT_FDCWD, path, text, sizeof(text)) > 0 && strstr(text, "memory") &&
	    strstr(text, "pids"))
		return NULL;
	fix = new_fix("delegation", &steps);
	add_commands(steps, NULL, xstrdup("systemctl daemon-reload"));
	add_file(machine, steps, "/etc/systemd/system/user@.service.d", "aisbx.conf",
		 "[Service]\nDelegate=cpu memory pids\n");
	add_commands(steps, xstrdup("systemctl daemon-reload"), NULL);
	/* Without a login no manager of the user's runs, unless logind is set to keep one (linger). */
	if (!has_file(machine, group) && !has_file(machine, linger))
		add_commands(steps, xasprintf("loginctl enable-linger %u", uid),
			     xasprintf("loginctl disable-linger %u", uid));
	return fix;
}
