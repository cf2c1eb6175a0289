/* What promotions keep outside of their store: whose it is, and when it goes. */
#include "workspace/staging_mark.h"

#include "base/fd.h"
#include "base/own.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define ID "01M7GRR2J0P7S85033G9BCK91W"

static struct scratch scratch;
static struct strv removed, left;

static void sweep(void)
{
	owned(strv_done) struct strv bases = STRV_INIT;

	strv_take(&bases, scratch_path(&scratch, "base"));
	strv_done(&removed);
	strv_done(&left);
	staging_sweep(&bases, &removed, &left);
}

static int make(const char *path)
{
	owned(free_ptr) char *whole = scratch_path(&scratch, path);

	if (mkdir(whole, 0700) < 0)
		tap_bail(path);
	return open(whole, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static bool exists(const char *path)
{
	owned(free_ptr) char *whole = scratch_path(&scratch, path);

	return access(whole, F_OK) == 0;
}

static void rid(const char *path)
{
	owned(free_ptr) char *whole = scratch_path(&scratch, path);

	if (rmdir(whole) < 0)
		tap_bail(path);
}

/* base/ID with what it keeps, of the store as it is. */
static int make_staging(bool has_mark)
{
	owned(free_ptr) char *store = scratch_path(&scratch, "store/staging");
	int fd;

	if (!exists("base"))
		close(make("base"));
	fd = make("base/" ID);
	if (has_mark)
		staging_mark(fd, store);
	free(scratch_write(&scratch, "base/" ID "/0", "old"));
	return fd;
}

static void test_known(void)
{
	owned(fd_close) int fd = make_staging(true);

	sweep();
	tap_ok(exists("base/" ID "/0") && removed.count == 0 && left.count == 0,
	       "what its store knows stays");
	rid("store/promotions/" ID);
	if (flock(fd, LOCK_EX) < 0)
		tap_bail("flock");
	sweep();
	tap_ok(exists("base/" ID "/0") && removed.count == 0 && left.count == 0,
	       "and what somebody works on");
}

static void test_unknown(void)
{
	sweep();
	if (geteuid() != 0) {
		tap_ok(exists("base/" ID "/0") && left.count == 1, "only root can be sure");
		return;
	}
	tap_ok(!exists("base") && removed.count == 1 && left.count == 0,
	       "what its store does not know goes, and the directory above with the last of them");
}

static void test_unmarked(void)
{
	if (exists("base/" ID))
		return;
	close(make_staging(false));
	sweep();
	tap_ok(exists("base/" ID "/0") && removed.count == 0,
	       "without a note it is nobody's to remove");
	free(scratch_write(&scratch, "base/" ID "/store", "/no/such/store"));
	sweep();
	tap_ok(exists("base/" ID "/0") && removed.count == 0, "nor with one that we did not write");
}

int main(void)
{
	scratch_open(&scratch);
	close(make("store"));
	close(make("store/promotions"));
	close(make("store/promotions/" ID));
	test_known();
	test_unknown();
	test_unmarked();
	strv_done(&removed);
	strv_done(&left);
	scratch_close(&scratch);
	return tap_done();
}
