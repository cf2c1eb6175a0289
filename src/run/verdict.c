/* SPDX-License-Identifier: Apache-2.0 */
/* From a task's end to the result's words. */
#include "run/verdict.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

static void note(struct run_result *result, const char *text)
{
	strv_add(&result->notes, text);
}

static void hit(struct run_result *result, const char *limit)
{
	if (!strv_has(&result->limits_hit, limit))
		strv_add(&result->limits_hit, limit);
}

static void set_end(struct run_result *result, enum run_status status, int exit_code, int sig)
{
	result->status = status;
	result->exit_code = exit_code;
	result->signal = sig;
}

static void add_size(struct run_result *result, const char *before, uint64_t bytes,
		     const char *after)
{
	if (bytes >= 1u << 30 && bytes % (1u << 30) == 0)
		strv_addf(&result->notes, "%s%llu GiB%s", before, (unsigned long long)(bytes >> 30),
			  after);
	else if (bytes >= 1u << 20)
		strv_addf(&result->notes, "%s%llu MiB%s", before, (unsigned long long)(bytes >> 20),
			  after);
	else if (bytes >= 1u << 10)
		strv_addf(&result->notes, "%s%llu KiB%s", before, (unsigned long long)(bytes >> 10),
			  after);
	else
		strv_addf(&result->notes, "%s%llu bytes%s", before, (unsigned long long)bytes,
			  after);
}

static void fill_stopped(const struct verdict_facts *facts, enum watch_verdict by,
			 struct run_result *result)
{
	const struct spec_limits *limits = &facts->spec->limits;

	switch (by) {
	case WATCH_TIME:
		set_end(result, RUN_TIMEOUT, 124, 0);
		hit(result, "time");
		strv_addf(&result->notes,
			  "stopped after %.3g s: the time limit (raise it with --time)",
			  (double)limits->time_ms / 1000);
		break;
	case WATCH_CPU_TIME:
		set_end(result, RUN_LIMIT, 128 + SIGKILL, SIGKILL);
		hit(result, "cpu-time");
		strv_addf(&result->notes,
			  "stopped after %.3g s of CPU: the CPU time limit (raise it with "
			  "--cpu-time)",
			  (double)limits->cpu_time_ms / 1000);
		break;
	case WATCH_MEMORY:
		set_end(result, RUN_OOM, 128 + SIGKILL, SIGKILL);
		hit(result, "mem");
		add_size(result, "stopped: more memory than ", limits->mem_bytes,
			 " was used (raise it with --mem)");
		break;
	case WATCH_DISK:
		set_end(result, RUN_LIMIT, 128 + SIGKILL, SIGKILL);
		break;
	case WATCH_GO_ON:
		break;
	}
}

static void fill_out_of_fuel(const struct verdict_facts *facts, struct run_result *result)
{
	set_end(result, RUN_LIMIT, 128 + SIGKILL, 0);
	hit(result, "fuel");
	strv_addf(&result->notes,
		  "stopped after %llu instructions: the fuel (raise it with --fuel)",
		  (unsigned long long)facts->spec->limits.fuel);
}

/* Where a run's layers are on disk, one file is refused what all may have together (payload.c): see fill_met. */
static bool is_of_disk(const struct verdict_facts *facts)
{
	const struct spec_limits *limits = &facts->spec->limits;

	return facts->task->degraded & 1u << LAYER_DISK && !facts->spec->upper_dir &&
	       limits->disk_bytes &&
	       (!limits->fsize_bytes || limits->disk_bytes < limits->fsize_bytes);
}

static void fill_signalled(const struct verdict_facts *facts, struct run_result *result, int sig)
{
	set_end(result, RUN_KILLED, 128 + sig, sig);
	if (sig == SIGXCPU && facts->spec->limits.cpu_time_ms) {
		result->status = RUN_LIMIT;
		hit(result, "cpu-time");
		note(result, "ended by its CPU time limit (raise it with --cpu-time)");
	}
	if (sig == SIGXFSZ)
		result->status = RUN_LIMIT;
	if (sig == SIGXFSZ && !is_of_disk(facts)) {
		hit(result, "fsize");
		add_size(result, "ended: it wrote a file larger than ",
			 facts->spec->limits.fsize_bytes, " (raise it with --fsize)");
	}
}

static void fill_ended(const struct verdict_facts *facts, struct run_result *result)
{
	int status = facts->task->wait_status;

	if (WIFSIGNALED(status)) {
		fill_signalled(facts, result, WTERMSIG(status));
		return;
	}
	set_end(result, WEXITSTATUS(status) ? RUN_ERROR : RUN_SUCCESS, WEXITSTATUS(status), 0);
}

/*
 * The caller got a signal. The exit status of a command that was asked to end is its own, but 0 is no success: it was cut
 * short. One that did not start, or cannot be asked, counts as ended by that signal.
 */
static void fill_interrupted(const struct verdict_facts *facts, struct run_result *result)
{
	const struct ending *ending = facts->ending;

	if (!ending->was_asked) {
		set_end(result, RUN_KILLED, 128 + ending->signal, ending->signal);
		return;
	}
	if (!ending->was_killed) {
		fill_ended(facts, result);
		result->status = RUN_KILLED;
		if (!result->signal)
			result->signal = ending->signal;
		return;
	}
	set_end(result, RUN_KILLED, 128 + SIGKILL, SIGKILL);
	if (ending->insists_ns)
		note(result, "killed by a second signal before it had ended");
	else
		strv_addf(&result->notes,
			  "killed: it had not ended %.3g s after the signal (change that with "
			  "--grace)",
			  (double)facts->spec->limits.grace_ms / 1000);
}

/* A sandbox that stayed below its own limit met one that it shares. Kernels without a peak say 0. */
static void note_memory(const struct verdict_facts *facts, struct run_result *result)
{
	uint64_t own_bytes = facts->spec->limits.mem_bytes;
	uint64_t peak_bytes = facts->usage->peak_memory_bytes;

	if (peak_bytes && peak_bytes < own_bytes - own_bytes / 16)
		note(result, "out of memory: the kernel ended a process at a limit that this "
			     "sandbox shares with others of its owner or caller (end others; an "
			     "owner's is raised with mcp --owner-mem)");
	else
		add_size(result, "out of memory: the kernel ended a process at the limit of ",
			 own_bytes, " (raise it with --mem)");
}

/* Limits the kernel kept while the command went on or failed by itself. */
static void fill_met(const struct verdict_facts *facts, struct run_result *result)
{
	const struct spec_limits *limits = &facts->spec->limits;

	if (facts->usage->oom_kills) {
		hit(result, "mem");
		if (facts->stopped_by == WATCH_GO_ON && !facts->ending->signal &&
		    result->exit_code == 128 + SIGKILL)
			result->status = RUN_OOM;
		note_memory(facts, result);
	}
	if (facts->usage->pids_refused || facts->pids_full) {
		hit(result, "pids");
		strv_addf(&result->notes,
			  "the limit of %llu processes was reached (raise it with --pids)",
			  (unsigned long long)limits->pids);
	}
	if (facts->usage->disk_stopped && result->signal == SIGKILL)
		result->status = RUN_LIMIT;
	if (facts->usage->disk_full || (result->signal == SIGXFSZ && is_of_disk(facts))) {
		hit(result, "disk");
		add_size(result, "the writable layer was full at ", limits->disk_bytes,
			 " (remove something, or raise it with --disk)");
	}
	if (facts->usage->inodes_full) {
		hit(result, "inodes");
		strv_addf(&result->notes,
			  "the writable layer was full at %llu files (remove some, or raise it "
			  "with --inodes)",
			  (unsigned long long)limits->inodes);
	}
	if (result->truncated)
		hit(result, "output");
}

static void fill_layers(const struct spec *spec, const struct task *task, struct run_result *result)
{
	strv_copy(&result->layers, &task->layers);
	for (enum layer layer = LAYER_USER; layer < LAYER_COUNT; layer++) {
		if (task->degraded & (1u << layer))
			strv_add(&result->degraded, layer_name(layer));
	}
	if (task->degraded & (1u << LAYER_LIMITS))
		result->descriptors_limit = spec->limits.pids * spec->limits.nofile_soft;
	/* No layer of its own, but a part of what masks are for. */
	if (spec->aliases_cut)
		strv_add(&result->degraded, "aliases");
	result->start = task->start;
	result->isolation = task->isolation;
}

static void fill_denials(const struct task *task, struct run_result *result)
{
	const struct denials *denials = &task->denials;

	for (size_t i = 0; i < denials->count; i++)
		denials_add_like(&result->denials, &denials->items[i]);
	result->denials.beyond = denials->beyond;
}

void verdict_scrub(const struct scrub_words *words, struct denials *denials)
{
	for (size_t i = 0; i < denials->count; i++) {
		struct denial *denial = &denials->items[i];

		scrub_text(words, &denial->what);
		scrub_text(words, &denial->rule);
		scrub_text(words, &denial->hint);
		scrub_text(words, &denial->name);
		scrub_text(words, &denial->process);
	}
}

void verdict_fill(const struct verdict_facts *facts, struct run_result *result)
{
	fill_layers(facts->spec, facts->task, result);
	fill_denials(facts->task, result);
	result->network = facts->task->network;
	result->cpu_ms = (double)facts->usage->cpu_us / 1000;
	result->peak_memory_bytes = facts->usage->peak_memory_bytes;
	if (facts->task->note)
		note(result, facts->task->note);
	result->has_fuel = facts->task->has_fuel;
	result->fuel_consumed = facts->task->fuel_consumed;
	if (facts->ending->signal && facts->stopped_by == WATCH_GO_ON)
		fill_interrupted(facts, result);
	else if (facts->stopped_by != WATCH_GO_ON)
		fill_stopped(facts, facts->stopped_by, result);
	else if (facts->task->stopped_by == TASK_OUT_OF_TIME)
		fill_stopped(facts, WATCH_TIME, result);
	else if (facts->task->stopped_by == TASK_OUT_OF_FUEL)
		fill_out_of_fuel(facts, result);
	else
		fill_ended(facts, result);
	fill_met(facts, result);
}
