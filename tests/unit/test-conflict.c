/* SPDX-License-Identifier: Apache-2.0 */
/* Every row of the table of conflicts, and what each strategy makes of it: pure, without files. */
#include "tests/tap.h"
#include "workspace/promote/conflict.h"

static const struct aspects absent = { .content = "", .xattrs = "" };

static struct aspects file(const char *content, uint32_t mode)
{
	return (struct aspects){ .type = 'f', .mode = mode, .content = content, .xattrs = "" };
}

static struct aspects other(char type, const char *content)
{
	return (struct aspects){ .type = type, .mode = 0755, .content = content, .xattrs = "" };
}

static struct verdict judge(const struct aspects *base, struct aspects ours, struct aspects theirs)
{
	struct verdict verdict;

	conflict_judge(base, &ours, &theirs, &verdict);
	return verdict;
}

/* One side changed, or both to the same: no conflict. */
static void test_clean(void)
{
	struct aspects base = file("a", 0644);
	struct verdict v = judge(&base, base, file("b", 0644));

	tap_ok(!v.kind && v.object == TAKE_THEIRS, "only the sandbox changed it");
	v = judge(&base, file("b", 0644), base);
	tap_ok(!v.kind && verdict_is_nothing(&v), "only the host changed it");
	v = judge(&base, file("b", 0600), file("b", 0600));
	tap_ok(!v.kind && verdict_is_nothing(&v), "both did the same");
	v = judge(&base, file("b", 0644), file("a", 0755));
	tap_ok(!v.kind && v.object == TAKE_MERGE && v.content == TAKE_OURS && v.mode == TAKE_THEIRS,
	       "the host edited, the sandbox made it executable");
	v = judge(&base, base, absent);
	tap_ok(!v.kind && v.object == TAKE_THEIRS, "removed by the sandbox alone");
	v = judge(&base, absent, absent);
	tap_ok(!v.kind && verdict_is_nothing(&v), "removed by both");
	v = judge(&absent, absent, file("b", 0644));
	tap_ok(!v.kind && v.object == TAKE_THEIRS, "added by the sandbox alone");
	v = judge(&absent, other('d', ""), other('d', ""));
	tap_ok(!v.kind && verdict_is_nothing(&v), "two directories of one name are one");
	v = judge(NULL, file("b", 0644), file("b", 0644));
	tap_ok(!v.kind, "what is equal needs no base");
}

static void check(const char *kind, const struct verdict *v)
{
	tap_is_str(v->kind, kind, "%s", kind);
}

static void test_kinds(void)
{
	struct aspects base = file("a", 0644), dir = other('d', ""), link = other('l', "x");
	struct verdict v = judge(&base, file("b", 0644), file("c", 0644));

	check("content", &v);
	tap_ok(v.object == TAKE_MERGE && v.content == TAKE_MERGE && v.mode == TAKE_OURS,
	       "texts may combine");
	v = judge(&base, file("b", 0644), absent);
	check("delete/modify", &v);
	v = judge(&base, absent, file("b", 0644));
	check("modify/delete", &v);
	v = judge(&absent, file("b", 0644), file("c", 0644));
	check("add/add", &v);
	v = judge(&base, file("b", 0644), link);
	check("type", &v);
	v = judge(&base, link, file("b", 0644));
	check("type", &v);
	v = judge(&absent, link, file("b", 0644));
	check("type", &v);
	dir.mode = 0700;
	v = judge(&(struct aspects){ .type = 'd', .mode = 0755, .content = "", .xattrs = "" },
		  absent, dir);
	check("parent-gone", &v);
	v = judge(NULL, file("b", 0644), file("c", 0644));
	check("base-lost", &v);
	v = judge(&link, other('l', "y"), other('l', "z"));
	check("content", &v);
	tap_ok(v.content == TAKE_UNDECIDED, "targets of links do not combine");
	v = judge(&base, file("a", 0600), file("a", 0755));
	check("mode", &v);
	struct aspects mine = base, yours = base;

	mine.uid = 1;
	yours.uid = 2;
	v = judge(&base, mine, yours);
	check("owner", &v);
	mine = yours = base;
	mine.xattrs = "1";
	yours.xattrs = "2";
	v = judge(&base, mine, yours);
	check("xattr", &v);
}

static void test_strategies(void)
{
	struct aspects base = file("a", 0644);
	struct verdict text = judge(&base, file("b", 0644), file("c", 0644));
	struct verdict whole = judge(&base, file("b", 0644), absent);
	struct conflict_times later = { .ours_ns = 1, .theirs_ns = 2, .comparable = true };
	struct conflict_times equal = { .ours_ns = 2, .theirs_ns = 2, .comparable = true };
	struct conflict_times unknown = { .ours_ns = 1, .theirs_ns = 0, .comparable = true };
	struct conflict_times stepped = { .ours_ns = 1, .theirs_ns = 2 };

	tap_is_int(conflict_outcome(STRATEGY_FAIL, &text, &later), OUTCOME_OPEN, "fail");
	tap_is_int(conflict_outcome(STRATEGY_OURS, &text, &later), OUTCOME_OURS, "ours");
	tap_is_int(conflict_outcome(STRATEGY_THEIRS, &whole, &later), OUTCOME_THEIRS, "theirs");
	tap_is_int(conflict_outcome(STRATEGY_MERGE, &text, &later), OUTCOME_MERGE, "merge texts");
	tap_is_int(conflict_outcome(STRATEGY_MERGE, &whole, &later), OUTCOME_OPEN,
		   "merge has nothing to merge");
	tap_is_int(conflict_outcome(STRATEGY_MERGE_OURS, &whole, &later), OUTCOME_OURS,
		   "merge+ours");
	tap_is_int(conflict_outcome(STRATEGY_MERGE_THEIRS, &whole, &later), OUTCOME_THEIRS,
		   "merge+theirs");
	tap_is_int(conflict_outcome(STRATEGY_LWW, &text, &later), OUTCOME_THEIRS, "the later wins");
	tap_is_int(conflict_outcome(STRATEGY_LWW, &text, &equal), OUTCOME_OPEN, "equal times");
	tap_is_int(conflict_outcome(STRATEGY_LWW, &whole, &unknown), OUTCOME_OPEN, "unknown times");
	tap_is_int(conflict_outcome(STRATEGY_LWW, &text, &stepped), OUTCOME_OPEN,
		   "a stepped clock");
	conflict_settle(&text, TAKE_THEIRS);
	tap_ok(text.object == TAKE_MERGE && text.content == TAKE_THEIRS && text.mode == TAKE_OURS,
	       "settling leaves what was decided");
	conflict_settle(&whole, TAKE_OURS);
	tap_ok(verdict_is_nothing(&whole), "the host wins: nothing happens");
}

static void test_names(void)
{
	enum promote_strategy strategy;
	struct error err = { 0 };

	tap_ok(promote_strategy_find("merge+theirs", &strategy, &err) == 0 &&
		       strategy == STRATEGY_MERGE_THEIRS,
	       "a strategy by its name");
	tap_ok(promote_strategy_find("host", &strategy, &err) == 0 && strategy == STRATEGY_OURS,
	       "and by the other one");
	tap_ok(promote_strategy_find("thiers", &strategy, &err) < 0 && err.code == ERROR_USAGE &&
		       strstr(err.text, "theirs"),
	       "the nearest is told");
	tap_ok(promote_strategy_find("qqqqqqqq", &strategy, &err) < 0 && strstr(err.text, "lww"),
	       "or all of them");
}

int main(void)
{
	test_clean();
	test_kinds();
	test_strategies();
	test_names();
	return tap_done();
}
