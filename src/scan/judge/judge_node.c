/* SPDX-License-Identifier: Apache-2.0 */
/* Python and JavaScript: which nodes of a program are looked at, and what they mean together. */
#include "base/core/own.h"
#include "scan/follow/in_list.h"
#include "scan/follow/fold.h"
#include "scan/judge/judge.h"

#include <stdlib.h>
#include <string.h>

/* More than this made from one short text is there to fill a memory. */
#define FILL_BYTES 200000000

char *judge_source(const struct scan_job *job, uint32_t node)
{
	const struct syntax_node *it = &job->syntax->nodes[node];
	size_t len = it->end - it->start;

	return xstrndup(job->syntax->text + it->start,
			len < ABSTRACT_PATH_MAX ? len : ABSTRACT_PATH_MAX);
}

bool judge_is_allowed(const struct scan_job *job, const char *path)
{
	return scan_policy_allows(job->policy, job->language, LIST_FUNCTIONS, path);
}

static void forbidden(struct scan_job *job, uint32_t at, const char *path)
{
	const struct policy_entry *entry =
		scan_policy_forbids(job->policy, job->language, LIST_FUNCTIONS, path);

	if (entry && !judge_is_allowed(job, path))
		job_find_entry(job, at, RULE_FORBIDDEN_FUNCTION, entry, path);
}

/* One of the functions the callee may be; false when it is none that is known. */
static bool called(struct scan_job *job, uint32_t call, uint32_t at,
		   const struct abstract_value *path)
{
	const struct function_row *row = function_find(job->language, path->text);
	const struct use use = { job, call, at, row, path->text };

	forbidden(job, at, path->text);
	if (row)
		job->reached |= job_exec_modules(path->text);
	if (!row || judge_is_allowed(job, path->text))
		return row != NULL;
	job->traits |= row->traits;
	if (path->is_built && row->severity > SEVERITY_NONE)
		job_find(job, at, RULE_DYNAMIC_NAME, SEVERITY_HIGH, path->text);
	judge_use(&use);
	return true;
}

enum scan_severity judge_severity_of_passed(const struct scan_job *job,
					    const struct function_row *row, uint32_t first)
{
	enum scan_severity severity = row->use == USE_TREE ? SEVERITY_LOW : row->severity;

	if (row->use == USE_MEMBER)
		return SEVERITY_MEDIUM;
	for (uint32_t at = first; row->use == USE_TREE && at != SYNTAX_NONE;
	     at = syntax_next(job->syntax, at)) {
		const struct abstract_value *text = follow_text(job->follow, at);
		enum place_kind place = text ? place_of(text->text) : PLACE_PLAIN;

		if (place != PLACE_PLAIN && place != PLACE_TEMPORARY)
			severity = SEVERITY_HIGH;
	}
	return severity;
}

/* map(eval, texts), @os.system: a function handed over is as good as called. FIRST: the first of what is handed over. */
static void passed_on(struct scan_job *job, uint32_t first)
{
	for (uint32_t at = first; at != SYNTAX_NONE; at = syntax_next(job->syntax, at)) {
		for (const struct abstract_value *one = job->follow->of[at]; one; one = one->also) {
			const struct function_row *row =
				one->kind == ABSTRACT_PATH ? function_find(job->language, one->text)
							   : NULL;

			if (one->kind == ABSTRACT_PATH)
				forbidden(job, job->syntax->nodes[at].start, one->text);
			if (!row || judge_severity_of_passed(job, row, first) < SEVERITY_MEDIUM ||
			    row->use == USE_TIMER || judge_is_allowed(job, one->text))
				continue;
			job->traits |= row->traits;
			job_find(job, job->syntax->nodes[at].start, row->rule,
				 judge_severity_of_passed(job, row, first), one->text);
		}
	}
}

uint32_t judge_last_name(const struct scan_job *job, uint32_t node)
{
	uint32_t kind = job->syntax->nodes[node].kind;

	if (kind == NODE_ATTRIBUTE)
		return syntax_child(job->syntax, node, FIELD_MEMBER);
	return kind == NODE_SUBSCRIPT ? syntax_child(job->syntax, node, FIELD_INDEX) : SYNTAX_NONE;
}

static bool is_named(const struct scan_job *job, uint32_t node, const char *name)
{
	uint32_t last = judge_last_name(job, node);

	return last != SYNTAX_NONE && (syntax_is(job->syntax, last, name) ||
				       abstract_is_text(job->follow->of[last], name));
}

/* (() => {}).constructor("code") makes a function of a text, whatever it is the constructor of. */
static bool makes_function(const struct scan_job *job, uint32_t call, uint32_t callee)
{
	uint32_t object = syntax_child(job->syntax, callee, FIELD_OBJECT);

	return job->language == SCAN_JAVASCRIPT && is_named(job, callee, "constructor") &&
	       object != SYNTAX_NONE && job->syntax->nodes[object].kind != NODE_THIS &&
	       follow_text(job->follow, follow_argument(job->follow, call, 0));
}

/* client.pipe(shell.stdin): a stream wired to a program. */
static bool wires_stream(const struct scan_job *job, uint32_t call, uint32_t callee)
{
	uint32_t first = follow_argument(job->follow, call, 0);

	return is_named(job, callee, "pipe") && first != SYNTAX_NONE &&
	       (is_named(job, first, "stdin") || is_named(job, callee, "stdout"));
}

/* Reflect.apply(f, x, [a]) */
static bool applied(struct scan_job *job, uint32_t call)
{
	uint32_t function = follow_argument(job->follow, call, 0);
	const struct abstract_value *one =
		function == SYNTAX_NONE ? NULL : job->follow->of[function];
	bool is_known = false;

	for (; one; one = one->also) {
		if (one->kind == ABSTRACT_PATH)
			is_known =
				called(job, call, job->syntax->nodes[call].start, one) || is_known;
	}
	return is_known;
}

/* import("x") */
static void imported(struct scan_job *job, uint32_t call, uint32_t callee)
{
	const struct abstract_value import = { .kind = ABSTRACT_PATH, .text = "import" };

	if (job->syntax->nodes[callee].kind == NODE_IMPORT_WORD)
		(void)called(job, call, job->syntax->nodes[call].start, &import);
}

static void judge_call(struct scan_job *job, uint32_t call)
{
	uint32_t callee = syntax_child(job->syntax, call, FIELD_CALLEE);
	uint32_t at = job->syntax->nodes[call].start, arguments;
	owned(free_ptr) char *written = NULL;
	bool is_path = false, is_known = false;

	if (callee == SYNTAX_NONE)
		return;
	imported(job, call, callee);
	written = judge_source(job, callee);
	for (const struct abstract_value *one = job->follow->of[callee]; one; one = one->also) {
		if (one->kind != ABSTRACT_PATH)
			continue;
		is_path = is_path || strcmp(one->text, written) == 0;
		is_known = called(job, call, at, one) || is_known;
	}
	if (job->language == SCAN_JAVASCRIPT && strcmp(written, "Reflect.apply") == 0)
		is_known = applied(job, call) || is_known;
	if (!is_path)
		forbidden(job, at, written);
	if (!is_known)
		judge_unknown_call(job, call, callee);
	if (makes_function(job, call, callee))
		job_find(job, at, RULE_EXEC, SEVERITY_HIGH, "constructor");
	if (wires_stream(job, call, callee))
		job->traits |= TRAIT_REDIRECTS;
	arguments = syntax_child(job->syntax, call, FIELD_ARGUMENTS);
	if (arguments != SYNTAX_NONE && !in_list("isinstance issubclass", written))
		passed_on(job, syntax_first(job->syntax, arguments));
}

static void judge_import(struct scan_job *job, uint32_t node)
{
	const struct syntax *syntax = job->syntax;
	uint32_t from = syntax_child(syntax, node, FIELD_MODULE);
	uint32_t at = syntax->nodes[node].start;

	if (from != SYNTAX_NONE) {
		const struct abstract_value *text = follow_text(job->follow, from);
		owned(free_ptr) char *module = text ? xstrdup(text->text) : judge_source(job, from);

		job_import(job, at,
			   str_starts(module, "node:") ? module + strlen("node:") : module);
		return;
	}
	for (uint32_t child = syntax_first(syntax, node); child != SYNTAX_NONE;
	     child = syntax_next(syntax, child)) {
		uint32_t name = syntax->nodes[child].kind == NODE_ALIASED_IMPORT
					? syntax_child(syntax, child, FIELD_NAME)
					: child;
		owned(free_ptr) char *module = name == SYNTAX_NONE ? NULL : judge_source(job, name);

		if (module)
			job_import(job, at, module);
	}
}

bool judge_is_internal(const char *member)
{
	return in_list("__subclasses__ __globals__ __builtins__ f_globals f_builtins gi_frame "
		       "cr_frame f_back __loader__ _getframe __getattribute__ __reduce_ex__",
		       member);
}

static void judge_member_name(struct scan_job *job, uint32_t node)
{
	uint32_t last = judge_last_name(job, node);
	const struct abstract_value *text =
		last == SYNTAX_NONE ? NULL : follow_text(job->follow, last);
	owned(free_ptr) char *written = NULL;
	const char *name;
	size_t len;

	if (last == SYNTAX_NONE)
		return;
	name = text ? text->text : syntax_source(job->syntax, last, &len);
	/* All of those have one of these in them. */
	if (!memchr(name, '_', text ? text->len : len))
		return;
	written = text ? NULL : judge_source(job, last);
	if (judge_is_internal(text ? text->text : written))
		job_find(job, job->syntax->nodes[last].start, RULE_INTROSPECTION, SEVERITY_HIGH,
			 text ? text->text : written);
}

static void judge_binary(struct scan_job *job, uint32_t node)
{
	uint32_t left = syntax_child(job->syntax, node, FIELD_LEFT);
	uint32_t right = syntax_child(job->syntax, node, FIELD_RIGHT);
	uint32_t operator= syntax_child(job->syntax, node, FIELD_OPERATOR);
	const struct abstract_value *text = follow_text(job->follow, right);
	const struct abstract_value *number;

	if (left == SYNTAX_NONE || right == SYNTAX_NONE || operator== SYNTAX_NONE)
		return;
	number = abstract_of_kind(job->follow->of[right], ABSTRACT_NUMBER);
	if (syntax_is(job->syntax, operator, "/") && text && place_of(text->text) == PLACE_SECRET) {
		job->traits |= TRAIT_SECRET;
		job_find(job, job->syntax->nodes[node].start, RULE_SECRET_READ, SEVERITY_HIGH,
			 text->text);
	}
	if (syntax_is(job->syntax, operator, "*") && follow_text(job->follow, left) && number &&
	    number->number > FILL_BYTES)
		job_find(job, job->syntax->nodes[node].start, RULE_EXHAUSTION, SEVERITY_MEDIUM,
			 NULL);
}

/* NAME = "text", name="text" as an argument, {name: "text"}. */
static void judge_named_value(struct scan_job *job, uint32_t node, enum syntax_field name_field,
			      enum syntax_field value_field)
{
	uint32_t name = syntax_child(job->syntax, node, name_field);
	uint32_t value = syntax_child(job->syntax, node, value_field);
	const struct abstract_value *text = follow_text(job->follow, value);
	const struct syntax_node *it;

	if (name == SYNTAX_NONE || !text || job->syntax->nodes[value].kind != NODE_STRING)
		return;
	it = &job->syntax->nodes[name];
	judge_assigned(job, it->start, job->syntax->text + it->start, it->end - it->start,
		       text->text, text->len);
}

/* "{0.__class__.__init__.__globals__}".format(x): a format that climbs through internals. */
static bool climbs(const char *text)
{
	const char *open = strchr(text, '{');

	return open && strchr(open, '}') &&
	       (strstr(open, ".__globals__") || strstr(open, ".__subclasses__") ||
		strstr(open, ".__builtins__") || strstr(open, ".__class__."));
}

static void judge_string(struct scan_job *job, uint32_t node)
{
	const struct syntax_node *it = &job->syntax->nodes[node];
	const struct abstract_value *text = abstract_of_kind(job->follow->of[node], ABSTRACT_TEXT);

	if (job->language == SCAN_PYTHON && text && climbs(text->text))
		job_find(job, it->start, RULE_INTROSPECTION, SEVERITY_MEDIUM, "a format");
	judge_literal(job, it->start, job->syntax->text + it->start, it->end - it->start,
		      text && text->is_built);
}

/*
 * Letters that are read as other ones: escapes in a name of JavaScript, and those that Python takes for plain ones
 * (mathematical and full-width letters). Names are written so only to hide them.
 */
static bool is_disguised(const char *name, size_t len)
{
	for (size_t i = 0; i + 2 < len; i++) {
		const unsigned char *at = (const unsigned char *)name + i;

		if (at[0] == '\\' && at[1] == 'u')
			return true;
		if (at[0] == 0xf0 && at[1] == 0x9d && at[2] >= 0x90 && at[2] <= 0x9f)
			return true;
		if (at[0] == 0xef && (at[1] == 0xbc || at[1] == 0xbd) && at[2] >= 0x81)
			return true;
	}
	return false;
}

static void judge_identifier(struct scan_job *job, uint32_t node)
{
	const struct syntax_node *it = &job->syntax->nodes[node];

	if (syntax_is(job->syntax, node, "__builtins__"))
		job_find(job, it->start, RULE_INTROSPECTION, SEVERITY_HIGH, "__builtins__");
	if (is_disguised(job->syntax->text + it->start, it->end - it->start))
		job_find(job, it->start, RULE_OBFUSCATION, SEVERITY_HIGH,
			 "a name in disguised letters");
}

/* Variables by which other programs are made to run something first. */
static bool is_steering(const char *name)
{
	return in_list("LD_PRELOAD LD_AUDIT PYTHONSTARTUP PYTHONBREAKPOINT PYTHONINSPECT "
		       "NODE_OPTIONS BASH_ENV PROMPT_COMMAND GIT_SSH_COMMAND PERL5OPT RUBYOPT",
		       name);
}

/* document.createElement("script") made the object of LEFT. */
static bool is_script(const struct scan_job *job, uint32_t left)
{
	uint32_t object = syntax_child(job->syntax, left, FIELD_OBJECT);
	const struct abstract_value *path =
		object == SYNTAX_NONE ? NULL
				      : abstract_of_kind(job->follow->of[object], ABSTRACT_PATH);

	return path && strcmp(path->text, "document.createElement(script)") == 0;
}

bool judge_has_script(const char *text)
{
	return strcasestr(text, "<script") || strcasestr(text, "onerror=") ||
	       strcasestr(text, "onload=") || strcasestr(text, "javascript:");
}

/* image.src = "..." + document.cookie, script.src = "https://...": what a page makes of it. */
static void judge_page_member(struct scan_job *job, uint32_t left, uint32_t right, const char *name)
{
	const struct abstract_value *text = follow_text(job->follow, right);
	uint32_t at = job->syntax->nodes[left].start;

	if (text && str_ends(name, "HTML") && judge_has_script(text->text))
		job_find(job, at, RULE_EXEC, SEVERITY_MEDIUM, name);
	if (!in_list("src href location", name))
		return;
	if (judge_gives_away(job, right))
		job_find(job, at, RULE_SEND, SEVERITY_HIGH, name);
	else if (is_script(job, left) && text && strstr(text->text, "//"))
		job_find(job, at, RULE_EXEC, SEVERITY_MEDIUM, text->text);
}

/* What a package manager runs by itself. */
static void judge_package_script(struct scan_job *job, uint32_t at, const char *name,
				 const struct abstract_value *text)
{
	if (text && in_list("preinstall install postinstall prepare prepublish", name))
		(void)job_nested(job, at, SCAN_SHELL, text->text, text->len);
}

/* {postinstall: "..."} */
static void judge_pair(struct scan_job *job, uint32_t pair)
{
	uint32_t key = syntax_child(job->syntax, pair, FIELD_KEY);
	uint32_t value = syntax_child(job->syntax, pair, FIELD_VALUE);
	const struct abstract_value *name = follow_text(job->follow, key);
	owned(free_ptr) char *written = key == SYNTAX_NONE ? NULL : judge_source(job, key);

	judge_named_value(job, pair, FIELD_KEY, FIELD_VALUE);
	if (written)
		judge_package_script(job, job->syntax->nodes[pair].start,
				     name ? name->text : written, follow_text(job->follow, value));
}

/* os.environ["LD_PRELOAD"] = ..., package.scripts.postinstall = ... */
static void judge_set_member(struct scan_job *job, uint32_t node)
{
	const struct syntax *syntax = job->syntax;
	uint32_t left = syntax_child(syntax, node, FIELD_LEFT);
	uint32_t right = syntax_child(syntax, node, FIELD_RIGHT);
	uint32_t last = left == SYNTAX_NONE ? SYNTAX_NONE : judge_last_name(job, left);
	const struct abstract_value *key, *text = follow_text(job->follow, right);
	owned(free_ptr) char *written = NULL;
	const char *name;

	if (last == SYNTAX_NONE || right == SYNTAX_NONE)
		return;
	key = follow_text(job->follow, last);
	written = judge_source(job, last);
	name = key ? key->text : written;
	if (is_steering(name))
		job_find(job, syntax->nodes[node].start, RULE_PRIVILEGE, SEVERITY_HIGH, name);
	judge_package_script(job, syntax->nodes[node].start, name, text);
	if (job->language == SCAN_JAVASCRIPT)
		judge_page_member(job, left, right, name);
}

void judge_node(struct scan_job *job, uint32_t node)
{
	judge_built_text(job, node);
	switch (job->syntax->nodes[node].kind) {
	case NODE_CALL:
	case NODE_NEW:
		judge_call(job, node);
		break;
	case NODE_IMPORT:
	case NODE_IMPORT_FROM:
		judge_import(job, node);
		break;
	case NODE_ATTRIBUTE:
	case NODE_SUBSCRIPT:
		judge_member_name(job, node);
		judge_kept(job, node);
		judge_unknown_key(job, node);
		break;
	case NODE_DECORATOR:
		passed_on(job, syntax_first(job->syntax, node));
		break;
	case NODE_IDENTIFIER:
		judge_identifier(job, node);
		judge_kept(job, node);
		break;
	case NODE_PROPERTY:
		judge_identifier(job, node);
		break;
	case NODE_EXEC_STATEMENT:
		job_find(job, job->syntax->nodes[node].start, RULE_EXEC, SEVERITY_HIGH, "exec");
		break;
	case NODE_STRING:
	case NODE_TEMPLATE:
		judge_string(job, node);
		break;
	case NODE_ASSIGNMENT:
		judge_named_value(job, node, FIELD_LEFT, FIELD_RIGHT);
		judge_named_value(job, node, FIELD_NAME, FIELD_VALUE);
		judge_set_member(job, node);
		break;
	case NODE_AUGMENTED:
		judge_set_member(job, node);
		break;
	case NODE_KEYWORD_ARGUMENT:
	case NODE_DEFAULT_PARAMETER:
		judge_named_value(job, node, FIELD_NAME, FIELD_VALUE);
		break;
	case NODE_PAIR:
		judge_pair(job, node);
		break;
	case NODE_BINARY:
		judge_binary(job, node);
		break;
	default:
		break;
	}
}

void judge_whole(struct scan_job *job)
{
	const unsigned shell = TRAIT_NETWORK | TRAIT_REDIRECTS | TRAIT_SHELL;
	const unsigned theft = TRAIT_SECRET | TRAIT_SENDS;
	const unsigned ransom = TRAIT_CIPHER | TRAIT_WALKS | TRAIT_WRITES;

	/* Such a module is loaded to start programs; where no start is seen, it is hidden. */
	if (job->loaded & ~job->reached)
		job_find(job, job->loaded_at, RULE_SUBPROCESS, SEVERITY_MEDIUM,
			 "a module for it is loaded");
	if ((job->traits & shell) == shell)
		job_find(job, 0, RULE_REVERSE_SHELL, SEVERITY_CRITICAL, NULL);
	if ((job->traits & theft) == theft ||
	    (job->traits & (TRAIT_SECRET | TRAIT_NETWORK)) == (TRAIT_SECRET | TRAIT_NETWORK))
		job_find(job, 0, RULE_SEND, SEVERITY_CRITICAL, "reads credentials and the network");
	if ((job->traits & (TRAIT_WALKS_ALL | TRAIT_DELETES)) == (TRAIT_WALKS_ALL | TRAIT_DELETES))
		job_find(job, 0, RULE_DELETE, SEVERITY_CRITICAL, "goes through everything");
	if ((job->traits & (TRAIT_WALKS_ALL | TRAIT_OVERWRITES)) ==
	    (TRAIT_WALKS_ALL | TRAIT_OVERWRITES))
		job_find(job, 0, RULE_DELETE, SEVERITY_HIGH, "goes through everything and writes");
	if ((job->traits & (TRAIT_SELF | TRAIT_OVERWRITES)) == (TRAIT_SELF | TRAIT_OVERWRITES))
		job_find(job, 0, RULE_PERSISTENCE, SEVERITY_MEDIUM,
			 "reads itself, and writes elsewhere");
	if ((job->traits & ransom) == ransom)
		job_find(job, 0, RULE_DELETE, SEVERITY_CRITICAL,
			 "goes through a tree and writes it back encrypted");
}
