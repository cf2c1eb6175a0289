/* SPDX-License-Identifier: Apache-2.0 */
/* One stage: checked before, applied, checked after, taken back; each step on disk before it begins. */
#include "app/stage/stage_parts.h"

#include "base/core/clock.h"
#include "base/core/id.h"
#include "base/core/own.h"
#include "app/trial/gates.h"
#include "app/record/record.h"
#include "app/change/workspace.h"
#include "decide/gate/gate.h"
#include "workspace/promote/promote.h"
#include "workspace/promote/promotions.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static void record_stage(const struct stage_run *run, const struct stage_entry *entry)
{
	owned(value_release) struct value *body = value_new_map();
	const struct record_event event = { .kind = "stage",
					    .sandbox = run->place->record.sandbox,
					    .id = run->place->record.bundle,
					    .body = body };

	value_add(body, "stage", value_new_text(entry->name));
	value_add(body, "state", value_new_text(stage_state_name(entry->state)));
	value_add(body, "target", value_new_text(entry->target));
	value_add(body, "promotion_id", value_new_text(entry->promotion));
	value_add(body, "reason", value_new_text(entry->reason));
	record_event(&event);
	if (run->wish->progress)
		run->wish->progress(entry->name, stage_state_name(entry->state), run->wish->cookie);
}

/* A step, on disk and reported. */
static int step(struct stage_run *run, struct stage_entry *entry, enum stage_state state,
		const char *reason, struct error *err)
{
	if (stage_entry_move(entry, state, reason, err) < 0 ||
	    stage_place_save(run->place, err) < 0)
		return -1;
	record_stage(run, entry);
	return 0;
}

/* The copy of a clone that a check runs in. */
static char *copy_of(const char *clone)
{
	return xasprintf("%s-check", clone);
}

static bool is_gone(const char *sandbox)
{
	struct error err = { 0 };

	return app_remove(sandbox, &err) == 0 || err.code == ERROR_NOT_FOUND;
}

/* One that cannot be removed stays in the record: the next run tries again. */
static void drop_clone(struct stage_run *run, struct stage_entry *entry)
{
	struct error ignored;

	if (!entry->clone)
		return;
	owned(free_ptr) char *copy = copy_of(entry->clone);

	if (!is_gone(copy) || !is_gone(entry->clone))
		return;
	free_ptr(&entry->clone);
	(void)stage_place_save(run->place, &ignored);
}

/* A name of its own, kept before it is made: after a kill the next command can remove it. */
static int make_clone(struct stage_run *run, struct stage_entry *entry, struct error *err)
{
	char id[ID_SHORT_SIZE];

	drop_clone(run, entry);
	if (entry->clone)
		return error_advise(err, ERROR_HOST, "remove it with aisbx rm",
				    "the clone %s of an earlier check is still there",
				    entry->clone);
	if (id_short("", id, err) < 0)
		return -1;
	entry->clone = xasprintf("%.9s.%s%s", run->place->record.sandbox, entry->name, id);
	if (stage_place_save(run->place, err) < 0)
		return -1;
	return stage_clone(run, entry->clone, entry->target, err);
}

struct checking {
	const char *stage, *when; /* "pre", "post" */
	const char *clone, *target;
	bool on_host; /* commands run there */
	uint64_t until_ns;
};

/* In the clone; but what is about runs, not about files, is about those of the sandbox itself. */
static int check_inside(struct stage_run *run, const struct checking *how, const struct gate *gate,
			uint64_t time_ms, struct gate_verdict *ret_verdict, struct error *err)
{
	const bool is_about_runs = gate->kind == GATE_NETWORK ||
				   (gate->kind == GATE_METRIC && gate->metric != METRIC_FILES &&
				    gate->metric != METRIC_LINES);
	const struct strv one = { .items = (char *[]){ gate->text, NULL }, .count = 1 };
	owned(value_release) struct value *answer = NULL;
	owned(free_ptr) char *copy = copy_of(how->clone);
	const struct app_gates gates = {
		.sandbox = is_about_runs ? run->place->record.sandbox : how->clone,
		.exprs = &one,
		.tests = &run->tests,
		.environ = run->wish->environ,
		.fork_name = copy,
		.time_ms = time_ms,
		.owner = run->wish->owner,
		.owner_bytes = run->wish->owner_bytes,
	};
	const struct value *row;

	if (app_gate_check(&gates, &answer, &ret_verdict->holds, err) < 0)
		return -1;
	row = value_get(answer, "gates")->many.items[0];
	ret_verdict->evidence = xstrdup(value_get_text(row, "evidence"));
	return 0;
}

static int decide(struct stage_run *run, const struct checking *how, const char *expr,
		  struct gate_verdict *ret_verdict, struct error *err)
{
	const uint64_t now_ns = clock_now_ns();
	const uint64_t time_ms = now_ns < how->until_ns ? (how->until_ns - now_ns) / 1000000 : 0;
	struct gate gate;
	int status;

	if (time_ms == 0) {
		ret_verdict->evidence = xstrdup("the stage's timeout is over");
		return 0;
	}
	if (gate_parse(expr, &gate, err) < 0)
		return -1;
	status = how->on_host && gate.kind == GATE_COMMAND
			 ? stage_check_on_host(gate_command(&gate), how->target, time_ms,
					       ret_verdict, err)
			 : check_inside(run, how, &gate, time_ms, ret_verdict, err);
	gate_done(&gate);
	return status;
}

/* One gate; its row goes to the answer, and its words to *ret_reason when it does not hold. */
static int check(struct stage_run *run, const struct checking *how, const char *expr,
		 char **ret_reason, struct error *err)
{
	struct gate_verdict verdict = { .holds = false };
	struct value *row;

	if (decide(run, how, expr, &verdict, err) < 0) {
		free(verdict.evidence);
		return error_context(err, "stage %s", how->stage);
	}
	row = value_append(run->gates, value_new_map());
	value_add(row, "stage", value_new_text(how->stage));
	value_add(row, "when", value_new_text(how->when));
	value_add(row, "expr", value_new_text(expr));
	value_add(row, "holds", value_new_bool(verdict.holds));
	value_add(row, "evidence", value_new_text(verdict.evidence));
	if (!verdict.holds)
		*ret_reason = xasprintf("%s check '%s' does not hold: %s", how->when, expr,
					verdict.evidence);
	free(verdict.evidence);
	return 0;
}

/* Commands begin at the target's top, wherever the caller stands. */
static int check_all(struct stage_run *run, const struct strv *exprs, const struct checking *how,
		     char **ret_reason, struct error *err)
{
	owned(fd_close) int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int status = 0;

	if (chdir(how->target) < 0)
		return error_errno(err, ERROR_HOST, "%s", how->target);
	for (size_t i = 0; i < exprs->count && status == 0 && !*ret_reason; i++)
		status = check(run, how, exprs->items[i], ret_reason, err);
	if (here >= 0 && fchdir(here) < 0 && status == 0)
		return error_errno(err, ERROR_HOST, "cannot go back from %s", how->target);
	return status;
}

static bool is_own_workspace(const struct stage_run *run, const struct stage_entry *entry)
{
	return strcmp(entry->target, run->place->record.workspace) == 0;
}

static bool takes_commits(const struct stage_run *run, const struct stage_entry *entry)
{
	return run->wish->commits && is_own_workspace(run, entry);
}

/*
 * To the sandbox's own workspace goes the sandbox itself, whose base follows, or the commits of its branch; to any other
 * target the clone, which is that target with the bundle on it.
 */
static int promote(struct stage_run *run, const struct pipeline_stage *stage,
		   const struct stage_entry *entry, bool dry_run, struct value **ret_answer,
		   struct error *err)
{
	bool is_own = is_own_workspace(run, entry);
	struct app_promote wish = {
		.sandbox = is_own ? run->place->record.sandbox : entry->clone,
		.request.snapshot = is_own ? run->place->record.snapshot : NULL,
		.strategy = is_own ? stage->strategy : NULL,
		.request.agreed = run->wish->agreed,
		.request.rules = run->place->record.workspace,
		.ignored = run->wish->ignored,
		.commits = takes_commits(run, entry),
		.request.swap = stage->swap,
		.request.digest = dry_run ? NULL : entry->digest,
		.request.dry_run = dry_run,
		.stage = stage->name,
		.gates = run->gates,
	};
	owned(value_release) struct value *approved = NULL;
	struct stage_approvals approvals;

	stage_approvals_read(run->place, stage->name, &approvals);
	approved = stage_approvals_rows(&approvals);
	wish.approvals = approved;
	if (run->wish->allow_paths)
		wish.request.allow_paths = *run->wish->allow_paths;
	return app_promote(&wish, ret_answer, err);
}

/* Refuses: with the reason in the record and in ERR, which keeps its code. */
static int refuse(struct stage_run *run, struct stage_entry *entry, struct error *err)
{
	owned(free_ptr) char *why = xstrdup(err->text);
	struct error saving;

	drop_clone(run, entry);
	if (err->code == ERROR_CONFLICT || err->code == ERROR_CONSENT || err->code == ERROR_DENIED)
		(void)step(run, entry, STAGE_REFUSED, why, &saving);
	return error_context(err, "stage %s", entry->name);
}

static bool wants_something(const struct value *answer)
{
	static const char *const lists[] = { "applied", "merged" };

	for (size_t i = 0; i < 2; i++) {
		const struct value *list = value_get(answer, lists[i]);

		if (list && list->many.count > 0)
			return true;
	}
	return false;
}

static int look_ahead(struct stage_run *run, const struct pipeline_stage *stage,
		      struct stage_entry *entry, bool *ret_has_work, struct error *err)
{
	owned(value_release) struct value *answer = NULL;
	/* Files of the host stay where commits go: the checks look at what the branch brings. */
	const char *strategy = takes_commits(run, entry) ? "theirs" : stage->strategy;
	const char *digest;

	if (make_clone(run, entry, err) < 0 ||
	    stage_clone_fill(run, entry->clone, entry->target, strategy, err) < 0 ||
	    promote(run, stage, entry, true, &answer, err) < 0)
		return -1;
	*ret_has_work = wants_something(answer);
	entry->ignored = (uint64_t)value_int_of(answer, "ignored");
	digest = value_get_text(answer, "bundle");
	free(entry->digest);
	entry->digest = digest ? xstrdup(digest) : NULL;
	return 0;
}

static int precheck(struct stage_run *run, const struct pipeline_stage *stage,
		    struct stage_entry *entry, bool *ret_has_work, struct error *err)
{
	struct checking how = { .stage = stage->name, .when = "pre", .target = entry->target };
	owned(free_ptr) char *reason = NULL;

	free_ptr(&entry->promotion);
	if (step(run, entry, STAGE_PRECHECKING, NULL, err) < 0)
		return -1;
	if (look_ahead(run, stage, entry, ret_has_work, err) < 0)
		return refuse(run, entry, err);
	how.clone = entry->clone;
	how.until_ns = clock_now_ns() + stage->timeout_ms * 1000000;
	if (check_all(run, &stage->pre, &how, &reason, err) < 0)
		return refuse(run, entry, err);
	if (!reason)
		return 0;
	error_set(err, ERROR_CONSENT, "%s", reason);
	return refuse(run, entry, err);
}

static int apply(struct stage_run *run, const struct pipeline_stage *stage,
		 struct stage_entry *entry, bool has_work, struct error *err)
{
	owned(value_release) struct value *answer = NULL;
	const char *id;

	if (step(run, entry, STAGE_APPLYING, NULL, err) < 0)
		return -1;
	/* All of it is there already: nothing to apply, nothing to take back. */
	if (!has_work)
		return 0;
	if (promote(run, stage, entry, false, &answer, err) < 0)
		return refuse(run, entry, err);
	id = value_get_text(answer, "promotion_id");
	entry->promotion = id ? xstrdup(id) : NULL;
	return 0;
}

static int take_back(struct stage_run *run, struct stage_entry *entry, const char *reason,
		     struct error *err)
{
	owned(value_release) struct value *answer = NULL;
	bool is_undone = !entry->promotion;

	if (step(run, entry, STAGE_UNDOING, reason, err) < 0)
		return -1;
	if (entry->promotion && stage_is_undone(entry->promotion, &is_undone, err) < 0)
		return -1;
	if (!is_undone && app_undo(entry->promotion, &answer, err) < 0)
		return error_context(err, "stage %s failed and cannot be taken back", entry->name);
	return step(run, entry, STAGE_ROLLED_BACK, reason, err);
}

/* A check that cannot be made has failed. */
static int postcheck(struct stage_run *run, const struct pipeline_stage *stage,
		     struct stage_entry *entry, bool *ret_is_live, struct error *err)
{
	struct checking how = { .stage = stage->name,
				.when = "post",
				.target = entry->target,
				.on_host = stage->on_host };
	owned(free_ptr) char *reason = NULL;
	struct error failed = { 0 };

	if (step(run, entry, STAGE_POSTCHECKING, NULL, err) < 0)
		return -1;
	if (stage->post.count > 0 && make_clone(run, entry, &failed) < 0)
		reason = xstrdup(failed.text);
	how.clone = entry->clone;
	how.until_ns = clock_now_ns() + stage->timeout_ms * 1000000;
	if (!reason && check_all(run, &stage->post, &how, &reason, &failed) < 0 && !reason)
		reason = xstrdup(failed.text);
	drop_clone(run, entry);
	*ret_is_live = !reason;
	if (!reason && stage->keep > 0)
		promotion_keep(&run->place->store, entry->target, stage->keep);
	return reason ? take_back(run, entry, reason, err)
		      : step(run, entry, STAGE_LIVE, NULL, err);
}

/* What was being applied either was, and then there is a promotion of that digest, or it was not. */
static int settle_applying(struct stage_run *run, struct stage_entry *entry, struct error *err)
{
	owned(value_release) struct value *list = NULL;

	if (app_promotions(&list, err) < 0)
		return -1;
	for (size_t i = 0; i < list->many.count; i++) {
		const struct value *row = list->many.items[i];
		const char *digest = value_get_text(row, "bundle");
		const char *state = value_get_text(row, "state");
		const char *target = value_get_text(row, "workspace");

		if (!target)
			target = value_get_text(row, "target");
		if (!entry->digest || !digest || !state || !target ||
		    strcmp(digest, entry->digest) != 0 || strcmp(target, entry->target) != 0 ||
		    strcmp(state, "live") != 0)
			continue;
		free(entry->promotion);
		entry->promotion = xstrdup(value_get_text(row, "promotion_id"));
		return step(run, entry, STAGE_POSTCHECKING, NULL, err);
	}
	return step(run, entry, STAGE_PRECHECKING, NULL, err);
}

int stage_is_undone(const char *id, bool *ret_is_undone, struct error *err)
{
	owned(value_release) struct value *list = NULL;

	if (app_promotions(&list, err) < 0)
		return -1;
	*ret_is_undone = false;
	for (size_t i = 0; i < list->many.count; i++) {
		const char *found = value_get_text(list->many.items[i], "promotion_id");
		const char *state = value_get_text(list->many.items[i], "state");

		if (found && state && strcmp(found, id) == 0)
			*ret_is_undone = strcmp(state, "undone") == 0;
	}
	return 0;
}

int stage_settle(struct stage_run *run, struct stage_entry *entry, struct error *err)
{
	owned(free_ptr) char *reason = entry->reason ? xstrdup(entry->reason) : NULL;
	bool is_undone = false;

	drop_clone(run, entry);
	if (entry->state == STAGE_APPLYING)
		return settle_applying(run, entry, err);
	if (entry->state == STAGE_UNDOING)
		return take_back(run, entry, reason, err);
	if (entry->state != STAGE_LIVE || !entry->promotion)
		return 0;
	if (stage_is_undone(entry->promotion, &is_undone, err) < 0)
		return -1;
	if (is_undone)
		return step(run, entry, STAGE_ROLLED_BACK, "taken back by aisbx undo", err);
	return 0;
}

int stage_enter(struct stage_run *run, size_t index, bool *ret_is_live, struct error *err)
{
	const struct pipeline_stage *stage = &run->pipeline->stages[index];
	struct stage_entry *entry = stage_record_find(&run->place->record, stage->name);
	bool has_work = true;

	if (entry->state != STAGE_POSTCHECKING &&
	    (precheck(run, stage, entry, &has_work, err) < 0 ||
	     apply(run, stage, entry, has_work, err) < 0))
		return -1;
	return postcheck(run, stage, entry, ret_is_live, err);
}
