/* SPDX-License-Identifier: Apache-2.0 */
/* libaisbx over a program that is killed, hangs, or says half of something; and what must not reach it at all. */
#include "tests/cli/stand_in.h"

/* Every call of the library, over a program that fails. */
static enum aisbx_error call_by_number(int number, const struct aisbx_request *request,
				       struct aisbx_result **result)
{
	switch (number) {
	case 0:
		return aisbx_run(request, result);
	case 1:
		return aisbx_plan(request, result);
	case 2:
		return aisbx_create(request, "x", result);
	case 3:
		return aisbx_exec(request, "x", result);
	case 4:
		return aisbx_snapshot(request, "x", NULL, result);
	case 5:
		return aisbx_rollback(request, "x", NULL, result);
	case 6:
		return aisbx_fork(request, "x", "y", result);
	case 7:
		return aisbx_diff(request, "x", result);
	case 8:
		return aisbx_promote(request, "x", NULL, result);
	case 9:
		return aisbx_undo(request, "01J", result);
	case 10:
		return aisbx_remove(request, "x", result);
	case 11:
		return aisbx_list(request, result);
	case 12:
		return aisbx_read_file(request, "x", "f", result);
	default:
		return aisbx_write_file(request, "x", "f", "b", 1, result);
	}
}

#define CALL_COUNT 14

static void test_failures(void)
{
	static const struct {
		const char *script;
		enum aisbx_error want;
	} rows[] = {
		{ "kill -9 $$", AISBX_ERROR_ANSWER },
		{ "echo '{\"status\":\"success\"}'; kill -9 $$", AISBX_ERROR_ANSWER },
		{ "printf '{\"name\":\"a\"}\\n{\"na'; kill -6 $$", AISBX_ERROR_ANSWER },
		{ "printf '{\"name\":\"a\"}\\n{\"na'", AISBX_ERROR_ANSWER },
		{ "printf '{\"status\":\"succ'", AISBX_ERROR_ANSWER },
		{ "echo '[1]'", AISBX_ERROR_ANSWER },
		{ "echo null", AISBX_ERROR_ANSWER },
		{ "echo Segmentation fault", AISBX_ERROR_ANSWER },
		{ "exit 70", AISBX_ERROR_ANSWER },
		{ "exec sleep 600", AISBX_ERROR_TIME },
		{ "echo '{\"status\":\"success\"}'; exec sleep 600", AISBX_ERROR_TIME },
		{ "exec sleep 600 <&- >&- 2>&-", AISBX_ERROR_TIME },
	};
	struct aisbx_request *request = new_request();
	struct aisbx_result *result = NULL;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int good = 0;

		stand_in(rows[i].script);
		aisbx_request_set(request, "time", rows[i].want == AISBX_ERROR_TIME ? "1ms" : "1d");
		aisbx_request_limit(request, rows[i].want == AISBX_ERROR_TIME ? 100 : 600000);
		for (int number = 0; number < CALL_COUNT; number++)
			good += call_by_number(number, request, &result) == rows[i].want && !result;
		tap_is_int(good, CALL_COUNT, "every call over: %s", rows[i].script);
	}
	tap_is_int(aisbx_request_limit(request, 0), AISBX_ERROR_ARGUMENT, "no limit is none");
	aisbx_request_free(request);
}

/* An answer of one run that the program's exit contradicts. */
static void test_contradiction(void)
{
	struct aisbx_request *request = new_request();
	struct aisbx_result *result = NULL;

	stand_in("echo '{\"status\":\"success\"}'; exit 1");
	tap_is_int(aisbx_run(request, &result), AISBX_ERROR_ANSWER, "success and a failing exit");
	aisbx_request_free(request);
}

static void test_promote_nothing(void)
{
	struct aisbx_request *request = new_request();
	const char *const nothing[] = { NULL };
	struct aisbx_result *result = NULL;

	stand_in("kill -9 $$");
	tap_is_int(aisbx_promote(request, "x", nothing, &result), AISBX_OK, "an empty list");
	tap_is_int(aisbx_result_status(result), AISBX_SUCCESS, "is promoted without the program");
	tap_ok(!aisbx_result_text(result, 0, "promotion_id") &&
		       strstr(aisbx_result_json(result), "\"applied\":[]"),
	       "and applies nothing");
	aisbx_result_free(result);
	tap_is_int(aisbx_undo(request, NULL, &result), AISBX_ERROR_ARGUMENT, "undo of no id");
	tap_is_int(aisbx_undo(request, "", &result), AISBX_ERROR_ARGUMENT, "undo of an empty id");
	aisbx_request_free(request);
}

static void test_variables(void)
{
	struct aisbx_request *request = new_request();
	struct aisbx_result *result = NULL;

	aisbx_request_set(request, "env", "A=a b");
	aisbx_request_set(request, "env", "B=");
	tap_is_int(aisbx_request_set(request, "env-fd", "3"), AISBX_ERROR_ARGUMENT,
		   "the descriptor is the library's");
	stand_in("v=$(tr '\\0' ';' <&3); printf '{\"status\":\"success\",\"stdout\":\"'; "
		 "printf '<%s>' \"$@\"; printf '%s\"}' \"$v\"");
	if (aisbx_run(request, &result) != AISBX_OK)
		tap_bail("run");
	tap_is_str(aisbx_result_stdout(result, NULL),
		   "<run><--json><--env-fd=3><--><x><a  b><>A=a b;B=;",
		   "variables pass by descriptor, not on the command line");
	aisbx_result_free(result);
	aisbx_request_free(request);
}

int main(void)
{
	stand_in_begin();
	test_failures();
	test_contradiction();
	test_promote_nothing();
	test_variables();
	stand_in_end();
	return tap_done();
}
