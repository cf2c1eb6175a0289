/* SPDX-License-Identifier: Apache-2.0 */
/* Python and JavaScript: functions reached indirectly, stored for later, and names assembled from pieces. */
#include "base/core/own.h"
#include "scan/follow/in_list.h"
#include "scan/judge/command.h"
#include "scan/follow/fold.h"
#include "scan/judge/judge.h"

#include <string.h>

/* Longer texts are not read as commands when it is not known that they are. */
#define PROBE_MAX 4096u

/* Names that are assembled from pieces only to hide them. */
static bool is_giveaway(const char *text)
{
	return in_list("system popen eval exec execfile compile __import__ subprocess "
		       "child_process node:child_process execSync execFileSync spawnSync Popen "
		       "check_output getoutput rmtree __builtins__ builtins __globals__ "
		       "__subclasses__ __class__ constructor Function mainModule getBuiltinModule "
		       "binding fromCharCode import_module importlib posix ctypes _load "
		       "getattr globals /bin/sh /bin/bash",
		       text);
}

void judge_built_text(struct scan_job *job, uint32_t node)
{
	uint32_t kind = job->syntax->nodes[node].kind;
	const struct abstract_value *text = abstract_of_kind(job->follow->of[node], ABSTRACT_TEXT);

	/* Reported where it is made, not wherever it is named. */
	if (!text || !text->is_built || kind == NODE_IDENTIFIER || kind == NODE_ATTRIBUTE ||
	    kind == NODE_PARENTHESES)
		return;
	if (is_giveaway(text->text))
		job_find(job, job->syntax->nodes[node].start, RULE_OBFUSCATION, SEVERITY_HIGH,
			 text->text);
}

static bool is_defined(const struct scan_job *job, const char *name)
{
	const struct abstract_value *value;

	return abstract_values_look_up(&job->follow->all, name, strlen(name), &value);
}

/* Members that belong to few things, and those start programs or load code. */
static bool is_rare_member(const char *name)
{
	return in_list(
		"system popen execSync spawnSync execFileSync execFile check_output check_call "
		"getoutput getstatusoutput rmtree fork_exec posix_spawn posix_spawnp execv execve "
		"execl execlp execvp execvpe spawnl spawnv spawnlp spawnvp dlopen "
		"getBuiltinModule runInThisContext runInNewContext runInContext import_module "
		"load_module __import__ _load _compile create_subprocess_shell "
		"create_subprocess_exec "
		"Popen runsource runcode PyRun_SimpleString",
		name);
}

/* thing.system("..."), whatever the thing is. */
static void judge_rare_member(struct scan_job *job, uint32_t call, uint32_t callee)
{
	uint32_t member = judge_last_name(job, callee);
	const struct abstract_value *text =
		member == SYNTAX_NONE ? NULL : follow_text(job->follow, member);
	owned(free_ptr) char *name = NULL;

	if (member == SYNTAX_NONE || follow_argument(job->follow, call, 0) == SYNTAX_NONE)
		return;
	name = text ? xstrdup(text->text) : judge_source(job, member);
	if (is_rare_member(name) && !is_defined(job, name))
		job_find(job, job->syntax->nodes[call].start, RULE_DYNAMIC_NAME, SEVERITY_MEDIUM,
			 name);
}

/* What has all functions of its kind in it. */
static bool is_store(const struct scan_job *job, const char *path)
{
	return in_list(
		job->language == SCAN_PYTHON
			? "os subprocess builtins __builtins__ shutil ctypes importlib posix pty "
			  "sys.modules"
			: "process child_process require",
		path);
}

static bool is_ground(const struct scan_job *job, const char *path)
{
	return in_list(job->language == SCAN_PYTHON ? "globals() locals() vars()"
						    : "globalThis window global self frames top "
						      "fs fs.promises fs/promises",
		       path);
}

static bool is_key(const struct scan_job *job, uint32_t index)
{
	const struct abstract_value *text = follow_text(job->follow, index);
	const struct abstract_value *number =
		abstract_of_kind(job->follow->of[index], ABSTRACT_NUMBER);

	return number || (text && !strchr(text->text, FOLD_GAP));
}

void judge_unknown_key(struct scan_job *job, uint32_t node)
{
	enum syntax_field field = job->language == SCAN_PYTHON ? FIELD_VALUE : FIELD_OBJECT;
	uint32_t object = syntax_child(job->syntax, node, field);
	uint32_t index = syntax_child(job->syntax, node, FIELD_INDEX);
	const struct syntax_node *it = &job->syntax->nodes[node];
	bool is_called = it->field == FIELD_CALLEE;

	if (it->kind != NODE_SUBSCRIPT || object == SYNTAX_NONE || index == SYNTAX_NONE ||
	    is_key(job, index) || it->field == FIELD_LEFT)
		return;
	for (const struct abstract_value *one = job->follow->of[object]; one; one = one->also) {
		if (one->kind == ABSTRACT_PATH && is_store(job, one->text))
			job_find(job, it->start, RULE_DYNAMIC_NAME, SEVERITY_HIGH, one->text);
		else if (one->kind == ABSTRACT_PATH && is_called && is_ground(job, one->text))
			job_find(job, it->start, RULE_DYNAMIC_NAME, SEVERITY_MEDIUM, one->text);
	}
}

/* An item, a result, a value that was handed in: what is called only the run knows. */
static bool is_dynamic(const struct scan_job *job, uint32_t callee)
{
	owned(free_ptr) char *name = NULL;

	switch (job->syntax->nodes[callee].kind) {
	case NODE_SUBSCRIPT:
	case NODE_CALL:
	case NODE_PARENTHESES:
		return true;
	case NODE_IDENTIFIER:
		name = judge_source(job, callee);
		return is_defined(job, name) && !follow_is_function(job->follow, callee);
	default:
		return false;
	}
}

static bool is_command(const char *text)
{
	owned(free_ptr) char *first = xstrndup(text, strcspn(text, " \t\n;|&"));

	return strpbrk(text, " \t") && command_may_be(command_name(first));
}

/* What the argument at POSITION would be as a command; SEVERITY_NONE when it is none. */
static enum scan_severity probe(struct scan_job *job, uint32_t call, unsigned position)
{
	owned(str_done) struct str text = STR_INIT;
	uint32_t argument = follow_argument(job->follow, call, position);
	const struct abstract_value *value = follow_text(job->follow, argument);
	uint32_t list = follow_list(job->follow, argument);

	if (value)
		str_add(&text, value->text);
	for (uint32_t at = list == SYNTAX_NONE ? list : syntax_first(job->syntax, list);
	     at != SYNTAX_NONE && text.len < PROBE_MAX; at = syntax_next(job->syntax, at)) {
		value = follow_text(job->follow, at);
		str_addf(&text, "%s%s", text.len ? " " : "", value ? value->text : "x");
	}
	if (text.len > PROBE_MAX || !is_command(str_cstr(&text)))
		return SEVERITY_NONE;
	return job_probe(job, SCAN_SHELL, str_cstr(&text), text.len);
}

static bool says_recursive(const struct syntax *syntax, uint32_t pair)
{
	uint32_t kind = syntax->nodes[pair].kind;
	uint32_t key = kind == NODE_PAIR	       ? syntax_child(syntax, pair, FIELD_KEY)
		       : kind == NODE_KEYWORD_ARGUMENT ? syntax_child(syntax, pair, FIELD_NAME)
						       : SYNTAX_NONE;
	uint32_t value = key == SYNTAX_NONE ? SYNTAX_NONE : syntax_child(syntax, pair, FIELD_VALUE);

	return value != SYNTAX_NONE && syntax_is(syntax, key, "recursive") &&
	       !syntax_is(syntax, value, "false") && !syntax_is(syntax, value, "False");
}

/* Whether an argument is an object with {recursive: true}, or recursive=True. */
static bool is_recursive(const struct scan_job *job, uint32_t call)
{
	const struct syntax *syntax = job->syntax;
	uint32_t arguments = syntax_child(syntax, call, FIELD_ARGUMENTS);
	uint32_t at = arguments == SYNTAX_NONE ? arguments : syntax_first(syntax, arguments);

	for (; at != SYNTAX_NONE; at = syntax_next(syntax, at)) {
		if (says_recursive(syntax, at))
			return true;
		for (uint32_t pair = syntax_first(syntax, at); pair != SYNTAX_NONE;
		     pair = syntax_next(syntax, pair)) {
			if (says_recursive(syntax, pair))
				return true;
		}
	}
	return false;
}

/* Whether the callee is called as what removes files, and hardly anything else is. */
static bool is_named_removal(const struct scan_job *job, uint32_t callee)
{
	uint32_t member = judge_last_name(job, callee);
	const struct abstract_value *text =
		member == SYNTAX_NONE ? NULL : follow_text(job->follow, member);
	owned(free_ptr) char *name =
		text ? xstrdup(text->text)
		     : judge_source(job, member == SYNTAX_NONE ? callee : member);

	return in_list("rmSync rmdirSync unlinkSync unlink rmdir rmtree removedirs truncateSync",
		       name) &&
	       !follow_is_function(job->follow, callee);
}

/* Whether nothing speaks against it: what only reads or makes goes through trees, too. */
static bool may_remove(const struct scan_job *job, uint32_t callee)
{
	uint32_t member = job->syntax->nodes[callee].kind == NODE_ATTRIBUTE
				  ? judge_last_name(job, callee)
				  : SYNTAX_NONE;
	owned(free_ptr) char *name = member == SYNTAX_NONE ? NULL : judge_source(job, member);

	return name ? !in_list("mkdir mkdirSync watch readdir readdirSync cp cpSync opendir glob "
			       "iglob listdir walk",
			       name)
		    : is_dynamic(job, callee);
}

/* thing.rmSync("/home"), fs[name]("/", {recursive: true}): recognised by its arguments. */
static void judge_given(struct scan_job *job, uint32_t call, uint32_t callee)
{
	const struct abstract_value *text =
		follow_text(job->follow, follow_argument(job->follow, call, 0));
	enum place_kind place = text ? place_of(text->text) : PLACE_PLAIN;

	if (place == PLACE_PLAIN || place == PLACE_TEMPORARY)
		return;
	if (is_named_removal(job, callee) ||
	    (place == PLACE_EVERYTHING && is_recursive(job, call) && may_remove(job, callee)))
		job_find(job, job->syntax->nodes[call].start, RULE_DELETE, SEVERITY_HIGH,
			 text->text);
}

void judge_unknown_call(struct scan_job *job, uint32_t call, uint32_t callee)
{
	enum scan_severity worst = SEVERITY_NONE;

	judge_rare_member(job, call, callee);
	judge_given(job, call, callee);
	judge_store_call(job, call, callee);
	for (unsigned i = 0; i < 2 && worst < SEVERITY_HIGH && is_dynamic(job, callee); i++)
		worst = probe(job, call, i);
	if (worst >= SEVERITY_HIGH)
		job_find(job, job->syntax->nodes[call].start, RULE_SUBPROCESS, worst,
			 "a command for a function that is not known");
}

/* Where a name is defined, or stands in for something else than its value. */
static bool is_mere_name(const struct syntax *syntax, uint32_t node)
{
	uint32_t parent = syntax->nodes[node].parent;

	switch (syntax->nodes[node].field) {
	case FIELD_CALLEE:
	case FIELD_OBJECT:
	case FIELD_MEMBER:
	case FIELD_NAME:
	case FIELD_KEY:
	case FIELD_LEFT:
	case FIELD_ALIAS:
	case FIELD_MODULE:
		return true;
	default:
		break;
	}
	/* Of a subscript, Python's grammar calls the object its value. */
	return parent == SYNTAX_NONE || syntax->nodes[parent].kind == NODE_SUBSCRIPT;
}

/* Contexts where a function is followed, was reported already, or is only compared. */
static bool is_elsewhere(const struct syntax *syntax, uint32_t node)
{
	uint32_t above = syntax->nodes[node].parent;
	uint32_t left;

	switch (syntax->nodes[above].kind) {
	case NODE_ASSIGNMENT:
		left = syntax_child(syntax, above, FIELD_LEFT);
		return left == SYNTAX_NONE || syntax->nodes[left].kind == NODE_IDENTIFIER ||
		       syntax->nodes[left].kind == NODE_OBJECT_PATTERN;
	case NODE_ARGUMENTS:
	case NODE_KEYWORD_ARGUMENT:
	case NODE_DECORATOR:
	case NODE_BINARY:
	case NODE_TYPE:
	case NODE_PARAMETERS:
	case NODE_DEFAULT_PARAMETER:
	case NODE_NAMED_EXPRESSION:
	case NODE_IMPORT:
	case NODE_IMPORT_FROM:
	case NODE_IMPORT_CLAUSE:
	case NODE_IMPORT_SPECIFIER:
	case NODE_ALIASED_IMPORT:
	case NODE_NAMESPACE_IMPORT:
	case NODE_DOTTED_NAME:
	case NODE_OBJECT_PATTERN:
	case NODE_AS_PATTERN:
	case NODE_EXPRESSION_STATEMENT:
	case NODE_COMPARISON:
	case NODE_UNARY:
		return true;
	default:
		return false;
	}
}

/* Of a function kept for later: what starts programs or loads code, or deletes what stands beside it. */
static bool matters_when_kept(const struct scan_job *job, const struct function_row *row,
			      uint32_t above)
{
	if (row->use == USE_TREE)
		return above != SYNTAX_NONE && job->syntax->nodes[above].kind == NODE_LIST &&
		       judge_severity_of_passed(job, row, syntax_first(job->syntax, above)) >=
			       SEVERITY_MEDIUM;
	return row->severity >= SEVERITY_MEDIUM && row->use != USE_TIMER &&
	       (row->rule == RULE_EXEC || row->rule == RULE_SUBPROCESS ||
		row->rule == RULE_DYNAMIC_IMPORT);
}

/* {"a": os.system}, [os.popen], return child_process.exec: stored, to be called from an unknown place. */
void judge_kept(struct scan_job *job, uint32_t node)
{
	const struct syntax *syntax = job->syntax;
	const struct abstract_value *path = abstract_of_kind(job->follow->of[node], ABSTRACT_PATH);
	const struct function_row *row;
	uint32_t at = node, above = syntax->nodes[node].parent;

	/* What hands a value on unchanged stands for it. */
	while (path && above != SYNTAX_NONE && !is_mere_name(syntax, at) &&
	       (syntax->nodes[above].kind == NODE_PARENTHESES ||
		syntax->nodes[above].kind == NODE_CONDITIONAL ||
		syntax->nodes[above].kind == NODE_SEQUENCE)) {
		at = above;
		above = syntax->nodes[at].parent;
	}
	if (!path || above == SYNTAX_NONE || is_mere_name(syntax, at) || is_elsewhere(syntax, at))
		return;
	row = function_find(job->language, path->text);
	if (!row || judge_is_allowed(job, path->text) || !matters_when_kept(job, row, above))
		return;
	job->reached |= job_exec_modules(path->text);
	job_find(job, syntax->nodes[at].start, row->rule, SEVERITY_MEDIUM, path->text);
}
