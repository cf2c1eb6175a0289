/* SPDX-License-Identifier: Apache-2.0 */
/* An untrusted profile: whatever it says, the sandbox never gets wider. */
#include "base/core/own.h"
#include "spec/settings.h"
#include "tests/tap.h"

struct said {
	const char *name, *value;
};

static void say(struct settings *settings, const struct said *rows)
{
	struct error err;

	settings_init(settings);
	for (; rows->name; rows++) {
		if (settings_set(settings, setting_find(rows->name), "x", rows->value, &err) < 0)
			tap_bail(err.text);
	}
}

/* Narrows what BASE says by what REPO says; the notes come back. */
static void narrow(const struct said *base_rows, const struct said *repo_rows,
		   struct settings *ret_base, struct strv *ret_notes)
{
	struct settings repo;

	say(ret_base, base_rows);
	say(&repo, repo_rows);
	settings_narrow(ret_base, &repo, ret_notes);
	settings_done(&repo);
}

#define ROWS(...) ((const struct said[]){ __VA_ARGS__, { NULL, NULL } })
#define NOTHING ((const struct said[]){ { NULL, NULL } })

static bool notes_name(const struct strv *notes, const char *key)
{
	owned(free_ptr) char *quoted = xasprintf("'%s", key);

	for (size_t i = 0; i < notes->count; i++) {
		if (strstr(notes->items[i], quoted))
			return true;
	}
	return false;
}

static void test_numbers(void)
{
	owned(strv_done) struct strv notes = STRV_INIT;
	owned(settings_done) struct settings base;

	narrow(ROWS({ "mem", "1g" }, { "pids", "64" }, { "cpu", "1" }, { "time", "60s" },
		    { "fuel", "100" }),
	       ROWS({ "mem", "512m" }, { "pids", "64" }, { "cpu", "2.5" }, { "time", "1h" },
		    { "fuel", "200" }, { "nofile", "100" }),
	       &base, &notes);
	tap_is_int(base.mem_bytes, 512 << 20, "a smaller number is taken");
	tap_is_int(base.pids, 64, "an equal one changes nothing");
	tap_is_int(base.cpu_milli, 1000, "a larger one is not taken");
	tap_is_int(base.time_ms, 60000, "nor a longer time");
	tap_is_int(base.nofile, 100, "over silence it is taken");
	tap_is_int((long long)notes.count, 3, "each key left out has one note");
	tap_ok(notes_name(&notes, "cpu: 2.5'") && notes_name(&notes, "time: 1h'") &&
		       notes_name(&notes, "fuel: 200'"),
	       "that names it: %s", notes.items[0]);
}

/* Silence means a default that plan knows: an untrusted profile goes below it, never above. */
static void test_ceilings(void)
{
	owned(strv_done) struct strv notes = STRV_INIT;
	owned(settings_done) struct settings base, over, copy;
	struct error err;

	narrow(NOTHING, ROWS({ "mem", "64g" }, { "time", "9h" }, { "pids", "7" }), &base, &notes);
	tap_is_int((long long)settings_limit(&base, &base.mem_bytes, 4096), 4096,
		   "the default stays");
	tap_is_int((long long)settings_limit(&base, &base.pids, 512), 7, "or becomes less");
	tap_is_int((long long)settings_limit(&base, &base.time_ms, 0), 9 * 3600000,
		   "none becomes some");
	tap_is_int((long long)settings_limit(&base, &base.nofile, 5), 5, "silence is the default");
	settings_copy(&copy, &base);
	tap_is_int((long long)settings_limit(&copy, &copy.mem_bytes, 4096), 4096,
		   "a copy knows as well");
	say(&over, ROWS({ "mem", "8g" }));
	settings_merge(&copy, &over);
	tap_is_int((long long)settings_limit(&copy, &copy.mem_bytes, 4096), INT64_C(8) << 30,
		   "the user's own word is free");
	settings_set(&base, setting_find("mem"), "mem", "2g", &err);
	tap_is_int((long long)settings_limit(&base, &base.mem_bytes, 4096), INT64_C(2) << 30,
		   "also when set in place");
}

static void test_net(void)
{
	static const struct {
		const char *base, *repo, *want;
		bool is_noted;
	} rows[] = {
		{ "none", "allow", "none", true },
		{ "allow", "none", "none", false },
		{ "allow", "loopback", "loopback", false },
		{ "loopback", "none", "none", false },
		{ "loopback", "allow", "loopback", true },
		{ "allow", "allow", "allow", false },
		{ "all", "allow", "allow", false },
		{ "all", "all", "all", false },
		{ "allow", "all", "allow", true },
		{ NULL, "all", NULL, true },
		{ NULL, "allow", NULL, true },
		{ NULL, "none", NULL, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		owned(strv_done) struct strv notes = STRV_INIT;
		owned(settings_done) struct settings base;

		narrow(rows[i].base ? ROWS({ "net", rows[i].base }) : NOTHING,
		       ROWS({ "net", rows[i].repo }), &base, &notes);
		tap_is_str(base.net, rows[i].want, "net %s narrowed by %s",
			   rows[i].base ? rows[i].base : "unset", rows[i].repo);
		tap_is_int((long long)notes.count, rows[i].is_noted, "noted when left out");
	}
}

static void test_net_rules(void)
{
	owned(strv_done) struct strv notes = STRV_INIT, none = STRV_INIT;
	owned(settings_done) struct settings base, implied;

	narrow(ROWS({ "net", "allow" }, { "allow", "a:1" }, { "deny", "b:2" }),
	       ROWS({ "allow", "*.a:443" }, { "allow", "a:1" }, { "deny", "c:3" }), &base, &notes);
	tap_ok(base.allow.count == 1 && strcmp(base.allow.items[0], "a:1") == 0,
	       "no rule is allowed");
	tap_ok(base.deny.count == 2, "rules to deny are added");
	tap_is_int((long long)notes.count, 1, "one note: %s", notes.items[0]);
	/* A rule to allow implies net: allow; closing the network must close that way as well. */
	narrow(ROWS({ "allow", "a:1" }), ROWS({ "net", "none" }), &implied, &none);
	tap_is_str(implied.net, "none", "an implied network is closed");
	tap_is_int((long long)implied.allow.count, 0, "with the rules that implied it");
	tap_is_int((long long)none.count, 0, "without a note");
}

static void test_words(void)
{
	static const struct {
		const char *name, *base, *repo;
		bool is_taken;
	} rows[] = {
		{ "scan", NULL, "enforce", true },
		{ "scan", "warn", "enforce", true },
		{ "scan", "enforce", "off", false },
		{ "scan", "enforce", "warn", false },
		{ "home", "full", "tools", true },
		{ "home", NULL, "full", false },
		{ "home", "tools", "full", false },
		{ "workspace-secrets", "show", "mask", true },
		{ "workspace-secrets", NULL, "mask", true },
		{ "workspace-secrets", "mask", "show", false },
		{ "splice", "on", "off", true },
		{ "splice", NULL, "on", false },
		{ "cache", NULL, "true", false },
		{ "cache", "true", "false", true },
		{ "splice", "off", "on", false },
		{ "gpu", "all", "none", true },
		{ "gpu", "0,GPU-1-2", "none", true },
		{ "gpu", NULL, "none", true },
		{ "gpu", NULL, "all", false },
		{ "gpu", "none", "0", false },
		{ "gpu", "0", "all", false },
		{ "driver", NULL, "chroot", false },
		{ "driver", "linux", "docker", false },
		{ "root", NULL, "host", false },
		{ "root", "project", "host", false },
		{ "seccomp", NULL, "/etc/shadow", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		owned(strv_done) struct strv notes = STRV_INIT;
		owned(settings_done) struct settings base;
		const struct setting_row *row = setting_find(rows[i].name);

		narrow(rows[i].base ? ROWS({ rows[i].name, rows[i].base }) : NOTHING,
		       ROWS({ rows[i].name, rows[i].repo }), &base, &notes);
		tap_is_str(*(char **)(void *)((char *)&base + row->offset),
			   rows[i].is_taken ? rows[i].repo : rows[i].base, "%s %s narrowed by %s",
			   rows[i].name, rows[i].base ? rows[i].base : "unset", rows[i].repo);
		tap_is_int((long long)notes.count, !rows[i].is_taken, "noted when left out");
	}
}

static void test_strange_base(void)
{
	owned(strv_done) struct strv notes = STRV_INIT;
	owned(settings_done) struct settings base, repo;

	say(&base, NOTHING);
	say(&repo, ROWS({ "net", "allow" }, { "scan", "off" }));
	base.net = xstrdup("sealed");
	settings_narrow(&base, &repo, &notes);
	tap_is_str(base.net, "sealed", "an unknown word counts as the tightest");
	tap_ok(!base.scan && notes.count == 1, "saying the default changes nothing");
}

/* A list of what is permitted: without one all is, so that none of it may ever be left. */
static void test_calls(void)
{
	static const struct {
		const char *base[2], *repo[2];
		size_t count;
		const char *first;
		bool is_noted;
	} rows[] = {
		{ { NULL, NULL }, { "mkdir", NULL }, 1, "mkdir", false },
		{ { "mkdir", "read" }, { "mkdir", NULL }, 1, "mkdir", false },
		{ { "mkdir", NULL }, { "mkdir", "read" }, 1, "mkdir", true },
		{ { "mkdir", NULL }, { "read", NULL }, 1, "mkdir", true },
		{ { "mkdir", NULL }, { NULL, NULL }, 1, "mkdir", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		owned(strv_done) struct strv notes = STRV_INIT;
		owned(settings_done) struct settings base, repo;

		settings_init(&base);
		settings_init(&repo);
		for (size_t j = 0; j < 2; j++) {
			if (rows[i].base[j])
				strv_add(&base.syscalls, rows[i].base[j]);
			if (rows[i].repo[j])
				strv_add(&repo.syscalls, rows[i].repo[j]);
		}
		settings_narrow(&base, &repo, &notes);
		tap_ok(base.syscalls.count == rows[i].count &&
			       strcmp(base.syscalls.items[0], rows[i].first) == 0 &&
			       (notes.count == 1) == rows[i].is_noted,
		       "lists of system calls, %zu", i);
	}
}

static void test_lists(void)
{
	static const char *const never[][2] = {
		{ "env", "LD_PRELOAD=/x" },    { "pass-env", "AWS_SECRET" },
		{ "secret", "T=/etc/shadow" }, { "publish", "80:80" },
		{ "secret-header", "h:A=/k" }, { "allow-degraded", "seccomp" },
		{ "entrypoint", "/bin/sh" },   { "tests", "true" },
		{ "ro", "/:/host" },	       { "rw", "/:/host" },
		{ "rw-through", "/:/host" },   { "inject", "a.example:bearer=t" },
		{ "secret-env", "A=t" },       { "inject-env", "A=t@a.example" },
	};

	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		owned(strv_done) struct strv notes = STRV_INIT;
		owned(settings_done) struct settings base, empty;

		narrow(NOTHING, ROWS({ never[i][0], never[i][1] }), &base, &notes);
		settings_init(&empty);
		tap_ok(memcmp(&base, &empty, sizeof(base)) == 0, "%s is never taken", never[i][0]);
		tap_is_int((long long)notes.count, 1, "and noted: %s",
			   notes.count ? notes.items[0] : "");
	}
	owned(strv_done) struct strv notes = STRV_INIT;
	owned(settings_done) struct settings base;

	narrow(ROWS({ "tests", "make test" }),
	       ROWS({ "tests", "make lint" }, { "gates", "diff.files<=20" },
		    { "require", "landlock" }, { "env", "API=hunter2" }, { "env", "B=c" }),
	       &base, &notes);
	tap_ok(base.tests.count == 2 && base.gates.count == 1 && base.require.count == 1,
	       "more conditions are taken");
	tap_ok(notes.count == 1 && !strstr(notes.items[0], "hunter2"),
	       "no value of a variable is told");
}

static void test_notes(void)
{
	owned(strv_done) struct strv notes = STRV_INIT;
	owned(settings_done) struct settings base, repo;

	say(&base, NOTHING);
	say(&repo, ROWS({ "net", "allow" }));
	settings_add_mount(&repo, "/\033[2J\n", "/host", true, true);
	settings_narrow(&base, &repo, &notes);
	tap_is_str(notes.items[0], "'net: allow'", "a note is one readable line");
	tap_is_str(notes.items[1], "'mounts: /?[2J?'", "without control bytes of the profile's");
	tap_is_int((long long)base.mount_count, 0, "mounts are never taken");
}

int main(void)
{
	test_numbers();
	test_ceilings();
	test_net();
	test_net_rules();
	test_words();
	test_strange_base();
	test_calls();
	test_lists();
	test_notes();
	return tap_done();
}
