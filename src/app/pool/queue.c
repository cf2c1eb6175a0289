/* SPDX-License-Identifier: Apache-2.0 */
/* Which calls run and which wait: by priority, fair between callers, within rates. */
#include "app/pool/queue.h"

#define MINUTE_NS (UINT64_C(60) * 1000000000)
/* A caller that was quiet may start so much of a minute's rate at once. */
#define BURST_NS (UINT64_C(10) * 1000000000)

#define PER_CORE 4
#define RUNNING_MIN 8
#define RUNNING_MEMORY (UINT64_C(256) << 20)

/* Above these most of what is started only waits. */
#define CPU_HIGH 90
#define MEMORY_HIGH 10
#define MEMORY_VERY_HIGH 40

static bool is_idle(const struct queue_caller *caller)
{
	return caller->running == 0 && caller->waiting == 0;
}

/* That of SESSION; else one that is idle, and of those the one whose rate is forgotten with the least loss. There are as many as places. */
static unsigned find_caller(struct queue *queue, pid_t session)
{
	unsigned best = QUEUE_PLACES;

	for (unsigned i = 0; i < QUEUE_PLACES; i++) {
		struct queue_caller *caller = &queue->callers[i];

		if (caller->session == session)
			return i;
		if (is_idle(caller) &&
		    (best == QUEUE_PLACES || caller->due_ns < queue->callers[best].due_ns))
			best = i;
		/* Those behind one that was never used were never used. */
		if (caller->session == 0)
			break;
	}
	queue->callers[best] = (struct queue_caller){ .session = session };
	return best;
}

static bool is_within_rate(const struct queue *queue, const struct queue_caller *caller,
			   uint64_t now_ns)
{
	return !queue->limits.per_minute || caller->due_ns <= now_ns + BURST_NS;
}

/* Of those that wait: the ones that may run, and the ones that fill the queue for a call of CALLER. */
struct load {
	unsigned eligible, alike, own;
};

/* Calls over their rate have a queue of their own; those that insist are in none, so that they never shut others out. */
static struct load weigh(const struct queue *queue, unsigned caller, bool is_within,
			 uint64_t now_ns)
{
	struct load load = { 0 };

	for (size_t i = 0; queue->waiting > 0 && i < QUEUE_PLACES; i++) {
		const struct queue_place *place = &queue->places[i];

		if (place->state != QUEUE_WAITS)
			continue;
		bool may_run = is_within_rate(queue, &queue->callers[place->caller], now_ns);

		load.eligible += may_run;
		load.alike += !place->insists && may_run == is_within;
		load.own += !place->insists && place->caller == caller;
	}
	return load;
}

static void begin(struct queue *queue, struct queue_place *place, uint64_t now_ns)
{
	struct queue_caller *caller = &queue->callers[place->caller];

	place->state = QUEUE_RUNS;
	place->began_ns = now_ns;
	caller->running++;
	caller->last_ns = now_ns;
	queue->running++;
	queue->started++;
	if (!queue->limits.per_minute)
		return;
	caller->due_ns = (caller->due_ns > now_ns ? caller->due_ns : now_ns) +
			 MINUTE_NS / queue->limits.per_minute;
}

enum queue_state queue_enter(struct queue *queue, size_t place, const struct queue_place *call,
			     pid_t session)
{
	struct queue_place *own = &queue->places[place];
	unsigned caller = find_caller(queue, session);
	bool is_within = is_within_rate(queue, &queue->callers[caller], call->asked_ns);
	struct load load = weigh(queue, caller, is_within, call->asked_ns);

	*own = *call;
	own->caller = caller;
	own->state = QUEUE_NONE;
	if (load.eligible == 0 && is_within && queue->running < queue->limits.running) {
		begin(queue, own, call->asked_ns);
	} else if (call->insists || (load.alike < queue->limits.waiting &&
				     load.own < (queue->limits.waiting + 1) / 2)) {
		own->state = QUEUE_WAITS;
		queue->callers[caller].waiting++;
		queue->waiting++;
	} else {
		queue->refused++;
	}
	return own->state;
}

void queue_leave(struct queue *queue, size_t place)
{
	struct queue_place *own = &queue->places[place];
	struct queue_caller *caller = &queue->callers[own->caller];

	if (own->state == QUEUE_RUNS) {
		caller->running--;
		queue->running--;
	} else if (own->state == QUEUE_WAITS) {
		caller->waiting--;
		queue->waiting--;
	}
	own->state = QUEUE_NONE;
}

static uint64_t rank_of(const struct queue_place *place, uint64_t now_ns)
{
	uint64_t waited_ns = now_ns > place->asked_ns ? now_ns - place->asked_ns : 0;

	return place->priority + waited_ns / QUEUE_AGE_NS;
}

static bool is_before(const struct queue *queue, const struct queue_place *one,
		      const struct queue_place *other, uint64_t now_ns)
{
	const struct queue_caller *a = &queue->callers[one->caller];
	const struct queue_caller *b = &queue->callers[other->caller];
	uint64_t rank_a = rank_of(one, now_ns), rank_b = rank_of(other, now_ns);

	if (rank_a != rank_b)
		return rank_a > rank_b;
	if (a->running != b->running)
		return a->running < b->running;
	if (a->last_ns != b->last_ns)
		return a->last_ns < b->last_ns;
	return one->asked_ns < other->asked_ns;
}

int queue_next(struct queue *queue, uint64_t now_ns, uint64_t *ret_wait_ns)
{
	int best = -1;

	*ret_wait_ns = UINT64_MAX;
	if (queue->waiting == 0 || queue->running >= queue->limits.running)
		return -1;
	for (int i = 0; i < QUEUE_PLACES; i++) {
		const struct queue_place *place = &queue->places[i];
		const struct queue_caller *caller = &queue->callers[place->caller];

		if (place->state != QUEUE_WAITS)
			continue;
		if (!is_within_rate(queue, caller, now_ns)) {
			uint64_t wait_ns = caller->due_ns - BURST_NS - now_ns;

			*ret_wait_ns = wait_ns < *ret_wait_ns ? wait_ns : *ret_wait_ns;
		} else if (best < 0 || is_before(queue, place, &queue->places[best], now_ns)) {
			best = i;
		}
	}
	if (best < 0)
		return -1;
	queue->callers[queue->places[best].caller].waiting--;
	queue->waiting--;
	begin(queue, &queue->places[best], now_ns);
	return best;
}

unsigned queue_default(unsigned cores, uint64_t memory_bytes)
{
	uint64_t fits = memory_bytes / RUNNING_MEMORY, wanted = (uint64_t)cores * PER_CORE;

	wanted = wanted > RUNNING_MIN ? wanted : RUNNING_MIN;
	wanted = wanted < fits || !memory_bytes ? wanted : fits;
	wanted = wanted < QUEUE_PLACES / 2 ? wanted : QUEUE_PLACES / 2;
	return wanted ? (unsigned)wanted : 1;
}

unsigned queue_under_pressure(unsigned limit, unsigned cores, int cpu, int memory)
{
	unsigned lowered = limit, least = cores < limit ? cores : limit;

	if (cpu >= CPU_HIGH || memory >= MEMORY_HIGH)
		lowered = limit / 2;
	if (memory >= MEMORY_VERY_HIGH)
		lowered = limit / 4;
	lowered = lowered > least ? lowered : least;
	return lowered ? lowered : 1;
}
