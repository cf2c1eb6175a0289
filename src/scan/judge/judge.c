/* SPDX-License-Identifier: Apache-2.0 */
/* Python and JavaScript: what a program does with the names it uses. */
#include "base/core/own.h"
#include "scan/follow/in_list.h"
#include "scan/judge/command.h"
#include "scan/follow/fold.h"
#include "scan/follow/functions.h"
#include "scan/judge/judge.h"

#include <stdlib.h>
#include <string.h>

const struct abstract_value *use_text(const struct use *use, unsigned position)
{
	return follow_text(use->job->follow, use_argument(use, position));
}

/* What the object of a method means. */
static const struct abstract_value *own_text(const struct use *use)
{
	uint32_t callee = syntax_child(use->job->syntax, use->node, FIELD_CALLEE);
	uint32_t object = callee == SYNTAX_NONE
				  ? SYNTAX_NONE
				  : syntax_child(use->job->syntax, callee, FIELD_OBJECT);

	return follow_text(use->job->follow, object);
}

bool judge_is_known(const struct abstract_value *text)
{
	return text && !strchr(text->text, FOLD_GAP);
}

void use_report(const struct use *use, enum scan_rule rule, enum scan_severity severity)
{
	if (severity > SEVERITY_NONE)
		job_find(use->job, use->at, rule, severity, use->path);
}

static void judge_code(const struct use *use)
{
	uint32_t last = 0;
	const struct abstract_value *text;
	enum scan_severity severity = use->row->severity;

	/* new Function("a", "b", "return a + b"): the last is the code. */
	if (strcmp(use->path, "Function") == 0) {
		while (use_argument(use, last + 1) != SYNTAX_NONE && last < USE_ARGUMENTS_MAX)
			last++;
	}
	for (text = use_text(use, last); text; text = abstract_next(text)) {
		if (!judge_is_known(text))
			continue;
		(void)job_nested(use->job, use->at, use->job->language, text->text, text->len);
		severity = text->is_built ? SEVERITY_HIGH : severity;
	}
	use_report(use, RULE_EXEC, severity);
}

/* A folder that the program made for itself: tempfile.mkdtemp(). */
static bool is_temporary(const struct use *use)
{
	uint32_t first = use_argument(use, 0);
	const struct abstract_value *path =
		first == SYNTAX_NONE ? NULL
				     : abstract_of_kind(use->job->follow->of[first], ABSTRACT_PATH);

	return path && !path->also &&
	       (str_starts(path->text, "tempfile.") || str_starts(path->text, "fs.mkdtemp") ||
		str_starts(path->text, "fs.promises.mkdtemp"));
}

/* "/" + name: whatever there is in the root. */
static bool is_below_root(const struct abstract_value *text)
{
	size_t slashes = text ? strspn(text->text, "/") : 0;

	return slashes > 0 && text->text[slashes] == FOLD_GAP;
}

/* A directory that is not known, and below it what a build makes there. */
static bool is_named_below(const struct abstract_value *text)
{
	bool is_named = text != NULL;

	for (const struct abstract_value *one = text; one; one = abstract_next(one))
		is_named = is_named && one->text[0] == FOLD_GAP && one->text[1] == '/' &&
			   place_is_output(one->text + 2);
	return is_named;
}

/* Of all that a text may be, the one that is worst to delete; *TEXT becomes it. */
static enum place_kind worst_place(const struct abstract_value **text)
{
	enum place_kind place = *text ? place_of((*text)->text) : PLACE_PLAIN;

	for (const struct abstract_value *one = *text; one; one = one->also) {
		if (one->kind != ABSTRACT_TEXT ||
		    (place != PLACE_PLAIN && place != PLACE_TEMPORARY))
			continue;
		if (is_below_root(one) || (place_of(one->text) != PLACE_PLAIN &&
					   place_of(one->text) != PLACE_TEMPORARY)) {
			place = place_of(one->text);
			*text = one;
		}
	}
	return place;
}

void judge_deletion(const struct use *use, const struct abstract_value *text, bool is_tree)
{
	enum place_kind place = worst_place(&text);
	enum scan_severity severity = use->row->severity;

	if (judge_is_known(text) || is_temporary(use) || is_named_below(text))
		severity = SEVERITY_LOW;
	else
		use->job->traits |= TRAIT_DELETES;
	if (place == PLACE_EVERYTHING)
		severity = SEVERITY_CRITICAL;
	else if (place != PLACE_PLAIN && place != PLACE_TEMPORARY)
		severity = is_tree ? SEVERITY_CRITICAL : SEVERITY_HIGH;
	else if (is_below_root(text))
		severity = SEVERITY_HIGH;
	else if (is_tree && place == PLACE_PLAIN && text && place_is_home(text->text))
		severity = SEVERITY_MEDIUM;
	else if (is_tree && text && text->text[0] == FOLD_GAP && text->len == 1)
		severity = use->row->severity;
	use_report(use, RULE_DELETE, severity);
}

static void judge_read_place(const struct use *use, const struct abstract_value *text)
{
	enum place_kind place = place_of(text->text);

	if (place == PLACE_SECRET) {
		use->job->traits |= TRAIT_SECRET;
		job_find(use->job, use->at, RULE_SECRET_READ, SEVERITY_HIGH, text->text);
	}
	if (place == PLACE_ACCOUNTS) {
		use->job->traits |= TRAIT_SECRET;
		job_find(use->job, use->at, RULE_SECRET_READ, SEVERITY_MEDIUM, text->text);
	}
	if (place == PLACE_START && strcmp(use->path, "open") != 0)
		job_find(use->job, use->at, RULE_PERSISTENCE, SEVERITY_MEDIUM, text->text);
	if (place == PLACE_EVERYTHING && (use->row->traits & TRAIT_WALKS)) {
		use->job->traits |= TRAIT_WALKS_ALL;
		job_find(use->job, use->at, RULE_SECRET_READ, SEVERITY_LOW, text->text);
	}
}

/* Whatever it may be, it may be read. */
static void judge_reading(const struct use *use, const struct abstract_value *text)
{
	for (; text; text = abstract_next(text))
		judge_read_place(use, text);
}

static void judge_written_place(const struct use *use, const struct abstract_value *text)
{
	enum place_kind place = place_of(text->text);

	if (place == PLACE_START || place == PLACE_ACCOUNTS || place == PLACE_SECRET ||
	    place_is_obeyed(text->text))
		job_find(use->job, use->at, RULE_PERSISTENCE, SEVERITY_HIGH, text->text);
	if (place == PLACE_SYSTEM || strcmp(text->text, "/") == 0)
		job_find(use->job, use->at, RULE_PERSISTENCE, SEVERITY_MEDIUM, text->text);
	if (place == PLACE_DISK)
		job_find(use->job, use->at, RULE_DEVICE, SEVERITY_CRITICAL, text->text);
}

/*
 * Nothing written over a file that is not known, in a loop or as often as the function is called, empties whatever it
 * comes to; what is written where a module was found is run when the module is used next.
 */
static void judge_emptied(const struct use *use, const struct abstract_value *text)
{
	const struct follow *follow = use->job->follow;
	bool is_open = strstr(use->path, "open") != NULL;
	bool is_own = str_starts(use->path, "pathlib.");
	uint32_t first = use_argument(use, 0), second = use_argument(use, is_own ? 0 : 1);
	const struct abstract_value *content = is_open ? NULL : follow_text(follow, second);
	const struct abstract_value *path =
		first == SYNTAX_NONE ? NULL : abstract_of_kind(follow->of[first], ABSTRACT_PATH);

	if (path && (str_starts(path->text, "require.resolve(") ||
		     str_starts(path->text, "importlib.util.find_spec(") ||
		     str_ends(path->text, ".__file__")))
		use_report(use, RULE_PERSISTENCE, SEVERITY_MEDIUM);
	if (judge_is_known(text))
		return;
	if ((content && content->len == 0 && !strstr(use->path, "append")) ||
	    (is_open && judge_is_closed_at_once(use)))
		use_report(use, RULE_DELETE, SEVERITY_MEDIUM);
}

void judge_writing(const struct use *use, const struct abstract_value *text)
{
	use->job->traits |= TRAIT_WRITES | (judge_is_known(text) ? 0 : TRAIT_OVERWRITES);
	if (judge_goes_on(use->job, use->node))
		use_report(use, RULE_EXHAUSTION, SEVERITY_HIGH);
	judge_emptied(use, text);
	for (; text; text = abstract_next(text))
		judge_written_place(use, text);
}

static void judge_opening(const struct use *use)
{
	const struct abstract_value *mode = use_text(use, 1);

	if (!mode)
		mode = follow_text(use->job->follow,
				   follow_keyword(use->job->follow, use->node, "mode"));
	/* os.open takes flags, not letters: then both. */
	if ((mode && strpbrk(mode->text, "wax+")) ||
	    (!mode && use_argument(use, 1) != SYNTAX_NONE && strcmp(use->path, "open") != 0))
		judge_writing(use, use_text(use, 0));
	if (!mode || !strpbrk(mode->text, "wax"))
		judge_reading(use, use_text(use, 0));
	judge_own_text(use);
}

/* Of what each argument may be, the alternative WHICH; how many there are. */
static unsigned judge_places_once(const struct use *use, unsigned which)
{
	owned(str_done) struct str whole = STR_INIT;
	unsigned rounds = 1;

	for (unsigned i = 0; i < USE_ARGUMENTS_MAX && use_argument(use, i) != SYNTAX_NONE; i++) {
		const struct abstract_value *text = use_text(use, i);

		if (follow_alternatives(text) > rounds)
			rounds = follow_alternatives(text);
		text = follow_alternative(text, which);
		if (text)
			str_addf(&whole, "%s%s", whole.len ? "/" : "", text->text);
	}
	if (whole.len > 0) {
		const struct abstract_value text = { .kind = ABSTRACT_TEXT,
						     .text = str_cstr(&whole) };

		judge_reading(use, &text);
	}
	return rounds;
}

static void judge_places(const struct use *use)
{
	unsigned rounds = judge_places_once(use, 0);

	/* What stands behind may be an option. */
	judge_reading(use, use_text(use, 0));
	judge_own_text(use);
	for (unsigned i = 1; i < rounds; i++)
		(void)judge_places_once(use, i);
}

static void judge_module(const struct use *use)
{
	const struct abstract_value *name = use_text(use, 0);
	enum scan_severity severity = use->row->severity;

	if (judge_is_known(name)) {
		for (const struct abstract_value *one = name; one; one = one->also) {
			if (one->kind == ABSTRACT_TEXT)
				job_import(use->job, use->at, one->text);
		}
		use_report(use, use->row->rule, name->is_built ? SEVERITY_HIGH : severity);
		return;
	}
	/* import_module("package.plugins." + name): one of a package that is named. */
	if (judge_is_local_module(name) ||
	    (name && name->text[0] != '.' && strchr(name->text, '.') &&
	     strchr(name->text, FOLD_GAP) && !job_exec_modules(name->text) &&
	     !str_starts(name->text, "os.") &&
	     strchr(name->text, '.') < strchr(name->text, FOLD_GAP))) {
		use_report(use, use->row->rule, SEVERITY_LOW);
		return;
	}
	if (use_argument(use, 0) != SYNTAX_NONE)
		use_report(use, use->row->rule,
			   severity > SEVERITY_MEDIUM || strcmp(use->path, "__import__") == 0
				   ? SEVERITY_HIGH
				   : SEVERITY_MEDIUM);
}

/* getattr(os, anything): of a module that starts programs, an unknown member is grave. */
static void judge_member(const struct use *use)
{
	const struct follow *follow = use->job->follow;
	uint32_t object = use_argument(use, 0);
	const struct abstract_value *name = use_text(use, 1);
	const struct abstract_value *path =
		object == SYNTAX_NONE ? NULL : abstract_of_kind(follow->of[object], ABSTRACT_PATH);
	static const char modules[] =
		"os subprocess builtins __builtins__ sys shutil socket ctypes "
		"importlib posix globalThis process child_process global "
		"window pty";

	if (name && judge_is_internal(name->text))
		job_find(use->job, use->at, RULE_INTROSPECTION, SEVERITY_HIGH, name->text);
	if (!judge_is_known(name) && path && in_list(modules, path->text))
		use_report(use, RULE_DYNAMIC_NAME, SEVERITY_HIGH);
}

static void judge_mode(const struct use *use)
{
	uint32_t second = use_argument(use, 1);
	const struct abstract_value *mode =
		second == SYNTAX_NONE
			? NULL
			: abstract_of_kind(use->job->follow->of[second], ABSTRACT_NUMBER);

	if (!judge_is_known(use_text(use, 0)))
		use->job->traits |= TRAIT_OVERWRITES;
	if (mode && (mode->number & 06000))
		use_report(use, RULE_PRIVILEGE, SEVERITY_HIGH);
	else if (mode && (mode->number & 02))
		use_report(use, RULE_PRIVILEGE, SEVERITY_MEDIUM);
}

bool judge_is_in_loop(const struct scan_job *job, uint32_t node)
{
	const struct syntax *syntax = job->syntax;

	for (uint32_t at = node; at != SYNTAX_NONE; at = syntax->nodes[at].parent) {
		const char *text = syntax->text + syntax->nodes[at].start;

		if (syntax->nodes[at].kind == NODE_FUNCTION)
			return false;
		if (syntax->nodes[at].end - syntax->nodes[at].start > 6 &&
		    (strncmp(text, "while", 5) == 0 || strncmp(text, "for", 3) == 0))
			return true;
	}
	return false;
}

/* A negative number is a group of processes, and -1 all of them. */
static void judge_kill(const struct use *use)
{
	uint32_t first = use_argument(use, 0);
	bool is_many = first != SYNTAX_NONE &&
		       use->job->syntax->text[use->job->syntax->nodes[first].start] == '-';

	if (is_many)
		use_report(use, use->row->rule, SEVERITY_HIGH);
	else
		use_report(use, use->row->rule,
			   judge_is_in_loop(use->job, use->node) ? SEVERITY_MEDIUM
								 : use->row->severity);
}

/* attrgetter("system"): whatever it is asked of later, there are few things of that name. */
static void judge_name(const struct use *use)
{
	static const char *const modules[] = { "", "os.", "subprocess.P" };
	const struct abstract_value *name = use_text(use, 0);

	for (size_t i = 0; name && i < sizeof(modules) / sizeof(modules[0]); i++) {
		owned(free_ptr) char *path = xasprintf("%s%s", modules[i], name->text);
		const struct function_row *row = function_find(use->job->language, path);

		if (row && row->severity >= SEVERITY_MEDIUM)
			job_find(use->job, use->at, RULE_DYNAMIC_NAME, SEVERITY_HIGH, path);
	}
}

static void judge_plain(const struct use *use)
{
	use_report(use, use->row->rule, use->row->severity);
}

static void judge_looped(const struct use *use)
{
	use_report(use, use->row->rule,
		   judge_is_in_loop(use->job, use->node) ? SEVERITY_HIGH : use->row->severity);
}

static void judge_file(const struct use *use)
{
	judge_deletion(use, use_text(use, 0), false);
}

static void judge_tree(const struct use *use)
{
	uint32_t first = use_argument(use, 0);
	uint32_t list = first == SYNTAX_NONE ? first : follow_list(use->job->follow, first);
	uint32_t at = list == SYNTAX_NONE ? list : syntax_first(use->job->syntax, list);

	if (at == SYNTAX_NONE)
		judge_deletion(use, use_text(use, 0), true);
	for (; at != SYNTAX_NONE; at = syntax_next(use->job->syntax, at))
		judge_deletion(use, follow_text(use->job->follow, at), true);
}

static void judge_own_file(const struct use *use)
{
	judge_deletion(use, own_text(use), false);
}

static void judge_own_tree(const struct use *use)
{
	judge_reading(use, own_text(use));
}

static void judge_own_write(const struct use *use)
{
	judge_writing(use, own_text(use));
}

static void judge_write(const struct use *use)
{
	judge_writing(use, use_text(use, 0));
}

static void judge_timer(const struct use *use)
{
	if (use_text(use, 0))
		judge_code(use);
}

static void judge_worker(const struct use *use)
{
	if (use_has_option(use, "eval"))
		judge_code(use);
}

static void judge_page(const struct use *use)
{
	const struct abstract_value *text = use_text(use, 0);

	use_report(use, use->row->rule,
		   text && judge_has_script(text->text) ? SEVERITY_MEDIUM : use->row->severity);
}

void judge_use(const struct use *use)
{
	static void (*const judges[])(const struct use *use) = {
		[USE_PLAIN] = judge_plain,
		[USE_SHELL] = judge_shell_text,
		[USE_ARGV] = judge_argv,
		[USE_WORDS] = judge_words,
		[USE_CODE] = judge_code,
		[USE_FILE] = judge_file,
		[USE_TREE] = judge_tree,
		[USE_OPEN] = judge_opening,
		[USE_READ] = judge_places,
		[USE_WRITE] = judge_write,
		[USE_URL] = judge_url,
		[USE_SEND] = judge_send,
		[USE_MODULE] = judge_module,
		[USE_MEMBER] = judge_member,
		[USE_MODE] = judge_mode,
		[USE_TIMER] = judge_timer,
		[USE_LOOPED] = judge_looped,
		[USE_KILL] = judge_kill,
		[USE_NAME] = judge_name,
		[USE_WORKER] = judge_worker,
		[USE_OWN_FILE] = judge_own_file,
		[USE_OWN_TREE] = judge_own_tree,
		[USE_OWN_WRITE] = judge_own_write,
		[USE_LOOKUP] = judge_lookup,
		[USE_PAGE] = judge_page,
		[USE_LISTEN] = judge_listen,
		[USE_MOVE] = judge_move,
		[USE_NAMED] = judge_named,
		[USE_UNPICKLE] = judge_unpickle,
		[USE_CONNECT] = judge_connect,
		[USE_METHOD] = judge_method,
	};

	judges[use->row->use](use);
}
