/* SPDX-License-Identifier: Apache-2.0 */
/* Where paths really lead: one spelling each, whatever slashes are in arguments and in links, whatever the C library. */
#include "tests/tap.h"

#include "base/text/clean_path.h"
#include "base/core/own.h"
#include "base/file/real_path.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[PATH_MAX];

static void check(const char *path, const char *want)
{
	owned(free_ptr) char *got = path_real(path);
	char into[PATH_MAX];
	bool is_there = path_real_into(path, into);

	tap_is_str(got, want, "'%s'", path);
	tap_ok(is_there == (want != NULL) && (!want || strcmp(into, want) == 0),
	       "'%s' into a buffer", path);
	tap_ok(!got || path_is_clean(got), "'%s' is clean then", path);
}

static void test_slashes(void)
{
	check("/", "/");
	check("//", "/");
	check("///", "/");
	check("//.", "/");
	check("//..", "/");
	check("//../..//", "/");
	check("/proc", "/proc");
	check("//proc", "/proc");
	check("///proc", "/proc");
	check("//proc//sys///", "/proc/sys");
	check("//proc/sys/..", "/proc");
	check("//proc/..", "/");
	check("//./proc", "/proc");
}

/* A link in the directory of the test, to what begins with many slashes or few. */
static void check_link(const char *target, const char *want)
{
	(void)unlink("link");
	if (symlink(target, "link") < 0)
		tap_bail("symlink");
	check("link", want);
	check("./link", want);
	check(".//link//.", want);
	(void)unlink("link");
}

static void test_links(void)
{
	char there[PATH_MAX + 8];

	check_link("/proc/sys", "/proc/sys");
	check_link("//proc/sys", "/proc/sys");
	check_link("///proc/sys", "/proc/sys");
	check_link("//", "/");
	check_link("//..", "/");
	(void)snprintf(there, sizeof(there), "/%s", top);
	check_link(there, top);
	/* By way of another. */
	if (symlink("//proc", "first") < 0)
		tap_bail("symlink");
	check_link("first/sys", "/proc/sys");
	check_link("first//..", "/");
	(void)unlink("first");
}

static void test_relative(void)
{
	check(".", top);
	check("./", top);
	check(".//.", top);
	if (mkdir("below", 0700) < 0)
		tap_bail("mkdir");
	check("below/..", top);
	check("below//..//", top);
	(void)rmdir("below");
}

static void test_none(void)
{
	char huge[PATH_MAX + 10];

	errno = 0;
	check("//none/at/all", NULL);
	tap_is_int(errno, ENOENT, "what is not there");
	check("", NULL);
	check_link("link", NULL);
	check_link("//none", NULL);
	memset(huge, '/', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	errno = 0;
	tap_ok(!path_real(huge) && errno == ENAMETOOLONG, "more slashes than a path can have");
}

int main(void)
{
	char template[] = "/tmp/aisbx-real-path-XXXXXX";

	if (!mkdtemp(template) || chdir(template) < 0 || !getcwd(top, sizeof(top)))
		tap_bail("no directory");
	test_slashes();
	test_links();
	test_relative();
	test_none();
	(void)rmdir(template);
	return tap_done();
}
