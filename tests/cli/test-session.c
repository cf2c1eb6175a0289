/* SPDX-License-Identifier: Apache-2.0 */
/* libaisbx: sessions, with a stand-in for the program that answers as it should, or not. */
#include "tests/cli/stand_in.h"

#include <pthread.h>
#include <sys/wait.h>

/* A session is one program for many runs, each a line and an answer. */
static void test_session(void)
{
	struct aisbx_request *flags = aisbx_request_new(), *request = new_request();
	struct aisbx_session *session = NULL;
	struct aisbx_result *result = NULL;

	stand_in("read -r line; printf '{\"status\":\"success\",\"stdout\":\"%s\",\"line\":%s}\\n' "
		 "\"$*\" \"$line\"\n"
		 "read -r line; echo '{\"error\":{\"code\":\"denied\",\"message\":\"no\"}}'");
	aisbx_request_program(flags, program);
	aisbx_request_set(flags, "driver", "wasm");
	aisbx_request_stdin(request, "in\"put", 6);
	tap_is_int(aisbx_session_open(flags, &session), AISBX_OK, "a session");
	tap_is_int(aisbx_session_run(session, flags, &result), AISBX_ERROR_ARGUMENT, "its flags");
	tap_is_int(aisbx_session_run(session, request, &result), AISBX_OK, "a run");
	tap_is_str(aisbx_result_stdout(result, NULL), "run --json --driver=wasm --jobs=1 --batch=-",
		   "its command line");
	tap_ok(strstr(aisbx_result_json(result),
		      "{\"command\":[\"x\",\"a  b\",\"\"],\"stdin\":\"in\\\"put\"}") != NULL,
	       "its line: %s", aisbx_result_json(result));
	aisbx_result_free(result);
	tap_is_int(aisbx_session_run(session, request, &result), AISBX_OK, "one that is refused");
	tap_is_str(aisbx_result_message(result), "no", "in its words");
	aisbx_result_free(result);
	tap_is_int(aisbx_session_run(session, request, &result), AISBX_ERROR_ANSWER, "its end");
	aisbx_session_close(session);
	tap_is_int(aisbx_session_open(request, &session), AISBX_ERROR_ARGUMENT, "a command");
	aisbx_request_free(request);
	aisbx_request_free(flags);
}

static struct aisbx_session *open_session(const char *script)
{
	struct aisbx_request *flags = aisbx_request_new();
	struct aisbx_session *session = NULL;

	stand_in(script);
	aisbx_request_program(flags, program);
	if (aisbx_session_open(flags, &session))
		tap_bail("session");
	aisbx_request_free(flags);
	return session;
}

/* Answers each line with the line. */
#define ECHO \
	"while read -r line; do printf '{\"status\":\"success\",\"line\":%s}\\n' \"$line\"; done"

static enum aisbx_error say(struct aisbx_session *session, const char *word)
{
	const char *const command[] = { word, NULL };
	struct aisbx_request *request = aisbx_request_new();
	struct aisbx_result *result = NULL;
	enum aisbx_error error;

	aisbx_request_command(request, command);
	error = aisbx_session_run(session, request, &result);
	/* An answer to somebody else is none. */
	if (!error && aisbx_result_status(result) == AISBX_SUCCESS &&
	    !strstr(aisbx_result_json(result), word))
		error = AISBX_ERROR_ANSWER;
	aisbx_result_free(result);
	aisbx_request_free(request);
	return error;
}

/* Whatever the program does, each run hears its own answer, or that there is none any more. */
static void test_session_answers(void)
{
	struct aisbx_session *session =
		open_session("head -c 100 >/dev/null; echo "
			     "'{\"error\":{\"code\":\"input\",\"message\":\"long\"}}'\n"
			     "read -r rest\n" ECHO);
	char *word = malloc(300001);

	if (!word)
		tap_bail("memory");
	memset(word, 'w', 300000);
	word[300000] = '\0';
	tap_is_int(say(session, word), AISBX_OK, "a line that is answered before its end");
	tap_is_int(say(session, "next"), AISBX_OK, "does not swallow the next");
	aisbx_session_close(session);
	free(word);
	session = open_session(
		"read -r l; printf '{\"status\":\"error\"}\\n{\"status\":\"error\"}\\n'\n" ECHO);
	tap_is_int(say(session, "one"), AISBX_ERROR_ANSWER, "two answers to one line");
	tap_is_int(say(session, "two"), AISBX_ERROR_ANSWER, "and no more from there");
	aisbx_session_close(session);
	session = open_session("read -r l; printf '{\"status\":'; kill -9 $$");
	tap_is_int(say(session, "one"), AISBX_ERROR_ANSWER, "half an answer, and killed");
	tap_is_int(say(session, "two"), AISBX_ERROR_ANSWER, "it stays lost");
	aisbx_session_close(session);
	session = open_session("exit 0");
	tap_is_int(say(session, "one"), AISBX_ERROR_ANSWER, "gone before it was asked");
	aisbx_session_close(session);
	tap_is_int(say(NULL, "one"), AISBX_ERROR_ARGUMENT, "no session");
	aisbx_session_close(NULL);
}

/* A fork has the pipes of its parent's session: it must neither ask nor end it. */
static void test_session_owner(void)
{
	struct aisbx_session *session = open_session(ECHO), *other = open_session(ECHO);
	int status = 0;
	pid_t pid;

	tap_is_int(say(session, "before"), AISBX_OK, "the owner asks");
	pid = fork();
	if (pid == 0) {
		enum aisbx_error error = say(session, "stranger");

		aisbx_session_close(session);
		_exit(error == AISBX_ERROR_ARGUMENT ? 0 : 1);
	}
	(void)waitpid(pid, &status, 0);
	tap_is_int(status, 0, "a fork is refused");
	tap_is_int(say(session, "behind"), AISBX_OK, "and the owner goes on");
	tap_is_int(say(other, "other"), AISBX_OK, "beside another session");
	aisbx_session_close(session);
	tap_is_int(say(other, "alone"), AISBX_OK, "which outlives the first");
	aisbx_session_close(other);
}

struct asker {
	struct aisbx_session *session;
	char word[24];
	int good;
};

static void *one_asker(void *slot)
{
	struct asker *asker = slot;

	for (int i = 0; i < 50; i++)
		asker->good += say(asker->session, asker->word) == AISBX_OK;
	return NULL;
}

static void test_session_threads(void)
{
	struct aisbx_session *session = open_session(ECHO);
	struct asker askers[8];
	pthread_t threads[8];
	int good = 0;

	for (int i = 0; i < 8; i++) {
		askers[i] = (struct asker){ .session = session };
		(void)snprintf(askers[i].word, sizeof(askers[i].word), "word-%d-of-mine", i);
		pthread_create(&threads[i], NULL, one_asker, &askers[i]);
	}
	for (int i = 0; i < 8; i++) {
		pthread_join(threads[i], NULL);
		good += askers[i].good;
	}
	tap_is_int(good, 400, "eight threads in one session, each its own answers");
	aisbx_session_close(session);
}

int main(void)
{
	stand_in_begin();
	test_session();
	test_session_answers();
	test_session_owner();
	test_session_threads();
	stand_in_end();
	return tap_done();
}
