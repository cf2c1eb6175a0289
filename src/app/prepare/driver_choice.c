/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing a driver by what a command is about to run. */
#include "app/prepare/driver_choice.h"

#include "app/config/own_config.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/process/child.h"
#include "app/prepare/scan.h"
#include "wasm/module.h"
#include "wasm/python_modules.h"

#include <ctype.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

/* A snippet; what is larger is a program. */
#define CODE_MAX ((size_t)256 << 10)

struct choice {
	const struct request *request;
	const struct settings *profile;
	const struct plan_context *around;
	struct str why;
};

static bool is_ready(const struct choice *choice, const char *word)
{
	const struct host *host = &choice->around->host;
	const struct wasm_places places = { host->data_dir, host->cache_dir, host->cwd };
	struct wasm_module module = WASM_MODULE_INIT;
	struct error err;
	bool ready;

	if (wasm_module_find(&places, word, &module, &err) < 0)
		return false;
	ready = module.has_compiled || !module.language;
	wasm_module_done(&module);
	return ready;
}

/* The code of `python -c CODE` or `python FILE.py`; no other form is looked into. */
static bool read_code(struct choice *choice, struct str *ret_code)
{
	const struct strv *command = &choice->request->command;
	const char *word = command->count > 1 ? command->items[1] : "";
	struct error ignored;

	if (strcmp(word, "-c") == 0 && command->count > 2) {
		str_add(ret_code, command->items[2]);
		return ret_code->len <= CODE_MAX;
	}
	if (word[0] != '-' && str_ends(word, ".py") &&
	    file_read(AT_FDCWD, word, CODE_MAX, ret_code, &ignored) == 0)
		return true;
	str_add(&choice->why, "only code behind -c, or in a file, is looked at");
	return false;
}

static bool takes_imports(struct choice *choice, const struct value *imports)
{
	for (size_t i = 0; imports && i < imports->many.count; i++) {
		const struct value *name = imports->many.items[i];

		if (name->kind != VALUE_TEXT || wasm_python_has(name->text.bytes))
			continue;
		str_addf(&choice->why, "it imports %.60s, which WebAssembly cannot serve",
			 name->text.bytes);
		return false;
	}
	str_add(&choice->why, "all that it imports is there");
	return true;
}

/* What is found in it is nothing bad as such, but what WebAssembly has not: processes, sockets, native code. */
static bool takes_report(struct choice *choice, const struct value *report)
{
	const struct value *findings = value_get(report, "findings");

	if (!value_is_true(report, "analysable")) {
		str_add(&choice->why, "its code cannot be read for sure");
		return false;
	}
	if (findings && findings->many.count > 0) {
		str_addf(&choice->why, "line %lld may need what WebAssembly has not",
			 (long long)value_int_of(findings->many.items[0], "line"));
		return false;
	}
	return takes_imports(choice, value_get(report, "imports"));
}

/* A text that begins like a path of the machine; "/" alone is a separator. */
static bool is_elsewhere(const struct choice *choice, const char *text)
{
	const char *cwd = choice->around->host.cwd;

	if (text[0] == '~' && text[1] == '/')
		return true;
	return text[0] == '/' && (isalnum((unsigned char)text[1]) || text[1] == '.') &&
	       !str_starts(text, "/mnt/project") && strncmp(text, cwd, strlen(cwd)) != 0;
}

/*
 * There is no machine around a module: /etc/hosts is not there, and what is written to /tmp lies in the workspace. Decided
 * by the text, since too much caution only costs speed.
 */
static bool stays_inside(struct choice *choice, const char *code)
{
	for (const char *at = code; *at; at++) {
		if ((*at == '"' || *at == '\'') && is_elsewhere(choice, at + 1)) {
			str_add(&choice->why, "it names paths outside of the workspace");
			return false;
		}
		if (at - code < 3 || strncmp(at - 3, "os.", 3) != 0)
			continue;
		size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyz_0123456789");

		if (wasm_python_lacks(at, len)) {
			str_addf(&choice->why, "WebAssembly has no os.%.*s", (int)len, at);
			return false;
		}
	}
	return true;
}

static bool takes_python(struct choice *choice)
{
	owned(str_done) struct str code = STR_INIT;
	const struct app_scan scan = { .paths = &(const struct strv)STRV_INIT,
				       .language = "python",
				       .environ = choice->request->environ };
	struct app_scan asked = scan;
	struct app_scan_answer answer = { 0 };
	struct error err;
	bool fits;

	if (!is_ready(choice, "python")) {
		str_add(&choice->why,
			"python is not there for WebAssembly (aisbx wasm install python)");
		return false;
	}
	if (!read_code(choice, &code) || !stays_inside(choice, str_cstr(&code)))
		return false;
	asked.content = str_cstr(&code);
	if (app_scan(&asked, "", &answer, &err) < 0) {
		str_addf(&choice->why, "its imports cannot be told: %.200s", err.text);
		return false;
	}
	fits = takes_report(choice, answer.report);
	app_scan_answer_done(&answer);
	return fits;
}

static bool takes(struct choice *choice)
{
	const struct request *request = choice->request;
	const char *word = request->command.count > 0 ? request->command.items[0] : "";
	const struct wasm_language *language = wasm_language_find(word);

	if (plan_wants_network(&request->flags, choice->profile)) {
		str_add(&choice->why, "WebAssembly has no network");
		return false;
	}
	if (str_ends(word, ".wasm")) {
		str_add(&choice->why, "it is a WebAssembly module");
		return true;
	}
	if (!language || wasm_is_engine(language)) {
		str_add(&choice->why, "it is a native command");
		return false;
	}
	if (language == wasm_language_find("python"))
		return takes_python(choice);
	str_add(&choice->why, "it is a language of that driver");
	return true;
}

/* Whether the kernel lets this caller have namespaces, tried in a child; where it does not, no command can run there. */
static bool has_namespaces(void)
{
	struct error ignored;
	pid_t child = child_fork(CHILD_ALONE, 0, NULL, &ignored);

	if (child == 0)
		_exit(unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 ||
		      mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0);
	return child < 0 || child_wait(child) == 0;
}

/* Only by the user's own word, never by that of a workspace; a file that cannot be read allows nothing. */
static bool takes_weaker(struct choice *choice)
{
	owned(own_config_done) struct own_config config = { 0 };
	struct error err;

	if (own_config_read(choice->request->environ, &config, &err) < 0) {
		str_addf(&choice->why, "; %.200s", err.text);
		return false;
	}
	if (!config.weaker || has_namespaces())
		return false;
	str_add(&choice->why, "; weaker than linux, which cannot run here: there are no namespaces "
			      "for you, and allow_weaker in your configuration says landlock");
	return true;
}

const char *driver_choose(const struct request *request, const struct settings *profile,
			  const struct plan_context *around, struct strv *notes)
{
	struct choice choice = { request, profile, around, STR_INIT };
	const char *driver = takes(&choice) ? "wasm" : takes_weaker(&choice) ? "landlock" : "linux";

	strv_addf(notes, "driver %s, because %s", driver, str_cstr(&choice.why));
	str_done(&choice.why);
	return driver;
}
