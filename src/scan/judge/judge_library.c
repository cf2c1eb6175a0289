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

/* A library by its name, as the machine has it, or one that was looked for by name; the C library can do everything. */
void judge_library(const struct use *use)
{
	const struct syntax *syntax = use->job->syntax;
	uint32_t first = use_argument(use, 0);
	const struct abstract_value *path =
		first == SYNTAX_NONE ? NULL
				     : abstract_of_kind(use->job->follow->of[first], ABSTRACT_PATH);
	const struct abstract_value *text = use_text(use, 0);
	bool is_named = judge_is_known(text) && str_starts(text->text, "lib") && text->len > 3 &&
			!str_starts(text->text, "libc.") && !strchr(text->text, '/');

	is_named = is_named || (path && str_starts(path->text, "ctypes.util.find_library(") &&
				!memmem(syntax->text, syntax->len, "(\"c\")", 5) &&
				!memmem(syntax->text, syntax->len, "('c')", 5));
	use_report(use, use->row->rule, is_named ? SEVERITY_LOW : use->row->severity);
}

void judge_file_module(const struct use *use)
{
	const struct abstract_value *file = use_text(use, 1);

	use_report(use, use->row->rule,
		   judge_is_known(file) && place_of(file->text) == PLACE_PLAIN
			   ? SEVERITY_LOW
			   : use->row->severity);
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

/* Read from a file by a program that writes such files itself: its own cache. */
static bool is_own_file(const struct use *use)
{
	const struct syntax *syntax = use->job->syntax;
	uint32_t first = use_argument(use, 0);
	const struct abstract_value *path =
		first == SYNTAX_NONE ? NULL
				     : abstract_of_kind(use->job->follow->of[first], ABSTRACT_PATH);
	const struct abstract_value *text = use_text(use, 0);
	bool is_file = path && (strcmp(path->text, "open()") == 0 ||
				str_starts(path->text, "pathlib.Path().read_bytes") ||
				str_starts(path->text, "pathlib.Path().open") ||
				strcmp(path->text, "gzip.open()") == 0);
	bool is_name = !strstr(use->path, ".loads") && judge_is_known(text) &&
		       !strstr(text->text, "://") && place_of(text->text) == PLACE_PLAIN;

	return (is_file || is_name) && memmem(syntax->text, syntax->len, "dump", 4);
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
