/* SPDX-License-Identifier: Apache-2.0 */
/* Answers into bytes: tables, JSON, errors, and nothing a terminal would obey. */
#include "base/text/json_write.h"
#include "front/cli/render.h"
#include "tests/tap.h"

static const struct op_column columns[] = { { "name", "NAME" },
					    { "size", "SIZE" },
					    { NULL, NULL } };
static const struct op lists = { .name = "ls", .columns = columns };
static const struct op runs = { .name = "run", .flags = OP_RUN_CODES };
static const struct render_style plain = { .terminal = false };
static const struct render_style terminal = { .terminal = true };

static void is_rendered(struct op_call *call, const struct render_style *style, const char *want,
			const char *what)
{
	struct str out = STR_INIT;

	render_answer(call, style, &out);
	tap_is_str(str_cstr(&out), want, "%s", what);
	str_done(&out);
}

static struct value *row(const char *name, int64_t size)
{
	struct value *map = value_new_map();

	value_set(map, "name", value_new_text(name));
	value_set(map, "size", value_new_int(size));
	return map;
}

static void test_answers(void)
{
	struct op_call call;

	op_call_init(&call, &lists, NULL);
	call.answer = value_new_list();
	is_rendered(&call, &plain, "", "an empty table is nothing");
	value_append(call.answer, row("fix-1", 4096));
	value_append(call.answer, row("\033[2Jx\n", 7));
	is_rendered(&call, &plain, "NAME          SIZE\nfix-1         4096\n\\x1b[2Jx\\x0a  7\n",
		    "a table; cells stay on their line");
	call.json = true;
	is_rendered(
		&call, &plain,
		"{\"name\":\"fix-1\",\"size\":4096}\n{\"name\":\"\\u001b[2Jx\\n\",\"size\":7}\n",
		"a list is one object per line");
	str_add(&call.data, "{\"a\":1}");
	is_rendered(&call, &plain, "{\"a\":1}\n", "data written by a part goes out as it is");
	op_call_done(&call);

	op_call_init(&call, &lists, NULL);
	call.answer = row("one", 1);
	is_rendered(&call, &plain, "name: one\nsize: 1\n", "an object is lines of fields");
	value_set(call.answer, "\a\n", value_new_int(2));
	is_rendered(&call, &plain, "name: one\nsize: 1\n\\x07\\x0a: 2\n", "also by their names");
	str_add(&call.text, "words\033]0;title\a\n");
	is_rendered(&call, &plain, "words\033]0;title\a\n", "a pipe gets text as it is");
	is_rendered(&call, &terminal, "words\\x1b]0;title\\x07\n", "a terminal gets escapes");
	op_call_done(&call);
}

static void is_safe(const char *text, size_t len, const char *want, const char *what)
{
	struct str out = STR_INIT;

	render_safe(&out, text, len, false);
	tap_is_str(str_cstr(&out), want, "%s", what);
	str_done(&out);
}

static void test_safe(void)
{
	is_safe("caf\xc3\xa9", 5, "caf\xc3\xa9", "letters of any script stay");
	is_safe("a\0b", 3, "a\\x00b", "a null byte");
	is_safe("\x9b", 1, "\\x9b", "a byte that is not UTF-8");
	is_safe("\xc2\x9b", 2, "\\u{9b}", "a C1 control as UTF-8");
	is_safe("\xe2\x80\xae", 3, "\\u{202e}", "right-to-left override");
	is_safe("\xe2\x81\xa6", 3, "\\u{2066}", "an isolate");
	is_safe("\xef\xbb\xbf", 3, "\\u{feff}", "a byte order mark");
	is_safe("\xe3\x85\xa4", 3, "\\u{3164}", "a letter nobody sees");
	is_safe("\xef\xb8\x81", 3, "\\u{fe01}", "a selector that hides bytes");
	is_safe("\xe2\x9d\xa4\xef\xb8\x8f", 6, "\xe2\x9d\xa4\xef\xb8\x8f", "the one emoji need");
	is_safe("\xc0\xaf", 2, "\\xc0\\xaf", "an overlong form");
	is_safe("\xed\xa0\x80", 3, "\\xed\\xa0\\x80", "a surrogate");
	is_safe("\xf4\x90\x80\x80", 4, "\\xf4\\x90\\x80\\x80", "beyond Unicode");
	is_safe("\xe2\x80", 2, "\\xe2\\x80", "a torn sequence");
	is_safe("\x7f\t", 2, "\\x7f\\x09", "delete, and a tab inside a cell");
	is_safe("\xf0\x9f\x99\x82", 4, "\xf0\x9f\x99\x82", "four bytes");
}

static void test_errors(void)
{
	struct str out = STR_INIT;
	struct error err;
	struct render_style colour = { .terminal = true, .colour = true };

	error_set(&err, ERROR_NOT_FOUND, "no profile '%s'", "x\ny");
	render_error(&err, &plain, &out);
	tap_is_str(str_cstr(&out), "aisbx: no profile 'x\\x0ay'\n", "an error is one line");
	str_clear(&out);
	render_error(&err, &colour, &out);
	tap_ok(str_starts(out.data, "\033[31maisbx:\033[0m "), "in colour where asked");
	str_clear(&out);
	render_error_json(&lists, &err, &out);
	tap_is_str(str_cstr(&out),
		   "{\"ok\":false,\"error\":{\"code\":\"not_found\",\"message\":\"no profile "
		   "'x\\ny'\",\"hint\":null}}\n",
		   "an error as data");
	str_clear(&out);
	error_advise(&err, ERROR_USAGE, "did you mean snap?", "no %s", "sanp");
	render_error_json(&lists, &err, &out);
	tap_ok(strstr(out.data, "\"hint\":\"did you mean snap?\""), "with its hint");
	str_clear(&out);
	error_set(&err, ERROR_USAGE, "no file %s", "notes; run aisbx undo");
	render_error_json(&lists, &err, &out);
	tap_ok(strstr(out.data, "\"hint\":null"), "which no name can give");
	str_clear(&out);
	render_error_json(&runs, &err, &out);
	tap_ok(strstr(out.data, "\"status\":\"denied\",\"exit_code\":125"),
	       "a run that was refused has a status");
	str_done(&out);
}

static void test_notes(void)
{
	struct op_call call;
	struct str out = STR_INIT;

	op_call_init(&call, &runs, NULL);
	str_add(&call.notes, "one\ntwo\n");
	render_notes(&call, &out);
	tap_is_str(str_cstr(&out), "aisbx: one\naisbx: two\n", "each note is a line of ours");
	str_clear(&out);
	str_clear(&call.notes);
	str_add(&call.notes, "no\033[31m\r\t\xe2\x80\xae: not found\n");
	render_notes(&call, &out);
	tap_is_str(str_cstr(&out), "aisbx: no\\x1b[31m\\x0d\\x09\\u{202e}: not found\n",
		   "what was quoted in it steers no terminal");
	str_done(&out);
	op_call_done(&call);
}

int main(void)
{
	test_answers();
	test_safe();
	test_errors();
	test_notes();
	return tap_done();
}
