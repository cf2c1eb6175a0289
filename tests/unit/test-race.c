/* SPDX-License-Identifier: Apache-2.0 */
/* Races: what attempts can be written, what is a score, who wins. */
#include "decide/race/race.h"

#include "base/core/own.h"
#include "tests/tap.h"

static void test_rules(void)
{
	struct race_rules rules;
	struct error err = { 0 };

	tap_ok(race_rules_parse("fast", &rules, &err) == 0 && rules.count == 1 &&
		       rules.items[0] == RULE_FAST,
	       "one rule");
	tap_ok(race_rules_parse("memory,score,small,fast", &rules, &err) == 0 && rules.count == 4,
	       "all rules");
	tap_ok(race_rules_parse("scor", &rules, &err) < 0 &&
		       strstr(err.text, "did you mean 'score'"),
	       "a misspelt one: %s", err.text);
	tap_ok(race_rules_parse("", &rules, &err) < 0, "none");
	tap_ok(race_rules_parse("fast,", &rules, &err) < 0, "an empty one");
	tap_ok(race_rules_parse("fast,fast,fast,fast,fast", &rules, &err) < 0, "too many");
}

static void test_words(void)
{
	owned(race_plan_done) struct race_plan plan;
	struct error err = { 0 };

	race_plan_init(&plan);
	tap_ok(race_add_words(&plan, "a=echo x=1", &err) == 0, "NAME=SCRIPT");
	tap_is_str(plan.attempts[0].command.items[2], "echo x=1",
		   "everything behind the first sign");
	tap_ok(race_add_words(&plan, "a=other", &err) < 0 && err.code == ERROR_USAGE,
	       "a name twice: %s", err.text);
	tap_ok(race_add_words(&plan, "no sign", &err) < 0, "no sign: %s", err.text);
	tap_ok(race_add_words(&plan, "empty=", &err) < 0, "nothing to run");
	tap_ok(race_add_words(&plan, "../x=true", &err) < 0, "no name: %s", err.text);
	tap_ok(race_add_words(&plan, "=true", &err) < 0, "an empty name");
	tap_ok(race_add_words(&plan, ".hidden=true", &err) < 0, "a name with a dot in front");
	tap_ok(race_add_words(&plan,
			      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=true",
			      &err) < 0,
	       "a name too long for a sandbox's");
	tap_is_int((int64_t)plan.count, 1, "and none of these was added");
}

static void is_score(const char *text, bool is_good, double want)
{
	double score = 0;
	bool got = race_score(text, strlen(text), &score);

	tap_ok(got == is_good && (!is_good || score == want), "score '%s'", text);
}

static void test_scores(void)
{
	is_score("1", true, 1);
	is_score("-0.5\n", true, -0.5);
	is_score(" 1e3 ", true, 1000);
	is_score("", false, 0);
	is_score("\n", false, 0);
	is_score("0x10", false, 0);
	is_score("nan", false, 0);
	is_score("inf", false, 0);
	is_score("1e999", false, 0);
	is_score("1 2", false, 0);
	is_score("1;rm", false, 0);
	is_score("--", false, 0);
	is_score("1111111111111111111111111111111111111111111111111111111111111111999999", true,
		 1.1111111111111111e63);
}

static void test_ranking(void)
{
	const struct race_outcome outcomes[] = {
		{ false, 9, 0, 1, 1 },	 { true, 1, 5, 100, 50 }, { true, 1, 2, 300, 10 },
		{ true, 1, 2, 200, 90 }, { true, 0.5, 0, 1, 1 },
	};
	struct race_rules rules;
	struct error err;

	(void)race_rules_parse("score,small,fast", &rules, &err);
	tap_is_int((int64_t)race_winner(&rules, outcomes, 5), 3, "score, then size, then time");
	(void)race_rules_parse("memory", &rules, &err);
	tap_is_int((int64_t)race_winner(&rules, outcomes, 5), 4, "memory alone");
	(void)race_rules_parse("small", &rules, &err);
	tap_is_int((int64_t)race_winner(&rules, outcomes, 4), 2, "equals stay in order");
	tap_ok(race_is_tie(&rules, &outcomes[2], &outcomes[3]),
	       "what no rule tells apart is a tie");
	tap_ok(!race_is_tie(&rules, &outcomes[0], &outcomes[4]), "not among those who failed");
	tap_is_int((int64_t)race_winner(&rules, outcomes, 1), 1, "nobody who failed");
	tap_is_int((int64_t)race_winner(&rules, outcomes, 0), 0, "nobody at all");
}

static const char good[] =
	"base: fix-1\n"
	"check: \"python3 -m pytest -q\"\n"
	"prefer: score,small\n"
	"time: 60s\n"
	"attempts:\n"
	"  - {name: upgrade, script: \"npm update\", mem: 512m, setup: \"npm ci\"}\n"
	"  - {name: patch, command: [\"git\", \"apply\", \"fix.patch\"], env: {CI: \"1\"}}\n";

static void test_file(void)
{
	owned(race_plan_done) struct race_plan plan;
	struct error err = { 0 };

	race_plan_init(&plan);
	if (!tap_ok(race_read(good, strlen(good), "r.yaml", &plan, &err) == 0, "a race file %s",
		    err.text))
		return;
	tap_is_str(plan.base, "fix-1", "its base");
	tap_is_int(plan.settings.time_ms, 60000, "its time");
	tap_is_int((int64_t)plan.rules.count, 2, "its rules");
	tap_is_int(plan.attempts[0].settings.mem_bytes, 512 << 20, "an attempt's memory");
	tap_is_str(plan.attempts[0].setup.items[2], "npm ci", "an attempt's setup");
	tap_is_str(plan.attempts[1].command.items[1], "apply", "an attempt's command");
	tap_is_str(plan.attempts[1].settings.env.items[0], "CI=1", "an attempt's environment");
}

static void is_refused(const char *text, const char *place, const char *word)
{
	owned(race_plan_done) struct race_plan plan;
	struct error err = { 0 };

	race_plan_init(&plan);
	tap_ok(race_read(text, strlen(text), "r.yaml", &plan, &err) < 0 && err.code != ERROR_NONE &&
		       strstr(err.text, place) && strstr(err.text, word),
	       "refused: %s", err.text);
}

static void test_bad_files(void)
{
	is_refused("attempts: []\n", "r.yaml:1", "list of attempts");
	is_refused("check: x\n", "r.yaml", "no attempts");
	is_refused("- a\n", "r.yaml", "map");
	is_refused("atempts:\n  - {name: a, script: x}\n", "r.yaml:1", "did you mean 'attempts'");
	is_refused("attempts:\n  - {script: x}\n", "r.yaml:2", "name");
	is_refused("attempts:\n  - {name: a}\n", "r.yaml:2", "neither");
	is_refused("attempts:\n  - {name: a, script: x, command: [y]}\n", "r.yaml:2", "not both");
	is_refused("attempts:\n  - {name: a, script: x}\n  - {name: a, script: y}\n", "r.yaml:3",
		   "two");
	is_refused("attempts:\n  - {name: A, script: x}\n", "r.yaml:2", "small letters");
	is_refused("attempts:\n  - {name: a, script: x, mem: 1e30}\n", "r.yaml:2", "mem");
	is_refused("attempts:\n  - {name: a, script: x, memm: 1g}\n", "r.yaml:2",
		   "did you mean 'mem'");
	is_refused("prefer: best\nattempts:\n  - {name: a, script: x}\n", "r.yaml:1", "best");
	is_refused("attempts:\n  - {name: a, command: \"x y\"}\n", "r.yaml:2", "list of words");
}

int main(void)
{
	test_rules();
	test_words();
	test_scores();
	test_ranking();
	test_file();
	test_bad_files();
	return tap_done();
}
