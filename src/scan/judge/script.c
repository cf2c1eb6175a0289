/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a shell's text would have run, as far as it names them. */
#include "base/core/own.h"
#include "scan/follow/in_list.h"
#include "scan/judge/code.h"
#include "scan/judge/command.h"
#include "scan/follow/fold.h"

#include <string.h>

void scan_report_script(struct scan_report *report, const struct scan_script *script)
{
	for (size_t i = 0; i < report->script_count; i++) {
		if (strcmp(report->scripts[i].file, script->file) == 0)
			return;
	}
	report->has_more_scripts = report->script_count >= SCAN_MAX_SCRIPTS;
	if (report->has_more_scripts)
		return;
	report->scripts =
		xrealloc(report->scripts, report->script_count + 1, sizeof(*report->scripts));
	report->scripts[report->script_count] = *script;
	report->scripts[report->script_count++].file = xstrdup(script->file);
}

/* cd: from here on names mean something else; where the directory is not known, neither are they. */
static void move(struct scan_job *job, const char *to)
{
	struct str *directory = &job->common->directory;

	job->common->has_moved = true;
	job->common->moves++;
	/* After a second one, which may be another shell's, its starting point is unknown. */
	job->common->is_lost = job->common->is_lost || !to || strchr(to, FOLD_GAP) ||
			       strchr("~$-", to[0]) || job->common->moves > 1;
	if (!to || strchr(to, FOLD_GAP) || to[0] == '~' || to[0] == '$' || to[0] == '-')
		to = "";
	if (to[0] == '/')
		str_clear(directory);
	if (*to)
		str_addf(directory, "%s/", to);
}

static void note(struct scan_job *job, const struct scan_code *code, bool is_sure)
{
	struct scan_script script = { .file = code->text,
				      .language = code->language,
				      .is_program = code->is_program,
				      .is_sure = is_sure && !job->common->has_moved };

	if (strchr(code->text, FOLD_GAP))
		return;
	scan_report_script(job->report, &script);
	if (job->common->directory.len > 0 && code->text[0] != '/') {
		owned(free_ptr) char *there =
			xasprintf("%s%s", str_cstr(&job->common->directory), code->text);

		script.file = there;
		scan_report_script(job->report, &script);
	}
}

static bool goes_elsewhere(const char *name)
{
	return in_list("cd pushd popd", name);
}

static void note_all(struct scan_job *job, const struct scan_code *code)
{
	for (size_t i = 0; i < code->also.count; i++) {
		const struct scan_code also = { .language = code->language,
						.text = code->also.items[i] };

		note(job, &also, true);
	}
	for (unsigned i = 0; code->kind == CODE_MODULE && i < CODE_MODULE_FILES; i++) {
		owned(free_ptr) char *file = scan_code_module_file(code->text, i);
		const struct scan_code of = { .language = SCAN_PYTHON, .text = file };

		note(job, &of, false);
	}
	/* Of programs by name only those matter that lie in the workspace: they are named by a path. */
	if (code->kind == CODE_FILE && (!code->is_program || strchr(code->text, '/')))
		note(job, code, true);
}

void job_script(struct scan_job *job, const struct strv *words, size_t start)
{
	owned(scan_code_done) struct scan_code code = { .kind = CODE_NONE };
	const char *name = command_name(words->items[start]);
	const char *next = start + 1 < words->count ? words->items[start + 1] : NULL;

	if (job->language != SCAN_SHELL)
		return;
	if (goes_elsewhere(name)) {
		move(job, strcmp(name, "popd") == 0 ? NULL : next);
	} else if (next && (strcmp(name, ".") == 0 || strcmp(name, "source") == 0)) {
		code.language = SCAN_SHELL;
		code.text = xstrdup(next);
		note(job, &code, true);
	} else {
		scan_code_find(words, &code);
		note_all(job, &code);
	}
}
