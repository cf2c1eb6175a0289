/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of system calls against the kernel headers of this machine: a number or name that the
 * headers know and the table does not is a decision that has not been made yet.
 */
#include "tests/tap.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "confine/seccomp/seccomp.h"
#include "confine/seccomp/seccomp_build.h"

#include <ctype.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT_MAX ((size_t)1 << 20)

extern char **environ;

/* Runs `COMPILER -E -dM` over the system call header. 0, or -1 when there is no such compiler. */
static int read_macros(const char *compiler, struct str *ret_text)
{
	const char *const argv[] = { compiler, "-E", "-dM",	  "-include", "asm/unistd.h",
				     "-x",     "c",  "/dev/null", NULL };
	posix_spawn_file_actions_t actions;
	int ends[2];
	int status = -1;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	owned(fd_close) int in = ends[0];
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
	(void)posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	int failed = posix_spawnp(&pid, compiler, &actions, NULL, (char *const *)(uintptr_t)argv,
				  environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)close(ends[1]);
	if (failed)
		return -1;
	int read_failed = fd_read_all(in, TEXT_MAX, ret_text);
	(void)waitpid(pid, &status, 0);
	return read_failed || status != 0 ? -1 : 0;
}

/* The value of a macro, through macros that name others; -1 when it is no number. */
static long macro_value(const char *text, const char *name)
{
	char wanted[80];
	char value[64] = "";

	snprintf(value, sizeof(value), "%s", name);
	for (unsigned hops = 0; hops < 4 && !isdigit((unsigned char)value[0]); hops++) {
		snprintf(wanted, sizeof(wanted), "#define %s ", value);
		const char *at = strstr(text, wanted);

		if (!at)
			return -1;
		at += strlen(wanted);
		size_t len = strcspn(at, "\n");
		snprintf(value, sizeof(value), "%.*s", (int)len, at);
	}
	return isdigit((unsigned char)value[0]) ? strtol(value, NULL, 10) : -1;
}

static const struct seccomp_name *find(const struct seccomp_build *build, const char *name)
{
	for (size_t i = 0; i < build->name_count; i++) {
		if (strcmp(build->names[i].name, name) == 0)
			return &build->names[i];
	}
	return NULL;
}

static bool is_no_call(const char *name)
{
	return strcmp(name, "syscalls") == 0 || strcmp(name, "arch_specific_syscall") == 0;
}

static void check_headers(const struct seccomp_build *build, const char *arch, const char *text)
{
	unsigned seen = 0;
	unsigned wrong = 0;

	for (const char *at = strstr(text, "#define __NR_"); at;
	     at = strstr(at + 1, "#define __NR_")) {
		char macro[64];
		const char *start = at + strlen("#define ");
		size_t len = strcspn(start, " \n");

		snprintf(macro, sizeof(macro), "%.*s", (int)len, start);
		const char *name = macro + strlen("__NR_");
		if (is_no_call(name))
			continue;
		const struct seccomp_name *row = find(build, name);
		long nr = macro_value(text, macro);

		seen++;
		if (row && row->nr == nr)
			continue;
		wrong++;
		printf("# %s is %ld in the headers, %d in syscalls.tsv\n", name, nr,
		       row ? row->nr : -1);
	}
	tap_ok(seen > 250, "%s: the headers name %u system calls", arch, seen);
	tap_is_int(wrong, 0, "%s: each is in the table under its number", arch);
}

static void test_headers(const struct seccomp_build *build, const char *arch,
			 const char *const *compilers)
{
	struct str text = STR_INIT;

	for (size_t i = 0; compilers[i]; i++) {
		if (read_macros(compilers[i], &text) == 0) {
			check_headers(build, arch, str_cstr(&text));
			str_done(&text);
			return;
		}
		str_clear(&text);
	}
	str_done(&text);
	tap_skip(2, "no compiler for this architecture");
}

/* Rising numbers, each once, no hole between the newest ones both architectures share. */
static void test_order(const struct seccomp_build *build, const char *arch)
{
	unsigned wrong = 0;
	int last = -1;

	for (size_t i = 0; i < build->name_count; i++) {
		wrong += build->names[i].nr <= last;
		wrong += build->names[i].nr > 424 && build->names[i].nr != last + 1;
		last = build->names[i].nr;
	}
	tap_is_int(wrong, 0, "%s: rising numbers without a hole from 424 on", arch);
	tap_ok(last >= 471, "%s: the table goes up to %d", arch, last);
	for (size_t i = 0; i < build->elsewhere_count; i++)
		wrong += find(build, build->elsewhere[i].name) != NULL;
	tap_is_int(wrong, 0, "%s: what is elsewhere is not here", arch);
}

int main(void)
{
	const char *const x86_compilers[] = {
#ifdef __x86_64__
		"cc", "gcc", "clang",
#endif
		"x86_64-linux-gnu-gcc", NULL
	};
	const char *const arm_compilers[] = {
#ifdef __aarch64__
		"cc", "gcc", "clang",
#endif
		"aarch64-linux-gnu-gcc", NULL
	};

	test_headers(&seccomp_build_x86_64, "x86_64", x86_compilers);
	test_headers(&seccomp_build_aarch64, "aarch64", arm_compilers);
	test_order(&seccomp_build_x86_64, "x86_64");
	test_order(&seccomp_build_aarch64, "aarch64");
	return tap_done();
}
