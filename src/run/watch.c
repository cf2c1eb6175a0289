/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlines and bounds the supervisor itself keeps. */
#include "run/watch.h"

#include "base/core/clock.h"

#define SAMPLE_NS 100000000ull
#define IDLE_SAMPLE_NS 500000000ull

void watch_init(struct watch *watch, const struct spec *spec)
{
	*watch = (struct watch){ .limits = &spec->limits, .has_disk = spec->upper_dir != NULL };
}

void watch_entered(struct watch *watch)
{
	if (watch->limits->time_ms)
		watch->deadline_ns = clock_now_ns() + watch->limits->time_ms * 1000000;
}

void watch_started(struct watch *watch)
{
	uint64_t now = clock_now_ns();

	watch->started_ns = now;
	if (watch->limits->time_ms)
		watch->deadline_ns = now + watch->limits->time_ms * 1000000;
	watch->next_sample_ns = now + SAMPLE_NS;
}

void watch_time_is_over(struct watch *watch)
{
	watch->deadline_ns = 0;
}

int watch_timeout_ms(const struct watch *watch)
{
	uint64_t now = clock_now_ns();
	uint64_t next = watch->next_sample_ns;

	if (watch->deadline_ns && (!next || watch->deadline_ns < next))
		next = watch->deadline_ns;
	if (!next)
		return -1;
	return next <= now ? 0 : (int)((next - now + 999999) / 1000000);
}

/* With a cgroup only CPU time needs us, and the writable layer is looked at now and then. */
static uint64_t sample_pause(const struct watch *watch)
{
	return watch->has_group && !watch->limits->cpu_time_ms && !watch->has_disk ? IDLE_SAMPLE_NS
										   : SAMPLE_NS;
}

static bool is_near(uint64_t value, uint64_t limit)
{
	return limit && value >= limit - limit / 5;
}

static void note_near(struct watch *watch, uint64_t now)
{
	const struct spec_limits *limits = watch->limits;
	const struct task_usage *usage = &watch->usage;

	if (is_near((now - watch->started_ns) / 1000000, limits->time_ms))
		watch->near |= NEAR_TIME;
	if (is_near(usage->cpu_us / 1000, limits->cpu_time_ms))
		watch->near |= NEAR_CPU_TIME;
	if (is_near(usage->memory_bytes, limits->mem_bytes))
		watch->near |= NEAR_MEMORY;
	if (is_near(usage->pids, limits->pids))
		watch->near |= NEAR_PIDS;
	if (is_near(usage->disk_bytes, usage->disk_limit_bytes))
		watch->near |= NEAR_DISK;
}

enum watch_verdict watch_look(struct watch *watch, struct task *task)
{
	const struct spec_limits *limits = watch->limits;
	uint64_t now = clock_now_ns();
	struct task_usage usage;

	if (watch->deadline_ns && now >= watch->deadline_ns)
		return WATCH_TIME;
	if (!watch->next_sample_ns || now < watch->next_sample_ns)
		return WATCH_GO_ON;
	watch->next_sample_ns = now + sample_pause(watch);
	task->driver->sample(task, &watch->usage);
	watch->sampled++;
	usage = watch->usage;
	note_near(watch, now);
	if (limits->cpu_time_ms && usage.cpu_us >= limits->cpu_time_ms * 1000)
		return WATCH_CPU_TIME;
	if (usage.disk_stopped)
		return WATCH_DISK;
	if (watch->has_group)
		return WATCH_GO_ON;
	/* Processes come and go while they are counted, so a little below the limit is as full as it looks. */
	watch->pids_full |= limits->pids && usage.pids + limits->pids / 16 >= limits->pids;
	if (limits->mem_bytes && usage.memory_bytes > limits->mem_bytes)
		return WATCH_MEMORY;
	return WATCH_GO_ON;
}
