/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several processes in one store at once: snapshots, rollbacks, forks, removals, garbage collection.
 *
 * Whoever finds a sandbox in use leaves it alone; in the end everything that is listed must be whole.
 */
#include "tests/unit/store_fixture.h"

#define PROCESSES 4
#define TURNS 60
#define NAMES 5

static struct fixture fixture;

static unsigned next_random(unsigned *state, unsigned below)
{
	*state = *state * 1103515245u + 12345u;
	return (*state >> 16) % below;
}

static void pick_name(unsigned *state, char name[static 16])
{
	(void)snprintf(name, 16, "c%u", next_random(state, NAMES));
}

static int act(struct sandbox *box, unsigned *state, struct error *err)
{
	const struct snapshot_request request = { .message = "crowd" };
	char other[16], saved[SNAPSHOT_NAME_MAX + 1];
	struct snapshot made;

	pick_name(state, other);
	if (next_random(state, 4) > 0)
		fixture_write(box, "f", other);
	switch (next_random(state, 6)) {
	case 0:
		return snapshot_rollback(box, NULL, saved, err);
	case 1:
		return snapshot_fork(box, NULL, other, 0, err);
	case 2:
		return sandbox_remove(box, err);
	default:
		if (snapshot_take(box, &request, &made, err) < 0)
			return -1;
		snapshot_done(&made);
		return 0;
	}
}

/* A turn as a command has it: store, sandbox, action; now and then a look for garbage. */
static bool take_turn(const char *path, unsigned *state)
{
	struct sandbox_make make = { .workspace = UNIT_PATH, .root = "project", .head = "" };
	struct error err = { .code = ERROR_NONE };
	owned(strv_done) struct strv removed = STRV_INIT;
	struct store store;
	struct sandbox box;
	char name[16];

	if (store_open(path, &store, &err) < 0)
		return false;
	pick_name(state, name);
	make.name = name;
	if (next_random(state, 8) == 0)
		(void)store_gc(&store, &removed, &err);
	if (sandbox_make(&store, &make, &box, &err) == 0)
		sandbox_close(&box);
	int done = sandbox_open(&store, name, SANDBOX_EXCLUSIVE, &box, &err);

	if (done == 0) {
		done = act(&box, state, &err);
		sandbox_close(&box);
	}
	store_close(&store);
	if (done == 0 || err.code == ERROR_CONFLICT || err.code == ERROR_NOT_FOUND)
		return true;
	printf("# %s: %s\n", name, err.text);
	return false;
}

/* Whether every layer below LID is there, with what it should hold. */
static bool is_whole(const char *lid)
{
	struct layer_chain chain;

	if (layer_chain_read(&fixture.store, lid, &chain, &fixture.err) < 0) {
		printf("# %s\n", fixture.err.text);
		return false;
	}
	layer_chain_done(&chain);
	return true;
}

static bool sandbox_is_whole(const char *name)
{
	struct sandbox box;
	struct snapshots list;
	bool is_good;

	if (!fixture_enter(&fixture, name, &box))
		return false;
	is_good = is_whole(box.head) && snapshot_list(&box, &list, &fixture.err) == 0;
	for (size_t i = 0; is_good && i < list.count; i++)
		is_good = is_whole(list.items[i].layer);
	if (is_good)
		snapshots_done(&list);
	sandbox_close(&box);
	return is_good;
}

int main(void)
{
	owned(strv_done) struct strv names = STRV_INIT;
	pid_t children[PROCESSES];
	unsigned seed = (unsigned)getpid(), failed = 0, broken = 0;

	(void)fixture_enter_namespace();
	fixture_open(&fixture);
	store_unlock(&fixture.store);
	printf("# seed %u\n", seed);
	for (unsigned i = 0; i < PROCESSES; i++) {
		unsigned state = seed + i;

		children[i] = fork();
		if (children[i] == 0) {
			bool is_good = true;

			for (unsigned k = 0; k < TURNS && is_good; k++)
				is_good = take_turn(fixture.store.path, &state);
			_exit(is_good ? 0 : 1);
		}
	}
	for (unsigned i = 0; i < PROCESSES; i++) {
		int status = -1;

		failed += waitpid(children[i], &status, 0) != children[i] || status != 0;
	}
	tap_is_int(failed, 0, "nobody met anything but sandboxes in use");
	fixture_settle(&fixture);
	if (store_relock(&fixture.store, &fixture.err) < 0 ||
	    sandbox_list(&fixture.store, &names, &fixture.err) < 0)
		tap_bail(fixture.err.text);
	for (size_t i = 0; i < names.count; i++)
		broken += !sandbox_is_whole(names.items[i]);
	tap_ok(names.count > 0 && broken == 0, "%zu sandboxes are left, all whole", names.count);
	fixture_close(&fixture);
	return tap_done();
}
