/* SPDX-License-Identifier: Apache-2.0 */
/* Named sandboxes on disk: names, records, locks, time to live, and what somebody may have left in their place. */
#include "workspace/store/sandbox.h"

#include "base/core/clock.h"
#include "tests/unit/store_fixture.h"
#include "workspace/store/sandbox_record.h"
#include "workspace/store/layer_commit.h"
#include "workspace/store/store_parts.h"

#include <sys/stat.h>
#include <time.h>

#define DEEP_BYTES (1 << 20)

static struct fixture fixture;

static bool opens(const char *name, enum sandbox_lock lock)
{
	struct sandbox box;

	if (sandbox_open(&fixture.store, name, lock, &box, &fixture.err) < 0)
		return false;
	sandbox_close(&box);
	return true;
}

static void test_names(void)
{
	static const char *const good[] = {
		"a", "0", "fix-1", "a.b_c-d",
		"a23456789012345678901234567890123456789012345678901234567890123"
	};
	static const char *const bad[] = {
		"",
		".",
		"..",
		"../x",
		"a/b",
		"-a",
		"_a",
		".a",
		"A",
		"a b",
		"a\n",
		"\xc3\xa4",
		"a\x7f",
		"base@s1",
		"a234567890123456789012345678901234567890123456789012345678901234"
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		tap_ok(sandbox_check_name(good[i], &fixture.err) == 0, "'%s' is a name", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_ok(sandbox_check_name(bad[i], &fixture.err) < 0 &&
			       fixture.err.code == ERROR_USAGE && !opens(bad[i], SANDBOX_SHARED) &&
			       fixture.err.code == ERROR_USAGE,
		       "bad name %zu is refused", i);
}

static void test_record(void)
{
	owned(strv_done) struct strv settings = STRV_INIT;
	struct sandbox_make make = { .name = "first",
				     .workspace = "/home/x/with\nnewline\\n",
				     .root = "forest",
				     .owner = "mcp one",
				     .settings = &settings,
				     .head = "" };
	struct sandbox made, box;

	strv_add(&settings, "--mem");
	strv_add(&settings, "512m");
	strv_add(&settings, "");
	strv_add(&settings, " blanks \n lines ");
	if (!tap_ok(sandbox_make(&fixture.store, &make, &made, &fixture.err) == 0, "one is made"))
		return;
	tap_ok(sandbox_open(&fixture.store, "first", SANDBOX_UNLOCKED, &box, &fixture.err) == 0,
	       "and opened");
	tap_is_str(box.workspace, make.workspace, "its workspace comes back, byte by byte");
	tap_is_str(box.owner, "mcp one", "its owner");
	tap_ok(box.settings.count == 4 && strcmp(box.settings.items[2], "") == 0 &&
		       strcmp(box.settings.items[3], settings.items[3]) == 0,
	       "its settings");
	tap_ok(strcmp(box.id, made.id) == 0 && box.created_ms == made.created_ms &&
		       box.base_ns == made.base_ns && box.clock_offset_ns == made.clock_offset_ns,
	       "and what it was taken from");
	memcpy(box.upper_boot_id, box.base_boot_id, sizeof(box.upper_boot_id));
	tap_ok(sandbox_save(&box, &fixture.err) == 0, "changes are saved");
	sandbox_close(&box);
	tap_ok(sandbox_open(&fixture.store, "first", SANDBOX_UNLOCKED, &box, &fixture.err) == 0 &&
		       strcmp(box.upper_boot_id, made.base_boot_id) == 0,
	       "and come back");
	sandbox_close(&box);
	sandbox_close(&made);
	tap_ok(sandbox_make(&fixture.store, &make, &made, &fixture.err) < 0 &&
		       fixture.err.code == ERROR_CONFLICT,
	       "a name is given once");
	tap_ok(!opens("frist", SANDBOX_SHARED) && fixture.err.code == ERROR_NOT_FOUND &&
		       strstr(fixture.err.text, "'first'"),
	       "an unknown one is told with the nearest");
}

static void test_locks(void)
{
	struct sandbox one, two;

	if (sandbox_open(&fixture.store, "first", SANDBOX_SHARED, &one, &fixture.err) < 0)
		tap_bail(fixture.err.text);
	tap_ok(opens("first", SANDBOX_SHARED), "it is shared");
	tap_ok(!opens("first", SANDBOX_EXCLUSIVE) && fixture.err.code == ERROR_CONFLICT,
	       "nobody has it alone meanwhile");
	tap_ok(sandbox_open(&fixture.store, "first", SANDBOX_SHARED, &two, &fixture.err) == 0 &&
		       sandbox_relock(&two, SANDBOX_EXCLUSIVE, &fixture.err) < 0 &&
		       fixture.err.code == ERROR_CONFLICT,
	       "nor by changing the lock");
	sandbox_close(&one);
	tap_ok(!opens("first", SANDBOX_EXCLUSIVE), "the lock that was held before is held again");
	tap_ok(sandbox_relock(&two, SANDBOX_EXCLUSIVE, &fixture.err) == 0, "alone, it is had");
	tap_ok(opens("first", SANDBOX_UNLOCKED), "looking needs no lock");
	tap_ok(sandbox_relock(&two, SANDBOX_UNLOCKED, &fixture.err) == 0 &&
		       opens("first", SANDBOX_EXCLUSIVE),
	       "and it is given up");
	sandbox_close(&two);
}

static void test_removal(void)
{
	struct sandbox waits;

	fixture_make(&fixture, "gone", 0);
	if (sandbox_open(&fixture.store, "gone", SANDBOX_UNLOCKED, &waits, &fixture.err) < 0)
		tap_bail(fixture.err.text);
	tap_ok(sandbox_discard(&fixture.store, "gone", &fixture.err) == 0 &&
		       !opens("gone", SANDBOX_SHARED),
	       "removed is gone at once");
	tap_ok(sandbox_relock(&waits, SANDBOX_SHARED, &fixture.err) < 0 &&
		       fixture.err.code == ERROR_NOT_FOUND,
	       "who waited for it is told");
	sandbox_close(&waits);
	fixture_make(&fixture, "gone", 0);
	tap_ok(opens("gone", SANDBOX_EXCLUSIVE), "the name is free again");
	tap_ok(sandbox_discard(&fixture.store, "nobody", &fixture.err) < 0 &&
		       fixture.err.code == ERROR_NOT_FOUND,
	       "what is not there cannot be removed");
}

static void test_time_to_live(void)
{
	owned(strv_done) struct strv swept = STRV_INIT, names = STRV_INIT, later = STRV_INIT;
	uint64_t now = clock_epoch_ms(), end = now + 1;
	struct timespec rest = { .tv_nsec = 60000000 };
	struct sandbox used;

	sandbox_sweep(&fixture.store, &swept);
	tap_is_int((long long)store_next_expiry_ms(&fixture.store), 0, "nothing ever ends");
	fixture_make(&fixture, "short", end);
	fixture_make(&fixture, "used", 0);
	fixture_make(&fixture, "long", now + 3600000);
	if (sandbox_open(&fixture.store, "used", SANDBOX_SHARED, &used, &fixture.err) < 0)
		tap_bail(fixture.err.text);
	used.expires_ms = end;
	if (sandbox_save(&used, &fixture.err) < 0)
		tap_bail(fixture.err.text);
	while (clock_epoch_ms() <= end)
		(void)nanosleep(&rest, NULL);
	tap_ok(!opens("short", SANDBOX_SHARED) && fixture.err.code == ERROR_NOT_FOUND,
	       "an expired one is not found");
	sandbox_sweep(&fixture.store, &swept);
	tap_ok(swept.count == 1 && strv_has(&swept, "short"), "it is swept, one in use is not");
	tap_ok(sandbox_list(&fixture.store, &names, &fixture.err) == 0 &&
		       !strv_has(&names, "used") && strv_has(&names, "long") &&
		       strv_has(&names, "first"),
	       "but no longer listed");
	sandbox_close(&used);
	/* A worker of the sweep before may still have the lock from us. */
	for (int i = 0; i < 500 && later.count == 0; i++) {
		sandbox_sweep_all(&fixture.store, &later);
		if (later.count == 0)
			(void)nanosleep(&rest, NULL);
	}
	tap_ok(later.count == 1 && strv_has(&later, "used"), "it goes when nobody uses it");
	tap_is_int((long long)store_next_expiry_ms(&fixture.store), (long long)(now + 3600000),
		   "the next look is due when the next one ends");
	fixture_make(&fixture, "sooner", now + 1800000);
	tap_is_int((long long)store_next_expiry_ms(&fixture.store), (long long)(now + 1800000),
		   "or when a new one does");
}

/* Puts something else where file NAME of sandbox "odd" is. */
static void replace(const char *name, const char *with)
{
	owned(free_ptr) char *path = xasprintf("%s/sbx/odd/%s", fixture.store.path, name);
	owned(free_ptr) char *inner = xasprintf("store/sbx/odd/%s", name);

	(void)unlink(path);
	(void)rmdir(path);
	if (strcmp(with, "fifo") == 0)
		(void)mkfifo(path, 0600);
	else if (strcmp(with, "link") == 0)
		(void)symlink("/etc/passwd", path);
	else if (strcmp(with, "directory") == 0)
		(void)mkdir(path, 0700);
	else
		free(scratch_write(&fixture.scratch, inner, with));
}

static void test_hostile_files(void)
{
	static const char *const files[] = { "meta", "head", "lock", "pending" };
	static const char *const instead[] = { "fifo",	    "link",
					       "directory", "",
					       "\n\n\n",    "aisbx-head 1\nlayer ../../x\nend\n" };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		for (size_t k = 0; k < sizeof(instead) / sizeof(instead[0]); k++) {
			owned(strv_done) struct strv names = STRV_INIT;
			bool is_opened;

			fixture_make(&fixture, "odd", 0);
			replace(files[i], instead[k]);
			is_opened = opens("odd", SANDBOX_EXCLUSIVE);
			if (!is_opened && fixture.err.code != ERROR_INPUT)
				tap_ok(false, "told as damaged, not as %s", fixture.err.text);
			tap_ok(sandbox_list(&fixture.store, &names, &fixture.err) == 0 &&
				       strv_has(&names, "first"),
			       "oddity %zu for %s: %s, others are listed", k, files[i],
			       is_opened ? "opened" : "refused");
			if (is_opened && i < 2)
				tap_ok(false, "a damaged one must not be opened");
			if (!is_opened && i == 3)
				tap_ok(false, "an intent that makes no sense is dropped");
			if (sandbox_discard(&fixture.store, "odd", &fixture.err) < 0)
				tap_bail(fixture.err.text);
		}
	}
}

/* As deep as is promoted, and deeper than a walk keeps directories open. */
static void fill_deep(const struct sandbox *box)
{
	owned(fd_close) int at = openat(box->dir_fd, "upper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	owned(free_ptr) char *bytes = xcalloc(1, DEEP_BYTES);

	for (int i = 0; i < 150; i++) {
		int below = mkdirat(at, "d", 0700) < 0 ? -1 : openat(at, "d", O_PATH | O_CLOEXEC);

		fd_close(&at);
		at = below;
	}
	owned(fd_close) int fd = openat(at, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	memset(bytes, 'x', DEEP_BYTES);
	/* Blocks are counted once they have a place on the disk. */
	if (write(fd, bytes, DEEP_BYTES) != DEEP_BYTES || fsync(fd) < 0)
		tap_bail("no deep file");
}

static void test_top(void)
{
	char boot_id[37] = "11111111-2222-3333-4444-555555555555";
	struct sandbox box;
	bool is_dirty;

	fixture_make(&fixture, "top", 0);
	if (!fixture_enter(&fixture, "top", &box))
		return;
	tap_ok(layer_commit_top_is_dirty(&box, &is_dirty, &fixture.err) == 0 && !is_dirty,
	       "a top that was never made holds nothing");
	memcpy(box.upper_boot_id, box.base_boot_id, sizeof(box.upper_boot_id));
	tap_ok(!sandbox_is_torn(&box, boot_id), "so a crash took nothing from it");
	fixture_write(&box, "f", "x");
	tap_ok(layer_commit_top_is_dirty(&box, &is_dirty, &fixture.err) == 0 && is_dirty,
	       "now it does");
	tap_ok(sandbox_is_torn(&box, boot_id) && !sandbox_is_torn(&box, box.base_boot_id),
	       "and may have been cut short by another boot");
	tap_ok(sandbox_disk_bytes(&box) > 0, "it takes room");
	fill_deep(&box);
	tap_ok(sandbox_disk_bytes(&box) >= DEEP_BYTES, "also what lies 150 directories deep");
	sandbox_close(&box);
}

static void test_many(void)
{
	unsigned count = tap_size(100, 200, 1000), opened = 0;
	owned(strv_done) struct strv names = STRV_INIT;

	for (unsigned i = 0; i < count; i++) {
		owned(free_ptr) char *name = xasprintf("many-%u", i);

		fixture_make(&fixture, name, 0);
	}
	for (unsigned i = 0; i < count; i++) {
		owned(free_ptr) char *name = xasprintf("many-%u", i);

		opened += opens(name, SANDBOX_EXCLUSIVE);
	}
	tap_is_int(opened, count, "%u sandboxes side by side are opened", count);
	tap_ok(sandbox_list(&fixture.store, &names, &fixture.err) == 0 && names.count >= count,
	       "and listed");
}

int main(void)
{
	(void)fixture_enter_namespace();
	fixture_open(&fixture);
	test_names();
	test_record();
	test_locks();
	test_removal();
	test_time_to_live();
	test_hostile_files();
	test_top();
	test_many();
	fixture_close(&fixture);
	return tap_done();
}
