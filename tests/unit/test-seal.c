/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Killed at every instant: sealing, going back, forking, folding, and the recovery from it.
 *
 * Whatever the instant, nothing the sandbox held is lost, the next command finds it either as it was or as it was to
 * be, and the same action works afterwards.
 */
#include "workspace/store/layer_commit.h"

#include "tests/unit/killed.h"
#include "tests/unit/store_fixture.h"
#include "workspace/store/snapshot_parts.h"

static struct fixture fixture;

struct act {
	const char *what;
	char name[SANDBOX_NAME_MAX + 1];
	void (*action)(struct act *act, struct sandbox *box);
	/* Whether it happened; -1 when what is there is neither the old nor the new. */
	int (*judge)(const struct sandbox *box);
	bool is_alone; /* with other sandboxes it would take more steps each time */
};

static bool shows(const struct sandbox *box, const char *want)
{
	char text[64];

	fixture_read(box, "f", text);
	return strcmp(text, want) == 0;
}

/* What snapshot NAME holds; false when there is none. */
static bool snapshot_shows(const struct sandbox *box, const char *name, const char *want)
{
	struct error err;
	struct snapshot snapshot;
	struct sandbox there = *box;

	if (snapshot_find(box, name, &snapshot, &err) < 0)
		return false;
	memcpy(there.head, snapshot.layer, sizeof(there.head));
	snapshot_done(&snapshot);
	/* Without a top: only its layers. */
	there.dir_fd = -1;
	return shows(&there, want);
}

static void do_take(struct act *act, struct sandbox *box)
{
	const struct snapshot_request request = { .message = "two\nlines \\ and more" };
	struct snapshot made;

	(void)act;
	if (snapshot_take(box, &request, &made, &fixture.err) < 0)
		_exit(1);
	snapshot_done(&made);
}

static int judge_take(const struct sandbox *box)
{
	bool has = snapshot_shows(box, "s2", "two");

	return !shows(box, "two") || (strcmp(box->at, has ? "s2" : "s1") != 0) ? -1 : has;
}

static void do_take_live(struct act *act, struct sandbox *box)
{
	const struct snapshot_request request = { .is_live = true };
	struct snapshot made;

	(void)act;
	if (snapshot_take(box, &request, &made, &fixture.err) < 0)
		_exit(1);
	snapshot_done(&made);
}

/* Its record is written before the sandbox stands on it: in between it is there, and that is all. */
static int judge_take_live(const struct sandbox *box)
{
	bool has = snapshot_shows(box, "s2", "two");

	return !shows(box, "two") || (!has && strcmp(box->at, "s1") != 0) ? -1 : has;
}

static void do_rollback(struct act *act, struct sandbox *box)
{
	char saved[SNAPSHOT_NAME_MAX + 1];

	(void)act;
	if (snapshot_rollback(box, NULL, saved, &fixture.err) < 0)
		_exit(1);
}

static int judge_rollback(const struct sandbox *box)
{
	if (shows(box, "two"))
		return 0;
	return shows(box, "one") && snapshot_shows(box, "auto1", "two") ? 1 : -1;
}

static void do_fork(struct act *act, struct sandbox *box)
{
	char name[SANDBOX_NAME_MAX + 1];

	(void)snprintf(name, sizeof(name), "f%.60s", act->name);
	if (snapshot_fork(box, NULL, name, 0, &fixture.err) < 0)
		_exit(1);
}

static int judge_fork(const struct sandbox *box)
{
	char name[SANDBOX_NAME_MAX + 1];
	struct sandbox forked;
	int result;

	(void)snprintf(name, sizeof(name), "f%.60s", box->name);
	if (!shows(box, "two"))
		return -1;
	if (sandbox_open(box->store, name, SANDBOX_UNLOCKED, &forked, &fixture.err) < 0)
		return fixture.err.code == ERROR_NOT_FOUND ? 0 : -1;
	result = shows(&forked, "two") ? 1 : -1;
	sandbox_close(&forked);
	return result;
}

static void do_fold(struct act *act, struct sandbox *box)
{
	do_take(act, box);
	if (snapshot_fold(box, 1, &fixture.err) != 1)
		_exit(1);
}

static int judge_fold(const struct sandbox *box)
{
	struct error err;
	struct layer_meta meta;

	if (!shows(box, "two") || layer_meta_read(box->store, box->head, &meta, &err) < 0)
		return -1;
	return meta.same_as[0] != '\0';
}

static void do_refresh(struct act *act, struct sandbox *box)
{
	(void)act;
	if (snapshot_refresh(box, &fixture.err) < 0)
		_exit(1);
}

static int judge_refresh(const struct sandbox *box)
{
	return shows(box, "two") ? snapshot_shows(box, "auto1", "two") : -1;
}

static void do_collect(struct act *act, struct sandbox *box)
{
	owned(strv_done) struct strv removed = STRV_INIT;
	struct store own = { .fd = box->store->fd, .lock_fd = -1 };

	(void)act;
	if (store_gc(&own, &removed, &fixture.err) < 0)
		_exit(1);
}

/* Garbage is nobody's loss; what is in use must be there. */
static int judge_collect(const struct sandbox *box)
{
	return shows(box, "two") && snapshot_shows(box, "s1", "one") ? 1 : -1;
}

/* Away with what the other acts left: looking through it all takes its time. */
static void drop_litter(void)
{
	owned(strv_done) struct strv names = STRV_INIT, removed = STRV_INIT;

	if (sandbox_list(&fixture.store, &names, &fixture.err) < 0)
		tap_bail(fixture.err.text);
	for (size_t i = 0; i < names.count; i++)
		(void)sandbox_discard(&fixture.store, names.items[i], &fixture.err);
	if (store_gc(&fixture.store, &removed, &fixture.err) < 0)
		tap_bail(fixture.err.text);
	store_empty_trash(&fixture.store, false);
}

/* A sandbox with snapshot s1 ("one") and a dirty top ("two"). */
static void prepare(struct act *act, unsigned number)
{
	const struct snapshot_request request = { .message = NULL };
	struct sandbox box;
	struct snapshot made;

	if (act->is_alone)
		drop_litter();
	(void)snprintf(act->name, sizeof(act->name), "%s%u", act->what, number);
	fixture_make(&fixture, act->name, 0);
	if (!fixture_enter(&fixture, act->name, &box))
		tap_bail("cannot enter");
	fixture_write(&box, "f", "one");
	if (snapshot_take(&box, &request, &made, &fixture.err) < 0)
		tap_bail(fixture.err.text);
	snapshot_done(&made);
	fixture_write(&box, "f", "two");
	sandbox_close(&box);
}

static void act_whole(void *cookie)
{
	struct act *act = cookie;
	struct sandbox box;

	if (sandbox_open(&fixture.store, act->name, SANDBOX_EXCLUSIVE, &box, &fixture.err) < 0)
		_exit(1);
	act->action(act, &box);
	sandbox_close(&box);
}

static void act_recover(void *cookie)
{
	struct act *act = cookie;
	struct sandbox box;

	if (sandbox_open(&fixture.store, act->name, SANDBOX_SHARED, &box, &fixture.err) < 0)
		_exit(1);
	sandbox_close(&box);
}

/* What is there after a kill: good, and nothing half done is left. */
static int look(struct act *act)
{
	struct sandbox box;
	int result;

	if (!fixture_enter(&fixture, act->name, &box))
		return -1;
	result = act->judge(&box);
	if (layer_commit_is_pending(&box))
		result = -1;
	sandbox_close(&box);
	return result;
}

/* Kills ACT at each instant, or at some; at every third one the recovery is killed as well, at an instant that moves. */
static void test_act(struct act *act)
{
	unsigned step = tap_size(11, 2, 1);
	unsigned olds = 0, news = 0, bad = 0, at;

	for (at = 1;; at += step) {
		enum killed killed;
		int result;

		prepare(act, at);
		killed = killed_run(act_whole, act, at);
		if (killed == KILLED_UNABLE)
			tap_bail(fixture.err.text);
		if (killed == KILLED_KILLED && at % 3 == 0)
			(void)killed_run(act_recover, act, 1 + at * 7 % 120);
		result = look(act);
		olds += result == 0;
		news += result == 1;
		bad += result < 0;
		if (result < 0 && bad < 5)
			printf("# neither old nor new when killed at %u\n", at);
		if (result == 0 && killed_run(act_whole, act, KILLED_NEVER) != KILLED_FINISHED) {
			printf("# not to be repeated when killed at %u\n", at);
			bad++;
		}
		if (killed == KILLED_FINISHED)
			break;
	}
	tap_ok(bad == 0 && news > 0, "%s: %u instants, %u old, %u new, %u bad", act->what, at, olds,
	       news, bad);
}

/* Each system call of ACT, or every second one, fails once: it says so or copes, and nothing is lost. */
static void test_refused(struct act *act, int errnum)
{
	unsigned step = tap_size(2, 2, 1);
	unsigned olds = 0, news = 0, bad = 0, at;

	for (at = 1;; at += step) {
		enum killed killed;
		int result;

		prepare(act, (unsigned)errnum * 10000 + at);
		killed = killed_run_refused(act_whole, act, at, errnum);
		if (killed == KILLED_UNABLE)
			tap_bail("cannot make a system call fail");
		result = look(act);
		olds += result == 0;
		news += result == 1;
		if (result < 0 ||
		    (result == 0 && killed_run(act_whole, act, KILLED_NEVER) != KILLED_FINISHED)) {
			printf("# %s when call %u failed\n",
			       result < 0 ? "neither old nor new" : "not to be repeated", at);
			bad++;
		}
		if (killed == KILLED_FINISHED)
			break;
	}
	tap_ok(bad == 0 && news > 0, "%s with %s: %u calls, %u old, %u new, %u bad", act->what,
	       strerror(errnum), at, olds, news, bad);
}

static void test_both(struct act *act)
{
	test_act(act);
	if (tap_is_slow()) {
		tap_skip(2, "calls of the instruments' own must not fail");
		return;
	}
	test_refused(act, ENOSPC);
	test_refused(act, EIO);
}

static bool can_trace(void)
{
	struct act none = { .what = "none" };

	(void)snprintf(none.name, sizeof(none.name), "nobody");
	return killed_run(act_recover, &none, 1) == KILLED_KILLED;
}

int main(void)
{
	struct act acts[] = {
		{ .what = "snap", .action = do_take, .judge = judge_take },
		{ .what = "live", .action = do_take_live, .judge = judge_take_live },
		{ .what = "rollback", .action = do_rollback, .judge = judge_rollback },
		{ .what = "fork", .action = do_fork, .judge = judge_fork },
		{ .what = "fold", .action = do_fold, .judge = judge_fold },
		{ .what = "refresh", .action = do_refresh, .judge = judge_refresh },
	};
	struct act collect = {
		.what = "collect", .action = do_collect, .judge = judge_collect, .is_alone = true
	};
	owned(fd_close) int worker_fd = -1;

	/* Thousands of small steps: on a disk they only take longer. */
	(void)fixture_enter_namespace();
	fixture_open(&fixture);
	/* Nobody shall work in the background: what is left lying must be seen. */
	worker_fd = openat(fixture.store.fd, "worker", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (flock(worker_fd, LOCK_EX) < 0)
		tap_bail("cannot lock");
	if (!can_trace()) {
		tap_skip(1, "processes may not be traced here");
	} else {
		for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
			test_both(&acts[i]);
		/* It wants the store alone. */
		store_unlock(&fixture.store);
		test_both(&collect);
	}
	if (store_relock(&fixture.store, &fixture.err) < 0)
		tap_bail(fixture.err.text);
	fd_close(&worker_fd);
	fixture_close(&fixture);
	return tap_done();
}
