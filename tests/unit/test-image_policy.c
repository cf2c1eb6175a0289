/* SPDX-License-Identifier: Apache-2.0 */
/* The policy of an image: whatever it says, nothing that a run may have becomes more. */
#include "plan/image_policy.h"

#include "base/core/own.h"
#include "tests/tap.h"

static void set(struct settings *settings, const char *name, const char *value)
{
	struct error err;

	tap_ok(settings_set(settings, setting_find(name), name, value, &err) == 0, "%s: %s", name,
	       value);
}

/* Whether WORD can be applied to SETTINGS. */
static bool takes(struct settings *settings, const char *word)
{
	owned(strv_done) struct strv words = STRV_INIT;
	struct error err;

	strv_add(&words, word);
	return image_policy_apply(&words, settings, &err) == 0;
}

static void test_numbers(void)
{
	owned(settings_done) struct settings settings;

	settings_init(&settings);
	set(&settings, "mem", "64m");
	tap_ok(takes(&settings, "mem=32m") && settings.mem_bytes == 32 << 20, "a limit is lowered");
	tap_ok(takes(&settings, "mem=48m") && settings.mem_bytes == 32 << 20, "and never lifted");
	tap_ok(takes(&settings, "pids=10") && !settings_is_own(&settings, &settings.pids) &&
		       settings_limit(&settings, &settings.pids, 5) == 5 &&
		       settings_limit(&settings, &settings.pids, 50) == 10,
	       "where nothing was said it only goes below the default");
}

static void test_network(void)
{
	owned(settings_done) struct settings settings;

	settings_init(&settings);
	set(&settings, "allow", "example.org");
	set(&settings, "publish", "8080:80");
	tap_ok(takes(&settings, "deny=example.org:443") && settings.deny.count == 1 &&
		       settings.allow.count > 0,
	       "a host is denied");
	tap_ok(!takes(&settings, "net=allow") && !takes(&settings, "net=all") &&
		       !takes(&settings, "net=loopback"),
	       "no other network is taken");
	tap_ok(takes(&settings, "net=none") && settings.allow.count == 0 &&
		       settings.publish.count == 0,
	       "none leaves no rule and no port");
	tap_is_str(settings.net, "none", "and says so");
}

static void test_calls(void)
{
	owned(settings_done) struct settings settings;

	settings_init(&settings);
	tap_ok(takes(&settings, "syscalls=read,write,close") && settings.syscalls.count == 3,
	       "calls that a policy lists");
	tap_ok(takes(&settings, "syscalls=write,mount") && settings.syscalls.count == 1,
	       "of them those that another has as well");
	tap_is_str(settings.syscalls.items[0], "write", "and no other");
	tap_ok(!takes(&settings, "syscalls=mount") && settings.syscalls.count == 1,
	       "none in common is refused");
}

static void test_refused(void)
{
	static const char *const words[] = {
		"allow=a.b", "env=A=1",	   "driver=landlock", "root=host", "mem",
		"mem=much",  "=1",	   "nonsense=1",      "syscalls=", "hide=/etc",
		"gpu=all",   "seccomp=/x", "publish=1:1",     "",	   "inject=a.b:x=y"
	};
	owned(settings_done) struct settings settings;

	settings_init(&settings);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		tap_ok(!takes(&settings, words[i]), "'%s' is refused", words[i]);
	tap_ok(settings.allow.count == 0 && settings.env.count == 0 && !settings.driver &&
		       !settings.root && settings.mem_bytes == SETTING_UNSET,
	       "and changes nothing");
}

int main(void)
{
	test_numbers();
	test_network();
	test_calls();
	test_refused();
	return tap_done();
}
