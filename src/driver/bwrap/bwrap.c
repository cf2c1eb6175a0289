/* SPDX-License-Identifier: Apache-2.0 */
/* The bwrap driver: bubblewrap as it is installed, told by the plan what to show, with our filters. */
#include "driver/copied.h"

#include "base/core/own.h"
#include "base/file/fd.h"
#include "confine/seccomp/seccomp.h"
#include "driver/copied_masks.h"
#include "observe/descendants.h"
#include "spec/mask.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BWRAP "/usr/bin/bwrap"
/* Numbers that its two filters get, above the score's. */
#define FILTER_FD 10

extern const struct driver driver_bwrap;

static int bwrap_probe(struct error *err)
{
	if (access(BWRAP, X_OK) < 0)
		return error_advise(err, ERROR_DENIED, "install the package bubblewrap",
				    BWRAP " is not there");
	if (!descendants_are_known())
		return error_set(err, ERROR_DENIED,
				 "this kernel does not tell the children of a process");
	return 0;
}

static int bwrap_check(const struct spec *spec, struct error *err)
{
	return copied_check(&driver_bwrap, spec, err);
}

/* Whether an account that owns none of it may follow PATH. */
static bool is_open_to_others(const char *path)
{
	owned(free_ptr) char *dir = xstrdup(path);
	struct stat st;
	char *slash;

	while ((slash = strrchr(dir, '/')) && slash > dir) {
		*slash = '\0';
		if (stat(dir, &st) < 0 || !(st.st_mode & S_IXOTH))
			return false;
	}
	return true;
}

struct masking {
	struct strv *words;
	bool is_other; /* bwrap runs under an id of root's range, which owns nothing here */
};

static int add_mask(enum copied_mask mask, const char *path, void *cookie, struct error *err)
{
	static const char *const flags[] = { "--tmpfs", "--ro-bind", "--ro-bind", "--ro-bind" };
	const struct masking *masking = cookie;
	struct strv *words = masking->words;

	(void)err;
	/* It would end there, and the command could not read it either. */
	if ((mask == COPIED_KEEP || mask == COPIED_KEEP_FILE) && masking->is_other &&
	    !is_open_to_others(path))
		return 0;
	strv_add(words, flags[mask]);
	if (mask == COPIED_HIDE)
		strv_add(words, "/dev/null");
	else if (mask != COPIED_EMPTY)
		strv_add(words, path);
	strv_add(words, path);
	return 0;
}

/* bwrap itself would exit with 1. */
static int check_command(const struct copied_task *task, struct error *err)
{
	const char *word = task->spec->command.items[0], *path = NULL;

	if (strchr(word, '/'))
		return 0;
	for (size_t i = 0; i < task->env.count; i++) {
		if (str_starts(task->env.items[i], "PATH="))
			path = task->env.items[i] + 5;
	}
	for (const char *at = path; at;) {
		size_t len = strcspn(at, ":");
		owned(free_ptr) char *candidate = xasprintf("%.*s/%s", (int)len, at, word);

		if (access(candidate, X_OK) == 0)
			return 0;
		at = at[len] ? at + len + 1 : NULL;
	}
	return error_set(err, ERROR_EXEC_NOT_FOUND, "%s: command not found", word);
}

static int prepare(struct copied_task *task, struct error *err)
{
	static const char *const always[] = {
		BWRAP,
		"--unshare-user",
		"--unshare-pid",
		"--unshare-net",
		"--unshare-ipc",
		"--unshare-uts",
		"--unshare-cgroup-try",
		"--die-with-parent",
		"--ro-bind",
		"/",
		"/",
		"--proc",
		"/proc",
		"--dev",
		"/dev",
	};
	struct strv *words = &task->command;
	const struct spec *spec = task->spec;
	struct masking masking = { words, spec->ids.count > 1 };

	if (check_command(task, err) < 0)
		return -1;
	strv_done(words);
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		strv_add(words, always[i]);
	if (copied_masks(spec, add_mask, &masking, err) < 0)
		return -1;
	strv_add(words, "--bind");
	strv_addf(words, "%s/ws", task->area);
	strv_add(words, spec->workspace);
	for (int i = 0; i < 2; i++) {
		strv_add(words, "--add-seccomp-fd");
		strv_addf(words, "%d", FILTER_FD + i);
	}
	strv_add(words, "--chdir");
	strv_add(words, task->cwd);
	strv_add(words, "--");
	strv_copy(words, &spec->command);
	/* Its own place: the working directory is one of the sandbox's. */
	free(task->cwd);
	task->cwd = xstrdup("/");
	return 0;
}

static int enter(struct copied_task *task, struct error *err)
{
	if (copied_own_mounts(task, err) < 0)
		return -1;
	/* bwrap's own binds of them keep what is read-only; its --remount-ro would make them no devices any more. */
	for (size_t i = 0; task->spec->ids.count > 1 && copied_devices[i]; i++) {
		if (copied_bind_device(copied_devices[i], copied_devices[i]) < 0)
			return error_errno(err, ERROR_DENIED, "cannot protect %s",
					   copied_devices[i]);
	}
	return 0;
}

/* For bwrap to load last of all: it needs calls itself that they refuse. */
static int hand_filter(const struct sock_fprog *program, int number)
{
	size_t size = program->len * sizeof(program->filter[0]);
	owned(fd_close) int fd = memfd_create("filter", MFD_CLOEXEC);

	if (fd < 0 || fd_write_all(fd, program->filter, size) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -1;
	return dup2(fd, number) < 0 ? -1 : 0;
}

static int lock(struct copied_task *task, int *ret_listener_fd, struct error *err)
{
	static struct sock_filter code[COPIED_FILTER_MAX];
	unsigned variant = task->spec->splice ? SECCOMP_VARIANT_SPLICE : 0;
	const struct sock_fprog own = { (unsigned short)copied_filter_program(false, code), code };

	(void)ret_listener_fd;
	if (hand_filter(seccomp_builtin(variant), FILTER_FD) < 0 ||
	    hand_filter(&own, FILTER_FD + 1) < 0)
		return error_errno(err, ERROR_HOST, "cannot hand the filters over");
	return 0;
}

static const struct copied_wall wall = { .driver = &driver_bwrap,
					 .keeps_paths = true,
					 .prepare = prepare,
					 .enter = enter,
					 .lock = lock };

static int bwrap_start(const struct spec *spec, const struct driver_io *io, struct task **ret_task,
		       struct error *err)
{
	return copied_start(&wall, spec, io, ret_task, err);
}

const struct driver driver_bwrap = {
	.name = "bwrap",
	.summary = "bubblewrap as installed here, over a private copy of the workspace",
	.isolation = "namespaces",
	.strength = DRIVER_FAIR,
	.lacks = "a network, not even its own; control groups and Landlock; memory, processes and "
		 "disk by "
		 "sampling; changes outside of the workspace are lost; sandboxes that stay; fifos "
		 "of "
		 "this machine "
		 "that are shown can be read and written to; a plain caller's command can touch "
		 "device nodes",
	.degraded = 1u << LAYER_CGROUP | 1u << LAYER_LANDLOCK | 1u << LAYER_OVERLAY |
		    1u << LAYER_LIMITS | 1u << LAYER_DISK,
	.probe = bwrap_probe,
	COPIED_VTABLE(bwrap_check, bwrap_start),
};
