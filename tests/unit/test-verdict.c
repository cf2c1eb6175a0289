/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts: how a task ended, put into status, exit code, limits hit and words. */
#include "run/verdict.h"

#include "base/core/own.h"
#include "tests/tap.h"

#include <signal.h>

/* What the run layer knows at the end, all quiet until a test says otherwise. */
struct end {
	struct task task;
	struct spec spec;
	struct task_usage usage;
	struct ending ending;
	struct verdict_facts facts;
	struct run_result result;
};

static void end_init(struct end *end)
{
	memset(end, 0, sizeof(*end));
	spec_init(&end->spec);
	end->spec.limits.mem_bytes = 512u << 20;
	end->spec.limits.pids = 64;
	end->spec.limits.disk_bytes = 2ull << 30;
	end->spec.limits.fsize_bytes = 100u << 10;
	end->spec.limits.time_ms = 1500;
	end->spec.limits.cpu_time_ms = 2000;
	end->task.isolation = "namespaces";
	end->facts = (struct verdict_facts){ &end->task,  &end->spec,	&end->usage,
					     WATCH_GO_ON, &end->ending, false };
	run_result_init(&end->result);
}

static void end_done(struct end *end)
{
	strv_done(&end->task.layers);
	denials_done(&end->task.denials);
	spec_done(&end->spec);
	run_result_done(&end->result);
}

static bool is(const struct run_result *result, enum run_status status, int exit_code, int sig)
{
	bool good =
		result->status == status && result->exit_code == exit_code && result->signal == sig;

	if (!good)
		printf("# %s, exit %d, signal %d\n", run_status_name(result->status),
		       result->exit_code, result->signal);
	return good;
}

static bool says(const struct run_result *result, const char *words)
{
	for (size_t i = 0; i < result->notes.count; i++) {
		if (strstr(result->notes.items[i], words))
			return true;
		printf("# note: %s\n", result->notes.items[i]);
	}
	return false;
}

/* The verdict on a task that ended by itself with WAIT_STATUS. */
static void ended(struct end *end, int wait_status)
{
	end_init(end);
	end->task.wait_status = wait_status;
	verdict_fill(&end->facts, &end->result);
}

static void test_own_ends(void)
{
	struct end end;

	ended(&end, 0);
	tap_ok(is(&end.result, RUN_SUCCESS, 0, 0), "exit 0 is success");
	tap_ok(end.result.notes.count == 0 && end.result.limits_hit.count == 0, "and quiet");
	end_done(&end);
	ended(&end, 3 << 8);
	tap_ok(is(&end.result, RUN_ERROR, 3, 0), "exit 3 is an error of the command");
	end_done(&end);
	ended(&end, SIGSEGV);
	tap_ok(is(&end.result, RUN_KILLED, 139, SIGSEGV), "a signal is 128 and its number");
	end_done(&end);
	ended(&end, SIGXFSZ);
	tap_ok(is(&end.result, RUN_LIMIT, 128 + SIGXFSZ, SIGXFSZ) &&
		       strv_has(&end.result.limits_hit, "fsize"),
	       "too large a file is a limit");
	tap_ok(says(&end.result, "100 KiB"), "told in words");
	end_done(&end);
	ended(&end, SIGXCPU);
	tap_ok(is(&end.result, RUN_LIMIT, 128 + SIGXCPU, SIGXCPU) &&
		       strv_has(&end.result.limits_hit, "cpu-time"),
	       "so is the processor's time");
	end_done(&end);
}

/* In layers that are watched, a file is refused what all may have together. */
static void test_watched_layers(void)
{
	struct end end;

	end_init(&end);
	end.spec.limits.disk_bytes = 8 << 10;
	end.task.degraded = 1u << LAYER_DISK;
	end.task.wait_status = SIGXFSZ;
	verdict_fill(&end.facts, &end.result);
	tap_ok(is(&end.result, RUN_LIMIT, 128 + SIGXFSZ, SIGXFSZ) &&
		       strv_has(&end.result.limits_hit, "disk") &&
		       !strv_has(&end.result.limits_hit, "fsize") && says(&end.result, "8 KiB"),
	       "a file as large as the disk is the disk's limit");
	end_done(&end);
	end_init(&end);
	end.spec.limits.disk_bytes = 1 << 20;
	end.task.degraded = 1u << LAYER_DISK;
	end.task.wait_status = SIGXFSZ;
	verdict_fill(&end.facts, &end.result);
	tap_ok(strv_has(&end.result.limits_hit, "fsize") && end.result.limits_hit.count == 1,
	       "a smaller limit of files is their own");
	end_done(&end);
}

static void stopped(struct end *end, enum watch_verdict by)
{
	end_init(end);
	end->task.wait_status = SIGKILL;
	end->facts.stopped_by = by;
	verdict_fill(&end->facts, &end->result);
}

static void test_stopped(void)
{
	struct end end;

	stopped(&end, WATCH_TIME);
	tap_ok(is(&end.result, RUN_TIMEOUT, 124, 0) && strv_has(&end.result.limits_hit, "time"),
	       "the wall clock is 124");
	tap_ok(says(&end.result, "after 1.5 s") && says(&end.result, "--time"),
	       "with the flag that raises it");
	end_done(&end);
	stopped(&end, WATCH_CPU_TIME);
	tap_ok(is(&end.result, RUN_LIMIT, 137, SIGKILL) &&
		       strv_has(&end.result.limits_hit, "cpu-time"),
	       "CPU time seen by us is a limit");
	end_done(&end);
	stopped(&end, WATCH_MEMORY);
	tap_ok(is(&end.result, RUN_OOM, 137, SIGKILL) && strv_has(&end.result.limits_hit, "mem") &&
		       says(&end.result, "512 MiB"),
	       "memory seen by us is oom");
	end_done(&end);
}

static void test_signal_to_us(void)
{
	struct end end;

	end_init(&end);
	end.task.wait_status = SIGKILL;
	end.ending = (struct ending){ .signal = SIGINT, .was_killed = true };
	verdict_fill(&end.facts, &end.result);
	tap_ok(is(&end.result, RUN_KILLED, 130, SIGINT), "an interrupt is killed, 130");
	end_done(&end);
	end_init(&end);
	end.task.wait_status = 3 << 8;
	end.ending = (struct ending){ .signal = SIGTERM, .was_asked = true };
	verdict_fill(&end.facts, &end.result);
	tap_ok(is(&end.result, RUN_KILLED, 3, SIGTERM),
	       "a command that was asked to end has its own exit code");
	end_done(&end);
	end_init(&end);
	end.ending = (struct ending){ .signal = SIGTERM, .was_asked = true };
	verdict_fill(&end.facts, &end.result);
	tap_ok(is(&end.result, RUN_KILLED, 0, SIGTERM), "and is no success even with 0");
	end_done(&end);
	end_init(&end);
	end.task.wait_status = SIGKILL;
	end.spec.limits.grace_ms = 2000;
	end.ending = (struct ending){ .signal = SIGTERM, .was_asked = true, .was_killed = true };
	verdict_fill(&end.facts, &end.result);
	tap_ok(is(&end.result, RUN_KILLED, 137, SIGKILL) && says(&end.result, "2 s"),
	       "one that does not end in time is killed");
	end_done(&end);
}

static void test_kernel_kept_memory(void)
{
	struct end end;

	end_init(&end);
	end.usage.oom_kills = 1;
	end.task.wait_status = SIGKILL;
	verdict_fill(&end.facts, &end.result);
	tap_ok(is(&end.result, RUN_OOM, 137, SIGKILL) && says(&end.result, "out of memory"),
	       "killed by the kernel at the memory limit is oom");
	end_done(&end);
	end_init(&end);
	end.usage.oom_kills = 1;
	verdict_fill(&end.facts, &end.result);
	tap_ok(is(&end.result, RUN_SUCCESS, 0, 0) && strv_has(&end.result.limits_hit, "mem"),
	       "a command that survived its child's end keeps its status");
	end_done(&end);
}

static void test_limits_met(void)
{
	struct end end;

	end_init(&end);
	end.usage.pids_refused = 5;
	end.facts.pids_full = true;
	end.usage.disk_full = true;
	end.result.truncated = true;
	verdict_fill(&end.facts, &end.result);
	tap_ok(is(&end.result, RUN_SUCCESS, 0, 0), "a limit merely met leaves the status");
	tap_is_int((long long)end.result.limits_hit.count, 3, "each is told once");
	tap_ok(strv_has(&end.result.limits_hit, "pids") &&
		       strv_has(&end.result.limits_hit, "disk") &&
		       strv_has(&end.result.limits_hit, "output"),
	       "by its name");
	tap_ok(says(&end.result, "64 processes") && says(&end.result, "2 GiB"), "and in words");
	end_done(&end);
}

static void test_what_held(void)
{
	struct end end;

	end_init(&end);
	strv_add(&end.task.layers, "user");
	end.task.degraded = 1u << LAYER_LANDLOCK | 1u << LAYER_LIMITS;
	end.usage.cpu_us = 2500;
	end.usage.peak_memory_bytes = 4096;
	denials_add(&end.task.denials, "seccomp", "mount(2)", "EPERM", NULL);
	denials_add(&end.task.denials, "seccomp", "mount(2)", "EPERM", NULL);
	denials_add(&end.task.denials, "net", "connect 1.2.3.4:443", "default deny", NULL);
	end.task.denials.beyond = 7;
	verdict_fill(&end.facts, &end.result);
	tap_is_str(end.result.isolation, "namespaces", "isolation");
	tap_ok(end.result.layers.count == 1 && end.result.degraded.count == 2 &&
		       strv_has(&end.result.degraded, "landlock") &&
		       strv_has(&end.result.degraded, "limits"),
	       "layers that hold and those that do not");
	tap_ok(end.result.denials.count == 2 && end.result.denials.items[0].count == 2 &&
		       end.result.denials.beyond == 7,
	       "denials with their counts");
	tap_ok(end.result.cpu_ms > 2.4 && end.result.cpu_ms < 2.6 &&
		       end.result.peak_memory_bytes == 4096,
	       "figures");
	end_done(&end);
}

int main(void)
{
	test_own_ends();
	test_watched_layers();
	test_stopped();
	test_signal_to_us();
	test_kernel_kept_memory();
	test_limits_met();
	test_what_held();
	return tap_done();
}
