/* SPDX-License-Identifier: Apache-2.0 */
/* Paths as text: which are clean, and which lies within which. */
#include "base/text/clean_path.h"
#include "base/core/own.h"
#include "tests/tap.h"

static void test_paths(void)
{
	static const char *const clean[] = { "/", "/a", "/a/b", "/...", "/.a/..b", "/a b" };
	static const char *const dirty[] = { "",   "a",	   "/a/", "//",	    "/a//b",
					     "/.", "/a/.", "/..", "/a/../b" };
	static const char *const pairs[][2] = {
		{ "/", "/" },		{ "//", "/" },	 { "/a/", "/a" }, { "/./a//b/.", "/a/b" },
		{ "/a/...", "/a/..." }, { "a/b", NULL }, { "", NULL },	  { "/a/..", NULL },
		{ "/../a", NULL },
	};
	char huge[5000];

	for (size_t i = 0; i < sizeof(clean) / sizeof(clean[0]); i++)
		tap_ok(path_is_clean(clean[i]), "'%s' is clean", clean[i]);
	for (size_t i = 0; i < sizeof(dirty) / sizeof(dirty[0]); i++)
		tap_ok(!path_is_clean(dirty[i]), "'%s' is not", dirty[i]);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		owned(free_ptr) char *got = path_clean(pairs[i][0]);

		tap_is_str(got, pairs[i][1], "'%s' cleaned", pairs[i][0]);
	}
	memset(huge, '/', 1);
	memset(huge + 1, 'a', sizeof(huge) - 2);
	huge[sizeof(huge) - 1] = '\0';
	tap_ok(!path_is_clean(huge) && !path_clean(huge),
	       "a path longer than paths can be is none");
	tap_ok(!path_is_clean(NULL), "nor is nothing");
	tap_ok(path_is_within("/a/b", "/a") && path_is_within("/a", "/a") &&
		       path_is_within("/a", "/"),
	       "within");
	tap_ok(!path_is_within("/ab", "/a") && !path_is_within("/", "/a"), "not within");
}

int main(void)
{
	test_paths();
	return tap_done();
}
