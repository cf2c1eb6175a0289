/* One stage: checked before, applied, checked after, taken back; each step on disk before it begins. */
#include "engine/stage_parts.h"

#include "base/clock.h"
#include "base/id.h"
#include "base/own.h"
#include "engine/gates.h"
#include "engine/record.h"
#include "engine/workspace.h"
#include "gate/gate.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static void tell(const struct stage_run *run, const struct stage_entry *entry)
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

/* A step, on disk and told. */
static int step(struct stage_run *run, struct stage_entry *entry, enum stage_state state,
		const char *reason, struct error *err)
{
	if (stage_entry_move(entry, state, reason, err) < 0 ||
	    stage_place_save(run->place, err) < 0)
		return -1;
	tell(run, entry);
	return 0;
}

/* The copy of a clone that a check runs in. */
static char *copy_of(const char *clone)
{
	return xasprintf("%s-check", clone);
}

static void drop_clone(struct stage_run *run, struct stage_entry *entry)
{
	struct error ignored;

	if (!entry->clone)
		return;
	owned(free_ptr) char *copy = copy_of(entry->clone);

	(void)engine_remove(copy, &ignored);
	(void)engine_remove(entry->clone, &ignored);
	free_ptr(&entry->clone);
	(void)stage_place_save(run->place, &ignored);
}

/* A name of its own, kept before it is made: whoever comes after a kill can remove it. */
static int make_clone(struct stage_run *run, struct stage_entry *entry, struct error *err)
{
	char id[ID_SHORT_SIZE];

	drop_clone(run, entry);
	if (id_short("", id, err) < 0)
		return -1;
	entry->clone = xasprintf("%.9s.%s%s", run->place->record.sandbox, entry->name, id);
	if (stage_place_save(run->place, err) < 0)
		return -1;
	return stage_clone(run, entry->clone, entry->target, err);
}

/* What is about the runs of the sandbox itself, not about files. */
static bool is_about_runs(const char *expr)
{
	struct error ignored;
	struct gate gate;
	bool is;

	if (gate_parse(expr, &gate, &ignored) < 0)
		return false;
	is = gate.kind == GATE_NETWORK ||
	     (gate.kind == GATE_METRIC && gate.metric != METRIC_FILES &&
	      gate.metric != METRIC_LINES);
	gate_done(&gate);
	return is;
}

struct checking {
	const char *stage, *when; /* "pre", "post" */
	const char *clone;
	uint64_t until_ns;
};

/* One gate; its row goes to the answer, and its words to REASON when it does not hold. */
static int check(struct stage_run *run, const struct checking *how, char *expr, char **ret_reason,
		 struct error *err)
{
	const struct strv one = { .items = (char *[]){ expr, NULL }, .count = 1 };
	uint64_t now_ns = clock_now_ns();
	struct engine_gates gates = { .exprs = &one,
				      .tests = &run->tests,
				      .environ = run->wish->environ };
	owned(value_release) struct value *answer = NULL;
	owned(free_ptr) char *copy = how->clone ? copy_of(how->clone) : NULL;
	struct value *row;
	bool pass = false;

	if (now_ns >= how->until_ns) {
		*ret_reason =
			xasprintf("%s check '%s': the stage's timeout is over", how->when, expr);
		return 0;
	}
	gates.sandbox = is_about_runs(expr) ? run->place->record.sandbox : how->clone;
	gates.fork_name = copy;
	gates.time_ms = (how->until_ns - now_ns) / 1000000 + 1;
	if (engine_gate_check(&gates, &answer, &pass, err) < 0)
		return error_context(err, "stage %s", how->stage);
	row = value_append(run->gates, value_new_map());
	value_add(row, "stage", value_new_text(how->stage));
	value_add(row, "when", value_new_text(how->when));
	const struct value *found = value_get(answer, "gates")->many.items[0];

	value_add(row, "expr", value_new_text(expr));
	value_add(row, "holds", value_new_bool(pass));
	value_add(row, "evidence", value_new_text(value_get_text(found, "evidence")));
	if (!pass)
		*ret_reason = xasprintf("%s check '%s' does not hold: %s", how->when, expr,
					value_get_text(found, "evidence"));
	return 0;
}

/* Commands begin at the target's top, wherever the caller stands. */
static int check_all(struct stage_run *run, const struct strv *exprs, const struct checking *how,
		     const char *target, char **ret_reason, struct error *err)
{
	owned(fd_close) int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int status = 0;

	if (chdir(target) < 0)
		return error_errno(err, ERROR_HOST, "%s", target);
	for (size_t i = 0; i < exprs->count && status == 0 && !*ret_reason; i++)
		status = check(run, how, exprs->items[i], ret_reason, err);
	if (here >= 0 && fchdir(here) < 0 && status == 0)
		return error_errno(err, ERROR_HOST, "cannot go back from %s", target);
	return status;
}

static bool is_own_workspace(const struct stage_run *run, const struct stage_entry *entry)
{
	return strcmp(entry->target, run->place->record.workspace) == 0;
}

/*
 * To the sandbox's own workspace goes the sandbox itself, whose base follows; to any other target the clone, which is
 * that target with the bundle on it.
 */
static int promote(struct stage_run *run, const struct pipeline_stage *stage,
		   const struct stage_entry *entry, bool dry_run, struct value **ret_answer,
		   struct error *err)
{
	bool is_own = is_own_workspace(run, entry);
	const struct engine_promote wish = {
		.sandbox = is_own ? run->place->record.sandbox : entry->clone,
		.snapshot = is_own ? run->place->record.snapshot : NULL,
		.strategy = is_own ? stage->strategy : NULL,
		.allow_paths = run->wish->allow_paths,
		.swap = stage->swap,
		.digest = dry_run ? NULL : entry->digest,
		.dry_run = dry_run,
	};

	return engine_promote(&wish, ret_answer, err);
}

/* Says no: why, in the record and in ERR, which keeps its code. */
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
	const char *digest;

	if (make_clone(run, entry, err) < 0 ||
	    stage_clone_fill(run, entry->clone, entry->target, stage->strategy, err) < 0 ||
	    promote(run, stage, entry, true, &answer, err) < 0)
		return -1;
	*ret_has_work = wants_something(answer);
	digest = value_get_text(answer, "bundle");
	free(entry->digest);
	entry->digest = digest ? xstrdup(digest) : NULL;
	return 0;
}

static int precheck(struct stage_run *run, const struct pipeline_stage *stage,
		    struct stage_entry *entry, bool *ret_has_work, struct error *err)
{
	struct checking how = { .stage = stage->name, .when = "pre" };
	owned(free_ptr) char *reason = NULL;

	free_ptr(&entry->promotion);
	if (step(run, entry, STAGE_PRECHECKING, NULL, err) < 0)
		return -1;
	if (look_ahead(run, stage, entry, ret_has_work, err) < 0)
		return refuse(run, entry, err);
	how.clone = entry->clone;
	how.until_ns = clock_now_ns() + stage->timeout_ms * 1000000;
	if (check_all(run, &stage->pre, &how, entry->target, &reason, err) < 0)
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
	if (!is_undone && engine_undo(entry->promotion, &answer, err) < 0)
		return error_context(err, "stage %s failed and cannot be taken back", entry->name);
	return step(run, entry, STAGE_ROLLED_BACK, reason, err);
}

/* A check that cannot be made has failed. */
static int postcheck(struct stage_run *run, const struct pipeline_stage *stage,
		     struct stage_entry *entry, bool *ret_is_live, struct error *err)
{
	struct checking how = { .stage = stage->name, .when = "post" };
	owned(free_ptr) char *reason = NULL;
	struct error failed = { 0 };

	if (step(run, entry, STAGE_POSTCHECKING, NULL, err) < 0)
		return -1;
	if (stage->post.count > 0 && make_clone(run, entry, &failed) < 0)
		reason = xstrdup(failed.text);
	how.clone = entry->clone;
	how.until_ns = clock_now_ns() + stage->timeout_ms * 1000000;
	if (!reason && check_all(run, &stage->post, &how, entry->target, &reason, &failed) < 0 &&
	    !reason)
		reason = xstrdup(failed.text);
	drop_clone(run, entry);
	*ret_is_live = !reason;
	return reason ? take_back(run, entry, reason, err)
		      : step(run, entry, STAGE_LIVE, NULL, err);
}

/* What was being applied either was, and then there is a promotion of that digest, or it was not. */
static int settle_applying(struct stage_run *run, struct stage_entry *entry, struct error *err)
{
	owned(value_release) struct value *list = NULL;

	if (engine_promotions(&list, err) < 0)
		return -1;
	for (size_t i = 0; i < list->many.count; i++) {
		const struct value *row = list->many.items[i];
		const char *digest = value_get_text(row, "bundle");
		const char *state = value_get_text(row, "state");
		const char *target = value_get_text(row, "target");

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

	if (engine_promotions(&list, err) < 0)
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
