/* SPDX-License-Identifier: Apache-2.0 */
/* Whether what a command would run is signed with a key the user trusts, and nothing else comes before it. */
#include "base/file/fd.h"
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "base/text/shell_quote.h"
#include "app/config/secret_values.h"
#include "app/vet/sign.h"
#include "app/vet/sign_parts.h"
#include "scan/follow/in_list.h"
#include "scan/judge/command.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REFUSED "--require-signature: "

struct signature {
	unsigned char key[ED25519_PUBLIC];
	unsigned char bytes[ED25519_SIGNATURE];
};

/* Exactly the three lines that sign writes. */
static bool parse(const struct str *text, struct signature *ret)
{
	const char *at = str_cstr(text), *line_end;

	if (!str_starts(at, SIGNATURE_FIRST_LINE "\nkey "))
		return false;
	at += strlen(SIGNATURE_FIRST_LINE "\nkey ");
	line_end = strchr(at, '\n');
	if (!line_end || !sign_read_word(at, (size_t)(line_end - at), ret->key, sizeof(ret->key)) ||
	    !str_starts(line_end, "\nsignature "))
		return false;
	at = line_end + strlen("\nsignature ");
	line_end = strchr(at, '\n');
	return line_end && !line_end[1] &&
	       sign_read_word(at, (size_t)(line_end - at), ret->bytes, sizeof(ret->bytes));
}

static bool holds_in(const struct vet_signed *what, const struct signature *signature,
		     enum scan_language language)
{
	owned(str_done) struct str message = STR_INIT;

	sign_message(&what->source->bytes, language, &message);
	return ed25519_holds(signature->key, message.data, message.len, signature->bytes);
}

/* Of a program, what its first line names reads it. */
static enum scan_language language_of(const struct vet_signed *what)
{
	const struct str *bytes = &what->source->bytes;

	return what->code->is_program ? scan_language_of(NULL, str_cstr(bytes), bytes->len)
				      : what->code->language;
}

static int check_content(const struct vet_signed *what, const struct signature *signature,
			 struct error *err)
{
	enum scan_language language = language_of(what);
	owned(str_done) struct str word = STR_INIT;
	const char *path = what->source->path;
	bool is_ours;

	if (sign_trusts(what->view->spec->config_dir, signature->key, &is_ours, err) < 0)
		return error_context(err, "--require-signature");
	if (!is_ours)
		return error_advise(err, ERROR_DENIED,
				    "sign it yourself (aisbx sign), or aisbx key trust KEY",
				    REFUSED "%s is signed with a key you do not trust", path);
	if (holds_in(what, signature, language))
		return 0;
	for (int other = 0; other <= SCAN_UNKNOWN; other++) {
		if (holds_in(what, signature, (enum scan_language)other))
			return error_advise(err, ERROR_DENIED, "aisbx sign --lang says which it is",
					    REFUSED "%s is signed as %s and would be read as %s",
					    path, scan_language_name((enum scan_language)other),
					    scan_language_name(language));
	}
	shell_quote_add(&word, path);
	error_set(err, ERROR_DENIED, REFUSED "%s was changed after it was signed", path);
	return error_add_hint(err, "look at it, then sign it again: aisbx sign %s",
			      str_cstr(&word));
}

static int check_file(const struct vet_signed *what, struct error *err)
{
	owned(free_ptr) char *name = xasprintf("%s" SIGNATURE_ENDING, what->source->path);
	owned(vet_source_done) struct vet_source beside = { .path = NULL };
	owned(str_done) struct str word = STR_INIT;
	struct signature signature;
	int found = vet_source_read(what->view, name, false, &beside, err);

	if (found < 0)
		return -1;
	shell_quote_add(&word, what->source->path);
	if (found == 0) {
		error_set(err, ERROR_DENIED, REFUSED "%s is not signed", what->source->path);
		return error_add_hint(err, "aisbx sign %s", str_cstr(&word));
	}
	if (!parse(&beside.bytes, &signature)) {
		error_set(err, ERROR_DENIED, REFUSED "%s is no signature", name);
		return error_add_hint(err, "sign again: aisbx sign %s", str_cstr(&word));
	}
	return check_content(what, &signature, err);
}

/*
 * Variables are an allow-list: hardly a tool has none that names a program, options or a file it obeys (TAR_OPTIONS,
 * MAKEFILES, PAGER, GIT_ASKPASS).
 */
bool vet_variable_is_allowed(const char *name, size_t len)
{
	static const char allowed[] =
		"PATH HOME USER LOGNAME SHELL PWD TERM COLORTERM LANG TZ NO_COLOR CI TMPDIR AISBX "
		"AISBX_SANDBOX PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED "
		"PYTHONIOENCODING PYTHONUTF8 LC_ALL LC_ADDRESS LC_COLLATE LC_CTYPE "
		"LC_IDENTIFICATION LC_MEASUREMENT LC_MESSAGES LC_MONETARY LC_NAME LC_NUMERIC "
		"LC_PAPER LC_TELEPHONE LC_TIME";

	return in_list_bytes(allowed, name, len);
}

/*
 * Those of secrets are none of the spec's variables: the command gets them beside these, behind every check. What
 * value is stored cannot be seen here, so the names that are allowed otherwise are refused, too.
 */
static int check_secrets(const struct vet_signed *what, struct error *err)
{
	const struct strv *words = &what->view->spec->secrets;

	for (size_t i = 0; i < words->count; i++) {
		size_t len;
		const char *name = secret_word_variable(words->items[i], &len);

		if (name)
			return error_advise(err, ERROR_DENIED, "give it as a file: --secret NAME",
					    REFUSED
					    "the variable %.*s of a secret could bring unsigned "
					    "code in",
					    (int)len, name);
	}
	return 0;
}

/* vet_confine drops the places of tool chains, which come along by themselves. */
static int check_environment(const struct vet_signed *what, struct error *err)
{
	const struct strv *env = what->set ? what->set : &what->view->spec->env;

	for (size_t i = 0; i < env->count; i++) {
		const char *one = env->items[i];
		size_t len = strcspn(one, "=");

		if (!vet_variable_is_allowed(one, len) && !in_list_bytes(VET_DROPPED, one, len))
			return error_advise(err, ERROR_DENIED,
					    "leave it out, or hand its value over as an argument",
					    REFUSED
					    "the variable %.*s could bring unsigned code in",
					    (int)len, one);
	}
	return 0;
}

/*
 * These obey files that lie beside a script, above it or in the directory that they are started in (bunfig.toml names scripts to run
 * first, deno.json what a module's name means), and more with each version.
 */
static int check_runtime(const char *program, struct error *err)
{
	const char *name = command_name(program);

	if (!in_list("bun deno", name))
		return 0;
	return error_advise(err, ERROR_DENIED, "run it with node",
			    REFUSED "%s obeys files beside a script that are not signed", name);
}

/* The interpreter's own words: only switches that bring no code, and that take no word for themselves. */
static int check_interpreter(const struct vet_signed *what, struct error *err)
{
	static const char *const harmless[SCAN_LANGUAGES] = {
		[SCAN_PYTHON] = "uBIEsSOqbv", [SCAN_JAVASCRIPT] = "", [SCAN_SHELL] = "euvx"
	};
	const struct strv *words = &what->view->spec->command;
	const char *letters = harmless[what->code->language];

	if (check_runtime(words->items[0], err) < 0)
		return -1;
	if (!vet_program_is_system(what->view, words->items[0]))
		return error_advise(err, ERROR_DENIED, "use the one in /usr/bin",
				    REFUSED "%s is not the machine's own", words->items[0]);
	for (size_t i = 1; i < words->count && strcmp(words->items[i], what->code->text) != 0;
	     i++) {
		const char *word = words->items[i];

		if (word[0] != '-' || word[1 + strspn(word + 1, letters)] != '\0')
			return error_advise(err, ERROR_DENIED, "leave it out",
					    REFUSED "the option %s could bring unsigned code in",
					    word);
	}
	return 0;
}

/* "#!/usr/bin/env python3": what would read the script is the machine's own, too. */
static int check_first_line(const struct vet_signed *what, struct error *err)
{
	const struct str *bytes = &what->source->bytes;
	owned(strv_done) struct strv words = STRV_INIT;
	const char *word;

	if (!scan_first_line(str_cstr(bytes), bytes->len, &words))
		return 0;
	word = words.count > 0 ? words.items[0] : NULL;
	if (word && strcmp(command_name(word), "env") == 0 &&
	    vet_program_is_system(what->view, word))
		word = words.items[1];
	if (word && check_runtime(word, err) < 0)
		return -1;
	if (!word || !vet_program_is_system(what->view, word))
		return error_set(err, ERROR_DENIED,
				 REFUSED "%s is read by %s, which is not the machine's own",
				 what->source->path, word ? word : "nothing");
	return 0;
}

/* What no script asks for by a path: a package that it has nowhere else is taken from below HOME. */
static int check_home_packages(const struct vet_signed *what, struct error *err)
{
	static const char *const names[] = { ".node_modules", ".node_libraries" };
	const struct strv *env = what->set ? what->set : &what->view->spec->env;
	const char *home = what->view->spec->home;

	for (size_t i = 0; i < env->count; i++) {
		if (str_starts(env->items[i], "HOME="))
			home = env->items[i] + strlen("HOME=");
	}
	for (size_t i = 0; home && i < sizeof(names) / sizeof(names[0]); i++) {
		owned(free_ptr) char *path = xasprintf("%s/%s", home, names[i]);

		if (vet_view_has(what->view, path))
			return error_advise(err, ERROR_DENIED, "move it away",
					    REFUSED "node would load packages from %s", path);
	}
	return 0;
}

/* Node looks for packages, and for how to read a script, beside it and in every directory above. */
static int check_packages(const struct vet_signed *what, struct error *err)
{
	static const char *const names[] = { "node_modules", "package.json" };
	owned(free_ptr) char *directory = xstrdup(what->source->path);
	char *slash;

	if (language_of(what) != SCAN_JAVASCRIPT)
		return 0;
	if (check_home_packages(what, err) < 0)
		return -1;
	while ((slash = strrchr(directory, '/'))) {
		*slash = '\0';
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			owned(free_ptr) char *path = xasprintf("%s/%s", directory, names[i]);

			if (vet_view_has(what->view, path))
				return error_advise(
					err, ERROR_DENIED,
					"keep signed scripts in a directory without packages",
					REFUSED "%s lies beside or above the script, and node "
						"would obey it",
					path);
		}
	}
	return 0;
}

int vet_signature(const struct vet_signed *what, struct error *err)
{
	const struct spec *spec = what->view->spec;

	if (what->code->kind != CODE_FILE)
		return error_advise(
			err, ERROR_DENIED,
			"put the code into one, sign it (aisbx sign FILE), and run that",
			REFUSED "only a file can be signed");
	if (command_start(&spec->command) != 0)
		return error_set(err, ERROR_DENIED, REFUSED "start it directly, without %s",
				 spec->command.items[0]);
	if (!what->source)
		return error_set(err, ERROR_DENIED, REFUSED "%s cannot be read to be checked",
				 what->code->text);
	if (!what->source->is_plain) {
		error_set(err, ERROR_DENIED, REFUSED "a link leads to %s, and links can be turned",
			  what->source->path);
		return error_add_hint(err, "name %s itself",
				      what->source->real ? what->source->real : "the file");
	}
	if (check_secrets(what, err) < 0 || check_environment(what, err) < 0 ||
	    (what->code->is_program ? check_first_line(what, err) : check_interpreter(what, err)) <
		    0 ||
	    check_packages(what, err) < 0)
		return -1;
	return check_file(what, err);
}
