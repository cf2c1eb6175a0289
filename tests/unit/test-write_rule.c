/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about writing: which paths they leave to a person. */
#include "base/core/own.h"
#include "tests/tap.h"
#include "workspace/consent/write_rule.h"

static void rule(struct strv *words, const char *name, const char *value)
{
	strv_add(words, name);
	strv_add(words, value);
}

int main(void)
{
	owned(strv_done) struct strv words = STRV_INIT;

	tap_ok(!write_rules_forbid(&words, "/w/a"), "without rules everything may be written");
	rule(&words, "--mem", "1g");
	tap_ok(!write_rules_forbid(&words, "/w/a"), "other words are none");
	rule(&words, WRITE_RULES, "yes");
	tap_ok(write_rules_forbid(&words, "/w/a"), "rules that allow nothing forbid everything");
	rule(&words, WRITE_ALLOW, "/w/src");
	tap_ok(!write_rules_forbid(&words, "/w/src") && !write_rules_forbid(&words, "/w/src/a/b"),
	       "a path, and what lies below it");
	tap_ok(write_rules_forbid(&words, "/w/srcs") && write_rules_forbid(&words, "/w"),
	       "not what only begins so, and not what lies above");
	rule(&words, WRITE_ALLOW, "/w/*.log");
	tap_ok(!write_rules_forbid(&words, "/w/a.log") && !write_rules_forbid(&words, "/w/.log"),
	       "a pattern");
	tap_ok(write_rules_forbid(&words, "/w/x/a.log"),
	       "a star that permits stays in its directory");
	rule(&words, WRITE_DENY, "/w/**/.env");
	tap_ok(write_rules_forbid(&words, "/w/src/.env") &&
		       write_rules_forbid(&words, "/w/src/a/b/.env/c"),
	       "one that forbids does not, and beats what is allowed");
	tap_ok(!write_rules_forbid(&words, "/w/src/.envy"), "whole names only");
	rule(&words, WRITE_DENY, "/w/src/**/**/k/**/*.pem");
	tap_ok(write_rules_forbid(&words, "/w/src/k/a.pem") &&
		       write_rules_forbid(&words, "/w/src/a/k/b/a.pem") &&
		       !write_rules_forbid(&words, "/w/src/ok/a.pem"),
	       "directories that are left open may be none");
	rule(&words, WRITE_ALLOW, "/w/.env");
	rule(&words, WRITE_ALLOW, "/w/a.env");
	tap_ok(write_rules_forbid(&words, "/w/.env") && !write_rules_forbid(&words, "/w/a.env"),
	       "also where everything begins");
	rule(&words, WRITE_DENY, "/w/src/[x]");
	tap_ok(write_rules_forbid(&words, "/w/src/x") && write_rules_forbid(&words, "/w/src/[x]"),
	       "a path with brackets is meant as it stands, too");
	strv_add(&words, WRITE_ALLOW);
	tap_ok(write_rules_forbid(&words, "/w/other"), "a word without a value says nothing");
	strv_done(&words);
	rule(&words, WRITE_RULES, "yes");
	rule(&words, WRITE_ALLOW, "/");
	tap_ok(!write_rules_forbid(&words, "/any/where"), "everything can be allowed");
	rule(&words, WRITE_DENY, "/");
	tap_ok(write_rules_forbid(&words, "/any/where"), "and forbidden");
	strv_done(&words);
	rule(&words, WRITE_RULES, "yes");
	rule(&words, WRITE_ALLOW, "/**/1/**/2/**/3/**/4/**/5/**/6/**/7/**/8/**/9");
	tap_ok(write_rules_forbid(&words, "/1/2/3/4/5/6/7/8/9"), "too open to permit anything");
	rule(&words, WRITE_ALLOW, "/");
	rule(&words, WRITE_DENY, "/**/1/**/2/**/3/**/4/**/5/**/6/**/7/**/8/**/9");
	tap_ok(write_rules_forbid(&words, "/1/2/3/4/5/6/7/8/9"), "which still forbids");
	return tap_done();
}
