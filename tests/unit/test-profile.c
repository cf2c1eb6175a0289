/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles: every accepted form, every refusal with its line, and the built-in ones. */
#include "base/core/own.h"
#include "profile/builtin.h"
#include "profile/path.h"
#include "profile/profile.h"
#include "profile/show.h"
#include "tests/tap.h"

static bool parse(const char *text, struct profile *ret_profile, struct error *err)
{
	memset(err, 0, sizeof(*err));
	return profile_parse(text, strlen(text), "p.yaml", "/base/dir", ret_profile, err) == 0;
}

static void refuses(const char *text, const char *want)
{
	struct profile profile;
	struct error err;

	if (parse(text, &profile, &err)) {
		profile_done(&profile);
		tap_ok(false, "refused: %s", want);
		return;
	}
	tap_ok(err.code == ERROR_INPUT && strstr(err.text, want) == err.text, "%s", want);
	if (strstr(err.text, want) != err.text)
		printf("#  got: %s\n", err.text);
}

static void test_whole(void)
{
	struct profile profile;
	struct error err;
	static const char text[] =
		"name: py-dev-strict\nextends: default\ncpu: \"1.5\"\nmem: \"256m\"\n"
		"pids: 64\nlifetime: 300s\nnet: allow\n"
		"allow: [\"api.example.org:443\", \"*.example.net:443\"]\ncaps: []\n"
		"mounts:\n  - {host: ./data, guest: /data, mode: ro}\n"
		"  - host: /abs//x/.\n    guest: /y/\n    mode: rw\n"
		"  - {host: z, guest: /z, mode: rw-through}\n  - {host: q, guest: /q}\n"
		"env: {PYTHONUNBUFFERED: \"1\", VERSION: 1.10, EMPTY: \"\"}\n"
		"scan: enforce\nworkspace_secrets: mask\nseccomp: sec.json\n"
		"secret: {TOKEN: tok.txt}\nsecret-header: \"h.example:X-Key=k.txt\"\n"
		"ro: [\"rel:/rel\"]\nrw: /a/\n"
		"entrypoint: [\"/usr/bin/python3\", \"main.py\"]\n"
		"tests: [\"pytest -q\"]\ngates: [\"tests==pass\"]\n";
	const struct settings *s = &profile.settings;

	if (!tap_ok(parse(text, &profile, &err), "a profile with everything (%s)", err.text))
		return;
	tap_is_str(profile.name, "py-dev-strict", "name");
	tap_is_str(profile.extends, "default", "extends");
	tap_is_int(s->cpu_milli, 1500, "cpu in quotes");
	tap_is_int(s->mem_bytes, 256 << 20, "mem in quotes");
	tap_is_int(s->pids, 64, "pids");
	tap_is_int(s->time_ms, 300000, "lifetime is time");
	tap_is_str(s->net, "allow", "net");
	tap_is_int((long long)s->allow.count, 2, "two rules");
	tap_is_str(s->workspace_secrets, "mask", "underscores do as well as dashes");
	tap_is_str(s->seccomp, "/base/dir/sec.json", "seccomp lies beside the profile");
	tap_is_str(s->env.items[0], "PYTHONUNBUFFERED=1", "env as a map");
	tap_is_str(s->env.items[1], "VERSION=1.10", "numbers in env stay as written");
	tap_is_str(s->env.items[2], "EMPTY=", "an empty value");
	tap_is_str(s->secret.items[0], "TOKEN=/base/dir/tok.txt", "a secret's file is resolved");
	tap_is_str(s->secret_header.items[0], "h.example:X-Key=/base/dir/k.txt",
		   "a header's as well");
	tap_is_str(s->entrypoint.items[1], "main.py", "entrypoint");
	tap_is_str(s->tests.items[0], "pytest -q", "tests");
	tap_is_str(s->gates.items[0], "tests==pass", "gates");
	if (tap_is_int((long long)s->mount_count, 6, "six mounts")) {
		tap_is_str(s->mounts[0].host, "/base/dir/data", "a relative host path");
		tap_ok(!s->mounts[0].writable && !s->mounts[0].through, "ro");
		tap_is_str(s->mounts[1].host, "/abs/x", "an absolute one, cleaned");
		tap_is_str(s->mounts[1].guest, "/y", "guest, cleaned");
		tap_ok(s->mounts[1].writable && !s->mounts[1].through, "rw");
		tap_ok(s->mounts[2].writable && s->mounts[2].through, "rw-through");
		tap_ok(!s->mounts[3].writable, "ro is the default");
		tap_is_str(s->mounts[4].host, "/base/dir/rel", "the flag's form");
		tap_ok(s->mounts[5].writable, "the flag's form, writable");
		tap_is_str(s->mounts[5].host, "/a", "cleaned");
		tap_is_str(s->mounts[5].guest, "/a", "the same place inside");
	}
	profile_done(&profile);
}

static void test_forms(void)
{
	struct profile profile;
	struct error err;

	if (tap_ok(parse("env:\n  - GREETING=salaam\n  - A=b=c\n", &profile, &err),
		   "env as a list")) {
		tap_is_str(profile.settings.env.items[1], "A=b=c", "the first = counts");
		profile_done(&profile);
	}
	if (tap_ok(parse("entrypoint: make\n", &profile, &err), "entrypoint of one word")) {
		tap_is_int((long long)profile.settings.entrypoint.count, 1, "is one word");
		profile_done(&profile);
	}
	if (tap_ok(parse("# nothing\n", &profile, &err), "a profile that says nothing")) {
		tap_ok(!profile.name && !profile.extends, "has no name");
		tap_is_int(profile.settings.mem_bytes, SETTING_UNSET, "and sets nothing");
		profile_done(&profile);
	}
	if (tap_ok(parse("extends: ./base.yaml\n", &profile, &err), "extends a file")) {
		tap_is_str(profile.extends, "./base.yaml", "as written");
		profile_done(&profile);
	}
	if (tap_ok(parse("splice: on\nscan: off\n", &profile, &err), "on and off are words")) {
		tap_is_str(profile.settings.splice, "on", "on");
		profile_done(&profile);
	}
}

static void test_unknown_keys(void)
{
	refuses("name: x\nmemm: 64m\n", "p.yaml:2: unknown key 'memm'; did you mean 'mem'?");
	refuses("newtork: none\n", "p.yaml:1: unknown key 'newtork'; did you mean 'net'?");
	refuses("network: none\n", "p.yaml:1: unknown key 'network'; did you mean 'net'?");
	refuses("memory: 1e30\n", "p.yaml:1: unknown key 'memory'; did you mean 'mem'?");
	refuses("volumes: []\n", "p.yaml:1: unknown key 'volumes'; did you mean 'mounts'?");
	refuses("mount: []\n", "p.yaml:1: unknown key 'mount'; did you mean 'mounts'?");
	refuses("version: 99\n", "p.yaml:1: unknown key 'version'");
	refuses("zzzzzzzzzzzzzzzz: 1\n", "p.yaml:1: unknown key 'zzzzzzzzzzzzzzzz'");
	refuses("\n\nnested:\n  a: 1\n", "p.yaml:3: unknown key 'nested'");
	refuses("\"\\e[31mred\": 1\n", "p.yaml:1: unknown key '?[31mred'");
	refuses("mounts:\n  - {hots: a, guest: /a}\n",
		"p.yaml:2: unknown key 'hots'; did you mean 'host'?");
}

static void test_bad_values(void)
{
	refuses("mem: 1e30\n", "p.yaml:1: mem: '1e30'");
	refuses("mem: -1\n", "p.yaml:1: mem: '-1'");
	refuses("mem: 0x\n", "p.yaml:1: mem: '0x'");
	refuses("mem: 0x10\n", "p.yaml:1: mem: '0x10'");
	refuses("mem: 5GiBB\n", "p.yaml:1: mem: '5GiBB'");
	refuses("mem: 99999999999999999999g\n", "p.yaml:1: mem: ");
	refuses("pids: 4294967297\n", "p.yaml:1: pids: '4294967297'");
	refuses("pids: 0\n", "p.yaml:1: pids: '0'");
	refuses("cpu: .inf\n", "p.yaml:1: cpu: '.inf'");
	refuses("time: 1parsec\n", "p.yaml:1: time: '1parsec'");
	refuses("net: everything\n", "p.yaml:1: net: 'everything'");
	refuses("net: true\n", "p.yaml:1: net: 'true'");
	refuses("allow: ['no port']\n", "p.yaml:1: allow: 'no port'");
	refuses("env: [NOVALUE]\n", "p.yaml:1: env: 'NOVALUE'");
	refuses("env: {A=B: c}\n", "p.yaml:1: 'A=B' has a '='");
	refuses("env: {A: [b]}\n", "p.yaml:1: 'A' takes one value");
	refuses("env: {A: }\n", "p.yaml:1: 'A' has no value");
	refuses("deny: {A: b}\n", "p.yaml:1: 'deny' takes a list, not a map");
	refuses("allow:\n  - x:1\n  - [y]\n", "p.yaml:3: 'allow' takes one value");
	refuses("mem:\n", "p.yaml:1: 'mem' has no value");
	refuses("mem: [1m]\n", "p.yaml:1: 'mem' takes one value");
	refuses("secret: [NO/FILE]\n", "p.yaml:1: secret: 'NO/FILE'");
	refuses("secret: ['A=../b']\n", "p.yaml:1: secret: '../b' is too long or goes up");
	refuses("ro: ['/a:b']\n", "p.yaml:1: ro: '/a:b' is not a mount");
	refuses("ro: [':/b']\n", "p.yaml:1: ro: the path is empty");
	refuses("ro: ['../x:/x']\n", "p.yaml:1: ro: '../x' is too long or goes up");
	refuses("seccomp: ../off\n", "p.yaml:1: seccomp: '../off' is too long or goes up");
	refuses("entrypoint: make all\n", "p.yaml:1: 'entrypoint' is a list");
	refuses("caps: [NET_ADMIN]\n",
		"p.yaml:1: 'caps' must be empty: a sandbox has no capabilities");
	refuses("caps: ALL\n", "p.yaml:1: 'caps' must be empty: a sandbox has no capabilities");
	refuses("name: ../x\n", "p.yaml:1: 'name' is made of");
	refuses("name: [x]\n", "p.yaml:1: 'name' takes one value");
	refuses("extends: a b\n", "p.yaml:1: 'extends' takes the name");
	refuses("extends:\n", "p.yaml:1: 'extends' has no value");
}

static void test_bad_mounts(void)
{
	refuses("mounts: /x\n", "p.yaml:1: 'mounts' takes a list");
	refuses("mounts: [x]\n", "p.yaml:1: 'mounts' has entries of the form");
	refuses("mounts:\n  - {host: a}\n", "p.yaml:2: 'mounts' has an entry without 'guest'");
	refuses("mounts:\n  - {guest: /a}\n", "p.yaml:2: 'mounts' has an entry without 'host'");
	refuses("mounts: [{host: a, guest: b}]\n", "p.yaml:1: 'guest' must be an absolute path");
	refuses("mounts: [{host: a, guest: /}]\n", "p.yaml:1: 'guest' cannot be the root");
	refuses("mounts: [{host: a, guest: /x/../y}]\n",
		"p.yaml:1: guest: '/x/../y' is too long or goes");
	refuses("mounts: [{host: ../.., guest: /y}]\n",
		"p.yaml:1: host: '../..' is too long or goes");
	refuses("mounts: [{host: '', guest: /y}]\n", "p.yaml:1: host: the path is empty");
	refuses("mounts: [{host: [], guest: /y}]\n", "p.yaml:1: 'host' takes one value");
	refuses("mounts: [{host: a, guest: }]\n", "p.yaml:1: 'guest' has no value");
	refuses("mounts: [{host: a, guest: /a, mode: rx}]\n", "p.yaml:1: mode 'rx' is none of");
	refuses("mounts: [{host: a, guest: /a, mode: }]\n", "p.yaml:1: 'mode' has no value");
}

static void test_bad_documents(void)
{
	refuses("[a]\n", "p.yaml:1: a profile is a map");
	refuses("mem: 1m\nmem: 2m\n", "p.yaml:2:1: 'mem' stands here twice");
	refuses("time: 1s\nlifetime: 2s\n", "p.yaml:2: 'lifetime' says again");
	refuses("cpu-time: 1s\ncpu_time: 2s\n", "p.yaml:2: 'cpu_time' says again");
	refuses("mem: *x\n", "p.yaml:1:6: aliases");
	refuses("mem: [\n", "p.yaml:2:1: ");
}

static void test_paths(void)
{
	struct error err;
	owned(free_ptr) char *clean = profile_path("/a/b", "c", &err);
	owned(free_ptr) char *none = profile_path(NULL, "c", &err);

	tap_is_str(clean, "/a/b/c", "joined");
	tap_is_str(none, NULL, "relative to nothing");
	tap_ok(strstr(err.text, "not an absolute path"), "said so");
	tap_ok(profile_is_name("py-dev_1.2"), "a name");
	tap_ok(!profile_is_name("") && !profile_is_name(".x") && !profile_is_name("a/b") &&
		       !profile_is_name("a.yaml") && !profile_is_name("a b"),
	       "no names");
	tap_ok(profile_is_file("./x") && profile_is_file("x.yaml") && profile_is_file("x.yml") &&
		       !profile_is_file("x"),
	       "files");
}

static char *shown(const struct settings *settings)
{
	struct str out = STR_INIT;

	profile_show(settings, &out);
	return str_detach(&out);
}

/* What the generator made of a file is what the parser makes of it. */
static void test_builtins(void)
{
	static const char *const names[] = { "default",
					     "strict",
					     "dev",
					     "python",
					     "javascript",
					     "shell",
					     "python-project",
					     "javascript-project",
					     "go-project",
					     "rust-project",
					     "java-project",
					     "python-narrow",
					     "node-narrow",
					     "shell-narrow" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct profile_builtin *builtin = profile_builtin_find(names[i]);
		struct settings applied, expected;
		struct profile profile;
		struct error err;

		if (!tap_ok(builtin && parse(builtin->source, &profile, &err), "%s parses",
			    names[i]))
			continue;
		tap_is_str(profile.name, names[i], "its name");
		tap_ok(strlen(builtin->summary) > 20 && builtin->summary[0] != '#', "%s",
		       builtin->summary);
		settings_init(&applied);
		settings_init(&expected);
		builtin->apply(&applied);
		if (profile.extends)
			profile_builtin_find(profile.extends)->apply(&expected);
		settings_merge(&expected, &profile.settings);
		owned(free_ptr) char *got = shown(&applied);
		owned(free_ptr) char *want = shown(&expected);

		tap_is_str(got, want, "%s: table and parser agree", names[i]);
		settings_done(&applied);
		settings_done(&expected);
		profile_done(&profile);
	}
	tap_ok(!profile_builtin_find("nope"), "no such profile");
}

/* What is shown can be read again and means the same. */
static void test_show(void)
{
	static const char text[] =
		"cpu: 0.25\nmem: 512m\npids: 3\ntime: 90s\nfuel: 1500\nfsize: 10g\ncpu-time: 2h\n"
		"output: 1000\ndriver: \"null\"\nnet: allow\nallow: [\"a.example:1\", "
		"\"b.example:2\"]\n"
		"env: {A: \"x y\\n\\\"z\", B: \"\\N\\L\\x9b\\x7f\u00e9\U0001F600\"}\nentrypoint: "
		"[\"sh\", \"\"]\nroot: project\n"
		"mounts:\n  - {host: /a, guest: /b, mode: rw}\n  - {host: /c, guest: /d}\n"
		"  - {host: /e, guest: /f, mode: rw-through}\n";
	struct profile first, second;
	struct error err;

	if (!tap_ok(parse(text, &first, &err), "parsed"))
		return;
	owned(free_ptr) char *once = shown(&first.settings);

	tap_ok(strstr(once, "cpu: 0.25\n") && strstr(once, "mem: 512m\n") &&
		       strstr(once, "fuel: 1500\n"),
	       "in the words people use");
	if (tap_ok(parse(once, &second, &err), "what is shown parses (%s)", err.text)) {
		owned(free_ptr) char *twice = shown(&second.settings);

		tap_is_str(twice, once, "and is shown the same");
		profile_done(&second);
	}
	profile_done(&first);
	if (parse("cpu: 2\nfuel: 20g\n", &first, &err)) {
		owned(free_ptr) char *whole = shown(&first.settings);

		tap_is_str(whole, "cpu: 2\nfuel: 20g\n", "whole cores, whole units");
		profile_done(&first);
	}
}

/* Files of limits as other tools write them, and whose language a command is. */
static void test_limits(void)
{
	static const char text[] =
		"default_limits: {memory_mb: 128, cpu_cores: 1.5, "
		"execution_time_seconds: 5, max_processes: 20, disk_mb: 50}\n"
		"language_specific:\n  python: {memory_mb: \"512\"}\n  js: {disk_mb: 7}\n";
	static const char *const commands[][2] = { { "python3.11", NULL },
						   { "/usr/bin/node", NULL },
						   { "env", "bash" },
						   { "make", NULL } };
	static const enum profile_language want[] = { PROFILE_PYTHON, PROFILE_JAVASCRIPT,
						      PROFILE_SHELL, PROFILE_LANGUAGES };
	struct profile profile;
	struct error err;

	if (!tap_ok(parse(text, &profile, &err), "a file of limits parses"))
		return;
	tap_ok(profile.settings.mem_bytes == 128 << 20 && profile.settings.cpu_milli == 1500 &&
		       profile.settings.time_ms == 5000 && profile.settings.pids == 20 &&
		       profile.settings.disk_bytes == 50 << 20,
	       "its numbers");
	tap_is_int(profile.languages[PROFILE_PYTHON].mem_bytes, 512 << 20, "a language's own");
	tap_ok(profile.languages[PROFILE_PYTHON].pids == SETTING_UNSET, "and no more of it");
	tap_is_int(profile.languages[PROFILE_JAVASCRIPT].disk_bytes, 7 << 20, "by another name");
	tap_is_str(profile.extends, "default", "the rest is as always");
	profile_done(&profile);
	refuses("default_limits: {memory: 1}\n",
		"p.yaml:1: unknown key 'memory'; did you mean 'memory_mb'?");
	refuses("default_limits: {memory_mb: 512m}\n", "p.yaml:1: 'memory_mb' is a number");
	refuses("default_limits: [1]\n", "p.yaml:1: 'limits' are a map");
	refuses("language_specific: {cobol: {memory_mb: 1}}\n",
		"p.yaml:1: 'cobol' is no language here");
	refuses("default_limits: {max_processes: 0}\n", "p.yaml:1: max_processes");
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		owned(strv_done) struct strv command = STRV_INIT;

		for (size_t w = 0; w < 2 && commands[i][w]; w++)
			strv_add(&command, commands[i][w]);
		tap_is_int(profile_language_of(&command), want[i], "the language of %s",
			   commands[i][0]);
	}
}

int main(void)
{
	test_limits();
	test_whole();
	test_forms();
	test_unknown_keys();
	test_bad_values();
	test_bad_mounts();
	test_bad_documents();
	test_paths();
	test_builtins();
	test_show();
	return tap_done();
}
