/* The only place where the parts meet: request to spec, spec to run, run to record. */
#include "engine/engine.h"

#include "base/clock.h"
#include "base/id.h"
#include "base/own.h"
#include "base/price.h"
#include "engine/profile_load.h"
#include "engine/record.h"
#include "engine/surroundings.h"
#include "driver/driver.h"
#include "plan/plan.h"
#include "run/run.h"
#include "workspace/change.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In the hot program: a seccomp file or a profile that is not built in is for aisbx-more. */
static bool needs_libraries(const struct request *request, const char *workspace)
{
	return !engine_reads_yaml &&
	       (request->flags.seccomp || engine_profile_needs_yaml(request, workspace));
}

static int make_spec(const struct request *request, const struct surroundings *around,
		     struct spec *ret_spec, struct error *err)
{
	owned(settings_done) struct settings profile;
	owned(strv_done) struct strv notes = STRV_INIT;

	settings_init(&profile);
	if (needs_libraries(request, around->paths.workspace))
		return error_set(err, ERROR_LIBRARIES, "this needs aisbx-more");
	if (engine_load_profile(request, around->paths.workspace, &profile, &notes, err) < 0)
		return -1;
	if (plan_make(request, &profile, &around->host, &around->paths, ret_spec, err) < 0)
		return -1;
	strv_copy(&ret_spec->notes, &notes);
	return 0;
}

int engine_plan(const struct request *request, struct spec *ret_spec, struct error *err)
{
	owned(surroundings_done) struct surroundings around;

	if (surroundings_read(request, &around, err) < 0)
		return -1;
	return make_spec(request, &around, ret_spec, err);
}

struct inspection {
	const struct spec *spec;
	bool list;
};

/* Each is a letter, a tab and a path. A path stands at most twice: deleted, and made anew as another kind. */
static int compare_changes(const void *left, const void *right)
{
	const char *const *a = left, *const *b = right;
	int order = strcmp(*a + 2, *b + 2);

	return order ? order : strcmp(*b, *a);
}

/* Counts what the sandbox wrote, layer by layer, while the layers still exist. */
static void count_changes(const struct task *task, struct run_result *result, void *cookie)
{
	const struct inspection *inspection = cookie;
	const struct spec *spec = inspection->spec;
	struct change_scan scan = {
		.workspace = spec->workspace,
		.user_xattr = spec->root != ROOT_IDMAPPED,
		.list = inspection->list ? &result->changed : NULL,
	};

	for (size_t i = 0; task->upper_fd >= 0 && i < task->upper_paths.count; i++) {
		char name[24];

		if (!task->upper_paths.items[i][0])
			continue;
		(void)snprintf(name, sizeof(name), "u%zu", i);
		owned(fd_close) int layer = openat(task->upper_fd, name,
						   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		scan.lower = task->upper_paths.items[i];
		if (layer >= 0)
			change_scan_layer(&scan, layer);
	}
	result->changes = (struct change_counts){ scan.inside.added, scan.inside.modified,
						  scan.inside.deleted };
	result->changes_outside = (struct change_counts){ scan.outside.added, scan.outside.modified,
							  scan.outside.deleted };
	/* A directory gives its entries in any order; scripts want the same one every time. */
	if (result->changed.count > 1)
		qsort(result->changed.items, result->changed.count, sizeof(char *),
		      compare_changes);
	if (scan.is_partial)
		strv_add(&result->notes, "too much was changed to count all of it");
}

static void name_result(const struct spec *spec, struct run_result *result)
{
	result->run_id = xstrdup(spec->run_id);
	result->sandbox = xstrdup(spec->sandbox);
	result->trace_id = spec->trace_id ? xstrdup(spec->trace_id) : NULL;
	result->driver = xstrdup(spec->driver);
	strv_copy(&result->command, &spec->command);
	strv_copy(&result->notes, &spec->notes);
}

static int run_recorded(const struct spec *spec, const struct engine_run_options *options,
			uint64_t asked_ns, struct run_result *result, struct error *err)
{
	struct inspection inspection = { spec, options->list_changes };
	struct run_options run_options = { .capture = options->capture,
					   .asked_ns = asked_ns,
					   .inspect = count_changes,
					   .cookie = &inspection };
	const struct driver *driver = driver_find(spec->driver);
	owned(fd_close) int spool_fd = -1;
	struct error ignored;
	int status;

	if (!driver)
		return error_set(err, ERROR_DENIED, "no driver '%s' in this build", spec->driver);
	if (!price_without("history") && record_start(spec, &spool_fd, err) < 0)
		return -1;
	status = run_execute(driver, spec, &run_options, result, err);
	if (status < 0 && !result->message)
		result->message = xstrdup(err->text);
	/* The command has run: a full disk now is no reason to lose its result. */
	if (spool_fd >= 0)
		(void)record_end(result, spool_fd, &ignored);
	return status;
}

int engine_run(const struct request *request, const struct engine_run_options *options,
	       struct run_result *ret_result, struct error *err)
{
	owned(surroundings_done) struct surroundings around;
	owned(spec_done) struct spec spec;
	uint64_t asked_ns = clock_now_ns();

	spec_init(&spec);
	ret_result->status = RUN_DENIED;
	strv_copy(&ret_result->command, &request->command);
	if (surroundings_read(request, &around, err) < 0)
		return -1;
	if (make_spec(request, &around, &spec, err) < 0)
		return -1;
	strv_done(&ret_result->command);
	name_result(&spec, ret_result);
	return run_recorded(&spec, options, asked_ns, ret_result, err);
}
