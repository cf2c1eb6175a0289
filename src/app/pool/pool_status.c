/* SPDX-License-Identifier: Apache-2.0 */
/* What the daemon shows of itself: `daemon status` and `queue`. */
#include "app/pool/pool_state.h"
#include "base/core/clock.h"

#include <unistd.h>

#define SHOWN_MAX 500

static void add_count(struct value *map, const char *key, uint64_t count)
{
	value_add(map, key, value_new_int((int64_t)count));
}

static struct value *show_helpers(const struct helpers *helpers)
{
	struct value *list = value_new_list();

	for (size_t i = 0; i < helpers->count; i++) {
		const struct helper *row = &helpers->rows[i];
		struct value *map = value_new_map();

		value_add(map, "name", value_new_text(row->name));
		add_count(map, "pid", (uint64_t)row->pid);
		add_count(map, "starts", row->starts);
		value_append(list, map);
	}
	return list;
}

struct value *pool_status(const struct server *server)
{
	const struct shelf *shelf = &server->shelf;
	struct value *map = value_new_map();
	unsigned plans = 0;

	for (size_t i = 0; i < SHELF_PLANS; i++)
		plans += shelf->plans[i].spec.driver != NULL;
	value_add(map, "running", value_new_bool(true));
	add_count(map, "pid", (uint64_t)getpid());
	add_count(map, "pool", shelf->size);
	add_count(map, "ready", shelf_count(shelf, true));
	add_count(map, "plans", plans);
	add_count(map, "given", server->given);
	add_count(map, "cold", server->cold);
	add_count(map, "made", shelf->made);
	add_count(map, "failed", shelf->failed);
	add_count(map, "max_running", server->queue.limits.running);
	add_count(map, "busy", server->queue.running);
	add_count(map, "waiting", server->queue.waiting);
	add_count(map, "refused", server->queue.refused);
	add_count(map, "uptime_ms", (clock_now_ns() - server->began_ns) / 1000000);
	value_add(map, "helpers", show_helpers(server->helpers));
	return map;
}

/* Those that run first, then those that wait. */
struct value *pool_show_queue(const struct server *server)
{
	static const char *const priorities[] = { "low", "normal", "high" };
	struct value *list = value_new_list();
	uint64_t now_ns = clock_now_ns();
	unsigned shown = 0;

	for (int state = QUEUE_RUNS; state >= QUEUE_WAITS; state--) {
		for (size_t i = 0; i < server->client_end && shown < SHOWN_MAX; i++) {
			const struct queue_place *place = &server->queue.places[i];
			uint64_t since_ns =
				place->state == QUEUE_RUNS ? place->began_ns : place->asked_ns;
			struct value *map;

			if ((int)place->state != state)
				continue;
			map = value_append(list, value_new_map());
			shown++;
			value_add(map, "state",
				  value_new_text(state == QUEUE_RUNS ? "runs" : "waits"));
			add_count(map, "pid", (uint64_t)place->pid);
			add_count(map, "caller",
				  (uint64_t)server->queue.callers[place->caller].session);
			value_add(map, "priority", value_new_text(priorities[place->priority]));
			add_count(map, "since_ms", (now_ns - since_ns) / 1000000);
		}
	}
	return list;
}
