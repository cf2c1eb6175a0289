/* SPDX-License-Identifier: Apache-2.0 */
/* The environment inside: what is kept, what never is, what is passed on by name. */
#include "plan/plan.h"

#include "tests/unit/plan_fixture.h"

static const char *const caller_environment[] = {
	"PATH=/usr/bin",
	"LANG=C",
	"LC_ALL=C.UTF-8",
	"LC_API_TOKEN=secret",
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
	tap_ok(!fixture_env(&f, "LC_API_TOKEN"), "but no name that only begins like one of it");
	tap_is_str(fixture_env(&f, "HOME"), "/home/u", "HOME as it is inside");
	tap_is_str(fixture_env(&f, "USER"), "u", "USER");
	tap_is_str(fixture_env(&f, "AISBX"), "1", "a program can tell where it is");
	tap_is_str(fixture_env(&f, "AISBX_SANDBOX"), "s-9", "and in which sandbox");
	tap_is_str(fixture_env(&f, "GOPATH"), "/home/u/go", "places as far as they are seen");
	tap_is_str(fixture_env(&f, "JAVA_HOME"), "/usr/lib/jvm", "a place of the system");
	tap_is_str(fixture_env(&f, "PYTHONPATH"), "/home/u/work/lib:/home/u/.pyenv/lib", "a list");
	fixture_close(&f);
}

/* Configuration of package clients comes along, their tokens do not. */
static void test_clients(void)
{
	static const char *const environment[] = {
		"PIP_INDEX_URL=https://user:CANARY@pip.example/simple",
		"PIP_EXTRA_INDEX_URL=https://a.example https://CANARY@b.example/x",
		"NPM_CONFIG_REGISTRY=http://npm.example:4873/",
		"NPM_CONFIG__AUTH=CANARY",
		"npm_config_//npm.example/:_authToken=CANARY",
		"GOPROXY=https://u:CANARY@go.example,direct",
		"GOFLAGS=-mod=mod",
		"UV_INDEX_URL=https://u:CAN/ARY@uv.example/",
		"UV_INDEX=https://uv.example/?token=CANARY",
		"GOSUMDB=CANARY@sum.example",
		"SSL_CERT_FILE=/etc/ssl/certs/all.pem",
		"REQUESTS_CA_BUNDLE=/home/u/secret/ca.pem",
		"PIP_PROXY=http://u:CANARY@proxy.example",
		"PIP_INDEX=CANARY",
		"CARGO_REGISTRY_TOKEN=CANARY",
		NULL,
	};
	struct fixture f;

	fixture_open(&f);
	f.request.environ = environment;
	fixture_must_plan(&f);
	tap_is_str(fixture_env(&f, "PIP_INDEX_URL"), "https://pip.example/simple", "without user");
	tap_is_str(fixture_env(&f, "PIP_EXTRA_INDEX_URL"), "https://a.example https://b.example/x",
		   "each of a list");
	tap_is_str(fixture_env(&f, "NPM_CONFIG_REGISTRY"), "http://npm.example:4873/", "as it is");
	tap_is_str(fixture_env(&f, "GOPROXY"), "https://go.example,direct", "words stay");
	tap_is_str(fixture_env(&f, "GOFLAGS"), "-mod=mod", "flags");
	tap_is_str(fixture_env(&f, "SSL_CERT_FILE"), "/etc/ssl/certs/all.pem", "a file");
	tap_is_str(fixture_env(&f, "REQUESTS_CA_BUNDLE"), NULL, "not one that is hidden");
	for (size_t i = 0; i < f.spec.env.count; i++)
		tap_ok(!strstr(f.spec.env.items[i], "CAN") && !strstr(f.spec.env.items[i], "ARY"),
		       "no token in %s", f.spec.env.items[i]);
	tap_is_int((long long)f.spec.notes.count, 2, "what was changed and what was left out");
	tap_ok(f.spec.notes.count == 2 && strstr(f.spec.notes.items[0], "PIP_INDEX_URL") &&
		       strstr(f.spec.notes.items[1], "UV_INDEX") &&
		       !strstr(f.spec.notes.items[1], "CAN"),
	       "is said by name");
	fixture_close(&f);
}

/* What a signed script would trust is its machine's; which registry it asks is never exchanged in silence. */
static void test_signed(void)
{
	static const char *const environment[] = {
		"SSL_CERT_FILE=/etc/ssl/certs/all.pem",
		"SSL_CERT_DIR=/etc/ssl/certs",
		"PIP_INDEX_URL=https://pip.example/simple",
		NULL,
	};
	struct fixture f;

	fixture_open(&f);
	f.request.environ = environment;
	f.request.flags.require_signature = xstrdup("true");
	fixture_must_plan(&f);
	tap_is_str(fixture_env(&f, "SSL_CERT_FILE"), NULL, "no file of certificates");
	tap_is_str(fixture_env(&f, "SSL_CERT_DIR"), NULL, "nor a directory");
	tap_is_str(fixture_env(&f, "PIP_INDEX_URL"), "https://pip.example/simple", "an index is");
	tap_ok(f.spec.notes.count == 1 &&
		       strstr(f.spec.notes.items[0], "SSL_CERT_FILE, SSL_CERT_DIR left out"),
	       "is said by name");
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

/* Where TLS is ended outside programs are told what to trust, each by its own variable. */
static void test_trust(void)
{
	struct fixture f;

	fixture_open(&f);
	fixture_flag(&f, "allow", "http:GET:api.example:443/x");
	fixture_must_plan(&f);
	tap_is_str(fixture_env(&f, "GIT_SSL_CAINFO"), "/run/aisbx/ca.pem", "git");
	tap_is_str(fixture_env(&f, "JAVA_TOOL_OPTIONS"),
		   "-Djavax.net.ssl.trustStore=/run/aisbx/ca.jks", "Java");
	fixture_flag(&f, "env", "JAVA_TOOL_OPTIONS=-Xmx1g");
	fixture_must_plan(&f);
	tap_is_str(fixture_env(&f, "JAVA_TOOL_OPTIONS"),
		   "-Djavax.net.ssl.trustStore=/run/aisbx/ca.jks -Xmx1g",
		   "the user's options come behind");
	tap_is_str(fixture_env(&f, "SYSTEM_WGETRC"), "/run/aisbx/wgetrc", "wget");
	fixture_close(&f);
	fixture_open(&f);
	fixture_flag(&f, "allow", "http:GET:api.example:443/x");
	f.request.flags.require_signature = xstrdup("true");
	fixture_must_plan(&f);
	tap_ok(!fixture_env(&f, "GIT_SSL_CAINFO") && !fixture_env(&f, "JAVA_TOOL_OPTIONS") &&
		       !fixture_env(&f, "SYSTEM_WGETRC"),
	       "none for a signed script");
	tap_ok(f.spec.notes.count == 1 && strstr(f.spec.notes.items[0], "/run/aisbx/ca.pem"),
	       "which is said");
	fixture_close(&f);
	fixture_open(&f);
	fixture_flag(&f, "allow", "api.example:443");
	fixture_must_plan(&f);
	tap_ok(!fixture_env(&f, "JAVA_TOOL_OPTIONS") && !fixture_env(&f, "GIT_SSL_CAINFO"),
	       "none where TLS goes from end to end");
	fixture_close(&f);
}

int main(void)
{
	test_kept();
	test_clients();
	test_signed();
	test_gone();
	test_named();
	test_trust();
	return tap_done();
}
