/* SPDX-License-Identifier: Apache-2.0 */
/* The watch: deadlines, and what it makes of samples when the kernel keeps no bounds. */
#include "run/watch.h"

#include "base/core/clock.h"
#include "tests/tap.h"

/* Longer than any pause between two lines of a test. */
#define LONG_NS (UINT64_C(3600) * 1000000000)

/* A driver that measures what the test says. */
struct measured {
	struct task task;
	struct task_usage usage;
	int samples;
};

static void sample(struct task *task, struct task_usage *ret_usage)
{
	struct measured *measured = (struct measured *)task;

	measured->samples++;
	*ret_usage = measured->usage;
}

static const struct driver driver = { .name = "measured", .sample = sample };

static void watch_with(struct watch *watch, struct spec *spec, struct measured *measured)
{
	*measured = (struct measured){ .task = { .driver = &driver } };
	watch_init(watch, spec);
}

/* Makes the next look a due one. */
static enum watch_verdict look_now(struct watch *watch, struct measured *measured)
{
	watch->next_sample_ns = 1;
	return watch_look(watch, &measured->task);
}

static void test_before_the_start(void)
{
	struct spec spec = { .limits = { .time_ms = 1 } };
	struct measured measured;
	struct watch watch;

	watch_with(&watch, &spec, &measured);
	tap_is_int(watch_timeout_ms(&watch), -1, "before the command runs nothing is due");
	tap_is_int(watch_look(&watch, &measured.task), WATCH_GO_ON, "and no time passes");
	tap_is_int(measured.samples, 0, "nothing is measured either");
}

static void test_deadline(void)
{
	struct spec spec = { .limits = { .time_ms = 60000 } };
	struct measured measured;
	struct watch watch;

	watch_with(&watch, &spec, &measured);
	watch_started(&watch);
	int timeout = watch_timeout_ms(&watch);

	tap_ok(timeout >= 0 && timeout <= 101, "a sample is due before a far deadline: %d ms",
	       timeout);
	tap_is_int(watch_look(&watch, &measured.task), WATCH_GO_ON, "the deadline is not yet");
	watch.next_sample_ns = watch.deadline_ns + LONG_NS;
	timeout = watch_timeout_ms(&watch);
	tap_ok(timeout > 0 && timeout <= 60000, "a nearer deadline comes first: %d ms", timeout);
	watch.deadline_ns = clock_now_ns();
	tap_is_int(watch_timeout_ms(&watch), 0, "one that has passed is due at once");
	tap_is_int(watch_look(&watch, &measured.task), WATCH_TIME, "and ends the run");
}

static void test_no_deadline(void)
{
	struct spec spec = { .limits = { .time_ms = 0 } };
	struct measured measured;
	struct watch watch;

	watch_with(&watch, &spec, &measured);
	watch_started(&watch);
	tap_ok(watch.deadline_ns == 0, "no limit, no deadline");
	tap_is_int(look_now(&watch, &measured), WATCH_GO_ON, "and nothing to stop");
}

static void test_without_group(void)
{
	struct spec spec = { .limits = { .mem_bytes = 1000, .pids = 10, .cpu_time_ms = 50 } };
	struct measured measured;
	struct watch watch;

	watch_with(&watch, &spec, &measured);
	watch_started(&watch);
	measured.usage = (struct task_usage){ .memory_bytes = 1000, .pids = 9, .cpu_us = 49999 };
	tap_is_int(look_now(&watch, &measured), WATCH_GO_ON, "at the limits all is well");
	tap_ok(!watch.pids_full, "there is room for one more process");
	tap_ok(watch.next_sample_ns > watch.started_ns, "the next look is due later");
	watch.next_sample_ns += LONG_NS;
	tap_is_int(watch_look(&watch, &measured.task), WATCH_GO_ON, "a look too soon");
	tap_is_int(measured.samples, 1, "does not measure again");
	measured.usage.pids = 10;
	tap_is_int(look_now(&watch, &measured), WATCH_GO_ON, "a full house does not stop the run");
	tap_ok(watch.pids_full, "but is remembered");
	measured.usage.memory_bytes = 1001;
	tap_is_int(look_now(&watch, &measured), WATCH_MEMORY,
		   "one byte beyond the memory limit does");
	measured.usage.cpu_us = 50000;
	tap_is_int(look_now(&watch, &measured), WATCH_CPU_TIME, "and so does CPU time used up");
}

static void test_with_group(void)
{
	struct spec spec = { .limits = { .mem_bytes = 1000, .pids = 10 } };
	struct measured measured;
	struct watch watch;

	watch_with(&watch, &spec, &measured);
	watch.has_group = true;
	watch_started(&watch);
	measured.usage = (struct task_usage){ .memory_bytes = 5000, .pids = 50, .cpu_us = 1 };
	tap_is_int(look_now(&watch, &measured), WATCH_GO_ON,
		   "with a cgroup the kernel keeps bounds");
	tap_ok(!watch.pids_full, "and tells of them itself");
	tap_ok(watch_timeout_ms(&watch) > 101, "so it is looked at less often");
}

static void test_nearness(void)
{
	struct spec spec = { .limits = { .mem_bytes = 1000, .pids = 100, .time_ms = 3600000 } };
	struct measured measured;
	struct watch watch;

	watch_with(&watch, &spec, &measured);
	watch.has_group = true;
	watch_started(&watch);
	measured.usage = (struct task_usage){ .memory_bytes = 799, .pids = 79, .disk_bytes = 9 };
	(void)look_now(&watch, &measured);
	tap_is_int(watch.near, 0, "below four fifths nothing is near");
	measured.usage = (struct task_usage){
		.memory_bytes = 800, .pids = 5, .disk_bytes = 8, .disk_limit_bytes = 10
	};
	(void)look_now(&watch, &measured);
	tap_is_int(watch.near, NEAR_MEMORY | NEAR_DISK, "at four fifths it is");
	measured.usage = (struct task_usage){ .memory_bytes = 1 };
	(void)look_now(&watch, &measured);
	tap_is_int(watch.near, NEAR_MEMORY | NEAR_DISK, "and was, however little is left of it");
}

int main(void)
{
	test_nearness();
	test_before_the_start();
	test_deadline();
	test_no_deadline();
	test_without_group();
	test_with_group();
	return tap_done();
}
