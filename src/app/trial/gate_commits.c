/* SPDX-License-Identifier: Apache-2.0 */
/* Checks look at a sandbox's files, a promotion of commits brings its branch: both have to be the same. */
#include "app/trial/gates.h"

#include "base/core/id.h"
#include "base/core/own.h"
#include "app/change/workspace_parts.h"
#include "app/trial/trial.h"

#include <string.h>

#define SHOWN_FILES 5

/*
 * Against an index that is read anew from the tip: the sandbox's own may call files unchanged or leave them out. What
 * git answers is as good as a cmd: gate, which runs the sandbox's programs, too.
 */
static const char script[] =
	"cd \"$1\" && unset $(git rev-parse --local-env-vars) && dir=$(mktemp -d) &&\n"
	"export GIT_INDEX_FILE=\"$dir/index\" || exit 3\n"
	"ours() { git -c core.fsmonitor=false -c core.sparseCheckout=false \"$@\"; }\n"
	"ours read-tree HEAD || exit 3\n"
	"ours update-index -q --refresh >/dev/null\n"
	"ours diff-index --name-only --no-renames --no-ext-diff HEAD || exit 3\n";

static int find_workspace(const char *given, char **ret_path, struct error *err)
{
	owned(free_ptr) char *name = NULL, *snapshot = NULL;
	owned(opened_close) struct opened opened;

	opened_init(&opened);
	workspace_split_name(given, &name, &snapshot);
	if (opened_open(&opened, name, SANDBOX_UNLOCKED, err) < 0)
		return -1;
	*ret_path = xstrdup(opened.sandbox.workspace);
	return 0;
}

/* The first of the paths in TEXT, one a line. */
static void list_files(const char *text, struct str *ret_list)
{
	char shown[STR_SHOWN_SIZE];
	size_t count = 0;

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		owned(free_ptr) char *path = xstrndup(text, strcspn(text, "\n"));

		if (count++ < SHOWN_FILES)
			str_addf(ret_list, "%s%s", count > 1 ? ", " : "", str_shown(path, shown));
	}
	if (count > SHOWN_FILES)
		str_addf(ret_list, " and %zu more", count - SHOWN_FILES);
}

int app_commits_check(const char *sandbox, const char *const *environ, struct error *err)
{
	const struct app_run_options options = { .capture = true };
	owned(run_result_done) struct run_result result;
	owned(request_done) struct request request;
	owned(str_done) struct str files = STR_INIT;
	owned(free_ptr) char *workspace = NULL;
	char fork_name[ID_SHORT_SIZE];

	run_result_init(&result);
	request_init(&request);
	if (find_workspace(sandbox, &workspace, err) < 0 || id_short("gate", fork_name, err) < 0)
		return -1;
	strv_add_script(&request.command, script);
	strv_add(&request.command, "sh");
	strv_add(&request.command, workspace);
	request.environ = environ;
	if (app_run_in_fork(sandbox, fork_name, &request, &options, &result, err) < 0)
		return -1;
	if (result.status != RUN_SUCCESS)
		return error_set(err, ERROR_CONFLICT,
				 "git in %s does not tell whether its files are those of its "
				 "branch, so no check can speak for its commits: see aisbx logs %s",
				 sandbox, result.run_id);
	list_files(str_cstr(&result.out.kept), &files);
	if (files.len == 0)
		return 0;
	return error_advise(err, ERROR_CONFLICT, "commit or stash them in the sandbox",
			    "the files that are checked are not what the commits of %s bring: "
			    "not committed are the changes of %s",
			    sandbox, str_cstr(&files));
}
