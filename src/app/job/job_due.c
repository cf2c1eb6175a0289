/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a job is due: each kind of occasion has a slot, which is compared with the one that was taken last. */
#include "app/job/job_parts.h"

#include "app/git/git.h"
#include "app/git/git_plain.h"
#include "app/record/history.h"
#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/text/units.h"

#include <stdio.h>
#include <string.h>

#define FAILED_LOOKED_AT 200
#define HOUR_MS (UINT64_C(3600) * 1000)

/* Each writes the slot of now; "" where there is none yet. */
typedef int slot_of(const struct job_place *place, uint64_t now_ms, struct job_watches *watches,
		    struct str *ret_slot, struct error *err);

static int slot_of_every(const struct job_place *place, uint64_t now_ms,
			 struct job_watches *watches, struct str *ret_slot, struct error *err)
{
	(void)watches;
	(void)err;
	str_addf(ret_slot, "%lld",
		 (long long)job_slot(&place->job, JOB_EVERY,
				     (uint64_t)value_int_of(place->state, "added_ms"), now_ms));
	return 0;
}

static int slot_of_at(const struct job_place *place, uint64_t now_ms, struct job_watches *watches,
		      struct str *ret_slot, struct error *err)
{
	(void)watches;
	(void)err;
	str_addf(ret_slot, "%lld", (long long)job_slot(&place->job, JOB_AT, 0, now_ms));
	return 0;
}

static int slot_of_change(const struct job_place *place, uint64_t now_ms,
			  struct job_watches *watches, struct str *ret_slot, struct error *err)
{
	const struct job_look look = { .patterns = &place->job.on_change, .watches = watches };
	owned(strv_done) struct strv lines = STRV_INIT;
	char hex[SHA256_HEX_SIZE];

	(void)now_ms;
	if (job_look(place, &look, &lines, err) < 0)
		return -1;
	job_lines_digest(place, &lines, NULL, hex);
	str_add(ret_slot, hex);
	return 0;
}

static int slot_of_commit(const struct job_place *place, uint64_t now_ms,
			  struct job_watches *watches, struct str *ret_slot, struct error *err)
{
	owned(free_ptr) char *ref = xasprintf("refs/heads/%s", place->job.on_commit);
	owned(free_ptr) char *commit = xasprintf("%s^{commit}", ref);
	const char *const words[] = { "rev-parse", "-q", "--verify", commit, NULL };
	const struct git_call call = { .words = words, .is_real = true, .may_say_no = true };
	owned(strv_done) struct strv directories = STRV_INIT;
	struct git git;
	int status;

	(void)now_ms;
	git_plain_find(place->workspace, &directories);
	for (size_t i = 0; i < directories.count; i++) {
		owned(free_ptr) char *heads = xasprintf("%s/%s", directories.items[i], ref);

		*strrchr(heads, '/') = '\0';
		job_watch_directory(watches, directories.items[i]);
		job_watch_directory(watches, heads);
	}
	if (git_open(place->workspace, place->env, &git, err) < 0)
		return -1;
	status = git_run(&git, &call, ret_slot, err);
	git_close(&git);
	return status;
}

/* The last failed run in the workspace that is no job's: jobs do not start each other. */
static int slot_of_failed(const struct job_place *place, uint64_t now_ms,
			  struct job_watches *watches, struct str *ret_slot, struct error *err)
{
	owned(history_release) struct history *history = NULL;
	owned(value_release) struct value *rows = NULL;
	const struct history_filter filter = { .limit = FAILED_LOOKED_AT };

	(void)now_ms;
	(void)watches;
	if (app_history(&history, err) < 0 || history_list(history, &filter, &rows, err) < 0)
		return -1;
	for (size_t i = 0; i < rows->many.count && ret_slot->len == 0; i++) {
		const struct value *row = rows->many.items[i];
		const char *status = value_get_text(row, "status");
		const char *owner = value_get_text(row, "owner");

		if (status && strcmp(status, "success") != 0 && strcmp(status, "running") != 0 &&
		    str_same(value_get_text(row, "workspace"), place->workspace) &&
		    (!owner || !str_starts(owner, "job ")))
			str_add(ret_slot, value_get_text(row, "run_id"));
	}
	return 0;
}

enum kind { KIND_EVERY, KIND_AT, KIND_CHANGE, KIND_COMMIT, KIND_FAILED, KIND_COUNT };

static const struct {
	const char *key;
	slot_of *look;
} kinds[KIND_COUNT] = {
	[KIND_EVERY] = { "every", slot_of_every },
	[KIND_AT] = { "at", slot_of_at },
	[KIND_CHANGE] = { "on_change", slot_of_change },
	[KIND_COMMIT] = { "on_commit", slot_of_commit },
	[KIND_FAILED] = { "on_run_failed", slot_of_failed },
};

static bool has_kind(const struct job *job, enum kind kind)
{
	const bool has[KIND_COUNT] = { [KIND_EVERY] = job->every_ms > 0,
				       [KIND_AT] = job->at_minute >= 0,
				       [KIND_CHANGE] = job->on_change.count > 0,
				       [KIND_COMMIT] = job->on_commit != NULL,
				       [KIND_FAILED] = job->on_run_failed };

	return has[kind];
}

static void report_kind(const struct job *job, enum kind kind, struct str *out)
{
	char period[32];

	str_addf(out, "%s%s", out->len ? ", " : "", kinds[kind].key);
	if (kind == KIND_EVERY) {
		units_format_duration(job->every_ms, period);
		str_addf(out, " %s", period);
	} else if (kind == KIND_AT) {
		str_addf(out, " %02d:%02d", job->at_minute / 60, job->at_minute % 60);
	} else if (kind == KIND_CHANGE) {
		str_addf(out, " %s%s", job->on_change.items[0],
			 job->on_change.count > 1 ? ",.." : "");
	} else if (kind == KIND_COMMIT) {
		str_addf(out, " %s", job->on_commit);
	}
}

void job_describe_when(const struct job *job, struct str *out)
{
	for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
		if (has_kind(job, kind))
			report_kind(job, kind, out);
	}
}

void job_turn_done(struct job_turn *turn)
{
	value_free(turn->slots);
	str_done(&turn->why);
}

/*
 * A clock that was set back by less than a day makes a job wait until the slots that it took are past; by more, the old
 * time was wrong, and the record begins anew with this one.
 */
static bool is_of_tomorrow(const struct job_place *place, enum kind kind, int64_t taken,
			   uint64_t now_ms)
{
	uint64_t added_ms = (uint64_t)value_int_of(place->state, "added_ms");

	return added_ms > now_ms + JOB_DAY_MS || taken < 0 || taken > INT32_MAX ||
	       job_slot_begins(&place->job, kind == KIND_EVERY ? JOB_EVERY : JOB_AT, added_ms,
			       taken) > now_ms + JOB_DAY_MS;
}

/* By the clock: whether SLOT is later than TAKEN, and what was missed between them. */
static bool is_later(const char *slot, const char *taken, struct str *why)
{
	int64_t missed = strtoll(slot, NULL, 10) - strtoll(taken, NULL, 10) - 1;

	if (missed > 0)
		str_addf(why, " (%lld earlier time%s missed, made up for once)", (long long)missed,
			 missed == 1 ? "" : "s");
	return missed >= 0;
}

static int judge(struct job_place *place, enum kind kind, const char *slot, uint64_t now_ms,
		 struct job_turn *turn)
{
	struct value *slots = value_get(place->state, "slots");
	const char *taken = value_get_text(slots, kinds[kind].key);
	bool is_clock = kind <= KIND_AT;
	owned(str_done) struct str why = STR_INIT;

	str_add(&why, str_cstr(&turn->why));
	report_kind(&place->job, kind, &why);
	if (!taken || (is_clock && is_of_tomorrow(place, kind, strtoll(taken, NULL, 10), now_ms))) {
		if (taken)
			value_set(place->state, "added_ms", value_new_int((int64_t)now_ms));
		value_set(slots, kinds[kind].key,
			  value_new_text(taken && kind == KIND_EVERY ? "0" : slot));
		return 1;
	}
	if (is_clock ? !is_later(slot, taken, &why) : !*slot || strcmp(slot, taken) == 0)
		return 0;
	if (!turn->slots)
		turn->slots = value_new_map();
	value_set(turn->slots, kinds[kind].key, value_new_text(slot));
	str_done(&turn->why);
	str_add(&turn->why, str_cstr(&why));
	return 0;
}

int job_due(struct job_place *place, uint64_t now_ms, struct job_watches *watches,
	    struct job_turn *ret_turn, bool *ret_is_new, struct error *err)
{
	*ret_is_new = false;
	if (!value_get(place->state, "slots"))
		value_add(place->state, "slots", value_new_map());
	for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
		owned(str_done) struct str slot = STR_INIT;

		if (!has_kind(&place->job, kind) || (!watches && kind > KIND_AT))
			continue;
		if (kinds[kind].look(place, now_ms, watches, &slot, err) < 0)
			return error_context(err, "job %s: %s", place->name, kinds[kind].key);
		if (judge(place, kind, str_cstr(&slot), now_ms, ret_turn) > 0)
			*ret_is_new = true;
	}
	return 0;
}

uint64_t job_next_ms(const struct job_place *place, uint64_t now_ms)
{
	uint64_t added_ms = (uint64_t)value_int_of(place->state, "added_ms"), next_ms = 0;

	for (enum kind kind = KIND_EVERY; kind <= KIND_AT; kind++) {
		enum job_clock clock = kind == KIND_EVERY ? JOB_EVERY : JOB_AT;
		uint64_t at_ms;

		if (!has_kind(&place->job, kind))
			continue;
		at_ms = job_slot_begins(&place->job, clock, added_ms,
					job_slot(&place->job, clock, added_ms, now_ms) + 1);
		if (!next_ms || at_ms < next_ms)
			next_ms = at_ms;
	}
	return next_ms;
}

const char *job_waits(const struct job_place *place, uint64_t now_ms)
{
	const struct job *job = &place->job;
	const struct value *state = place->state;

	if (place->is_paused)
		return "paused";
	if (job_is_quiet(job, now_ms))
		return "quiet hours";
	if (job->runs_per_hour && value_int_of(state, "hour") == (int64_t)(now_ms / HOUR_MS) &&
	    value_int_of(state, "hour_runs") >= job->runs_per_hour)
		return "runs_per_hour";
	if (job->cpu_minutes_per_day && value_int_of(state, "day") == job_local_day(now_ms) &&
	    value_int_of(state, "day_cpu_ms") >= INT64_C(60000) * job->cpu_minutes_per_day)
		return "cpu_minutes_per_day";
	return NULL;
}
