/* libaisbx: requests, answers of a stand-in for the program, and a caller left as it was. */
#include "aisbx.h"
#include "tests/tap.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

static char program[] = "/tmp/aisbx-test-lib.XXXXXX";

/* Makes the stand-in a shell script that answers as told. */
static void stand_in(const char *script)
{
	int fd = open(program, O_WRONLY | O_TRUNC | O_CLOEXEC);

	if (fd < 0 || dprintf(fd, "#!/bin/sh\n%s\n", script) < 0)
		tap_bail("stand-in");
	close(fd);
}

static struct aisbx_request *new_request(void)
{
	struct aisbx_request *request = aisbx_request_new();
	const char *const command[] = { "x", "a  b", "", NULL };

	if (aisbx_request_program(request, program) || aisbx_request_command(request, command))
		tap_bail("request");
	return request;
}

/* Runs with the stand-in's script; NULL unless there was a result. */
static struct aisbx_result *run_with(const char *script, enum aisbx_error want)
{
	struct aisbx_request *request = new_request();
	struct aisbx_result *result = NULL;
	enum aisbx_error got;

	stand_in(script);
	got = aisbx_run(request, &result);
	if (got != want)
		tap_is_int(got, want, "run: %s", script);
	aisbx_request_free(request);
	return result;
}

static void test_arguments(void)
{
	struct aisbx_request *request = aisbx_request_new();
	const char *const nothing[] = { NULL };

	tap_is_str(aisbx_version(), AISBX_VERSION, "version");
	tap_is_int(aisbx_request_set(request, "mem", "1g"), AISBX_OK, "a flag");
	tap_is_int(aisbx_request_set(request, "json", NULL), AISBX_ERROR_ARGUMENT,
		   "a reserved flag");
	tap_is_int(aisbx_request_set(request, "--mem", "1g"), AISBX_ERROR_ARGUMENT, "with dashes");
	tap_is_int(aisbx_request_set(request, "mem=1g", NULL), AISBX_ERROR_ARGUMENT,
		   "with a value");
	tap_is_int(aisbx_request_set(request, "", NULL), AISBX_ERROR_ARGUMENT, "no name");
	tap_is_int(aisbx_request_command(request, nothing), AISBX_ERROR_ARGUMENT, "no command");
	tap_is_int(aisbx_request_program(request, "aisbx"), AISBX_ERROR_ARGUMENT,
		   "a relative path");
	tap_is_int(aisbx_run(request, NULL), AISBX_ERROR_ARGUMENT, "no place for the result");
	aisbx_request_free(request);
	aisbx_request_free(NULL);
	aisbx_result_free(NULL);
	for (int error = AISBX_OK; error <= AISBX_ERROR_ANSWER + 1; error++)
		tap_ok(*aisbx_strerror((enum aisbx_error)error), "error %d has words", error);
}

static void test_answers(void)
{
	struct aisbx_result *result;
	size_t len = 0;

	result = run_with(
		"printf '%s\\n' '{\"status\":\"error\",\"exit_code\":5,\"stdout\":\"a\\u0000b\","
		"\"stdout_encoding\":\"utf-8\",\"stderr\":\"/w==\",\"stderr_encoding\":\"base64\","
		"\"truncated\":true}'",
		AISBX_OK);
	tap_is_int(aisbx_result_status(result), AISBX_FAILURE, "status");
	tap_is_int(aisbx_result_exit_code(result), 5, "exit code");
	tap_ok(memcmp(aisbx_result_stdout(result, &len), "a\0b", 4) == 0 && len == 3, "null bytes");
	tap_ok(memcmp(aisbx_result_stderr(result, &len), "\xff", 2) == 0 && len == 1, "base64");
	tap_ok(aisbx_result_truncated(result), "truncated");
	tap_ok(!aisbx_result_message(result), "no message");
	tap_ok(aisbx_result_json(result)[strlen(aisbx_result_json(result)) - 1] == '}',
	       "the object without its newline");
	aisbx_result_free(result);

	result = run_with("echo '{\"ok\":false,\"status\":\"denied\",\"exit_code\":125,"
			  "\"error\":{\"code\":\"usage\",\"message\":\"no\"}}'; exit 125",
			  AISBX_OK);
	tap_is_int(aisbx_result_status(result), AISBX_DENIED, "a refusal is a result");
	tap_is_str(aisbx_result_message(result), "no", "with its message");
	tap_is_str(aisbx_result_stdout(result, NULL), "", "and no output");
	aisbx_result_free(result);
}

static void test_bad_answers(void)
{
	struct aisbx_request *request = aisbx_request_new();
	struct aisbx_result *result = NULL;

	run_with("exit 0", AISBX_ERROR_ANSWER);
	run_with("echo '[1]'", AISBX_ERROR_ANSWER);
	run_with("echo '{\"status\":1}'", AISBX_ERROR_ANSWER);
	run_with("kill -9 $$", AISBX_ERROR_ANSWER);
	run_with("echo '{\"status\":\"success\",\"stdout\":\"!\",\"stdout_encoding\":\"base64\"}'",
		 AISBX_ERROR_ANSWER);
	tap_ok(true, "answers that are none");
	aisbx_request_program(request, "/nonexistent/aisbx");
	tap_is_int(aisbx_run(request, &result), AISBX_ERROR_PROGRAM, "a program that is not there");
	tap_ok(!result, "leaves the result alone");
	aisbx_request_free(request);
}

static void test_command_line(void)
{
	struct aisbx_request *request = new_request();
	struct aisbx_result *result = NULL;

	stand_in("printf '{\"status\":\"success\",\"stdout\":\"'; printf '<%s>' \"$@\"; printf "
		 "'\"}'");
	aisbx_request_set(request, "mem", "1g");
	aisbx_request_set(request, "no-net", NULL);
	if (aisbx_run(request, &result) != AISBX_OK)
		tap_bail("run");
	tap_is_str(aisbx_result_stdout(result, NULL),
		   "<run><--json><--mem=1g><--no-net><--><x><a  b><>", "the command line is exact");
	aisbx_result_free(result);
	if (aisbx_plan(request, &result) != AISBX_OK)
		tap_bail("plan");
	tap_ok(strstr(aisbx_result_json(result), "<plan><--json>"), "plan asks for the plan");
	aisbx_result_free(result);
	aisbx_request_free(request);
}

static void test_input(void)
{
	struct aisbx_request *request = new_request();
	struct aisbx_result *result = NULL;
	size_t size = 3 << 20;
	char *bytes = malloc(size);

	memset(bytes, 'x', size);
	aisbx_request_stdin(request, bytes, size);
	stand_in("printf '{\"status\":\"success\",\"stdout\":\"%s\"}' $(wc -c)");
	if (aisbx_run(request, &result) != AISBX_OK)
		tap_bail("run");
	tap_is_str(aisbx_result_stdout(result, NULL), "3145728", "all input arrives");
	aisbx_result_free(result);
	stand_in("exec <&-; echo '{\"status\":\"success\"}'");
	tap_is_int(aisbx_run(request, &result), AISBX_OK,
		   "a program that does not read is no harm");
	aisbx_result_free(result);
	aisbx_request_free(request);
	free(bytes);
}

static void test_caller_untouched(void)
{
	struct aisbx_result *result;
	sigset_t before, after, pending;
	int mine = open("/dev/null", O_RDONLY);

	pthread_sigmask(SIG_BLOCK, NULL, &before);
	result = run_with(
		"printf '{\"status\":\"success\",\"stdout\":\"'; ls /proc/self/fd | tr '\\n' ' '; "
		"printf '\"}'",
		AISBX_OK);
	pthread_sigmask(SIG_BLOCK, NULL, &after);
	sigpending(&pending);
	tap_is_str(aisbx_result_stdout(result, NULL), "0 1 2 3 ",
		   "no descriptor of ours is passed on");
	tap_ok(sigismember(&before, SIGPIPE) == sigismember(&after, SIGPIPE) &&
		       !sigismember(&pending, SIGPIPE),
	       "signals are as before");
	aisbx_result_free(result);
	close(mine);
}

static void *one_thread(void *slot)
{
	struct aisbx_request *request = new_request();
	struct aisbx_result *result = NULL;
	int *good = slot;

	for (int i = 0; i < 10; i++) {
		*good += aisbx_run(request, &result) == AISBX_OK &&
			 aisbx_result_exit_code(result) == 3;
		aisbx_result_free(result);
		result = NULL;
	}
	aisbx_request_free(request);
	return NULL;
}

static void test_threads(void)
{
	pthread_t threads[4];
	int good[4] = { 0 };

	stand_in("echo '{\"status\":\"error\",\"exit_code\":3}'");
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, one_thread, &good[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	tap_is_int(good[0] + good[1] + good[2] + good[3], 40, "four threads at once");
}

int main(void)
{
	int fd = mkostemp(program, O_CLOEXEC);

	if (fd < 0 || fchmod(fd, 0700) < 0)
		tap_bail("no stand-in");
	close(fd);
	test_arguments();
	test_answers();
	test_bad_answers();
	test_command_line();
	test_input();
	test_caller_untouched();
	test_threads();
	unlink(program);
	return tap_done();
}
