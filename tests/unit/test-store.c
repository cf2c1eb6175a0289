/* SPDX-License-Identifier: Apache-2.0 */
/* The store: who may use it, what it refuses, contents, garbage, and the process that works behind it. */
#include "workspace/store/store.h"

#include "tests/unit/store_fixture.h"
#include "workspace/store/cas.h"
#include "workspace/store/store_parts.h"
#include "workspace/store/unsynced.h"

#include <dirent.h>
#include <linux/fs.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static struct fixture fixture;

/* Shared with the process that works behind the store. */
static struct {
	pid_t tester;
	int priority;
	ino_t store_lock;
	volatile bool is_held; /* it may not list what is to be synced */
	volatile int collections, late_collections;
} * worker;

static void worker_watch(void)
{
	worker = mmap(NULL, sizeof(*worker), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (worker == MAP_FAILED)
		tap_bail("cannot watch the worker");
	worker->tester = getpid();
	worker->priority = getpriority(PRIO_PROCESS, 0);
}

/* From here on; other cases put something else in the lock's place. */
static void worker_count(void)
{
	struct stat st;

	if (fstatat(fixture.store.fd, "lock", &st, 0) < 0)
		tap_bail("the store has no lock");
	worker->store_lock = st.st_ino;
	worker->collections = worker->late_collections = 0;
}

static void worker_locks(int fd, int operation)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	struct stat st;

	while (operation == LOCK_EX && worker->is_held && kill(worker->tester, 0) == 0)
		(void)nanosleep(&pause, NULL);
	if (!(operation & LOCK_EX) || fstat(fd, &st) < 0 || st.st_ino != worker->store_lock)
		return;
	worker->collections++;
	worker->late_collections += getpriority(PRIO_PROCESS, 0) > worker->priority;
}

/* In place of the C library's. */
int flock(int fd, int operation)
{
	char name[16] = "";

	(void)prctl(PR_GET_NAME, name, 0, 0, 0);
	if (worker && strcmp(name, "aisbx-store") == 0)
		worker_locks(fd, operation);
	return (int)syscall(SYS_flock, fd, operation);
}

static char *in_store(const char *name)
{
	return xasprintf("%s/%s", fixture.store.path, name);
}

static bool is_there(const char *name)
{
	return faccessat(fixture.store.fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Opens the store once more; what the error says. */
static const char *refusal(enum error_code code)
{
	struct store again;

	if (store_open(fixture.store.path, &again, &fixture.err) == 0) {
		store_close(&again);
		return "";
	}
	return fixture.err.code == code ? fixture.err.text : "another error";
}

static void test_refusals(void)
{
	owned(free_ptr) char *version = in_store("VERSION"), *other = in_store("other");
	owned(free_ptr) char *lock = in_store("lock");

	tap_is_str(refusal(ERROR_NONE), "", "a store is opened again");
	(void)chmod(fixture.store.path, 0750);
	tap_ok(strstr(refusal(ERROR_DENIED), "chmod 700"), "one that is open to others is refused");
	(void)chmod(fixture.store.path, 0700);
	if (rename(version, other) < 0 || symlink("other", version) < 0)
		tap_bail("cannot make a link");
	tap_ok(strstr(refusal(ERROR_INPUT), "not a regular"), "a link as VERSION is not followed");
	(void)unlink(version);
	(void)mkfifo(version, 0600);
	tap_ok(strstr(refusal(ERROR_INPUT), "not a regular file"), "a fifo does not hang");
	(void)unlink(version);
	free(scratch_write(&fixture.scratch, "store/VERSION", "aisbx-store 2\n"));
	tap_ok(strstr(refusal(ERROR_DENIED), "newer"), "a newer format is refused");
	free(scratch_write(&fixture.scratch, "store/VERSION", "hello"));
	tap_ok(*refusal(ERROR_INPUT), "anything else is no store");
	(void)rename(other, version);
	(void)unlink(lock);
	(void)mkfifo(lock, 0600);
	tap_ok(*refusal(ERROR_INPUT), "a fifo as lock does not hang either");
	(void)unlink(lock);
	tap_is_str(refusal(ERROR_NONE), "", "and it is opened as before");
	if (geteuid() == 0) {
		(void)chown(fixture.store.path, 1, 1);
		tap_ok(strstr(refusal(ERROR_DENIED), "belongs to user 1"),
		       "somebody else's is refused");
		(void)chown(fixture.store.path, 0, 0);
	} else {
		tap_skip(1, "giving a directory away needs root");
	}
}

static void test_files(void)
{
	owned(str_done) struct str text = STR_INIT;
	char boot_id[37];

	tap_ok(store_boot_id(boot_id, &fixture.err) == 0 && strlen(boot_id) == 36,
	       "a boot has an id");
	tap_ok(store_replace(fixture.store.fd, "note", "one", 3, true, &fixture.err) == 0 &&
		       store_replace(fixture.store.fd, "note", "two", 3, false, &fixture.err) == 0,
	       "a file is replaced");
	if (file_read(fixture.store.fd, "note", 64, &text, &fixture.err) < 0)
		tap_bail(fixture.err.text);
	tap_is_str(str_cstr(&text), "two", "its content is the new one");
	tap_ok(store_trash(&fixture.store, fixture.store.fd, "note", &fixture.err) == 0 &&
		       !is_there("note"),
	       "what goes to the trash is gone at once");
	tap_ok(store_trash(&fixture.store, fixture.store.fd, "note", &fixture.err) == 0,
	       "what is not there need not go");
	store_empty_trash(&fixture.store, false);
	owned(free_ptr) char *trash = in_store("trash");

	tap_ok(rmdir(trash) == 0 && mkdir(trash, 0700) == 0, "the trash is empty");
}

static void test_contents(void)
{
	char hex[SHA256_HEX_SIZE], again[SHA256_HEX_SIZE];
	owned(free_ptr) char *path = scratch_write(&fixture.scratch, "file", "content");
	owned(fd_close) int file = open(path, O_RDONLY | O_CLOEXEC);
	owned(fd_close) int kept = -1;
	char text[16] = "";
	struct stat st;

	tap_ok(cas_keep_fd(&fixture.store, file, hex, &fixture.err) == 0, "a content is kept");
	tap_ok(cas_keep_bytes(&fixture.store, "content", 7, again, &fixture.err) == 0 &&
		       strcmp(hex, again) == 0,
	       "the same bytes have the same name");
	tap_ok(cas_open(&fixture.store, hex, &kept, &fixture.err) == 0 &&
		       read(kept, text, sizeof(text) - 1) == 7 && strcmp(text, "content") == 0,
	       "and are found again");
	tap_ok(fstat(kept, &st) == 0 && (st.st_mode & 0777) == 0400, "nobody may change them");
	fd_close(&kept);
	hex[0] = hex[0] == '0' ? '1' : '0';
	tap_ok(cas_open(&fixture.store, hex, &kept, &fixture.err) < 0 &&
		       fixture.err.code == ERROR_NOT_FOUND,
	       "what is not kept is not found");
	tap_ok(cas_open(&fixture.store, "../../../etc/passwd", &kept, &fixture.err) < 0 &&
		       fixture.err.code == ERROR_INPUT,
	       "a name is no path");
}

static void take(struct sandbox *box, char ret_layer[static LAYER_ID_SIZE])
{
	const struct snapshot_request request = { .message = NULL };
	struct snapshot made;

	if (snapshot_take(box, &request, &made, &fixture.err) < 0)
		tap_bail(fixture.err.text);
	memcpy(ret_layer, made.layer, sizeof(made.layer));
	snapshot_done(&made);
}

static bool has_layer(const char *lid)
{
	owned(free_ptr) char *place = xasprintf("layers/%s", lid);

	return is_there(place);
}

static void test_garbage(void)
{
	owned(strv_done) struct strv removed = STRV_INIT;
	char kept[LAYER_ID_SIZE], lost[LAYER_ID_SIZE], place[80], hex[SHA256_HEX_SIZE];
	struct sandbox box;

	fixture_make(&fixture, "keeps", 0);
	fixture_make(&fixture, "goes", 0);
	if (!fixture_enter(&fixture, "keeps", &box))
		return;
	fixture_write(&box, "f", "kept");
	take(&box, kept);
	tap_ok(snapshot_fork(&box, NULL, "also-goes", 0, &fixture.err) == 0,
	       "a fork shares a layer");
	sandbox_close(&box);
	if (!fixture_enter(&fixture, "goes", &box))
		return;
	fixture_write(&box, "f", "lost");
	take(&box, lost);
	fixture_settle(&fixture);
	tap_ok(has_layer(kept) && has_layer(lost), "both layers are there");
	if (cas_keep_bytes(&fixture.store, "young", 5, hex, &fixture.err) < 0)
		tap_bail(fixture.err.text);
	(void)snprintf(place, sizeof(place), "cas/%.2s/%s", hex, hex + 2);
	worker_count();
	tap_ok(sandbox_remove(&box, &fixture.err) == 0, "one sandbox is removed");
	sandbox_close(&box);
	tap_ok(sandbox_discard(&fixture.store, "also-goes", &fixture.err) == 0, "another by name");
	store_unlock(&fixture.store);
	fixture_settle(&fixture);
	/* Who held the store for long has left it to the next. */
	if (is_there(GC_FILE)) {
		store_start_worker(&fixture.store);
		fixture_settle(&fixture);
	}
	tap_ok(has_layer(kept) && !has_layer(lost),
	       "what only it had is gone, without being asked");
	tap_ok(worker->collections > 0 && worker->late_collections == 0,
	       "collected as soon as the caller himself would, since others wait for it");
	if (store_relock(&fixture.store, &fixture.err) < 0)
		tap_bail(fixture.err.text);
	(void)mkdirat(fixture.store.fd, "layers/.new-01ARZ3NDEKTSV4RRFFQ69G5FAV", 0700);
	tap_ok(store_gc(&fixture.store, &removed, &fixture.err) == 0 && removed.count == 1 &&
		       strstr(removed.items[0], ".new-"),
	       "drafts of killed processes are garbage, too");
	tap_ok(is_there(place), "a content that was just kept waits for what will name it");
}

/* A file that is larger than any record keeps what it names where a record would be, and is not read to its end. */
static void test_garbage_huge(void)
{
	static const char first[] = "01ARZ3NDEKTSV4RRFFQ69G5FAV",
			  last[] = "01ARZ3NDEKTSV4RRFFQ69G5FAW";
	owned(strv_done) struct strv removed = STRV_INIT;
	owned(fd_close) int fd = -1;

	(void)mkdirat(fixture.store.fd, "stages", 0700);
	(void)mkdirat(fixture.store.fd, "layers/01ARZ3NDEKTSV4RRFFQ69G5FAV", 0700);
	(void)mkdirat(fixture.store.fd, "layers/01ARZ3NDEKTSV4RRFFQ69G5FAW", 0700);
	fd = openat(fixture.store.fd, "stages/meta", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || pwrite(fd, first, strlen(first), 0) < 0 ||
	    pwrite(fd, last, strlen(last), 1 << 30) < 0)
		tap_bail("cannot make a huge record");
	tap_ok(store_gc(&fixture.store, &removed, &fixture.err) == 0 && has_layer(first) &&
		       !has_layer(last),
	       "a huge record is read up to what a record may have");
	(void)unlinkat(fixture.store.fd, "stages/meta", 0);
}

static void test_garbage_waits(void)
{
	owned(strv_done) struct strv removed = STRV_INIT;
	struct store other;

	if (store_open(fixture.store.path, &other, &fixture.err) < 0)
		tap_bail(fixture.err.text);
	tap_ok(store_gc(&fixture.store, &removed, &fixture.err) < 0 &&
		       fixture.err.code == ERROR_CONFLICT,
	       "nothing is collected while others use the store");
	tap_ok(flock(fixture.store.lock_fd, LOCK_SH | LOCK_NB) == 0,
	       "and our own lock is held again");
	store_close(&other);
}

/* The caller's pipe must end when the caller does, whatever goes on behind. */
static void test_worker(void)
{
	int pipe_fds[2];
	char byte;
	struct sandbox box;

	if (pipe2(pipe_fds, 0) < 0)
		tap_bail("no pipe");
	if (!fixture_enter(&fixture, "keeps", &box))
		return;
	fixture_write(&box, "g", "more");
	worker->is_held = true;
	pid_t child = fork();

	if (child == 0) {
		char layer[LAYER_ID_SIZE];

		(void)dup2(pipe_fds[1], 1);
		(void)dup2(pipe_fds[1], 2);
		close(pipe_fds[0]);
		close(pipe_fds[1]);
		take(&box, layer);
		/* A zombie would be found by a wait for anybody. */
		_exit(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD ? 0 : 1);
	}
	int status = -1;

	close(pipe_fds[1]);
	(void)waitpid(child, &status, 0);
	tap_is_int(status, 0, "the worker is nobody's child");
	tap_ok(unsynced_is_any(&fixture.store), "nobody waits until it has synced");
	tap_ok(read(pipe_fds[0], &byte, 1) == 0, "and it does not hold the caller's output");
	close(pipe_fds[0]);
	sandbox_close(&box);
	worker->is_held = false;
	fixture_settle(&fixture);
	tap_ok(!unsynced_is_any(&fixture.store), "then it syncs");
}

static int flags_of(const char *name)
{
	owned(fd_close) int fd = openat(fixture.store.fd, name, O_RDONLY | O_DIRECTORY);
	int flags = -1;

	return fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0 ? -1 : flags;
}

/* Where new sandboxes are made, and only there, directories go to places of their own. */
static void test_spread(void)
{
	owned(fd_close) int fd = openat(fixture.store.fd, "sbx", O_RDONLY | O_DIRECTORY);
	int flags = flags_of("sbx"), wanted = FS_TOPDIR_FL;

	if (flags < 0 || ioctl(fd, FS_IOC_SETFLAGS, &wanted) < 0) {
		tap_skip(3, "this filesystem knows no such mark");
		return;
	}
	tap_ok(flags & FS_TOPDIR_FL, "a new store spreads its sandboxes");
	tap_ok(!(flags_of("layers") & FS_TOPDIR_FL), "and nothing else");
	flags &= ~FS_TOPDIR_FL;
	(void)ioctl(fd, FS_IOC_SETFLAGS, &flags);
	store_spread(fixture.store.fd);
	tap_ok(flags_of("sbx") & FS_TOPDIR_FL, "one that is older does when it is worked on");
}

int main(void)
{
	fixture_open(&fixture);
	worker_watch();
	test_spread();
	test_refusals();
	test_files();
	test_contents();
	test_garbage();
	test_garbage_huge();
	test_garbage_waits();
	test_worker();
	fixture_close(&fixture);
	return tap_done();
}
