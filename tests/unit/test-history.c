/* SPDX-License-Identifier: Apache-2.0 */
/* The history: every record folded exactly once, whatever happens in between; lists, figures, bounds. */
#include "history/history.h"
#include "history/trim.h"

#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/id.h"
#include "base/core/own.h"
#include "history/db.h"
#include "history/spool.h"
#include "tests/tap.h"
#include "tests/unit/let_go.h"
#include "tests/unit/scratch.h"

#include <signal.h>
#include <sys/wait.h>

#define DAY_MS (UINT64_C(24) * 3600 * 1000)

static uint64_t sequence;

static void make_id(uint64_t epoch_ms, char ret_id[static ID_RUN_SIZE])
{
	unsigned char random[ID_RUN_RANDOM] = { 0 };

	sequence++;
	for (size_t i = 0; i < 8; i++)
		random[ID_RUN_RANDOM - 1 - i] = (unsigned char)(sequence >> 8 * i);
	id_run_format(epoch_ms, random, ret_id);
}

static void append(const char *dir, enum spool_type type, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void append(const char *dir, enum spool_type type, const char *format, ...)
{
	owned(fd_close) int fd = -1;
	struct error err = { 0 };
	va_list args;

	va_start(args, format);
	owned(free_ptr) char *body = xvasprintf(format, args);

	va_end(args);
	if (spool_open(dir, &fd, &err) < 0 || spool_append(fd, type, body, strlen(body), &err) < 0)
		abort();
}

static void append_start(const char *dir, const char *id, int supervisor)
{
	append(dir, SPOOL_START,
	       "{\"run_id\":\"%s\",\"trace_id\":null,\"sandbox\":\"s-1\",\"command\":[\"make\",\"a "
	       "b\"],"
	       "\"workspace\":\"/w\",\"driver\":\"linux\",\"started\":\"2026-11-15T00:00:00.000Z\","
	       "\"supervisor\":%d}",
	       id, supervisor);
}

static void append_end(const char *dir, const char *id, const char *status)
{
	append(dir, SPOOL_END,
	       "{\"run_id\":\"%s\",\"trace_id\":\"agent\",\"sandbox\":\"s-1\",\"command\":["
	       "\"make\",\"a b\"],"
	       "\"status\":\"%s\",\"exit_code\":3,\"signal\":null,\"started\":\"2026-11-15T00:00:"
	       "00.000Z\","
	       "\"duration_ms\":1500.5,\"cpu_ms\":2.5,\"start_ms\":3.25,\"peak_memory_bytes\":4096,"
	       "\"denials\":[{\"layer\":\"net\",\"what\":\"connect "
	       "1.2.3.4:443\",\"rule\":\"r\",\"hint\":\"h\"}],"
	       "\"changes\":{\"added\":1,\"modified\":2,\"deleted\":3},\"denials_beyond\":0}",
	       id, status);
}

static struct history *must_open(const char *dir)
{
	struct history *history = NULL;
	struct error err = { 0 };

	tap_ok(history_open(dir, &history, &err) == 0, "the history opens %s", err.text);
	return history;
}

static size_t count_runs(struct history *history, const struct history_filter *filter)
{
	owned(value_release) struct value *list = NULL;
	struct error err = { 0 };

	if (history_list(history, filter, &list, &err) < 0)
		tap_ok(false, "%s", err.text);
	return list ? list->many.count : 0;
}

static const struct value *field(const struct value *list, size_t index, const char *key)
{
	return value_get(list->many.items[index], key);
}

static void test_list(void)
{
	owned(history_release) struct history *history = NULL;
	owned(value_release) struct value *list = NULL, *shown = NULL;
	struct history_filter all = { 0 }, text = { .text = "A B" }, percent = { .text = "%" };
	struct history_filter failed = { .status = "error", .sandbox = "s-1", .trace_id = "agent" };
	struct error err = { 0 };
	struct scratch scratch;
	char ids[3][ID_RUN_SIZE], found[27];

	scratch_open(&scratch);
	for (size_t i = 0; i < 3; i++) {
		make_id(1000000 + i, ids[i]);
		append_start(scratch.dir, ids[i], i == 2 ? getpid() : 1 << 29);
	}
	append_end(scratch.dir, ids[0], "error");
	history = must_open(scratch.dir);
	tap_ok(history_list(history, &all, &list, &err) == 0 && list->many.count == 3,
	       "three runs");
	tap_is_str(value_get_text(list->many.items[0], "run_id"), ids[2], "newest first");
	tap_is_str(value_get_text(list->many.items[1], "status"), "killed",
		   "a start without an end whose supervisor is gone was killed");
	tap_is_str(value_get_text(list->many.items[2], "status"), "error", "an end has its status");
	tap_is_int(field(list, 2, "files_changed")->integer, 6, "files are counted");
	tap_is_int((int64_t)field(list, 2, "command")->many.count, 2,
		   "the command is a list again");
	tap_is_int((int64_t)count_runs(history, &text), 3, "found by a word, in either case");
	tap_is_int((int64_t)count_runs(history, &percent), 0,
		   "what LIKE would take for a sign is none");
	tap_is_int((int64_t)count_runs(history, &failed), 0,
		   "no trace id at the start: none later");
	tap_ok(history_find(history, "zzz", NULL, found, &err) < 0 && err.code == ERROR_NOT_FOUND,
	       "an unknown run is not found");
	tap_ok(history_find(history, "0", NULL, found, &err) < 0 && err.code == ERROR_USAGE,
	       "a beginning of several is told so");
	tap_ok(history_find(history, ids[0], NULL, found, &err) == 0 && strcmp(found, ids[0]) == 0,
	       "an id is found");
	tap_ok(history_show(history, ids[0], &shown, &err) == 0 &&
		       strcmp(value_get_text(shown, "status"), "error") == 0,
	       "and shown as it was recorded");
	scratch_close(&scratch);
}

/* What a killed run's row becomes when its end was only late. */
static void test_late_end(void)
{
	struct history_filter success = { .status = "success" };
	struct scratch scratch;
	char id[ID_RUN_SIZE];

	scratch_open(&scratch);
	make_id(5, id);
	append_start(scratch.dir, id, 1 << 29);
	history_close(must_open(scratch.dir));
	append_end(scratch.dir, id, "success");
	owned(history_release) struct history *history = must_open(scratch.dir);

	tap_is_int((int64_t)count_runs(history, &success), 1, "an end that comes late counts");
	scratch_close(&scratch);
}

/* Kills a process that folds, again and again, while another appends. */
static void test_killed_folding(void)
{
	struct history_filter all = { 0 };
	struct scratch scratch;
	size_t appended = 0;

	scratch_open(&scratch);
	for (int round = 0; round < 30; round++) {
		pid_t pid = fork();

		if (pid == 0) {
			struct history *history = NULL;
			struct error err;

			for (;;) {
				if (history_open(scratch.dir, &history, &err) == 0)
					history_close(history);
			}
		}
		for (int i = 0; i < 20; i++) {
			char id[ID_RUN_SIZE];

			make_id(7, id);
			append_start(scratch.dir, id, 1);
			append_end(scratch.dir, id, "success");
			appended++;
		}
		(void)usleep((useconds_t)(round * 300));
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
	}
	owned(history_release) struct history *history = must_open(scratch.dir);

	tap_is_int((int64_t)count_runs(history, &all), (int64_t)appended,
		   "nothing lost, nothing doubled");
	scratch_close(&scratch);
}

static size_t count_events(struct history *history)
{
	struct history_place place = { 0 };
	struct error err = { 0 };
	size_t count = 0;
	bool has_more = true;

	while (has_more) {
		owned(value_release) struct value *list = NULL;

		if (history_events(history, &place, &list, &has_more, &err) < 0)
			return 0;
		count += list->many.count;
	}
	return count;
}

/* A process that opens the history once GATE_FD is closed on the other side; its end is 0 when that went well. */
static pid_t open_behind(const int gate[static 2], const char *dir)
{
	pid_t pid = fork();
	struct history *history = NULL;
	struct error err = { 0 };
	char byte;

	if (pid != 0)
		return pid;
	(void)close(gate[1]);
	(void)read(gate[0], &byte, 1);
	_exit(history_open(dir, &history, &err) < 0);
}

static bool ended_well(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && status == 0;
}

/* Another process is about to switch the journal of a database that both have just made. */
static void test_made_at_once(void)
{
	/* SQLite's byte for one that will write. */
	struct flock lock = { .l_type = F_WRLCK, .l_start = 0x40000001, .l_len = 1 };
	struct scratch scratch;
	int gate[2];

	scratch_open(&scratch);
	if (pipe2(gate, O_CLOEXEC) < 0)
		abort();
	pid_t pid = open_behind(gate, scratch.dir);
	owned(free_ptr) char *path = scratch_write(&scratch, "history.db", "");
	owned(fd_close) int fd = open(path, O_RDWR | O_CLOEXEC);

	tap_ok(fcntl(fd, F_SETLK, &lock) == 0, "another switches its journal");
	let_go(gate, pid, path);
	lock.l_type = F_UNLCK;
	(void)fcntl(fd, F_SETLK, &lock);
	tap_ok(ended_well(pid), "who opens it meanwhile waits");
	scratch_close(&scratch);
}

/* Between the look at a spool and the turn to fold it, another process folds that, and what came after the look. */
static void test_overtaken(void)
{
	owned(history_release) struct history *history = NULL;
	struct db *other = NULL;
	struct error err = { 0 };
	struct scratch scratch;
	int gate[2];

	scratch_open(&scratch);
	if (pipe2(gate, O_CLOEXEC) < 0)
		abort();
	pid_t pid = open_behind(gate, scratch.dir);
	owned(free_ptr) char *path = xasprintf("%s/history.db", scratch.dir);

	history = must_open(scratch.dir);
	append(scratch.dir, SPOOL_EVENT, "{\"event\":\"first\"}");
	tap_ok(db_open(path, &other, &err) == 0 && db_begin(other, &err) == 0, "a turn to write");
	let_go(gate, pid, path);
	append(scratch.dir, SPOOL_EVENT, "{\"event\":\"second\"}");
	tap_ok(db_commit(other, &err) == 0 && history_refresh(history, &err) == 0 &&
		       ended_well(pid),
	       "two fold");
	tap_is_int((int64_t)count_events(history), 2, "and each event is on record once");
	db_close(other);
	scratch_close(&scratch);
}

static bool has_only_spool(const char *dir)
{
	DIR *list = opendir(dir);
	bool is_alone = true;

	for (struct dirent *entry; list && (entry = readdir(list));)
		is_alone = is_alone && strncmp(entry->d_name, "spool.", 6) != 0;
	(void)closedir(list);
	return is_alone;
}

/* A spool beyond its size is retired, and goes when nobody can append to it any more. */
static void test_retiring(void)
{
	owned(free_ptr) char *filler = xcalloc(1, 200001);
	struct history_filter all = { 0 };
	owned(fd_close) int late_fd = -1;
	struct error err = { 0 };
	struct scratch scratch;
	char id[ID_RUN_SIZE], late[ID_RUN_SIZE];

	scratch_open(&scratch);
	memset(filler, 'x', 200000);
	for (int i = 0; i < 100; i++) {
		make_id(9, id);
		append(scratch.dir, SPOOL_START,
		       "{\"run_id\":\"%s\",\"command\":[\"%s\"],\"supervisor\":1}", id, filler);
	}
	make_id(9, late);
	append_start(scratch.dir, late, getpid());
	tap_ok(spool_open(scratch.dir, &late_fd, &err) == 0, "a run that takes its time");
	history_close(must_open(scratch.dir));
	tap_ok(!has_only_spool(scratch.dir), "a large spool is retired");
	history_close(must_open(scratch.dir));
	tap_ok(!has_only_spool(scratch.dir), "and stays while somebody may append to it");
	owned(free_ptr) char *body = xasprintf("{\"run_id\":\"%s\",\"status\":\"success\"}", late);

	tap_ok(spool_append(late_fd, SPOOL_END, body, strlen(body), &err) == 0, "who does");
	fd_close(&late_fd);
	history_close(must_open(scratch.dir));
	owned(history_release) struct history *history = must_open(scratch.dir);
	struct history_filter success = { .status = "success" };

	tap_ok(has_only_spool(scratch.dir), "then it goes");
	tap_is_int((int64_t)count_runs(history, &all), 101, "all of it is in the history");
	tap_is_int((int64_t)count_runs(history, &success), 1, "the late end too");
	scratch_close(&scratch);
}

static void test_figures(void)
{
	owned(history_release) struct history *history = NULL;
	owned(value_release) struct value *stats = NULL;
	struct history_last last;
	struct error err = { 0 };
	struct scratch scratch;
	uint64_t denials = 0;
	bool is_there = false;
	char id[ID_RUN_SIZE];

	scratch_open(&scratch);
	make_id(11, id);
	append_start(scratch.dir, id, 1);
	append_end(scratch.dir, id, "success");
	append(scratch.dir, SPOOL_EVENT,
	       "{\"event\":\"promote\",\"time\":\"2026-11-15T00:00:00.000Z\"}");
	append(scratch.dir, SPOOL_EVENT, "{\"event\":\"guard\"}");
	append(scratch.dir, SPOOL_EVENT, "{\"no\":\"kind\"}");
	append(scratch.dir, SPOOL_END, "{broken");
	history = must_open(scratch.dir);
	tap_ok(history_stats(history, 0, &stats, &err) == 0, "figures %s", err.text);
	tap_is_int(value_get(stats, "runs")->integer, 1, "one run");
	tap_ok(value_get(stats, "start_p50_ms")->real > 3.2, "its start");
	tap_is_int(value_get(stats, "promotions")->integer, 1, "one promotion");
	tap_is_int(value_get(stats, "guard_decisions")->integer, 1, "one decision");
	tap_ok(history_last_run(history, "s-1", &last, &is_there, &err) == 0 && is_there &&
		       last.exit_code == 3 && last.duration_ms == 1500 && last.peak_memory == 4096,
	       "the last run of a sandbox");
	tap_ok(history_last_run(history, "s-2", &last, &is_there, &err) == 0 && !is_there,
	       "or none");
	tap_ok(history_net_denials(history, "s-1", 0, &denials, &err) == 0 && denials == 1,
	       "what the network refused it");
	scratch_close(&scratch);
}

static void test_bounds(void)
{
	const struct history_bounds few = { .rows = 1 }, small = { .log_bytes = 1 };
	owned(history_release) struct history *history = NULL;
	owned(str_done) struct str packed = STR_INIT;
	struct history_bounds held = few;
	struct history_going going;
	struct history_filter all = { 0 };
	struct error err = { 0 };
	struct scratch scratch;
	struct strv pins = STRV_INIT;
	bool is_there = false;
	char ids[4][ID_RUN_SIZE];

	scratch_open(&scratch);
	for (uint64_t i = 0; i < 4; i++) {
		char name[48];

		make_id(13 + i, ids[i]);
		(void)snprintf(name, sizeof(name), "logs/%.26s", ids[i]);
		append_start(scratch.dir, ids[i], 1);
		append_end(scratch.dir, ids[i], "success");
		free(scratch_write(&scratch, name, "o 0.000 1\nx\n"));
	}
	history = must_open(scratch.dir);
	strv_add(&pins, ids[0]);
	held.pins = &pins;
	tap_ok(history_going(history, &held, &going, &err) == 0 && going.runs.count == 2 &&
		       strcmp(going.runs.items[0], ids[1]) == 0 && going.logs.count == 2,
	       "what is pinned stays %s", err.text);
	history_going_done(&going);
	tap_ok(history_run_pack(history, ids[1], &packed, &is_there, &err) == 0 && is_there,
	       "a run can be packed %s", err.text);
	tap_ok(history_going(history, &few, &going, &err) == 0 && going.runs.count == 3 &&
		       going.logs.count == 3 &&
		       history_forget(history, going.runs.items, going.runs.count, &err) == 0,
	       "all but the newest go, with their output");
	history_going_done(&going);
	tap_ok(history_going(history, &small, &going, &err) == 0 && going.runs.count == 0 &&
		       going.logs.count == 4,
	       "output beyond the bound goes, its run stays");
	history_going_done(&going);
	tap_ok(history_run_unpack(history, ids[0], packed.data, packed.len, &err) < 0 &&
		       err.code == ERROR_INPUT,
	       "a packed run is no other");
	tap_ok(history_run_unpack(history, ids[1], packed.data, packed.len, &err) == 1 &&
		       history_run_unpack(history, ids[1], packed.data, packed.len, &err) == 0,
	       "it can be unpacked, and again %s", err.text);
	tap_is_int((int64_t)count_runs(history, &all), 2, "and is there once");
	strv_done(&pins);
	scratch_close(&scratch);
}

/* Output of four runs, two of which are a program's: its bound touches no other. */
static void test_owner_bounds(void)
{
	const struct log_bounds none = { 0 }, one = { .count = 1 }, small = { .bytes = 1 };
	owned(history_release) struct history *history = NULL;
	struct log_removed removed = { 0 };
	struct error err = { 0 };
	struct scratch scratch;
	char ids[4][ID_RUN_SIZE], live[48];

	scratch_open(&scratch);
	for (uint64_t i = 0; i < 4; i++) {
		char name[48];

		make_id(13 + i, ids[i]);
		(void)snprintf(name, sizeof(name), "logs/%.26s", ids[i]);
		append(scratch.dir, SPOOL_START,
		       "{\"run_id\":\"%s\",\"command\":[\"x\"],\"owner\":\"%s\","
		       "\"started\":\"2026-11-15T00:00:00.000Z\",\"supervisor\":1}",
		       ids[i], i < 2 ? "p" : "o");
		free(scratch_write(&scratch, name, "o 0.000 1\nx\n"));
	}
	history = must_open(scratch.dir);
	tap_ok(history_trim_owner(history, "p", &none, &removed, &err) == 0 && removed.count == 0,
	       "without a bound nothing goes %s", err.text);
	tap_ok(history_trim_owner(history, "p", &one, &removed, &err) == 0 && removed.count == 1,
	       "one of the program's two goes");
	tap_ok(history_trim_owner(history, "q", &small, &removed, &err) == 0 && removed.count == 1,
	       "another owner has none");
	(void)snprintf(live, sizeof(live), "live/%.26s", ids[1]);
	owned(free_ptr) char *path = scratch_write(&scratch, live, "");

	tap_ok(history_trim_owner(history, "p", &small, &removed, &err) == 0 && removed.count == 1,
	       "a run under way keeps its output");
	tap_ok(unlink(path) == 0 && history_trim_owner(history, "p", &small, &removed, &err) == 0 &&
		       removed.count == 2,
	       "afterwards it goes, and those of others stay");
	scratch_close(&scratch);
}

static void test_damage(void)
{
	struct history *history = NULL;
	struct error err = { 0 };
	struct scratch scratch;

	scratch_open(&scratch);
	free(scratch_write(&scratch, "history.db",
			   "this is no database, whatever its name may say"));
	tap_ok(history_open(scratch.dir, &history, &err) < 0 && err.code == ERROR_INPUT &&
		       strstr(err.text, "move history.db away"),
	       "a file that is no database is told with the remedy: %s", err.text);
	scratch_close(&scratch);
}

int main(void)
{
	test_list();
	test_late_end();
	test_killed_folding();
	test_made_at_once();
	test_overtaken();
	test_retiring();
	test_figures();
	test_bounds();
	test_owner_bounds();
	test_damage();
	return tap_done();
}
