/* SPDX-License-Identifier: Apache-2.0 */
/* Which source text a command would run. */
#include "base/core/own.h"
#include "scan/judge/code.h"
#include "tests/tap.h"

#include <string.h>

#define WORDS 6

static const struct {
	const char *words[WORDS];
	enum scan_code_kind kind;
	enum scan_language language;
	const char *text;
} rows[] = {
	{ { "python3", "x.py", "-c" }, CODE_FILE, SCAN_PYTHON, "x.py" },
	{ { "python3", "-c", "print(1)" }, CODE_TEXT, SCAN_PYTHON, "print(1)" },
	{ { "python3", "-Ic", "a" }, CODE_TEXT, SCAN_PYTHON, "a" },
	{ { "python3", "-cprint(1)" }, CODE_TEXT, SCAN_PYTHON, "print(1)" },
	{ { "python3.11", "-W", "ignore", "-u", "x.py" }, CODE_FILE, SCAN_PYTHON, "x.py" },
	{ { "python3", "-Wignore", "x.py" }, CODE_FILE, SCAN_PYTHON, "x.py" },
	{ { "python3", "-m", "pytest" }, CODE_MODULE, SCAN_PYTHON, "pytest" },
	{ { "python3", "-Imjson.tool", "x" }, CODE_MODULE, SCAN_PYTHON, "json.tool" },
	{ { "flock", "-n", "lock", "python3", "x.py" }, CODE_FILE, SCAN_PYTHON, "x.py" },
	{ { "/lib64/ld-linux-x86-64.so.2", "/usr/bin/python3", "x.py" },
	  CODE_FILE,
	  SCAN_PYTHON,
	  "x.py" },
	{ { "python3", "--version" }, CODE_NONE, SCAN_PYTHON, NULL },
	{ { "python3" }, CODE_INCOMES, SCAN_PYTHON, "-" },
	{ { "python3", "-u", "-" }, CODE_INCOMES, SCAN_PYTHON, "-" },
	{ { "/usr/bin/node", "x.js" }, CODE_FILE, SCAN_JAVASCRIPT, "x.js" },
	{ { "node", "-e", "1" }, CODE_TEXT, SCAN_JAVASCRIPT, "1" },
	{ { "node", "-pe", "1" }, CODE_TEXT, SCAN_JAVASCRIPT, "1" },
	{ { "node", "--eval=1" }, CODE_TEXT, SCAN_JAVASCRIPT, "1" },
	{ { "node", "--require", "a", "x.js" }, CODE_FILE, SCAN_JAVASCRIPT, "x.js" },
	{ { "bash", "-lc", "id" }, CODE_TEXT, SCAN_SHELL, "id" },
	{ { "sh", "-e", "x.sh" }, CODE_FILE, SCAN_SHELL, "x.sh" },
	{ { "bash", "-o", "pipefail", "-c", "id" }, CODE_TEXT, SCAN_SHELL, "id" },
	{ { "bash", "+x", "x.sh" }, CODE_FILE, SCAN_SHELL, "x.sh" },
	{ { "bash", "-s", "a" }, CODE_INCOMES, SCAN_SHELL, "-" },
	{ { "bash", "--", "-c" }, CODE_FILE, SCAN_SHELL, "-c" },
	{ { "env", "A=1", "python3", "x.py" }, CODE_FILE, SCAN_PYTHON, "x.py" },
	{ { "env", "-S", "python3 -u", "x.py" }, CODE_FILE, SCAN_PYTHON, "x.py" },
	{ { "nohup", "timeout", "5", "sh", "-c", "id" }, CODE_TEXT, SCAN_SHELL, "id" },
	{ { "nice", "-n", "5", "node", "x.js" }, CODE_FILE, SCAN_JAVASCRIPT, "x.js" },
	{ { "./tool", "-c", "x" }, CODE_FILE, SCAN_UNKNOWN, "./tool" },
	/* Each of these ran another text than the one that was read. */
	{ { "bash", "-Ox", "extglob", "x.sh" }, CODE_FILE, SCAN_SHELL, "x.sh" },
	{ { "bash", "-OO", "extglob", "dotglob", "x.sh" }, CODE_FILE, SCAN_SHELL, "x.sh" },
	{ { "bash", "+O", "extglob", "x.sh" }, CODE_FILE, SCAN_SHELL, "x.sh" },
	{ { "bash", "-oe", "pipefail", "x.sh" }, CODE_FILE, SCAN_SHELL, "x.sh" },
	{ { "sh", "-eo", "errexit", "-c", "id" }, CODE_TEXT, SCAN_SHELL, "id" },
	{ { "zsh", "-oerrexit", "x.sh" }, CODE_FILE, SCAN_SHELL, "x.sh" },
	{ { "zsh", "-O", "x.sh", "y.sh" }, CODE_FILE, SCAN_SHELL, "x.sh" },
	{ { "zsh", "-b", "-c", "x.sh" }, CODE_INCOMES, SCAN_SHELL, "-" },
	{ { "zsh", "--emulate", "sh", "x.sh" }, CODE_FILE, SCAN_SHELL, "x.sh" },
	{ { "bash", "+c", "id" }, CODE_TEXT, SCAN_SHELL, "id" },
	{ { "bash", "+s", "x.sh" }, CODE_INCOMES, SCAN_SHELL, "-" },
	{ { "bash", "-c", "-x", "id" }, CODE_TEXT, SCAN_SHELL, "id" },
	{ { "sh", "-c", "--", "id" }, CODE_TEXT, SCAN_SHELL, "id" },
	{ { "bash", "-h", "x.sh" }, CODE_FILE, SCAN_SHELL, "x.sh" },
	{ { "dash", "-V", "x.sh" }, CODE_FILE, SCAN_SHELL, "x.sh" },
	{ { "bash", "-rcfile", "true", "x.sh" }, CODE_INCOMES, SCAN_SHELL, "-" },
	{ { "bash", "--rcfile", "true", "x.sh" }, CODE_FILE, SCAN_SHELL, "x.sh" },
	{ { "bash", "--version", "x.sh" }, CODE_NONE, SCAN_SHELL, NULL },
	{ { "node", "--title", "x.js", "y.js" }, CODE_FILE, SCAN_JAVASCRIPT, "y.js" },
	{ { "node", "--trace_event_categories", "x.js", "y.js" },
	  CODE_FILE,
	  SCAN_JAVASCRIPT,
	  "y.js" },
	{ { "node", "--title", "x.js", "-e", "1" }, CODE_TEXT, SCAN_JAVASCRIPT, "1" },
	{ { "node", "-p", "-e", "1" }, CODE_TEXT, SCAN_JAVASCRIPT, "1" },
	{ { "node", "-p", "1", "x.js" }, CODE_TEXT, SCAN_JAVASCRIPT, "1" },
	{ { "node", "--print", "--eval", "1" }, CODE_TEXT, SCAN_JAVASCRIPT, "1" },
	{ { "node", "-e", "1", "--eval=2" }, CODE_INCOMES, SCAN_JAVASCRIPT, "-" },
	{ { "node", "-e", "1", "x.js", "-e", "2" }, CODE_TEXT, SCAN_JAVASCRIPT, "1" },
	{ { "node", "--import", "data:text/javascript,1", "x.js" },
	  CODE_INCOMES,
	  SCAN_JAVASCRIPT,
	  "-" },
	{ { "node", "--run", "x.js" }, CODE_INCOMES, SCAN_JAVASCRIPT, "-" },
	{ { "node", "-v", "x.js" }, CODE_NONE, SCAN_JAVASCRIPT, NULL },
};

/* Node goes on reading options behind the code. */
static void check_first(void)
{
	static const char *const words[] = { "node", "-e", "1", "-r", "./x.js", "--import=/y.mjs" };
	owned(strv_done) struct strv command = STRV_INIT;
	owned(scan_code_done) struct scan_code code;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		strv_add(&command, words[i]);
	scan_code_find(&command, &code);
	tap_ok(code.kind == CODE_TEXT && code.also.count == 2 &&
		       strcmp(code.also.items[0], "./x.js") == 0 &&
		       strcmp(code.also.items[1], "/y.mjs") == 0,
	       "what options bring in first, behind the code, too");
}

int main(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		owned(strv_done) struct strv command = STRV_INIT;
		owned(scan_code_done) struct scan_code code;
		owned(str_done) struct str shown = STR_INIT;

		for (size_t w = 0; w < WORDS && rows[i].words[w]; w++) {
			strv_add(&command, rows[i].words[w]);
			str_addf(&shown, "%s%s", w ? " " : "", rows[i].words[w]);
		}
		scan_code_find(&command, &code);
		tap_ok(code.kind == rows[i].kind && code.language == rows[i].language &&
			       (code.text && rows[i].text ? strcmp(code.text, rows[i].text) == 0
							  : code.text == rows[i].text),
		       "%s: %d %s", str_cstr(&shown), (int)code.kind,
		       code.text ? code.text : "none");
	}
	check_first();
	return tap_done();
}
