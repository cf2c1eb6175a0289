/* SPDX-License-Identifier: Apache-2.0 */
/* libaisbx: requests, answers of a stand-in for the program, and a caller left as it was. */
#include "tests/cli/stand_in.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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
	for (int error = AISBX_OK; error <= AISBX_ERROR_TIME + 1; error++)
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

/* What the stand-in was called with for CALL, whose result is told by its own words; NULL unless there was one. */
#define CALLED(call)                                     \
	do {                                             \
		result = NULL;                           \
		tap_is_int(call, AISBX_OK, "%s", #call); \
	} while (0)

static void is_called(struct aisbx_result *result, const char *want)
{
	tap_is_str(result ? aisbx_result_text(result, 0, "line") : "", want, "%s", want);
	aisbx_result_free(result);
}

static void test_verbs(void)
{
	struct aisbx_request *request = new_request();
	const char *const paths[] = { "a b", "-c", NULL };
	struct aisbx_result *result;

	stand_in("printf '{\"line\":\"'; printf '<%s>' \"$@\"; printf '\"}\\n'");
	aisbx_request_set(request, "ttl", "2h");
	CALLED(aisbx_create(request, "x", &result));
	is_called(result, "<create><--json><--ttl=2h><x>");
	CALLED(aisbx_snapshot(request, "x", "a message", &result));
	is_called(result, "<snap><--json><--ttl=2h><--message=a message><x>");
	CALLED(aisbx_rollback(request, "x", NULL, &result));
	is_called(result, "<rollback><--json><--ttl=2h><x>");
	CALLED(aisbx_rollback(request, "x", "s1", &result));
	is_called(result, "<rollback><--json><--ttl=2h><x><s1>");
	CALLED(aisbx_fork(request, "x@s1", "y", &result));
	is_called(result, "<fork><--json><--ttl=2h><x@s1><y>");
	CALLED(aisbx_diff(request, "x", &result));
	is_called(result, "<diff><--json><--ttl=2h><x>");
	CALLED(aisbx_promote(request, "x", paths, &result));
	is_called(result, "<promote><--json><--ttl=2h><x><--><a b><-c>");
	CALLED(aisbx_promote(request, "x", NULL, &result));
	is_called(result, "<promote><--json><--ttl=2h><x>");
	CALLED(aisbx_undo(request, "01J", &result));
	is_called(result, "<undo><--json><--ttl=2h><01J>");
	CALLED(aisbx_remove(request, "x", &result));
	is_called(result, "<rm><--json><--ttl=2h><x>");
	CALLED(aisbx_list(request, &result));
	is_called(result, "<ls><--json><--ttl=2h>");
	tap_is_int(aisbx_create(request, "--json", &result), AISBX_ERROR_ARGUMENT,
		   "a name that is a flag");
	tap_is_int(aisbx_remove(request, "", &result), AISBX_ERROR_ARGUMENT, "no name");
	tap_is_int(aisbx_diff(request, NULL, &result), AISBX_ERROR_ARGUMENT, "NULL as a name");
	tap_is_int(aisbx_exec(NULL, "x", &result), AISBX_ERROR_ARGUMENT, "nothing to execute");
	tap_is_int(aisbx_fork(request, "x", "-y", &result), AISBX_ERROR_ARGUMENT, "a flag again");
	tap_is_int(aisbx_list(request, NULL), AISBX_ERROR_ARGUMENT, "no place for the rows");
	aisbx_request_free(request);
}

static void test_files(void)
{
	struct aisbx_request *request = new_request();
	struct aisbx_result *result = NULL;
	size_t len = 0;

	stand_in("for last; do :; done; pwd=$(pwd); n=$(wc -c); printf "
		 "'{\"status\":\"success\",\"stdout\":\"'; printf "
		 "'%s,%s,%s,%s' \"$pwd\" \"$n\" \"$3\" \"$last\"; printf '\"}'");
	tap_is_int(aisbx_read_file(request, "x", "-f", &result), AISBX_OK, "read a file");
	tap_is_str(aisbx_result_stdout(result, &len), "/,0,--output=1g,./-f",
		   "from the top, as much as there is, no option");
	aisbx_result_free(result);
	tap_is_int(aisbx_write_file(request, "x", "/a/b", "1234", 4, &result), AISBX_OK,
		   "write a file");
	tap_is_str(aisbx_result_stdout(result, &len), "/,4,x,/a/b", "its content goes in");
	aisbx_result_free(result);
	tap_is_int(aisbx_write_file(request, "x", "", "", 0, &result), AISBX_ERROR_ARGUMENT,
		   "no path");
	tap_is_int(aisbx_write_file(request, "x", "a", NULL, 1, &result), AISBX_ERROR_ARGUMENT,
		   "no bytes");
	aisbx_request_free(request);
}

static void test_rows(void)
{
	struct aisbx_request *request = new_request();
	struct aisbx_result *result = NULL;

	stand_in("printf '{\"name\":\"a\",\"n\":7}\\n{\"name\":\"b\",\"n\":1.5}\\n'");
	tap_is_int(aisbx_list(request, &result), AISBX_OK, "a list");
	tap_is_int((long long)aisbx_result_rows(result), 2, "its rows");
	tap_is_str(aisbx_result_text(result, 1, "name"), "b", "a text");
	tap_ok(aisbx_result_number(result, 0, "n") == 7 &&
		       aisbx_result_number(result, 1, "n") == 1.5,
	       "numbers");
	tap_ok(!aisbx_result_text(result, 2, "name") && !aisbx_result_text(result, 0, "n") &&
		       aisbx_result_number(result, 0, "name") == 0 &&
		       !aisbx_result_text(result, 0, NULL),
	       "what is not there");
	aisbx_result_free(result);
	stand_in("exit 0");
	tap_is_int(aisbx_list(request, &result), AISBX_OK, "an empty list");
	tap_is_int((long long)aisbx_result_rows(result), 0, "has no rows");
	aisbx_result_free(result);
	stand_in("kill -9 $$");
	tap_is_int(aisbx_list(request, &result), AISBX_ERROR_ANSWER, "is not what the dead say");
	stand_in("echo '{\"ok\":false,\"error\":{\"code\":\"conflict\",\"message\":\"m\","
		 "\"hint\":\"h\"}}'; exit 3");
	tap_is_int(aisbx_promote(request, "x", NULL, &result), AISBX_OK, "a refusal is a result");
	tap_is_int(aisbx_result_status(result), AISBX_DENIED, "with a status");
	tap_is_str(aisbx_result_code(result), "conflict", "a code");
	tap_is_str(aisbx_result_hint(result), "h", "a hint");
	tap_is_int(aisbx_result_exit_code(result), 3, "and an exit code");
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

/* What a process has that a supervisor in it could change. */
struct own {
	struct rlimit limits[RLIMIT_NLIMITS];
	void (*handlers[NSIG])(int);
	int blocked[NSIG];
	int dumpable, subreaper, no_new_privs;
	mode_t umask;
	char cwd[PATH_MAX];
};

static void look_at_own(struct own *own)
{
	sigset_t mask;

	memset(own, 0, sizeof(*own));
	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	for (int i = 0; i < RLIMIT_NLIMITS; i++)
		getrlimit((enum __rlimit_resource)i, &own->limits[i]);
	for (int i = 1; i < NSIG; i++) {
		struct sigaction action = { .sa_handler = SIG_DFL };

		sigaction(i, NULL, &action);
		own->handlers[i] = action.sa_handler;
		own->blocked[i] = sigismember(&mask, i);
	}
	own->dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
	prctl(PR_GET_CHILD_SUBREAPER, &own->subreaper, 0, 0, 0);
	own->no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
	own->umask = umask(0);
	umask(own->umask);
	if (!getcwd(own->cwd, sizeof(own->cwd)))
		tap_bail("getcwd");
}

static void test_caller_kept(void)
{
	static struct own before, after;
	struct aisbx_request *request = new_request();
	struct aisbx_result *result = NULL;

	look_at_own(&before);
	stand_in("echo '{\"status\":\"success\"}'");
	for (int i = 0; i < 3; i++) {
		aisbx_run(request, &result);
		aisbx_result_free(result);
		aisbx_read_file(request, "x", "f", &result);
		aisbx_result_free(result);
	}
	look_at_own(&after);
	tap_ok(memcmp(&before, &after, sizeof(before)) == 0,
	       "limits, handlers, mask, dumpable, umask and directory are as before");
	tap_ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "no child is left");
	aisbx_request_free(request);
}

/* A program that collects its children itself: the answer speaks for itself. */
static void test_collected(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, old;
	struct aisbx_result *result;

	sigaction(SIGCHLD, &ignore, &old);
	result = run_with("echo '{\"status\":\"error\",\"exit_code\":9}'", AISBX_OK);
	tap_is_int(aisbx_result_exit_code(result), 9, "SIGCHLD ignored: the result is there");
	aisbx_result_free(result);
	sigaction(SIGCHLD, &old, NULL);
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

/* One request and one result, read by all. */
struct shared {
	const struct aisbx_request *request;
	const struct aisbx_result *result;
	int good;
};

static void *one_reader(void *slot)
{
	struct shared *shared = slot;
	struct aisbx_result *result = NULL;

	for (int i = 0; i < 5; i++) {
		shared->good +=
			aisbx_run(shared->request, &result) == AISBX_OK &&
			aisbx_result_number(shared->result, 0, "exit_code") == 3 &&
			strcmp(aisbx_result_text(shared->result, 0, "status"), "error") == 0;
		aisbx_result_free(result);
		result = NULL;
	}
	return NULL;
}

static void test_sharing(void)
{
	struct aisbx_request *request = new_request();
	struct aisbx_result *result = NULL;
	struct shared shared[4];
	pthread_t threads[4];
	int good = 0;

	stand_in("echo '{\"status\":\"error\",\"exit_code\":3}'");
	aisbx_run(request, &result);
	for (int i = 0; i < 4; i++) {
		shared[i] = (struct shared){ request, result, 0 };
		pthread_create(&threads[i], NULL, one_reader, &shared[i]);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		good += shared[i].good;
	}
	tap_is_int(good, 20, "four threads with one request and one result");
	aisbx_result_free(result);
	aisbx_request_free(request);
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
	stand_in_begin();
	test_arguments();
	test_answers();
	test_bad_answers();
	test_command_line();
	test_verbs();
	test_files();
	test_rows();
	test_input();
	test_caller_untouched();
	test_caller_kept();
	test_collected();
	test_threads();
	test_sharing();
	stand_in_end();
	return tap_done();
}
