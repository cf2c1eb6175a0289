/* SPDX-License-Identifier: Apache-2.0 */
/* Python and JavaScript: libraries that start programs by name, read objects, move files, speak to data bases. */
#include "base/core/own.h"
#include "scan/follow/in_list.h"
#include "scan/follow/fold.h"
#include "scan/judge/command.h"
#include "scan/judge/judge.h"
#include "scan/judge/sql.h"

#include <string.h>

void judge_move(const struct use *use)
{
	judge_deletion(use, use_text(use, 0), false);
	judge_writing(use, use_text(use, 1));
}

/* sh.rm("-rf", place), repository.git.clean("-fdx"): the words of a command, the first of them a name. */
void judge_named(const struct use *use)
{
	owned(strv_done) struct strv words = STRV_INIT;
	const char *dot = strrchr(use->path, '.');

	if (str_starts(use->path, "git.") || str_starts(use->path, "simple-git"))
		strv_add(&words, "git");
	strv_add(&words, dot ? dot + 1 : use->path);
	for (unsigned i = 0; i < USE_ARGUMENTS_MAX && use_argument(use, i) != SYNTAX_NONE; i++)
		judge_add_words(use, use_argument(use, i), &words);
	use_report(use, use->row->rule, use->row->severity);
	judge_command(use->job, use->at, &words);
}

bool judge_is_local_module(const struct abstract_value *name)
{
	const char *gap = name ? strchr(name->text, FOLD_GAP) : NULL;

	return gap && str_starts(name->text, "./") && gap - name->text > 2 &&
	       !strstr(name->text, "..");
}

/* Functions that read plain data as well as objects, and the option that decides which. */
static const struct {
	const char *path, *option;
	const char *value; /* what the option must have in it to decide */
	bool is_plain;	   /* it then reads plain data, else only then objects */
} choices[] = {
	{ "torch.load", "weights_only", "True", true },
	{ "numpy.load", "allow_pickle", "True", false },
	{ "yaml.load", "Loader", "Safe", true },
	{ "yaml.load_all", "Loader", "Safe", true },
};

static bool is_same(const struct syntax *syntax, uint32_t one, uint32_t other)
{
	size_t len, other_len;
	const char *text = syntax_source(syntax, one, &len);
	const char *other_text = syntax_source(syntax, other, &other_len);

	return len == other_len && memcmp(text, other_text, len) == 0;
}

/* The call that opens what CALL is given at POSITION: that argument, or of with OPEN as it: CALL(it) the first part. */
static uint32_t opening_of(const struct follow *follow, uint32_t call, unsigned position)
{
	const struct syntax *syntax = follow->syntax;
	uint32_t given = follow_argument(follow, call, position), with = call, body = SYNTAX_NONE;
	uint32_t first, name;

	if (given == SYNTAX_NONE || syntax->nodes[given].kind == NODE_CALL)
		return given;
	while (with != SYNTAX_NONE &&
	       (syntax->nodes[with].end - syntax->nodes[with].start < strlen("with ") ||
		!str_starts(syntax->text + syntax->nodes[with].start, "with ")))
		with = syntax->nodes[with].parent;
	if (with != SYNTAX_NONE)
		body = syntax_child(syntax, with, FIELD_BODY);
	/* Nothing stands in between that could make the name mean something else. */
	first = body == SYNTAX_NONE ? SYNTAX_NONE : syntax_first(syntax, body);
	if (first == SYNTAX_NONE || call >= syntax->nodes[first].after)
		return SYNTAX_NONE;
	while (with < body && syntax->nodes[with].kind != NODE_CALL)
		with++;
	name = with < body ? syntax_next(syntax, with) : SYNTAX_NONE;
	return name != SYNTAX_NONE && is_same(syntax, name, given) ? with : SYNTAX_NONE;
}

/* What names the file that the call at NODE opens, reads or writes, or SYNTAX_NONE. */
static uint32_t file_of(const struct follow *follow, uint32_t node)
{
	const struct abstract_value *path =
		node == SYNTAX_NONE ? NULL : abstract_of_kind(follow->of[node], ABSTRACT_PATH);
	uint32_t callee =
		node == SYNTAX_NONE ? node : syntax_child(follow->syntax, node, FIELD_CALLEE);

	if (!path || callee == SYNTAX_NONE)
		return SYNTAX_NONE;
	if (in_list("open() gzip.open()", path->text))
		return follow_argument(follow, node, 0);
	return in_list("pathlib.Path().read_bytes() pathlib.Path().write_bytes() "
		       "pathlib.Path().open()",
		       path->text)
		       ? syntax_child(follow->syntax, callee, FIELD_OBJECT)
		       : SYNTAX_NONE;
}

/* Whether NODE is one constant text: written there, or a name that is set once. */
static bool is_constant(const struct follow *follow, uint32_t node)
{
	const struct syntax *syntax = follow->syntax;
	const struct abstract_value *text = follow_text(follow, node);
	unsigned set = 0;

	if (!judge_is_known(text) || abstract_next(text) || place_of(text->text) != PLACE_PLAIN)
		return false;
	for (uint32_t at = 1; at < syntax->count; at++) {
		uint32_t above = syntax->nodes[syntax->nodes[at].parent].kind;

		if (syntax->nodes[at].kind == NODE_IDENTIFIER && is_same(syntax, at, node) &&
		    above != NODE_ATTRIBUTE && above != NODE_ARGUMENTS)
			set++;
	}
	return syntax->nodes[node].kind == NODE_STRING || set == 1;
}

/* Whether the program, which takes nothing from the network so far, writes objects itself to the file that it reads. */
static bool is_own_file(const struct use *use)
{
	const struct follow *follow = use->job->follow;
	const struct syntax *syntax = follow->syntax;
	uint32_t own = file_of(follow, opening_of(follow, use->node, 0));

	if (own == SYNTAX_NONE || (use->job->traits & TRAIT_NETWORK) ||
	    !job_spend(use->job, 2 * (size_t)syntax->count) || !is_constant(follow, own))
		return false;
	for (uint32_t at = 0; at < syntax->count; at++) {
		const struct abstract_value *path = abstract_of_kind(follow->of[at], ABSTRACT_PATH);
		uint32_t file = SYNTAX_NONE, first = SYNTAX_NONE;

		if (path && syntax->nodes[at].kind == NODE_CALL)
			first = follow_argument(follow, at, 0);
		if (first == SYNTAX_NONE)
			continue;
		if (strcmp(path->text, "pickle.dump()") == 0)
			file = file_of(follow, opening_of(follow, at, 1));
		path = abstract_of_kind(follow->of[first], ABSTRACT_PATH);
		if (path && strcmp(path->text, "pickle.dumps()") == 0)
			file = file_of(follow, at);
		if (file != SYNTAX_NONE && is_same(syntax, file, own))
			return true;
	}
	return false;
}

void judge_unpickle(const struct use *use)
{
	bool reads_objects = true;

	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
		uint32_t option = SYNTAX_NONE;
		owned(free_ptr) char *value = NULL;

		if (strcmp(choices[i].path, use->path) != 0)
			continue;
		option = follow_keyword(use->job->follow, use->node, choices[i].option);
		/* yaml.load(text, Loader) */
		if (option == SYNTAX_NONE && strcmp(choices[i].option, "Loader") == 0)
			option = use_argument(use, 1);
		value = option == SYNTAX_NONE ? NULL : judge_source(use->job, option);
		reads_objects = (value && strstr(value, choices[i].value)) != choices[i].is_plain;
	}
	if (reads_objects)
		use_report(use, use->row->rule,
			   is_own_file(use) ? SEVERITY_LOW : use->row->severity);
}

bool judge_is_closed_at_once(const struct use *use)
{
	const struct syntax *syntax = use->job->syntax;
	uint32_t above = syntax->nodes[use->node].parent;
	uint32_t member = above == SYNTAX_NONE || syntax->nodes[above].kind != NODE_ATTRIBUTE
				  ? SYNTAX_NONE
				  : syntax_child(syntax, above, FIELD_MEMBER);

	const struct abstract_value *mode = use_text(use, 1);

	return member != SYNTAX_NONE && syntax_is(syntax, member, "close") && mode &&
	       strchr(mode->text, 'w');
}

/* Whether the text loads a client of containers, clouds or clusters. */
static bool has_cloud_client(const struct scan_job *job)
{
	static const char *const clients[] = { "docker",     "boto3",	      "botocore",
					       "kubernetes", "google.cloud",  "azure",
					       "podman",     "dockerode",     "aws-sdk",
					       "@aws-sdk",   "@google-cloud", "@azure",
					       "openstack",  "digitalocean",  "libcloud" };
	const struct strv *imports = &job->report->imports;

	for (size_t i = 0; i < imports->count; i++) {
		for (size_t j = 0; j < sizeof(clients) / sizeof(clients[0]); j++) {
			if (str_starts(imports->items[i], clients[j]))
				return true;
		}
	}
	return false;
}

/* What removes whatever a client lists, one after the other. */
static bool is_sweep(const struct scan_job *job, uint32_t call, const char *name)
{
	return (in_list("delete remove terminate destroy prune purge delete_objects delete_all "
			"drop",
			name) ||
		str_starts(name, "delete_")) &&
	       judge_is_in_loop(job, call) && has_cloud_client(job);
}

void judge_store_call(struct scan_job *job, uint32_t call, uint32_t callee)
{
	uint32_t member = judge_last_name(job, callee), at = job->syntax->nodes[call].start;
	owned(free_ptr) char *name = member == SYNTAX_NONE ? NULL : judge_source(job, member);
	const struct abstract_value *text =
		follow_text(job->follow, follow_argument(job->follow, call, 0));

	if (!name || follow_is_function(job->follow, callee))
		return;
	if (in_list("dropDatabase drop_database flushAll flushall flushdb flushDb", name))
		job_find(job, at, RULE_DELETE, SEVERITY_MEDIUM, name);
	if (is_sweep(job, call, name))
		job_find(job, at, RULE_DELETE, SEVERITY_MEDIUM, name);
	/* A table by its name is the program's own; one that is made up as it runs may be any. */
	if (text && sql_severity(text->text) >=
			    (strchr(text->text, FOLD_GAP) ? SEVERITY_MEDIUM : SEVERITY_HIGH))
		job_find(job, at, RULE_DELETE, SEVERITY_MEDIUM, text->text);
}
