/* SPDX-License-Identifier: Apache-2.0 */
/* Makes, changes, undoes and recovers a tree by order; built with faults, so that it can be killed at every call. */
#include "tests/unit/txn_fixture.h"

#include <stdio.h>

static int report(int result, const struct error *err)
{
	if (result == 0)
		return 0;
	(void)fprintf(stderr, "%s: %s\n", error_code_name(err->code), err->text);
	return err->code == ERROR_CONFLICT ? 3 : 1;
}

static int tell(const char *directory, void *cookie, struct error *err)
{
	(void)cookie;
	(void)err;
	printf("%s\n", directory);
	(void)fflush(stdout);
	return 0;
}

static int run(const char *root, const char *staging, bool swap)
{
	struct fixture_plan fixture;
	struct txn_result result;
	struct error err = { 0 };

	fixture_open(&fixture, root, *staging ? staging : NULL);
	if (getenv("CRASH_ID"))
		fixture.plan.id = getenv("CRASH_ID");
	fixture.plan.begun = tell;
	fixture.plan.target.swap = swap;
	int status = report(txn_run(&fixture.plan, &result, &err), &err);

	for (size_t i = 0; i < result.conflict_count; i++)
		(void)fprintf(stderr, "conflict %s %s\n", result.conflicts[i].kind,
			      result.conflicts[i].path);
	txn_result_done(&result);
	fixture_close(&fixture);
	return status;
}

static int undo(const char *directory)
{
	struct txn_result result;
	struct error err = { 0 };
	int status = report(txn_undo(directory, NULL, &result, &err), &err);

	txn_result_done(&result);
	return status;
}

static int recover(const char *directory)
{
	static const char *const names[] = { "none",	"prepared", "committed", "done",
					     "aborted", "undoing",  "undone",	 "stuck" };
	enum txn_state state = TXN_NONE;
	struct error err = { 0 };

	if (txn_recover(directory, &state, &err) < 0 && err.code != ERROR_NOT_FOUND)
		return report(-1, &err);
	puts(names[state]);
	return 0;
}

int main(int argc, char **argv)
{
	struct error err = { 0 };
	const char *verb = argc > 2 ? argv[1] : "";

	if (strcmp(verb, "make") == 0)
		fixture_make(argv[2]);
	else if (strcmp(verb, "show") == 0)
		return chdir(argv[2]) < 0 || nftw(".", fixture_describe, 16, FTW_PHYS) != 0;
	else if (strcmp(verb, "run") == 0 || strcmp(verb, "swap") == 0)
		return run(argv[2], argc > 3 ? argv[3] : "", strcmp(verb, "swap") == 0);
	else if (strcmp(verb, "undo") == 0)
		return undo(argv[2]);
	else if (strcmp(verb, "recover") == 0)
		return recover(argv[2]);
	else if (strcmp(verb, "forget") == 0)
		return report(txn_forget(argv[2], &err), &err);
	else
		return 2;
	return 0;
}
