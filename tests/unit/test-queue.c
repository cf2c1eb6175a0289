/* SPDX-License-Identifier: Apache-2.0 */
/* Which calls run and which wait: bounds, turns, priorities, ages, rates, and a model of it beside. */
#include "app/pool/queue.h"

#include "tests/tap.h"

#define S UINT64_C(1000000000)

static struct queue queue;

static void reset(unsigned running, unsigned waiting, unsigned per_minute)
{
	memset(&queue, 0, sizeof(queue));
	queue.limits = (struct queue_limits){ running, waiting, per_minute };
}

static enum queue_state enter(size_t place, pid_t session, unsigned priority, uint64_t at_ns)
{
	const struct queue_place call = { .priority = priority, .asked_ns = at_ns, .pid = 1 };

	return queue_enter(&queue, place, &call, session);
}

static int next(uint64_t at_ns)
{
	uint64_t wait_ns;

	return queue_next(&queue, at_ns, &wait_ns);
}

static void check_bounds(void)
{
	reset(2, 2, 0);
	tap_ok(enter(0, 1, QUEUE_NORMAL, 1) == QUEUE_RUNS &&
		       enter(1, 1, QUEUE_NORMAL, 2) == QUEUE_RUNS,
	       "as many as may run do");
	tap_ok(enter(2, 1, QUEUE_NORMAL, 3) == QUEUE_WAITS &&
		       enter(3, 2, QUEUE_NORMAL, 4) == QUEUE_WAITS,
	       "those beyond wait");
	tap_ok(enter(4, 1, QUEUE_HIGH, 5) == QUEUE_NONE && queue.refused == 1,
	       "and those beyond are refused");
	tap_ok(next(6) == -1, "none begins while all places are taken");
	queue_leave(&queue, 4);
	queue_leave(&queue, 0);
	tap_ok(enter(5, 2, QUEUE_NORMAL, 6) == QUEUE_NONE, "a free place is for those that wait");
	tap_ok(next(7) == 3 && next(7) == -1, "then one begins");
	queue_leave(&queue, 2);
	queue_leave(&queue, 2);
	tap_ok(queue.waiting == 0 && queue.running == 2, "one that gives up is counted once");
	queue_leave(&queue, 1);
	queue_leave(&queue, 3);
	tap_ok(enter(0, 9, QUEUE_LOW, 8) == QUEUE_RUNS, "the empty queue lets any run");
}

static void check_fairness(void)
{
	unsigned waits = 0;

	reset(1, 10, 0);
	for (size_t i = 0; i < 20; i++)
		waits += enter(i, 1, QUEUE_HIGH, 1 + i) == QUEUE_WAITS;
	tap_ok(waits == 5 && enter(30, 2, QUEUE_LOW, 30) == QUEUE_WAITS,
	       "one caller fills half of the queue at most");
	reset(1, 100, 0);
	(void)enter(0, 1, QUEUE_NORMAL, 1);
	for (size_t i = 1; i <= 20; i++)
		(void)enter(i, 1, QUEUE_NORMAL, 1 + i);
	(void)enter(50, 2, QUEUE_NORMAL, 50);
	(void)enter(51, 3, QUEUE_NORMAL, 51);
	(void)enter(52, 2, QUEUE_NORMAL, 52);
	const int wanted[] = { 50, 51, 1, 52, 2, 3 };
	int running = 0;
	bool is_fair = true;

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		queue_leave(&queue, (size_t)running);
		running = next(100 + i);
		is_fair &= running == wanted[i];
	}
	tap_ok(is_fair, "callers take turns, whatever one of them has asked for");
	reset(3, 100, 0);
	(void)enter(0, 1, QUEUE_NORMAL, 0);
	(void)enter(1, 1, QUEUE_NORMAL, 1);
	(void)enter(2, 2, QUEUE_NORMAL, 2);
	(void)enter(3, 1, QUEUE_NORMAL, 3);
	(void)enter(4, 2, QUEUE_NORMAL, 4);
	queue_leave(&queue, 2);
	tap_ok(next(5) == 4, "the caller with fewer running is before the one that asked first");
}

static void check_priorities(void)
{
	reset(1, 100, 0);
	(void)enter(0, 1, QUEUE_NORMAL, 0);
	(void)enter(1, 1, QUEUE_LOW, 1);
	(void)enter(2, 1, QUEUE_NORMAL, 2);
	(void)enter(3, 1, QUEUE_HIGH, 3);
	queue_leave(&queue, 0);
	tap_ok(next(4) == 3, "high before normal");
	queue_leave(&queue, 3);
	tap_ok(next(4) == 2, "normal before low");
	(void)enter(4, 1, QUEUE_HIGH, 3 * QUEUE_AGE_NS);
	queue_leave(&queue, 2);
	tap_ok(next(3 * QUEUE_AGE_NS + 2) == 1,
	       "one that has waited for long is before a high one");
}

static void check_rates(void)
{
	uint64_t wait_ns;

	reset(100, 100, 6);
	tap_ok(enter(0, 1, 1, 100 * S) == QUEUE_RUNS && enter(1, 1, 1, 100 * S) == QUEUE_RUNS,
	       "a quiet caller may start a few at once");
	tap_ok(enter(2, 1, 1, 100 * S) == QUEUE_WAITS, "and then waits");
	tap_ok(queue_next(&queue, 100 * S, &wait_ns) == -1 && wait_ns == 10 * S,
	       "until its rate lets the next");
	tap_ok(enter(3, 2, 1, 101 * S) == QUEUE_RUNS, "another caller does not wait for that");
	queue_leave(&queue, 0);
	queue_leave(&queue, 1);
	tap_ok(next(109 * S) == -1 && next(110 * S) == 2,
	       "its calls that ended count all the same");
	for (pid_t session = 100; session < 100 + 3 * QUEUE_PLACES; session++) {
		(void)enter(10, session, 1, 111 * S);
		queue_leave(&queue, 10);
	}
	tap_ok(queue.running == 2 && queue.waiting == 0, "more callers than places lose none");
}

static void check_rates_apart(void)
{
	reset(2, 1, 6);
	(void)enter(0, 1, 1, 100 * S);
	queue_leave(&queue, 0);
	(void)enter(0, 1, 1, 100 * S);
	queue_leave(&queue, 0);
	tap_ok(enter(0, 1, 1, 100 * S) == QUEUE_WAITS && enter(1, 1, 1, 100 * S) == QUEUE_NONE,
	       "a caller over its rate waits, and has its share of the queue");
	tap_ok(enter(1, 2, 1, 100 * S) == QUEUE_RUNS && enter(2, 3, 1, 100 * S) == QUEUE_RUNS,
	       "none is refused while nothing runs");
	tap_ok(enter(3, 4, 1, 100 * S) == QUEUE_WAITS && enter(4, 5, 1, 100 * S) == QUEUE_NONE,
	       "and the queue is not filled by what waits for its rate");
}

static void check_insisting(void)
{
	const struct queue_place call = { .asked_ns = 5, .pid = 1, .insists = true };

	reset(1, 1, 0);
	(void)enter(0, 1, 1, 1);
	tap_ok(enter(1, 1, 1, 2) == QUEUE_WAITS && enter(2, 1, 1, 3) == QUEUE_NONE,
	       "the queue is full");
	tap_ok(queue_enter(&queue, 2, &call, 1) == QUEUE_WAITS && queue.waiting == 2,
	       "a call of a group waits all the same");
	queue_leave(&queue, 1);
	tap_ok(enter(1, 1, 1, 6) == QUEUE_WAITS, "and fills the queue for no other");
}

static void check_limits(void)
{
	tap_ok(queue_default(2, UINT64_C(8) << 30) == 8 &&
		       queue_default(32, UINT64_C(64) << 30) == 128,
	       "by cores");
	tap_ok(queue_default(32, UINT64_C(1) << 30) == 4 && queue_default(1, 1) == 1,
	       "and by memory");
	tap_ok(queue_under_pressure(8, 2, 50, 0) == 8 && queue_under_pressure(8, 2, -1, -1) == 8,
	       "without pressure, or where it is not known, as it is");
	tap_ok(queue_under_pressure(8, 2, 95, 0) == 4 && queue_under_pressure(8, 2, 0, 50) == 2,
	       "under pressure less");
	tap_ok(queue_under_pressure(8, 6, 99, 99) == 6 && queue_under_pressure(1, 6, 99, 99) == 1,
	       "but as many as there are cores");
}

/* Whatever calls come and go: counts agree, bounds hold, and as long as one waits no place is free. */
static void check_any_order(void)
{
	unsigned seed = 1, errors = 0;

	reset(5, 20, 0);
	for (uint64_t at = 1; at < 200000; at++) {
		seed = seed * 1103515245 + 12345;
		size_t place = (seed >> 16) % 40;

		if (queue.places[place].state == QUEUE_NONE)
			(void)enter(place, (pid_t)(1 + (seed >> 8) % 6), (seed >> 4) % 3, at);
		else
			queue_leave(&queue, place);
		while (next(at) >= 0)
			;
		unsigned running = 0, waiting = 0;

		for (size_t i = 0; i < 40; i++) {
			running += queue.places[i].state == QUEUE_RUNS;
			waiting += queue.places[i].state == QUEUE_WAITS;
		}
		errors += running != queue.running || waiting != queue.waiting || running > 5 ||
			  waiting > 20 || (waiting && running < 5);
	}
	tap_ok(errors == 0, "200,000 calls in any order: %u errors", errors);
}

int main(void)
{
	check_bounds();
	check_fairness();
	check_priorities();
	check_rates();
	check_rates_apart();
	check_insisting();
	check_limits();
	check_any_order();
	return tap_done();
}
