/* SPDX-License-Identifier: Apache-2.0 */
/* Settings: the table, each kind of value, and merging. */
#include "base/core/own.h"
#include "spec/settings.h"
#include "tests/tap.h"

static int set(struct settings *settings, const char *name, const char *value, struct error *err)
{
	const struct setting_row *row = setting_find(name);

	if (!row)
		tap_bail("a setting of this test does not exist");
	return settings_set(settings, row, name, value, err);
}

static const char *const names[] = {
	"cpu",
	"mem",
	"pids",
	"disk",
	"inodes",
	"time",
	"cpu-time",
	"grace",
	"fsize",
	"nofile",
	"output",
	"fuel",
	"driver",
	"root",
	"net",
	"scan",
	"with-services",
	"require-signature",
	"home",
	"home-tools",
	"hide",
	"workspace-secrets",
	"splice",
	"gpu",
	"cache",
	"seccomp",
	"syscalls",
	"allow",
	"deny",
	"publish",
	"secret-header",
	"env",
	"pass-env",
	"secret",
	"secret-env",
	"inject",
	"inject-env",
	"require",
	"allow-degraded",
	"ro",
	"rw",
	"rw-through",
	"tests",
	"gates",
	"entrypoint",
};

static void test_table(void)
{
	size_t rows = 0;
	bool told = true;

	for (const struct setting_row *row = setting_rows; row->name; row++, rows++)
		told &= row->metavar && row->help && (row->flag || row->profile);
	tap_ok(told, "every row has a help line and a face");
	tap_is_int((long long)rows, sizeof(names) / sizeof(names[0]), "nothing but these rows");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		tap_ok(setting_find(names[i]) != NULL, "%s has a row", names[i]);
	tap_ok(setting_find("cpu_time") == setting_find("cpu-time"),
	       "an underscore is as good as a dash");
	tap_ok(!setting_find("cp") && !setting_find("cpux") && !setting_find(""),
	       "names are whole");
	tap_ok(!setting_find("cpu-timee") && !setting_find("workspace"), "and no others");
	tap_ok(!setting_find("entrypoint")->flag && !setting_find("ro")->profile, "faces differ");
}

static const char *const good[][2] = {
	{ "cpu", "1.5" },
	{ "mem", "512m" },
	{ "pids", "1" },
	{ "disk", "1g" },
	{ "inodes", "1000" },
	{ "time", "30s" },
	{ "cpu-time", "500ms" },
	{ "fsize", "100m" },
	{ "nofile", "1024" },
	{ "output", "1" },
	{ "fuel", "400m" },
	{ "driver", "linux" },
	{ "root", "project" },
	{ "net", "loopback" },
	{ "scan", "enforce" },
	{ "home", "full" },
	{ "workspace-secrets", "mask" },
	{ "splice", "on" },
	{ "gpu", "0,GPU-1-2" },
	{ "cache", "true" },
	{ "seccomp", "./s.json" },
	{ "syscalls", "mkdir" },
	{ "allow", "example.org:443" },
	{ "allow", "*.example.net:8000-8080" },
	{ "allow", "udp:10.0.0.0/8:53" },
	{ "deny", "[::1]:1-65535" },
	{ "publish", "8080:80" },
	{ "secret-header", "api.example.org:Authorization=/run/key" },
	{ "inject", "api.example.org:8443:basic/git=token" },
	{ "inject-env", "KEY=token@api.example.org" },
	{ "env", "A=" },
	{ "env", "_b9=x=y" },
	{ "pass-env", "CI" },
	{ "secret", "TOKEN=/etc/t" },
	{ "require", "landlock" },
	{ "allow-degraded", "disk" },
	{ "tests", "pytest -q" },
	{ "gates", "tests==pass" },
	{ "entrypoint", "/bin/sh" },
};

static const char *const bad[][2] = {
	{ "mem", "1e30" },
	{ "mem", "-1" },
	{ "mem", "5GiBB" },
	{ "mem", "10b" },
	{ "mem", "1023k" },
	{ "mem", "" },
	{ "disk", "1k" },
	{ "output", "2g" },
	{ "pids", "0" },
	{ "pids", "4294967297" },
	{ "pids", "1.5" },
	{ "nofile", "7" },
	{ "cpu", "0" },
	{ "time", "0" },
	{ "fuel", "x" },
	{ "net", "None" },
	{ "net", "" },
	{ "net", "none|loopback" },
	{ "net", "non" },
	{ "net", "nonee" },
	{ "scan", "strict" },
	{ "driver", "" },
	{ "root", "a\nb" },
	{ "seccomp", "" },
	{ "allow", ":443" },
	{ "allow", "443" },
	{ "allow", "" },
	{ "allow", "example.org,,a.example" },
	{ "allow", "example.org," },
	{ "allow", "localhost" },
	{ "allow", "https://example.org/path" },
	{ "allow", "example.org:" },
	{ "allow", "example.org:0" },
	{ "allow", "example.org:65536" },
	{ "allow", "example.org:90-80" },
	{ "allow", "example.org:80-" },
	{ "allow", "example.org:80x" },
	{ "allow", "exa mple.org:80" },
	{ "allow", "http://example.org:80\n" },
	{ "allow", "a:99999999999999999999999" },
	{ "deny", "udp:53" },
	{ "publish", "8080" },
	{ "publish", "8080:80-90" },
	{ "publish", "x:80" },
	{ "publish", "0:80" },
	{ "secret-header", "Authorization=FILE" },
	{ "secret-header", ":A=F" },
	{ "secret-header", "h:=F" },
	{ "secret-header", "h:A=" },
	{ "secret-header", "h:A" },
	{ "secret-header", "a=b:c" },
	{ "env", "A" },
	{ "env", "=x" },
	{ "env", "9A=x" },
	{ "env", "A B=x" },
	{ "pass-env", "A=B" },
	{ "pass-env", "" },
	{ "secret", "T=" },
	{ "secret", "T/x" },
	{ "secret-env", "T" },
	{ "inject", "api.example.org=token" },
	{ "inject", "api.example.org:X=a b" },
	{ "inject-env", "KEY=token" },
	{ "require", "landlok" },
	{ "require", "" },
	{ "allow-degraded", "everything" },
	{ "tests", "" },
	{ "entrypoint", "" },
	{ "ro", "" },
	{ "ro", ":/x" },
	{ "ro", "a:b" },
	{ "ro", "a:" },
	{ "ro", "a" },
	{ "ro", "/a:/" },
	{ "ro", "/a:/x/../y" },
	{ "rw", "/a:/x\ny" },
	{ "rw-through", "/a:relative" },
};

static void test_values(void)
{
	struct settings settings, empty;
	struct error err;

	settings_init(&settings);
	settings_init(&empty);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int got = set(&settings, bad[i][0], bad[i][1], &err);

		tap_ok(got < 0 && err.code == ERROR_USAGE &&
			       strncmp(err.text, bad[i][0], strlen(bad[i][0])) == 0 &&
			       !strchr(err.text, '\n'),
		       "refused in one line: %s", got < 0 ? err.text : bad[i][1]);
	}
	tap_ok(memcmp(&settings, &empty, sizeof(settings)) == 0, "refused values change nothing");
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		int got = set(&settings, good[i][0], good[i][1], &err);

		tap_ok(got == 0, "%s %s %s", good[i][0], good[i][1],
		       got < 0 ? err.text : "is taken");
	}
	tap_is_int(settings.cpu_milli, 1500, "cores are thousandths");
	tap_is_int(settings.mem_bytes, 512 << 20, "memory is bytes");
	tap_is_int(settings.cpu_time_ms, 500, "times are milliseconds");
	tap_is_int(settings.fuel, 400000000, "fuel is decimal");
	tap_is_str(settings.net, "loopback", "words are kept");
	tap_is_int((long long)settings.allow.count, 3, "lists grow");
	settings_done(&settings);
	tap_ok(memcmp(&settings, &empty, sizeof(settings)) == 0, "nothing is left afterwards");
}

static void test_words_replace(void)
{
	struct settings settings;
	struct error err;

	settings_init(&settings);
	set(&settings, "net", "allow", &err);
	set(&settings, "net", "none", &err);
	tap_is_str(settings.net, "none", "the last word counts");
	set(&settings, "env", "A=1", &err);
	set(&settings, "env", "AB=2", &err);
	set(&settings, "env", "A=3", &err);
	tap_is_int((long long)settings.env.count, 2, "a variable stands once");
	tap_is_str(settings.env.items[0], "A=3", "with its last value");
	set(&settings, "deny", "a:1", &err);
	set(&settings, "deny", "a:1", &err);
	tap_is_int((long long)settings.deny.count, 1, "a rule stands once");
	set(&settings, "entrypoint", "x", &err);
	set(&settings, "entrypoint", "", &err);
	set(&settings, "entrypoint", "x", &err);
	tap_is_int((long long)settings.entrypoint.count, 3, "arguments may be empty and repeat");
	settings_done(&settings);
}

static void test_mounts(void)
{
	struct settings settings;
	struct error err;

	settings_init(&settings);
	set(&settings, "ro", "./data:/data/", &err);
	set(&settings, "rw", "/a:b://x/./y", &err);
	set(&settings, "rw-through", "/srv//z", &err);
	tap_is_int((long long)settings.mount_count, 3, "three mounts");
	tap_is_str(settings.mounts[0].host, "./data", "the source stays as it was given");
	tap_is_str(settings.mounts[0].guest, "/data", "the target is cleaned");
	tap_ok(!settings.mounts[0].writable && !settings.mounts[0].through, "ro is read-only");
	tap_is_str(settings.mounts[1].host, "/a:b", "the last colon counts");
	tap_is_str(settings.mounts[1].guest, "/x/y", "empty parts go");
	tap_ok(settings.mounts[1].writable && !settings.mounts[1].through, "rw is copy-on-write");
	tap_is_str(settings.mounts[2].guest, "/srv/z", "one path alone is the same place inside");
	tap_ok(settings.mounts[2].writable && settings.mounts[2].through,
	       "rw-through goes through");
	settings_done(&settings);
}

static void test_hints(void)
{
	struct settings settings;
	struct error err;

	settings_init(&settings);
	set(&settings, "require", "landlok", &err);
	tap_is_str(err.text, "require: 'landlok' is not a layer; did you mean landlock",
		   "nearest layer");
	set(&settings, "net", "off", &err);
	tap_is_str(err.text, "net: 'off' is not one of its values; use none|loopback|allow|all",
		   "choices");
	set(&settings, "mem", "10b", &err);
	tap_is_str(err.text, "mem: '10b' is too small; at least 1m", "least size");
	set(&settings, "output", "2g", &err);
	tap_is_str(err.text, "output: '2g' is too large; at most 1g", "largest size");
	set(&settings, "pids", "0", &err);
	tap_is_str(err.text, "pids: '0' is not a count; use a whole number from 1 to 4194304",
		   "count");
	settings_done(&settings);
}

static void test_merge(void)
{
	struct settings base, over, copy;
	struct error err;

	settings_init(&base);
	settings_init(&over);
	set(&base, "mem", "1g", &err);
	set(&base, "pids", "5", &err);
	set(&base, "net", "none", &err);
	set(&base, "env", "A=1", &err);
	set(&base, "deny", "a:1", &err);
	set(&base, "entrypoint", "old", &err);
	set(&base, "ro", "/a:/a", &err);
	set(&over, "mem", "2g", &err);
	set(&over, "net", "allow", &err);
	set(&over, "env", "A=2", &err);
	set(&over, "env", "B=3", &err);
	set(&over, "deny", "b:2", &err);
	set(&over, "entrypoint", "new", &err);
	set(&over, "rw", "/b:/b", &err);
	settings_merge(&base, &over);
	settings_copy(&copy, &base);
	settings_done(&base);
	settings_done(&over);
	tap_is_int(copy.mem_bytes, INT64_C(2) << 30, "the later number counts");
	tap_is_int(copy.pids, 5, "silence keeps the earlier one");
	tap_is_int(copy.time_ms, SETTING_UNSET, "what nobody said is unset");
	tap_is_str(copy.net, "allow", "the later word counts");
	tap_ok(copy.env.count == 2 && strcmp(copy.env.items[0], "A=2") == 0,
	       "variables are replaced");
	tap_is_int((long long)copy.deny.count, 2, "lists are joined");
	tap_ok(copy.entrypoint.count == 1 && strcmp(copy.entrypoint.items[0], "new") == 0,
	       "a command is replaced as a whole");
	tap_ok(copy.mount_count == 2 && copy.mounts[1].writable, "mounts are joined");
	settings_done(&copy);
}

int main(void)
{
	test_table();
	test_values();
	test_words_replace();
	test_mounts();
	test_hints();
	test_merge();
	return tap_done();
}
