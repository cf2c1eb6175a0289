/* SPDX-License-Identifier: Apache-2.0 */
/* What a change started from: capture, the ladder of bases, staleness, and the records of it. */
#include "tests/unit/promote_fixture.h"
#include "workspace/disk/handle.h"
#include "workspace/base/origin_record.h"

static struct origin find(struct bench *b, const char *name)
{
	struct delta_options options = { .workspace = b->workspace, .renames = true };
	owned(free_ptr) char *path = bench_real(b, name);
	struct origin origin = { .quality = ORIGIN_LOST };
	struct origin_index *index;
	struct view_stack stack;
	struct delta delta;
	bool found = false;

	bench_view(b, &stack);
	options.old_from = stack.count;
	if (delta_read(&stack, &options, &delta, &b->err) < 0 ||
	    origin_index_open(&b->sandbox, &stack, &index, &b->err) < 0)
		tap_bail(b->err.text);
	for (size_t i = 0; i < delta.count; i++)
		if (strcmp(delta.items[i].path, path) == 0)
			found = origin_find(index, &delta.items[i], &origin, &b->err) == 0;
	if (!found)
		printf("# %s is not in the list\n", name);
	origin_index_close(index);
	delta_done(&delta);
	view_close(&stack);
	return origin;
}

static void check(struct bench *b, const char *name, enum origin_quality quality, bool exists,
		  const char *what)
{
	owned(origin_done) struct origin origin = find(b, name);

	tap_ok(origin.quality == quality && origin.identity.exists == exists, "%s (%s)", what,
	       origin_quality_name(origin.quality));
}

/* Without anything written down. */
static void test_times(void)
{
	owned(bench_close) struct bench b;

	bench_open(&b);
	real_put(&b, "still", "one");
	real_put(&b, "moved", "one");
	real_put(&b, "gone", "one");
	real_put(&b, "removed", "one");
	real_put(&b, "removed-moved", "one");
	bench_start(&b);
	top_put(&b, "still", "two", true);
	top_put(&b, "moved", "two", true);
	top_put(&b, "gone", "two", true);
	top_put(&b, "new", "two", false);
	top_put(&b, "both", "two", false);
	top_remove(&b, "removed");
	top_remove(&b, "removed-moved");
	bench_tick();
	real_put(&b, "moved", "real");
	real_put(&b, "removed-moved", "real");
	real_put(&b, "both", "real");
	owned(free_ptr) char *path = bench_real(&b, "gone");

	(void)unlink(path);
	check(&b, "still", ORIGIN_EXACT, true, "the host has not moved");
	check(&b, "moved", ORIGIN_LOST, false, "the host has moved");
	check(&b, "gone", ORIGIN_LOST, true, "copied up, and gone from the host");
	check(&b, "new", ORIGIN_EXACT, false, "made by the sandbox");
	check(&b, "both", ORIGIN_LOST, false, "made by both: nobody can tell");
	check(&b, "removed", ORIGIN_EXACT, true, "removed, older than the base");
	check(&b, "removed-moved", ORIGIN_LOST, false, "removed, and moved since");
}

static void test_captured(void)
{
	owned(bench_close) struct bench b;
	owned(fd_close) int fd = -1;
	char *big = malloc((2u << 20) + 1);

	if (!big)
		tap_bail("out of memory");
	memset(big, 'x', 2u << 20);
	big[2u << 20] = '\0';
	bench_open(&b);
	real_put(&b, "small", "one");
	real_put(&b, "large", big);
	real_put(&b, "removed", "one");
	real_put(&b, "old", "renamed");
	bench_start(&b);
	top_put(&b, "small", "two", true);
	top_put(&b, "large", "two", true);
	top_put(&b, "new", "two", false);
	top_put(&b, "fresh", "renamed", true);
	top_remove(&b, "old");
	top_remove(&b, "removed");
	bench_capture(&b);
	check(&b, "small", ORIGIN_EXACT, true, "captured, and still so");
	bench_tick();
	real_put(&b, "small", "real");
	real_put(&b, "large", "real");
	real_put(&b, "removed", "real");
	real_put(&b, "new", "real");
	bench_capture(&b);
	check(&b, "small", ORIGIN_CAPTURED, true, "the content was kept");
	check(&b, "large", ORIGIN_LOST, true, "too large to be kept");
	check(&b, "removed", ORIGIN_CAPTURED, true, "removed: kept, too");
	check(&b, "new", ORIGIN_CAPTURED, false, "there was nothing");
	owned(origin_done) struct origin origin = find(&b, "small");

	tap_ok(cas_open(&b.store, origin.sha256, &fd, &b.err) == 0, "its content is in the store");
	owned(origin_done) struct origin renamed = find(&b, "fresh");

	tap_ok(renamed.from && str_ends(renamed.from, "/ws/old"), "a rename is known as one");
	free(big);
}

/* A clock that was set back makes times worthless; what was written down holds. */
static void test_clock(void)
{
	owned(bench_close) struct bench b;

	bench_open(&b);
	real_put(&b, "known", "one");
	real_put(&b, "unknown", "one");
	bench_start(&b);
	top_put(&b, "known", "two", true);
	bench_capture(&b);
	top_put(&b, "unknown", "two", true);
	b.sandbox.clock_offset_ns += 3600000000000;
	check(&b, "known", ORIGIN_EXACT, true, "identity tells");
	check(&b, "unknown", ORIGIN_LOST, false, "nothing does");
	b.sandbox.clock_offset_ns -= 3600000000000;
	check(&b, "unknown", ORIGIN_EXACT, true, "times do when they can");
	memset(b.sandbox.base_boot_id, 'x', 36);
	check(&b, "unknown", ORIGIN_LOST, false, "another boot: offsets mean nothing");
}

static void test_layers(void)
{
	owned(bench_close) struct bench b;
	struct snapshot snapshot;
	struct snapshot_request request = { 0 };

	bench_open(&b);
	real_put(&b, "twice", "one");
	bench_start(&b);
	top_put(&b, "twice", "two", true);
	bench_capture(&b);
	sandbox_close(&b.sandbox);
	if (sandbox_open(&b.store, "box", SANDBOX_EXCLUSIVE, &b.sandbox, &b.err) < 0 ||
	    snapshot_take(&b.sandbox, &request, &snapshot, &b.err) < 0)
		tap_bail(b.err.text);
	snapshot_done(&snapshot);
	check(&b, "twice", ORIGIN_EXACT, true, "a sealed layer keeps what was written down");
	bench_tick();
	real_put(&b, "twice", "real");
	bench_tick();
	owned(fd_close) int upper_fd = -1;

	if (sandbox_open_upper(&b.sandbox, &upper_fd, &b.err) < 0 ||
	    layer_units_add(upper_fd, b.workspace, &b.err) < 0)
		tap_bail(b.err.text);
	(void)mkdirat(upper_fd, b.unit, 0755);
	top_put(&b, "twice", "three", true);
	bench_capture(&b);
	check(&b, "twice", ORIGIN_CAPTURED, true, "the oldest layer's record counts");
}

static void test_stale(void)
{
	owned(bench_close) struct bench b;
	struct delta_options options = { 0 };
	struct staleness stale = { 0 };
	struct view_stack stack;
	struct delta delta;

	bench_open(&b);
	real_put(&b, "a", "one");
	real_put(&b, "b", "one");
	real_put(&b, "c", "one");
	real_put(&b, "elsewhere/d", "one");
	bench_start(&b);
	top_put(&b, "a", "two", true);
	top_put(&b, "b", "two", true);
	top_put(&b, "c", "two", true);
	top_put(&b, "e", "two", false);
	bench_capture(&b);
	bench_tick();
	real_put(&b, "a", "real");
	real_put(&b, "e", "real");
	real_put(&b, "elsewhere/d", "real");
	owned(free_ptr) char *gone = bench_real(&b, "b");

	(void)unlink(gone);
	bench_view(&b, &stack);
	options.workspace = b.workspace;
	options.old_from = stack.count;
	tap_ok(delta_read(&stack, &options, &delta, &b.err) == 0 &&
		       origin_staleness(&b.sandbox, &stack, &delta, UINT64_MAX, &stale, &b.err) ==
			       0,
	       "asked");
	tap_is_int((int)stale.count, 3, "three that were touched moved");
	tap_ok(stale.count == 3 && stale.items[0].kind == STALE_GONE &&
		       str_ends(stale.items[1].path, "/a") &&
		       stale.items[1].kind == STALE_CHANGED &&
		       stale.items[2].kind == STALE_APPEARED && stale.items[1].changed_ms > 0,
	       "gone, changed, appeared");
	tap_ok(stale.drift_count == 1 && str_ends(stale.drift[0].path, "/elsewhere/d"),
	       "one that was not touched drifted");
	tap_ok(!stale.clock_stepped && !stale.is_partial, "and that is all");
	staleness_done(&stale);
	tap_ok(origin_staleness(&b.sandbox, &stack, &delta, 1, &stale, &b.err) == 0 &&
		       stale.is_partial,
	       "a walk that may not last says so");
	staleness_done(&stale);
	delta_done(&delta);
	view_close(&stack);
}

/* The host's directory a, or one below it, is replaced by another, whose files are as old. */
static void swap_directories(const struct bench *b, const char *name, const char *by)
{
	owned(free_ptr) char *place = bench_real(b, name), *other = bench_real(b, by);
	owned(free_ptr) char *former = xasprintf("%s.old", place);

	if (rename(place, former) < 0 || rename(other, place) < 0)
		tap_bail("cannot rename a directory");
}

/* Does so when the masks are asked for the COUNTDOWN-th time. */
struct swap {
	const struct bench *bench;
	int countdown;
};

static bool show_and_swap(const char *path, void *cookie)
{
	struct swap *swap = cookie;

	(void)path;
	if (--swap->countdown == 0)
		swap_directories(swap->bench, "a", "a2");
	return true;
}

/* Changes below a and in its directory x, which was replaced before: of x/0 the base is lost. */
static void open_swapped(struct bench *b)
{
	static const char *const files[] = { "x/0", "y/1", "y/2", "y/3" };

	bench_open(b);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		owned(free_ptr) char *own = xasprintf("a/%s", files[i]);
		owned(free_ptr) char *other = xasprintf("a2/%s", files[i]);

		real_put(b, own, "one");
		real_put(b, other, "host");
	}
	real_put(b, "a/x2/0", "host");
	bench_start(b);
	swap_directories(b, "a/x", "a/x2");
	top_mkdir(b, "a", NULL, NULL);
	top_mkdir(b, "a/x", NULL, NULL);
	top_mkdir(b, "a/y", NULL, NULL);
	top_put(b, "a/x/0", "two", true);
	top_put(b, "a/x/0-new", "two", false);
	top_put(b, "a/y/1", "two", true);
	top_put(b, "a/y/2", "two", true);
	top_remove(b, "a/y/3");
	bench_tick();
	b->request.strategy = STRATEGY_OURS;
}

/* Promotes with a replaced on the way. False: the promotion was over before that. */
static bool promote_swapped(int countdown, bool is_snapshot, bool *ret_is_kept)
{
	owned(bench_close) struct bench b;
	struct swap swap = { .bench = &b, .countdown = countdown };
	struct view_stack stack;

	open_swapped(&b);
	b.request.snapshot = is_snapshot ? "box" : NULL;
	bench_view(&b, &stack);
	stack.shows = show_and_swap;
	stack.cookie = &swap;
	int status = promote_run(&b.sandbox, &stack, &b.request, &b.promotion, &b.err);

	view_close(&stack);
	if (swap.countdown > 0)
		*ret_is_kept = status == 0 && real_is(&b, "a/x/0", "host") &&
			       real_is(&b, "a/y/1", "two") && real_is(&b, "a/y/3", NULL);
	else
		*ret_is_kept = real_is(&b, "a/x/0", "host") && real_is(&b, "a/y/1", "host") &&
			       real_is(&b, "a/y/2", "host") && real_is(&b, "a/y/3", "host");
	return swap.countdown <= 0;
}

/* Whenever another directory takes the place of one that was looked at, its files are not the sandbox's bases. */
static void test_swapped(bool is_snapshot)
{
	bool is_kept = true;
	int at = 1;

	while (promote_swapped(at, is_snapshot, &is_kept) && is_kept)
		at++;
	tap_ok(is_kept && at > 3, "replaced at any of %d moments, a directory keeps its files%s",
	       at - 1, is_snapshot ? " (no records)" : "");
}

/* Field by field: between them lies what no compiler promises. */
static bool is_same_identity(const struct txn_identity *a, const struct txn_identity *b)
{
	return a->exists == b->exists && a->dev == b->dev && a->ino == b->ino &&
	       a->btime_ns == b->btime_ns && a->size == b->size && a->mtime_ns == b->mtime_ns &&
	       a->ctime_ns == b->ctime_ns && a->mode == b->mode && a->uid == b->uid &&
	       a->gid == b->gid && a->tree == b->tree;
}

static void test_records(void)
{
	struct origin_record record = {
		.path = (char[]){ "/a b/%\n\xff-" },
		.promotion = "01M7F4Q57N86ZYPVNSNSKNBBAG",
		.origin = { .quality = ORIGIN_CAPTURED,
			    .link = (char[]){ "-" },
			    .identity = { .exists = true,
					  .dev = UINT64_MAX,
					  .ino = 7,
					  .mtime_ns = -5,
					  .ctime_ns = INT64_MAX,
					  .mode = 0100644,
					  .uid = UINT32_MAX } },
	};
	owned(origin_records_done) struct origin_records back = { 0 };
	owned(str_done) struct str text = STR_INIT;
	struct error err = { 0 };

	memset(record.origin.sha256, 'a', 64);
	origin_records_begin(&text);
	origin_records_put_time(&text, 123);
	origin_records_put(&text, &record);
	str_add(&text, "path exact cut sho");
	tap_ok(origin_records_parse(str_cstr(&text), text.len, &back, &err) == 0 &&
		       back.count == 1 && back.at_ns == 123,
	       "a line that was cut short does not count");
	tap_ok(back.count == 1 && strcmp(back.items[0].path, record.path) == 0 &&
		       strcmp(back.items[0].origin.link, "-") == 0 && !back.items[0].origin.from &&
		       is_same_identity(&back.items[0].origin.identity, &record.origin.identity) &&
		       strcmp(back.items[0].promotion, record.promotion) == 0,
	       "everything comes back");
	tap_ok(origin_records_parse("what\n", 5, &back, &err) < 0 && err.code == ERROR_INPUT,
	       "another file is refused");
}

/* Puts the kernel's note of HANDLE on the file; false where attributes cannot be had. */
static bool put_note(int fd, const struct handle *handle)
{
	const size_t head = 5 + HANDLE_UUID;
	unsigned char note[5 + HANDLE_UUID + HANDLE_MAX] = { 0, 0xfb,
							     (unsigned char)(head + handle->len), 0,
							     (unsigned char)handle->type };

	memcpy(note + 5, handle->uuid, HANDLE_UUID);
	memcpy(note + head, handle->bytes, handle->len);
	return fsetxattr(fd, DELTA_USER_ORIGIN, note, head + handle->len, 0) == 0;
}

/* Two filesystems may call their files alike: a note names its own. */
static void test_handles(void)
{
	/* In memory: not every disk has been given a number. */
	owned(fd_close) int dir_fd = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct handle own = { 0 }, note = { 0 }, other;
	static const unsigned char unknown[HANDLE_UUID];
	char path[] = "/dev/shm/aisbx-test-origin-XXXXXX";
	owned(fd_close) int fd = mkostemp(path, O_CLOEXEC);
	bool is_noted =
		fd >= 0 && handle_read(dir_fd, strrchr(path, '/') + 1, &own) && put_note(fd, &own);

	if (fd >= 0)
		(void)unlink(path);
	if (!is_noted) {
		tap_skip(5, "no handles or attributes here");
		return;
	}
	tap_ok(handle_read_note(fd, true, &note) && handle_compare(&own, &note) == 0 &&
		       handle_is_near(&own, &note),
	       "a note names a file as the filesystem does");
	other = own;
	memset(other.uuid, 0x5a, sizeof(other.uuid));
	tap_ok(put_note(fd, &other) && handle_read_note(fd, true, &note) &&
		       memcmp(note.uuid, other.uuid, HANDLE_UUID) == 0,
	       "and its filesystem");
	if (memcmp(own.uuid, unknown, HANDLE_UUID) == 0) {
		tap_skip(3, "the kernel does not tell filesystems apart");
		return;
	}
	tap_ok(!handle_is_near(&own, &note), "that of another one is not this file's");
	tap_ok(handle_open(dir_fd, &note) < 0 && errno == ESTALE, "nor is this one opened by it");
	memset(note.uuid, 0, sizeof(note.uuid));
	tap_ok(handle_is_near(&own, &note), "one that does not say may be");
}

int main(void)
{
	test_times();
	test_captured();
	test_clock();
	test_layers();
	test_stale();
	test_swapped(false);
	test_swapped(true);
	test_records();
	test_handles();
	return tap_done();
}
