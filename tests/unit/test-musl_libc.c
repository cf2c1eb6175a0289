/* SPDX-License-Identifier: Apache-2.0 */
/* What the hot program has instead of musl's: copies of every size and distance, a sort that keeps equals, what may not be written to. */
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SIZES 300
#define ROOM 1024
#define MIDDLE 400
#define ITEMS 5000

static unsigned char expected[ROOM], moved[ROOM];
static uint64_t state;

static size_t draw(size_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (size_t)(state >> 33) % below;
}

static void fill(void)
{
	for (size_t i = 0; i < ROOM; i++)
		expected[i] = moved[i] = (unsigned char)draw(256);
}

/* As slowly as it can be said. */
static void move_slowly(unsigned char *to, const unsigned char *from, size_t size)
{
	static unsigned char between[ROOM];

	for (volatile size_t i = 0; i < size; i++)
		between[i] = from[i];
	for (volatile size_t i = 0; i < size; i++)
		to[i] = between[i];
}

static bool is_same(void)
{
	for (size_t i = 0; i < ROOM; i++) {
		if (expected[i] != moved[i])
			return false;
	}
	return true;
}

static void test_move(void)
{
	bool is_right = true;

	for (size_t size = 0; size < SIZES && is_right; size++) {
		for (size_t at = MIDDLE - 70; at < MIDDLE + 70 && is_right; at++) {
			fill();
			move_slowly(expected + at, expected + MIDDLE, size);
			is_right = memmove(moved + at, moved + MIDDLE, size) == moved + at &&
				   is_same();
			if (!is_right)
				printf("# size %zu from %d to %zu\n", size, MIDDLE, at);
		}
	}
	tap_ok(is_right, "what overlaps is moved");
}

static void test_copy(void)
{
	bool is_right = true;

	for (size_t size = 0; size < SIZES && is_right; size++) {
		for (size_t at = 0; at < 17 && is_right; at++) {
			fill();
			move_slowly(expected + at, expected + MIDDLE + size % 13, size);
			is_right = memcpy(moved + at, moved + MIDDLE + size % 13, size) ==
					   moved + at &&
				   is_same();
		}
	}
	tap_ok(is_right, "and what does not is copied");
}

struct item {
	unsigned key, place;
	char filling[5];
};

static int compare(const void *a, const void *b)
{
	const struct item *left = a, *right = b;

	return (left->key > right->key) - (left->key < right->key);
}

static int compare_counting(const void *a, const void *b, void *more)
{
	++*(size_t *)more;
	return compare(a, b);
}

static void test_sort(size_t count, size_t keys)
{
	static struct item items[ITEMS];
	size_t wrong = 0, compared = 0;

	for (size_t i = 0; i < count; i++)
		items[i] = (struct item){ .key = (unsigned)draw(keys), .place = (unsigned)i };
	if (keys % 2)
		qsort(items, count, sizeof(items[0]), compare);
	else
		qsort_r(items, count, sizeof(items[0]), compare_counting, &compared);
	for (size_t i = 1; i < count; i++) {
		int order = compare(&items[i - 1], &items[i]);

		wrong += order > 0 || (order == 0 && items[i - 1].place >= items[i].place);
	}
	tap_is_int((long long)wrong, 0, "%zu items with %zu keys", count, keys);
}

/* A constant that holds an address is filled in before main, and is read-only from then on. */
static const char *const sealed[] = { "one", "two" };

static void test_seal(void)
{
	const char *const *volatile where = sealed; /* else the compiler knows what is there */
	const struct rlimit none = { 0, 0 };
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		(void)setrlimit(RLIMIT_CORE, &none);
		*(const char **)(uintptr_t)(where + 1) = "three";
		_exit(0);
	}
	tap_ok(waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
		       WTERMSIG(status) == SIGSEGV,
	       "what is written to but once");
	tap_is_str(where[1], "two", "and stays as it is");
}

/* As in a container whose filter is older than the call. */
static bool forbid_faccessat2(void)
{
	struct sock_filter rows[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_faccessat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(rows) / sizeof(rows[0]), rows };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Whether there is a profile, a record or a sandbox is asked this way. */
static void test_presence(void)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		if (!forbid_faccessat2())
			_exit(1);
		if (faccessat(AT_FDCWD, "/proc/self/exe", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
			_exit(2);
		if (faccessat(AT_FDCWD, "/proc/none", F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
		    errno != ENOENT)
			_exit(3);
		_exit(faccessat(AT_FDCWD, "/", R_OK, AT_EACCESS) < 0 ? 4 : 0);
	}
	tap_ok(waitpid(child, &status, 0) == child && WIFEXITED(status), "an older kernel");
	tap_is_int(WEXITSTATUS(status), 0, "and what is there is there with it");
}

int main(void)
{
	state = (uint64_t)time(NULL);
	printf("# seed %llu\n", (unsigned long long)state);
	test_move();
	test_copy();
	test_sort(0, 1);
	test_sort(1, 1);
	test_sort(2, 2);
	test_sort(7, 3);
	test_sort(ITEMS, 1);
	test_sort(ITEMS, 50);
	test_sort(ITEMS, 51);
	test_sort(ITEMS, 1000000);
	test_seal();
	test_presence();
	return tap_done();
}
