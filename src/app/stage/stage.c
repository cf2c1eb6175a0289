/* SPDX-License-Identifier: Apache-2.0 */
/* Graduated promotion: which bundle, which stages, in which order; how far others are; approvals. */
#include "app/stage/stage.h"

#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/id.h"
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "app/stage/ask_parts.h"
#include "app/trial/gates.h"
#include "app/record/record.h"
#include "app/stage/stage_file.h"
#include "app/change/workspace_parts.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The sandbox as it is now: its names, and its place. */
struct source {
	char *id, *workspace;
};

static void source_done(struct source *source)
{
	free(source->id);
	free(source->workspace);
}

static int read_source(const char *name, struct source *ret_source, struct error *err)
{
	owned(opened_close) struct opened opened;

	opened_init(&opened);
	if (opened_open(&opened, name, SANDBOX_UNLOCKED, err) < 0)
		return -1;
	ret_source->id = xstrdup(opened.sandbox.id);
	ret_source->workspace = xstrdup(opened.sandbox.workspace);
	return 0;
}

static int ignore_text(void *cookie, const char *bytes, size_t len, struct error *err)
{
	(void)cookie;
	(void)bytes;
	(void)len;
	(void)err;
	return 0;
}

/* Whether the sandbox is as it was when SNAPSHOT was taken. */
static bool is_unchanged(const char *sandbox, const char *snapshot)
{
	owned(free_ptr) char *range = xasprintf("%s..", snapshot);
	const struct app_diff diff = { .sandbox = sandbox,
				       .range = range,
				       .form = PATCH_NAME_STATUS,
				       .sink = { .add = ignore_text } };
	struct diff_outcome outcome;
	struct error ignored;

	return app_diff(&diff, &outcome, &ignored) == 0 && !outcome.differs && !outcome.is_partial;
}

/* The bundle this sandbox was last staged as, when it is still that. */
static int find_bundle(struct stage_place *place, const char *sandbox, const struct source *source,
		       bool *ret_found, struct error *err)
{
	owned(strv_done) struct strv names = STRV_INIT;

	*ret_found = false;
	if (stage_place_list(place, &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.count; i++) {
		struct error ignored;

		if (stage_place_open(place, names.items[i], &ignored) < 0 ||
		    strcmp(place->record.sandbox, sandbox) != 0 ||
		    strcmp(place->record.sandbox_id, source->id) != 0)
			continue;
		*ret_found = is_unchanged(sandbox, place->record.snapshot);
		return *ret_found ? stage_place_lock(place, err) : 0;
	}
	return 0;
}

static int make_bundle(struct stage_place *place, const struct app_stage *wish,
		       const struct source *source, const struct stage_file *file,
		       struct error *err)
{
	owned(value_release) struct value *made = NULL;
	char name[ID_SHORT_SIZE];
	const struct app_snap snap = { .sandbox = wish->sandbox,
				       .name = name,
				       .message = "sealed by aisbx stage run",
				       .durable = true };
	struct stage_record like = { .sandbox = NULL };

	stage_record_done(&place->record);
	if (id_short("stage", name, err) < 0 || app_snap(&snap, &made, err) < 0)
		return -1;
	bundle_done(&place->bundle);
	if (stage_seal(wish->sandbox, name, &place->store, &place->bundle, err) < 0 ||
	    stage_file_check_bundle(file, &place->bundle, source->workspace, err) < 0)
		return -1;
	like.sandbox = xstrdup(wish->sandbox);
	like.sandbox_id = xstrdup(source->id);
	like.snapshot = xstrdup(name);
	like.workspace = xstrdup(source->workspace);
	like.pipeline = xstrdup(file->path);
	int status = stage_place_make(place, &like, err);

	stage_record_done(&like);
	return status;
}

/* The stage before must hold this very bundle. */
static int check_before(const struct stage_run *run, size_t index, struct error *err)
{
	const struct pipeline_stage *stage = &run->pipeline->stages[index];
	const struct stage_entry *before;

	if (stage->after == PIPELINE_NONE)
		return 0;
	before = stage_record_find(&run->place->record, run->pipeline->stages[stage->after].name);
	if (before && before->state == STAGE_LIVE)
		return 0;
	return error_set(err, ERROR_CONSENT, "stage %s: bundle %.12s is not live in %s",
			 stage->name, run->place->record.bundle,
			 run->pipeline->stages[stage->after].name);
}

static int check_approval(const struct stage_run *run, const struct pipeline_stage *stage,
			  struct error *err)
{
	struct stage_approvals approvals;

	if (stage->approvals == 0)
		return 0;
	stage_approvals_read(run->place, stage->name, &approvals);
	if (approvals.count >= stage->approvals)
		return 0;
	/* Others do not know the bundle: they need its whole name. */
	return error_set(err, ERROR_CONSENT,
			 "stage %s waits for an approval (%zu of %u, each by another account): "
			 "aisbx stage approve %.*s %s",
			 stage->name, approvals.count, stage->approvals,
			 stage->approvals > 1 ? 64 : 12, run->place->record.bundle, stage->name);
}

/* The entry of a stage; one that is live elsewhere is not moved behind the user's back. */
static int find_entry(const struct stage_run *run, size_t index, struct stage_entry **ret_entry,
		      struct error *err)
{
	const char *name = run->pipeline->stages[index].name;
	const char *target = run->targets[index];
	struct stage_entry *entry = stage_record_find(&run->place->record, name);

	if (!entry)
		entry = stage_record_add(&run->place->record, name, target);
	if (strcmp(entry->target, target) != 0) {
		if (entry->state != STAGE_WAITING && entry->state != STAGE_REFUSED &&
		    entry->state != STAGE_ROLLED_BACK)
			return error_advise(
				err, ERROR_CONFLICT, "take it back first",
				"stage %s of this bundle is %s in %s, and now has another target",
				name, stage_state_name(entry->state), entry->target);
		free(entry->target);
		entry->target = xstrdup(target);
	}
	*ret_entry = entry;
	return 0;
}

/* That it waits stands in the record; why stands in the error already. */
static int keep_waiting(const struct stage_run *run)
{
	struct error ignored;

	(void)stage_place_save(run->place, &ignored);
	return -1;
}

static int run_stage(struct stage_run *run, size_t index, bool *ret_is_live, struct error *err)
{
	struct stage_entry *entry = NULL;

	if (find_entry(run, index, &entry, err) < 0 || !entry || stage_settle(run, entry, err) < 0)
		return -1;
	*ret_is_live = entry->state == STAGE_LIVE;
	if (*ret_is_live)
		return 0;
	if (check_before(run, index, err) < 0 ||
	    check_approval(run, &run->pipeline->stages[index], err) < 0)
		return keep_waiting(run);
	return stage_enter(run, index, ret_is_live, err);
}

static int run_stages(struct stage_run *run, bool *ret_is_live, struct error *err)
{
	const struct pipeline *pipeline = run->pipeline;
	size_t to = run->wish->to ? pipeline_find(pipeline, run->wish->to, err) : PIPELINE_NONE;

	*ret_is_live = true;
	for (size_t i = 0; i < pipeline->count && *ret_is_live; i++) {
		size_t index = pipeline->order[i];

		if (stage_file_is_wanted(pipeline, index, to) &&
		    run_stage(run, index, ret_is_live, err) < 0)
			return -1;
	}
	return 0;
}

static int run_bundle(const struct app_stage *wish, const struct stage_file *file,
		      struct stage_place *place, struct value **ret_answer, struct error *err)
{
	owned(strv_done) struct strv gates = STRV_INIT;
	struct stage_run run = { .wish = wish,
				 .place = place,
				 .pipeline = &file->pipeline,
				 .targets = file->targets,
				 .gates = value_new_list() };
	bool is_live = false;
	int status;

	status = app_gates_of(wish->sandbox, &gates, &run.tests, err);
	if (status == 0)
		status = run_stages(&run, &is_live, err);
	strv_done(&run.tests);
	if (status < 0 && err->code != ERROR_CONSENT && err->code != ERROR_DENIED &&
	    err->code != ERROR_CONFLICT) {
		value_free(run.gates);
		return -1;
	}
	*ret_answer = stage_describe(place);
	value_set(*ret_answer, "outcome",
		  value_new_text(status < 0 ? "refused"
				 : is_live  ? "live"
					    : "rolled-back"));
	value_set(*ret_answer, "gates", run.gates);
	return status;
}

/* Stages on the way, in the order they are entered in. */
static struct value *list_stages(const struct stage_file *file, const char *last)
{
	const struct pipeline *pipeline = &file->pipeline;
	struct error ignored;
	size_t to = last ? pipeline_find(pipeline, last, &ignored) : PIPELINE_NONE;
	struct value *list = value_new_list();

	for (size_t i = 0; i < pipeline->count; i++) {
		size_t index = pipeline->order[i];

		if (!stage_file_is_wanted(pipeline, index, to))
			continue;
		struct value *row = value_append(list, value_new_map());

		value_add(row, "name", value_new_text(pipeline->stages[index].name));
		value_add(row, "target", value_new_text(file->targets[index]));
	}
	return list;
}

/* The same bundle, and the same stages in the same places, as were shown: either may have changed since. */
static int check_expected(const struct app_stage *wish, const struct stage_file *file,
			  const char *bundle, struct error *err)
{
	owned(str_done) struct str shown = STR_INIT, now = STR_INIT;

	if (wish->bundle && (!bundle || strcmp(bundle, wish->bundle) != 0))
		return error_advise(err, ERROR_CONFLICT, "ask again",
				    "the sandbox has changed since it was asked about");
	if (!wish->stages)
		return 0;
	owned(value_release) struct value *stages = list_stages(file, wish->to);

	json_write(&shown, wish->stages, 0);
	json_write(&now, stages, 0);
	if (strcmp(str_cstr(&shown), str_cstr(&now)) != 0)
		return error_advise(err, ERROR_CONFLICT, "ask again",
				    "the pipeline has changed since it was asked about");
	return 0;
}

/*
 * Commits go to one stage, the sandbox's own workspace, and as they are. An approval is of a bundle, which has the files,
 * and of a git directory that lies elsewhere nothing.
 */
static int check_commits(const struct app_stage *wish, const struct stage_file *file,
			 const char *workspace, struct error *err)
{
	const struct pipeline *pipeline = &file->pipeline;
	bool found = !wish->commits;

	for (size_t i = 0; wish->commits && i < pipeline->count; i++) {
		const struct pipeline_stage *stage = &pipeline->stages[i];

		if (!file->targets[i] || strcmp(file->targets[i], workspace) != 0)
			continue;
		if (stage->strategy || stage->swap || stage->approvals > 0)
			return error_set(err, ERROR_USAGE,
					 "--commits takes the commits of the sandbox's branch as "
					 "they are: stage %s has a strategy, a mode or approvals, "
					 "which are about files",
					 stage->name);
		found = true;
	}
	return found ? 0
		     : error_set(err, ERROR_USAGE,
				 "--commits: no stage on the way is %s itself, where its commits "
				 "could go",
				 workspace);
}

/* The pipeline, and the bundle sealed in its place. */
static int prepare(const struct app_stage *wish, struct stage_file *file, struct stage_place *place,
		   struct error *err)
{
	owned(source_done) struct source source = { NULL, NULL };
	bool found = false;

	if (read_source(wish->sandbox, &source, err) < 0 ||
	    stage_file_read(file, wish, source.workspace, err) < 0 ||
	    stage_file_find_targets(file, wish->to, source.workspace, err) < 0 ||
	    check_commits(wish, file, source.workspace, err) < 0 ||
	    find_bundle(place, wish->sandbox, &source, &found, err) < 0 ||
	    check_expected(wish, file, found ? place->record.bundle : NULL, err) < 0)
		return -1;
	return found ? stage_file_check_bundle(file, &place->bundle, source.workspace, err)
		     : make_bundle(place, wish, &source, file, err);
}

/* Before any stage is entered: its checks look at the files of the bundle, and the branch brings its commits. */
static int check_tip(const struct app_stage *wish, const struct stage_record *record,
		     struct error *err)
{
	owned(free_ptr) char *sealed = xasprintf("%s@%s", record->sandbox, record->snapshot);

	return wish->commits ? app_commits_check(sealed, wish->environ, err) : 0;
}

int app_stage_run(const struct app_stage *wish, struct value **ret_answer, struct error *err)
{
	owned(stage_place_close) struct stage_place place;
	owned(stage_file_done) struct stage_file file;

	stage_place_init(&place);
	stage_file_init(&file);
	if (prepare(wish, &file, &place, err) < 0 || check_tip(wish, &place.record, err) < 0)
		return -1;
	return run_bundle(wish, &file, &place, ret_answer, err);
}

int app_stage_look(const struct app_stage *wish, struct value **ret_answer, struct error *err)
{
	owned(stage_place_close) struct stage_place place;
	owned(stage_file_done) struct stage_file file;
	owned(strv_done) struct strv paths = STRV_INIT;

	stage_place_init(&place);
	stage_file_init(&file);
	if (prepare(wish, &file, &place, err) < 0)
		return -1;
	*ret_answer = value_new_map();
	value_add(*ret_answer, "bundle", value_new_text(place.record.bundle));
	value_add(*ret_answer, "snapshot", value_new_text(place.record.snapshot));
	value_add(*ret_answer, "stages", list_stages(&file, wish->to));
	value_add(*ret_answer, "files", value_new_int((int64_t)place.bundle.count));
	for (size_t i = 0; i < place.bundle.count && i < TOLD_PATHS; i++)
		strv_add(&paths, place.bundle.items[i].path);
	value_add(*ret_answer, "paths", workspace_paths(&paths));
	return 0;
}

void app_stage_let_go(const char *bundle)
{
	owned(stage_place_close) struct stage_place place;
	struct error ignored;

	stage_place_init(&place);
	if (stage_place_open(&place, bundle, &ignored) == 0 &&
	    stage_place_lock(&place, &ignored) == 0 && place.record.count == 0)
		(void)app_snap_drop(place.record.sandbox, place.record.snapshot, &ignored);
}

int app_stage_status(const char *bundle, struct value **ret_answer, struct error *err)
{
	owned(stage_place_close) struct stage_place place;
	owned(strv_done) struct strv names = STRV_INIT;

	stage_place_init(&place);
	if (bundle) {
		if (stage_place_open(&place, bundle, err) < 0)
			return -1;
		*ret_answer = stage_describe(&place);
		return 0;
	}
	if (stage_place_list(&place, &names, err) < 0)
		return -1;
	*ret_answer = value_new_list();
	for (size_t i = 0; i < names.count; i++) {
		struct error ignored;

		/* One that is damaged hides no other. */
		if (stage_place_open(&place, names.items[i], &ignored) == 0)
			value_append(*ret_answer, stage_describe(&place));
	}
	return 0;
}

static int write_approval(const struct stage_place *place, const char *stage,
			  const struct value *approval, struct error *err)
{
	owned(free_ptr) char *name = xasprintf("approved-%s", stage);
	owned(str_done) struct str text = STR_INIT;

	json_write(&text, approval, 0);
	return store_replace(place->dir_fd, name, str_cstr(&text), text.len, true, err);
}

/* The stage must be one of the bundle's pipeline as that is now, or one it was in. */
static int check_stage(const struct stage_place *place, const char *stage, struct error *err)
{
	owned(pipeline_done) struct pipeline pipeline;
	owned(str_done) struct str text = STR_INIT;

	pipeline_init(&pipeline);
	if (stage_record_find(&place->record, stage))
		return 0;
	if (file_read(AT_FDCWD, place->record.pipeline, (size_t)1 << 20, &text, err) < 0 ||
	    pipeline_read(str_cstr(&text), text.len, place->record.pipeline, &pipeline, err) < 0)
		return -1;
	return pipeline_find(&pipeline, stage, err) == PIPELINE_NONE ? -1 : 0;
}

int app_stage_approve(const char *bundle, const char *stage, struct value **ret_answer,
		      struct error *err)
{
	owned(stage_place_close) struct stage_place place;
	owned(value_release) struct value *approval = value_new_map();
	struct record_event event = { .kind = "approval" };

	stage_place_init(&place);
	bool is_other = stage_place_open(&place, bundle, err) < 0;

	if (is_other &&
	    (err->code != ERROR_NOT_FOUND || stage_approval_leave(bundle, stage, err) < 0))
		return -1;
	if (!is_other && check_stage(&place, stage, err) < 0)
		return -1;
	value_add(approval, "bundle", value_new_text(is_other ? bundle : place.record.bundle));
	value_add(approval, "stage", value_new_text(stage));
	value_add(approval, "uid", value_new_int(getuid()));
	value_add(approval, "time", workspace_time(clock_epoch_ms()));
	if (!is_other && write_approval(&place, stage, approval, err) < 0)
		return -1;
	event.sandbox = is_other ? NULL : place.record.sandbox;
	event.id = is_other ? bundle : place.record.bundle;
	event.body = approval;
	record_event(&event);
	*ret_answer = ptr_take(&approval);
	return 0;
}
