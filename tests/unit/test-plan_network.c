/* SPDX-License-Identifier: Apache-2.0 */
/* Which network a request and a profile ask for together. */
#include "tests/tap.h"
#include "tests/unit/plan_fixture.h"

static enum net_mode mode_of(const char *profile, const char *flag, const char *value)
{
	enum net_mode mode;
	struct fixture f;

	fixture_open(&f);
	if (profile)
		f.profile.net = xstrdup(profile);
	if (profile && strcmp(profile, "allow") == 0)
		strv_add(&f.profile.allow, "example.org:443");
	if (flag)
		fixture_flag(&f, flag, value);
	fixture_must_plan(&f);
	mode = f.spec.net;
	fixture_close(&f);
	return mode;
}

static void test_network(void)
{
	struct fixture f;

	tap_is_int(mode_of(NULL, NULL, NULL), NET_NONE, "no network by default");
	tap_is_int(mode_of(NULL, "net", "loopback"), NET_NONE, "loopback is the same");
	tap_is_int(mode_of(NULL, "allow", "example.org:443"), NET_ALLOW, "a rule is enough");
	tap_is_int(mode_of(NULL, "publish", "8080:80"), NET_ALLOW, "and so is a published port");
	tap_is_int(mode_of("none", "allow", "example.org:443"), NET_ALLOW,
		   "a flag beats a profile");
	tap_is_int(mode_of("allow", NULL, NULL), NET_ALLOW, "a profile's rules");
	tap_is_int(mode_of("allow", "net", "none"), NET_NONE, "are nothing to --net none");
	fixture_open(&f);
	fixture_flag(&f, "net", "none");
	fixture_flag(&f, "allow", "example.org:443");
	tap_ok(!fixture_plan(&f) && f.err.code == ERROR_USAGE, "contradiction: %s", f.err.text);
	fixture_close(&f);
	fixture_open(&f);
	fixture_flag(&f, "allow", "1.2.3:443");
	tap_ok(!fixture_plan(&f) && f.err.code == ERROR_USAGE, "no rule: %s", f.err.text);
	fixture_close(&f);
}

int main(void)
{
	test_network();
	return tap_done();
}
