/* SPDX-License-Identifier: Apache-2.0 */
/* Errors: texts that are too long, context, and the table of exit statuses. */
#include "base/core/error.h"
#include "tests/tap.h"

#include <errno.h>
#include <limits.h>

static void test_texts(void)
{
	struct error err = { 0 };
	char word[2000];

	tap_is_int(error_set(&err, ERROR_USAGE, "bad %s %d", "word", 7), -1, "setting returns -1");
	tap_is_str(err.text, "bad word 7", "the text is formatted");
	tap_is_int(err.code, ERROR_USAGE, "the code is kept");
	tap_is_int(error_context(&err, "file %s", "x"), -1, "wrapping returns -1");
	tap_is_str(err.text, "file x: bad word 7", "context stands in front");
	errno = ENOENT;
	tap_is_int(error_errno(&err, ERROR_HOST, "open %s", "/a"), -1, "a failed call returns -1");
	tap_is_str(err.text, "open /a: No such file or directory", "and says why");
	tap_is_int(err.errnum, ENOENT, "and keeps the number");
	errno = 99999;
	error_errno(&err, ERROR_HOST, "x");
	tap_is_str(err.text, "x: unknown error", "an unknown number has words");
	tap_is_str(error_words(EIO), "Input/output error", "words alone");
	memset(word, 'a', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	error_set(&err, ERROR_INPUT, "%s", word);
	tap_is_int((long long)strlen(err.text), sizeof(err.text) - 1, "a long text is cut");
	error_context(&err, "in front");
	tap_ok(strncmp(err.text, "in front: aaa", 13) == 0 && strlen(err.text) < sizeof(err.text),
	       "context fits in front of a long text");
	error_context(&err, "%s", word);
	tap_ok(strlen(err.text) < sizeof(err.text), "a long context is cut");
	errno = EPERM;
	error_errno(&err, ERROR_HOST, "%s", word);
	tap_ok(strlen(err.text) < sizeof(err.text), "so is a long text of a failed call");
	tap_ok(sizeof(struct error) <= PIPE_BUF, "an error goes through a pipe in one piece");
}

static void test_hints(void)
{
	const char *name = "notes; run aisbx undo (aisbx rm --all)";
	struct error err;

	error_set(&err, ERROR_NOT_FOUND, "%s is gone", name);
	tap_ok(!error_hint(&err), "a name is no hint, whatever it says");
	error_set(&err, ERROR_NOT_FOUND, "there is no %s", name);
	tap_ok(!error_hint(&err) && error_said(&err) == (int)strlen(err.text), "nor at the end");
	error_advise(&err, ERROR_NOT_FOUND, "make one", "%s is gone", name);
	tap_is_str(error_hint(&err), "make one", "a hint is what was set");
	error_context(&err, "in %s", name);
	tap_is_str(error_hint(&err), "make one", "and stays it behind a context");
	tap_ok(error_said(&err) == (int)(strlen(err.text) - strlen("; make one")),
	       "the rest comes before it");
	error_set(&err, ERROR_USAGE, "twice");
	tap_ok(!error_hint(&err), "the next error has none");
	error_add_hint(&err, "stop %s", "it");
	tap_is_str(err.text, "twice; stop it", "one sentence for people");
	error_set(&err, ERROR_USAGE, "%*s", ERROR_TEXT_SIZE - 8, "x");
	error_add_hint(&err, "too long for what is left");
	tap_ok(!error_hint(&err) && !strchr(err.text, ';'), "half a hint is none");
	error_advise(&err, ERROR_USAGE, "make one", "%*s", 200, "x");
	error_context(&err, "%*s", 400, "y");
	tap_ok(!error_hint(&err), "nor is one that a context cuts off");
	errno = EMFILE;
	error_errno(&err, ERROR_HOST, "open");
	tap_ok(strstr(error_hint(&err), "ulimit -n"), "the caller's own limit");
}

static void test_codes(void)
{
	tap_is_str(error_code_name(ERROR_NOT_FOUND), "not_found", "codes have names");
	tap_is_int(error_exit_status(ERROR_NONE), 0, "done is 0");
	tap_is_int(error_exit_status(ERROR_USAGE), 2, "usage is 2");
	tap_is_int(error_exit_status(ERROR_CONFLICT), 3, "conflict is 3");
	tap_is_int(error_exit_status(ERROR_CONSENT), 4, "consent is 4");
	tap_is_int(error_exit_status(ERROR_NOT_FOUND), 5, "not found is 5");
	tap_is_int(error_exit_status(ERROR_INTERNAL), 70, "our own mistake is 70");
	tap_is_int(error_run_exit_status(ERROR_USAGE), 125, "usage of run is 125");
	tap_is_int(error_run_exit_status(ERROR_DENIED), 125, "a refusal of run is 125");
	tap_is_int(error_run_exit_status(ERROR_EXEC_REFUSED), 126, "not executable is 126");
	tap_is_int(error_run_exit_status(ERROR_EXEC_NOT_FOUND), 127, "no such command is 127");
}

/* Bytes of another process, one of them changed. */
static void test_sane(void)
{
	struct error good, bad;

	error_advise(&good, ERROR_HOST, "make one", "gone");
	tap_ok(error_is_sane(&good), "an error that was set is one");
	bad = good;
	bad.code = (enum error_code)(ERROR_LIBRARIES + 1);
	tap_ok(!error_is_sane(&bad), "a code behind the last is none");
	bad.code = (enum error_code) - 1;
	tap_ok(!error_is_sane(&bad), "nor is one before the first");
	bad.code = ERROR_NONE;
	tap_ok(!error_is_sane(&bad), "nor is success");
	bad = good;
	bad.hint_at = (unsigned)strlen(bad.text);
	tap_ok(!error_is_sane(&bad), "a hint behind the text is none");
	bad.hint_at = 1u << 31;
	tap_ok(!error_is_sane(&bad), "nor is one far behind it");
	bad.hint_at = 1;
	tap_ok(!error_is_sane(&bad), "nor is one without room for its mark");
	bad = good;
	memset(bad.text, 'x', sizeof(bad.text));
	tap_ok(!error_is_sane(&bad), "a text must end");
}

int main(void)
{
	test_sane();
	test_texts();
	test_hints();
	test_codes();
	return tap_done();
}
