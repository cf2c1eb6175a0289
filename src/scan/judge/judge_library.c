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
		use_report(use, use->row->rule, use->row->severity);
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
	if (text && sql_severity(text->text) >= SEVERITY_HIGH)
		job_find(job, at, RULE_DELETE, SEVERITY_MEDIUM, text->text);
}
