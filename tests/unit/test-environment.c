/* SPDX-License-Identifier: Apache-2.0 */
/* The environment inside: what is kept, what never is, what is passed on by name. */
#include "plan/plan.h"

#include "tests/unit/plan_fixture.h"

static const char *const caller_environment[] = {
	"PATH=/usr/bin",
	"LANG=C",
	"LC_ALL=C.UTF-8",
	"HOME=/elsewhere",
	"AWS_SECRET_ACCESS_KEY=x",
	"GITHUB_TOKEN=x",
	"LD_PRELOAD=/evil.so",
	"SSH_AUTH_SOCK=/run/agent",
	"http_proxy=http://p",
	"GOPATH=/home/u/go:/home/u/secret:relative",
	"VIRTUAL_ENV=/home/u/venv",
	"JAVA_HOME=/usr/lib/jvm",
	"PYTHONPATH=/home/u/work/lib:/home/u/.pyenv/lib",
	"LANGUAGE=de",
	"PATHX=no",
	"broken",
	"=odd",
	"A=1",
	"B=2",
	NULL,
};

static void test_kept(void)
{
	struct fixture f;

	fixture_open(&f);
	fixture_must_plan(&f);
	tap_ok(fixture_env(&f, "PATH") != NULL, "a PATH when there is none");
	f.request.environ = caller_environment;
	f.paths.sandbox = "s-9";
	fixture_must_plan(&f);
	tap_is_str(fixture_env(&f, "PATH"), "/usr/bin", "PATH");
	tap_is_str(fixture_env(&f, "LC_ALL"), "C.UTF-8", "locale");
	tap_is_str(fixture_env(&f, "HOME"), "/home/u", "HOME as it is inside");
	tap_is_str(fixture_env(&f, "USER"), "u", "USER");
	tap_is_str(fixture_env(&f, "AISBX"), "1", "a program can tell where it is");
	tap_is_str(fixture_env(&f, "AISBX_SANDBOX"), "s-9", "and in which sandbox");
	tap_is_str(fixture_env(&f, "GOPATH"), "/home/u/go", "places as far as they are seen");
	tap_is_str(fixture_env(&f, "JAVA_HOME"), "/usr/lib/jvm", "a place of the system");
	tap_is_str(fixture_env(&f, "PYTHONPATH"), "/home/u/work/lib:/home/u/.pyenv/lib", "a list");
	fixture_close(&f);
}

static void test_gone(void)
{
	static const char *const gone[] = { "AWS_SECRET_ACCESS_KEY",
					    "GITHUB_TOKEN",
					    "LD_PRELOAD",
					    "SSH_AUTH_SOCK",
					    "http_proxy",
					    "VIRTUAL_ENV",
					    "LANGUAGE",
					    "PATHX",
					    "A",
					    "B",
					    "" };
	struct fixture f;

	fixture_open(&f);
	f.request.environ = caller_environment;
	fixture_must_plan(&f);
	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
		tap_ok(!fixture_env(&f, gone[i]), "not passed on: '%s'", gone[i]);
	fixture_close(&f);
}

static void test_named(void)
{
	struct fixture f;

	fixture_open(&f);
	f.request.environ = caller_environment;
	fixture_flag(&f, "pass-env", "A");
	fixture_flag(&f, "pass-env", "NOT_SET");
	fixture_flag(&f, "pass-env", "GITHUB_TOKEN");
	fixture_flag(&f, "env", "B=9");
	fixture_flag(&f, "env", "AISBX_SANDBOX=mine");
	fixture_must_plan(&f);
	tap_is_str(fixture_env(&f, "A"), "1", "passed on by name");
	tap_is_str(fixture_env(&f, "GITHUB_TOKEN"), "x", "also what is never passed on by itself");
	tap_is_str(fixture_env(&f, "B"), "9", "set by value");
	tap_is_str(fixture_env(&f, "AISBX_SANDBOX"), "mine", "what is said wins");
	tap_ok(!fixture_env(&f, "NOT_SET"), "what is not there cannot be passed on");
	fixture_close(&f);
}

int main(void)
{
	test_kept();
	test_gone();
	test_named();
	return tap_done();
}
