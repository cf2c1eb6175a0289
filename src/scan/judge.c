/* Python and JavaScript: what a program does with the names it uses. */
#include "base/own.h"
#include "scan/command.h"
#include "scan/fold.h"
#include "scan/functions.h"
#include "scan/judge.h"

#include <stdlib.h>
#include <string.h>

static uint32_t argument(const struct use *use, unsigned position)
{
	return follow_argument(use->job->follow, use->node, position);
}

static const struct meaning *text_argument(const struct use *use, unsigned position)
{
	return follow_text(use->job->follow, argument(use, position));
}

static bool is_known(const struct meaning *text)
{
	return text && !strchr(text->text, FOLD_GAP);
}

static void tell(const struct use *use, enum scan_rule rule, enum scan_severity severity)
{
	if (severity > SEVERITY_NONE)
		job_find(use->job, use->at, rule, severity, use->path);
}

/* A constant that does nothing evil is less grave than a text nobody knows. */
static void judge_shell_text(const struct use *use)
{
	const struct meaning *text = text_argument(use, 0);
	enum scan_severity severity = use->row->severity;

	if (text)
		(void)job_nested(use->job, use->at, SCAN_SHELL, text->text, text->len);
	if (is_known(text) && severity > SEVERITY_MEDIUM)
		severity = SEVERITY_MEDIUM;
	tell(use, RULE_SUBPROCESS, severity);
}

static void add_words(const struct use *use, uint32_t node, struct strv *words)
{
	const struct follow *follow = use->job->follow;
	uint32_t list = follow_list(follow, node);
	const struct meaning *text = follow_text(follow, node);
	static const char gap[] = { FOLD_GAP, '\0' };

	if (list == SYNTAX_NONE) {
		strv_add(words, text ? text->text : gap);
		return;
	}
	for (uint32_t at = syntax_first(follow->syntax, list); at != SYNTAX_NONE;
	     at = syntax_next(follow->syntax, at)) {
		text = follow_text(follow, at);
		strv_add(words, text ? text->text : gap);
	}
}

static bool is_true(const struct use *use, uint32_t node)
{
	return node != SYNTAX_NONE && !syntax_is(use->job->syntax, node, "False") &&
	       !syntax_is(use->job->syntax, node, "0") &&
	       !syntax_is(use->job->syntax, node, "None");
}

static void judge_words(const struct use *use)
{
	owned(strv_done) struct strv words = STRV_INIT;

	for (unsigned i = 0; i < 8 && argument(use, i) != SYNTAX_NONE; i++)
		add_words(use, argument(use, i), &words);
	tell(use, RULE_SUBPROCESS, use->row->severity);
	/* os.execl("/bin/sh", "sh", ...) and spawn modes: the program comes first, its own name may follow. */
	judge_command(use->job, use->at, &words);
}

static void judge_argv(const struct use *use)
{
	owned(strv_done) struct strv words = STRV_INIT;
	uint32_t first = argument(use, 0);

	if (first == SYNTAX_NONE)
		first = follow_keyword(use->job->follow, use->node, "args");
	if (is_true(use, follow_keyword(use->job->follow, use->node, "shell"))) {
		judge_shell_text(use);
		if (!is_known(text_argument(use, 0)))
			tell(use, RULE_SUBPROCESS, SEVERITY_HIGH);
		return;
	}
	tell(use, RULE_SUBPROCESS, use->row->severity);
	if (first == SYNTAX_NONE)
		return;
	add_words(use, first, &words);
	judge_command(use->job, use->at, &words);
}

static void judge_code(const struct use *use)
{
	uint32_t last = 0;
	const struct meaning *text;
	enum scan_severity severity = use->row->severity;

	/* new Function("a", "b", "return a + b"): the last is the code. */
	if (strcmp(use->path, "Function") == 0) {
		while (argument(use, last + 1) != SYNTAX_NONE && last < 8)
			last++;
	}
	text = text_argument(use, last);
	if (is_known(text)) {
		(void)job_nested(use->job, use->at, use->job->language, text->text, text->len);
		severity = text->is_built ? SEVERITY_HIGH : severity;
	}
	tell(use, RULE_EXEC, severity);
}

static void judge_deletion(const struct use *use, bool is_tree)
{
	const struct meaning *text = text_argument(use, 0);
	enum place_kind place = text ? place_of(text->text) : PLACE_PLAIN;
	enum scan_severity severity = use->row->severity;

	if (is_known(text))
		severity = SEVERITY_LOW;
	if (place == PLACE_EVERYTHING)
		severity = SEVERITY_CRITICAL;
	else if (place != PLACE_PLAIN && place != PLACE_TEMPORARY)
		severity = is_tree ? SEVERITY_CRITICAL : SEVERITY_HIGH;
	else if (is_tree && text && text->text[0] == FOLD_GAP && text->len == 1)
		severity = use->row->severity;
	tell(use, RULE_DELETE, severity);
}

static void judge_reading(const struct use *use, const struct meaning *text)
{
	enum place_kind place = text ? place_of(text->text) : PLACE_PLAIN;

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
	if (place == PLACE_EVERYTHING && (use->row->traits & TRAIT_WALKS))
		job_find(use->job, use->at, RULE_SECRET_READ, SEVERITY_LOW, text->text);
}

static void judge_writing(const struct use *use, const struct meaning *text)
{
	enum place_kind place = text ? place_of(text->text) : PLACE_PLAIN;

	use->job->traits |= TRAIT_WRITES;
	if (place == PLACE_START || place == PLACE_ACCOUNTS || place == PLACE_SECRET)
		job_find(use->job, use->at, RULE_PERSISTENCE, SEVERITY_HIGH, text->text);
	if (place == PLACE_SYSTEM)
		job_find(use->job, use->at, RULE_PERSISTENCE, SEVERITY_MEDIUM, text->text);
	if (place == PLACE_DISK)
		job_find(use->job, use->at, RULE_DEVICE, SEVERITY_CRITICAL, text->text);
}

static void judge_opening(const struct use *use)
{
	const struct meaning *mode = text_argument(use, 1);

	if (!mode)
		mode = follow_text(use->job->follow,
				   follow_keyword(use->job->follow, use->node, "mode"));
	/* os.open takes flags, not letters: then both. */
	if ((mode && strpbrk(mode->text, "wax+")) ||
	    (!mode && argument(use, 1) != SYNTAX_NONE && strcmp(use->path, "open") != 0))
		judge_writing(use, text_argument(use, 0));
	if (!mode || !strpbrk(mode->text, "wax"))
		judge_reading(use, text_argument(use, 0));
}

static void judge_places(const struct use *use)
{
	owned(str_done) struct str whole = STR_INIT;

	for (unsigned i = 0; i < 8 && argument(use, i) != SYNTAX_NONE; i++) {
		const struct meaning *text = text_argument(use, i);

		if (text)
			str_addf(&whole, "%s%s", whole.len ? "/" : "", text->text);
	}
	if (whole.len > 0) {
		const struct meaning text = { .kind = MEANS_TEXT, .text = str_cstr(&whole) };

		judge_reading(use, &text);
	}
}

/* Whether something below the call's arguments is a thing that should stay here. */
static bool gives_away(const struct use *use)
{
	const struct syntax *syntax = use->job->syntax;
	uint32_t arguments = syntax_child(syntax, use->node, FIELD_ARGUMENTS);

	if (arguments == SYNTAX_NONE)
		return false;
	for (uint32_t at = arguments; at < syntax->nodes[arguments].after; at++) {
		const struct meaning *path = meaning_of_kind(use->job->follow->of[at], MEANS_PATH);
		uint32_t parent = syntax->nodes[syntax->nodes[at].parent].kind;

		if (!path || syntax->nodes[at].field == FIELD_OBJECT || parent == NODE_SUBSCRIPT)
			continue;
		if (strcmp(path->text, "os.environ") == 0 ||
		    strcmp(path->text, "process.env") == 0 ||
		    strcmp(path->text, "document.cookie") == 0 ||
		    str_starts(path->text, "os.environ.copy") || str_starts(path->text, "open()") ||
		    str_starts(path->text, "fs.readFileSync()") ||
		    str_starts(path->text, "localStorage"))
			return true;
	}
	return false;
}

static bool is_here(const char *url)
{
	return strstr(url, "//localhost") || strstr(url, "//127.0.0.1") || strstr(url, "//[::1]");
}

static void judge_sending(const struct use *use, enum scan_severity severity)
{
	const struct meaning *url = text_argument(use, 0);

	if (url && is_here(url->text))
		severity = SEVERITY_LOW;
	else if (gives_away(use))
		severity = SEVERITY_HIGH;
	tell(use, severity > use->row->severity ? RULE_SEND : use->row->rule, severity);
}

/* { method: "POST" } as an option, or data=... as a keyword: not only getting. */
static bool has_body(const struct use *use)
{
	const struct syntax *syntax = use->job->syntax;
	uint32_t arguments = syntax_child(syntax, use->node, FIELD_ARGUMENTS);

	if (follow_keyword(use->job->follow, use->node, "data") != SYNTAX_NONE)
		return true;
	for (uint32_t at = arguments;
	     arguments != SYNTAX_NONE && at < syntax->nodes[arguments].after; at++) {
		uint32_t key = syntax->nodes[at].kind == NODE_PAIR
				       ? syntax_child(syntax, at, FIELD_KEY)
				       : SYNTAX_NONE;

		if (key != SYNTAX_NONE && syntax_is(syntax, key, "body"))
			return true;
	}
	return false;
}

static void judge_url(const struct use *use)
{
	const struct meaning *url = text_argument(use, 0);
	enum scan_severity severity = use->row->severity;

	if (has_body(use)) {
		use->job->traits |= TRAIT_SENDS;
		severity = SEVERITY_MEDIUM;
	}
	/* What is put into an address leaves with it. */
	if (url && strchr(url->text, FOLD_GAP) && strchr(url->text, '?'))
		severity = SEVERITY_MEDIUM;
	judge_sending(use, severity);
}

static void judge_module(const struct use *use)
{
	const struct meaning *name = text_argument(use, 0);
	enum scan_severity severity = use->row->severity;

	if (is_known(name)) {
		job_import(use->job, use->at, name->text);
		tell(use, use->row->rule, name->is_built ? SEVERITY_HIGH : severity);
		return;
	}
	if (argument(use, 0) != SYNTAX_NONE)
		tell(use, use->row->rule,
		     severity > SEVERITY_MEDIUM || strcmp(use->path, "__import__") == 0
			     ? SEVERITY_HIGH
			     : SEVERITY_MEDIUM);
}

bool judge_is_internal(const char *member)
{
	static const char *const members[] = {
		"__subclasses__", "__globals__", "__builtins__",     "f_globals",
		"f_builtins",	  "gi_frame",	 "cr_frame",	     "f_back",
		"__loader__",	  "_getframe",	 "__getattribute__", "__reduce_ex__"
	};

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		if (strcmp(members[i], member) == 0)
			return true;
	}
	return false;
}

/* getattr(os, anything): of a module with teeth, an unknown member is grave. */
static void judge_member(const struct use *use)
{
	const struct follow *follow = use->job->follow;
	uint32_t object = argument(use, 0);
	const struct meaning *name = text_argument(use, 1);
	const struct meaning *path =
		object == SYNTAX_NONE ? NULL : meaning_of_kind(follow->of[object], MEANS_PATH);
	static const char modules[] =
		" os subprocess builtins __builtins__ sys shutil socket ctypes "
		"importlib posix globalThis process child_process global "
		"window pty ";
	owned(free_ptr) char *wanted = path ? xasprintf(" %s ", path->text) : NULL;

	if (name && judge_is_internal(name->text))
		job_find(use->job, use->at, RULE_INTROSPECTION, SEVERITY_HIGH, name->text);
	if (!is_known(name) && wanted && strstr(modules, wanted))
		tell(use, RULE_DYNAMIC_NAME, SEVERITY_HIGH);
}

static void judge_mode(const struct use *use)
{
	uint32_t second = argument(use, 1);
	const struct meaning *mode =
		second == SYNTAX_NONE ? NULL
				      : meaning_of_kind(use->job->follow->of[second], MEANS_NUMBER);

	if (mode && (mode->number & 06000))
		tell(use, RULE_PRIVILEGE, SEVERITY_HIGH);
	else if (mode && (mode->number & 02))
		tell(use, RULE_PRIVILEGE, SEVERITY_MEDIUM);
}

static bool is_in_loop(const struct scan_job *job, uint32_t node)
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

void judge_use(const struct use *use)
{
	switch (use->row->use) {
	case USE_PLAIN:
		tell(use, use->row->rule, use->row->severity);
		break;
	case USE_SHELL:
		judge_shell_text(use);
		break;
	case USE_ARGV:
		judge_argv(use);
		break;
	case USE_WORDS:
		judge_words(use);
		break;
	case USE_CODE:
		judge_code(use);
		break;
	case USE_FILE:
	case USE_TREE:
		judge_deletion(use, use->row->use == USE_TREE);
		break;
	case USE_OPEN:
		judge_opening(use);
		break;
	case USE_READ:
		judge_places(use);
		break;
	case USE_WRITE:
		judge_writing(use, text_argument(use, 0));
		break;
	case USE_URL:
		judge_url(use);
		break;
	case USE_SEND:
		judge_sending(use, use->row->severity);
		break;
	case USE_MODULE:
		judge_module(use);
		break;
	case USE_MEMBER:
		judge_member(use);
		break;
	case USE_MODE:
		judge_mode(use);
		break;
	case USE_TIMER:
		if (text_argument(use, 0))
			judge_code(use);
		break;
	case USE_LOOPED:
		tell(use, use->row->rule,
		     is_in_loop(use->job, use->node) ? SEVERITY_HIGH : use->row->severity);
		break;
	}
}
