/* SPDX-License-Identifier: Apache-2.0 */
/* The hot program's heap, linked as it is there and beside another: random use against what was written, zeros, and misuse that is told. */
#include "base/core/heap.h"
#include "tests/tap.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SLOTS 300
#define ROUNDS 60000
#define LARGE ((size_t)3 << 20)

struct slot {
	unsigned char *memory;
	size_t size;
	unsigned char mark;
};

static uint64_t state;

static size_t draw(size_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (size_t)(state >> 33) % below;
}

static size_t draw_size(void)
{
	return draw(200) == 0 ? draw(LARGE) : draw((size_t)1 << (1 + draw(14)));
}

static bool is_as_written(const struct slot *slot)
{
	size_t step = slot->size < 4096 ? 1 : 511;

	for (size_t i = 0; i < slot->size; i += step) {
		if (slot->memory[i] != slot->mark)
			return false;
	}
	return (uintptr_t)slot->memory % 16 == 0;
}

static void fill(struct slot *slot, size_t size)
{
	slot->size = size;
	slot->mark = (unsigned char)draw(256);
	memset(slot->memory, slot->mark, size);
}

/* A larger or smaller one keeps what both have. */
static bool resize(struct slot *slot)
{
	size_t size = 1 + draw_size(), common = size < slot->size ? size : slot->size;
	unsigned char *moved = realloc(slot->memory, size);

	if (!moved)
		return false;
	slot->memory = moved;
	slot->size = common;
	if (!is_as_written(slot))
		return false;
	fill(slot, size);
	return true;
}

static bool is_zero(const struct slot *slot)
{
	for (size_t i = 0; i < slot->size; i++) {
		if (slot->memory[i] != 0)
			return false;
	}
	return true;
}

static bool use(struct slot *slot)
{
	if (slot->memory && draw(3) == 0)
		return resize(slot);
	if (slot->memory) {
		if (!is_as_written(slot))
			return false;
		free(slot->memory);
		slot->memory = NULL;
		return true;
	}
	slot->size = draw_size();
	if (draw(2) == 0) {
		slot->memory = calloc(1, slot->size);
		if (!slot->memory || !is_zero(slot))
			return false;
	} else {
		slot->memory = malloc(slot->size);
	}
	if (slot->memory)
		fill(slot, slot->size);
	return slot->memory;
}

static void test_random(void)
{
	static struct slot slots[SLOTS];
	size_t round = 0;

	state = (uint64_t)time(NULL);
	printf("# seed %llu\n", (unsigned long long)state);
	while (round < ROUNDS && use(&slots[draw(SLOTS)]))
		round++;
	tap_is_int((int64_t)round, ROUNDS, "what is held stays as it was written");
	for (size_t i = 0; i < SLOTS; i++)
		free(slots[i].memory);
	memset(slots, 0, sizeof(slots));
}

static void test_bounds(void)
{
	void *volatile none = malloc(0);
	void *volatile sized;
	volatile size_t huge = SIZE_MAX;

	tap_ok(none, "nothing is something");
	free(none);
	sized = malloc(huge);
	tap_ok(!sized, "more than there is");
	sized = calloc(huge / 2, 3);
	tap_ok(!sized, "a product that does not fit");
	none = malloc(10);
	sized = realloc(none, huge - 20);
	tap_ok(!sized, "one that cannot grow");
	free(none);
}

/* Pages of MEMORY that hold something. */
static size_t count_pages(void *memory, size_t size)
{
	static unsigned char pages[LARGE / 4096 * 3];
	size_t held = 0, count = size / 4096;

	if (count > sizeof(pages) || mincore((char *)memory - 16, size, pages) < 0)
		return SIZE_MAX;
	for (size_t i = 0; i < count; i++)
		held += pages[i] & 1;
	return held;
}

/* What nobody wrote to stays without a page: a copy would have touched it. */
static void test_growth(void)
{
	char *memory = malloc(LARGE);

	memory[0] = 'a';
	memory[LARGE - 1] = 'b';
	memory = realloc(memory, 2 * LARGE);
	tap_ok(memory && memory[0] == 'a' && memory[LARGE - 1] == 'b', "a large one grows");
	tap_ok(count_pages(memory, 2 * LARGE) < 8, "without a copy");
	memory = realloc(memory, LARGE / 3);
	tap_ok(memory && memory[0] == 'a' && count_pages(memory, LARGE / 3) < 8,
	       "and shrinks without one");
	free(memory);
}

static void give_twice(void *volatile memory)
{
	free(memory);
	free(memory);
}

static void give_middle(void *volatile memory)
{
	free((char *)memory + 16);
}

static void give_foreign(void *volatile memory)
{
	static _Alignas(16) char foreign[64];

	(void)memory;
	free(foreign + 32);
}

static void give_odd(void *volatile memory)
{
	free((char *)memory + 1);
}

/* A head that was copied along with what it is of. */
static void give_copy(void *volatile memory)
{
	static _Alignas(16) char copy[256];

	memcpy(copy, (char *)memory - 16, 116);
	free(copy + 16);
}

/* By what came over the end of the one before it: what is told of its size, and no more. */
static void give_written_over(void *volatile memory)
{
	memset((char *)memory - 16, 0x41, 12);
	free(memory);
}

/* Where the next of its size would come from is now what we say: a pointer to what is not waiting. */
static void take_what_was_written(void *volatile memory)
{
	static _Alignas(16) char goal[64];

	free(memory);
	*(void *volatile *)memory = goal + 32;
	(void)malloc(100);
	(void)malloc(100);
}

/* One that waits, but for another size. */
static void take_of_other_class(void *volatile memory)
{
	void *volatile other = malloc(1000);

	free(other);
	free(memory);
	*(void *volatile *)memory = other;
	(void)malloc(100);
	(void)malloc(100);
}

/* One that is held. */
static void take_taken(void *volatile memory)
{
	void *volatile other = malloc(100);

	free(memory);
	*(void *volatile *)memory = other;
	(void)malloc(100);
	(void)malloc(100);
}

static void resize_freed(void *volatile memory)
{
	free(memory);
	(void)!realloc(memory, 5000);
}

static void give_large_twice(void *volatile memory)
{
	memory = malloc(LARGE);
	free(memory);
	free(memory);
}

/* One byte too many, which the kernel notices at once. */
static void write_behind(void *volatile memory)
{
	memory = malloc(5008);
	((volatile char *)memory)[5008] = 'x';
}

static void harden_and_write_behind(void *volatile memory)
{
	heap_harden();
	write_behind(memory);
}

static void harden_and_read_freed(void *volatile memory)
{
	heap_harden();
	memory = realloc(memory, 2000);
	free(memory);
	(void)*(volatile char *)memory;
}

static void harden_and_free_twice(void *volatile memory)
{
	heap_harden();
	memory = realloc(memory, 100);
	free(memory);
	free(memory);
}

/* By a signal, and with words unless the kernel has told it. */
static void check_told(void (*misuse)(void *volatile memory), bool has_words, const char *what)
{
	const struct rlimit none = { 0, 0 };
	int pipe_fds[2], status = 0;
	char words[100] = "";
	pid_t child;

	if (pipe(pipe_fds) < 0 || (child = fork()) < 0)
		tap_bail("fork");
	if (child == 0) {
		void *memory = calloc(1, 100);

		(void)setrlimit(RLIMIT_CORE, &none);
		(void)signal(SIGSEGV, SIG_DFL);
		(void)dup2(pipe_fds[1], STDERR_FILENO);
		misuse(memory);
		_exit(0);
	}
	(void)close(pipe_fds[1]);
	tap_ok(waitpid(child, &status, 0) == child && WIFSIGNALED(status), "%s: is told", what);
	if (has_words) {
		ssize_t len = read(pipe_fds[0], words, sizeof(words) - 1);

		tap_ok(len > 0 && strncmp(words, "aisbx: memory ", 14) == 0, "%s: in words", what);
	}
	(void)close(pipe_fds[0]);
}

/* The control of those that are told once the heap is hardened. */
static void check_not_told(void (*misuse)(void *volatile memory), const char *what)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		misuse(calloc(1, 100));
		_exit(0);
	}
	tap_ok(waitpid(child, &status, 0) == child && status == 0, "%s: is not told", what);
}

int main(void)
{
	test_random();
	test_bounds();
	test_growth();
	check_told(give_twice, true, "freed twice");
	check_told(give_middle, true, "freed in its middle");
	check_told(give_odd, true, "freed a byte behind");
	check_told(give_foreign, true, "freed, but never taken");
	check_told(give_copy, true, "freed with a head that was copied");
	check_told(give_written_over, true, "freed after its head was written over");
	check_told(give_large_twice, false, "a large one freed twice");
	check_told(resize_freed, true, "resized after it was freed");
	check_told(take_what_was_written, true, "the list of those that wait leads elsewhere");
	check_told(take_of_other_class, true, "the list leads to one of another size");
	check_told(take_taken, true, "the list leads to one that is held");
	check_not_told(write_behind, "written behind the end");
	check_told(harden_and_write_behind, false, "written behind the end of a hardened heap's");
	check_told(harden_and_read_freed, false, "read after it was given back to one");
	check_told(harden_and_free_twice, true, "freed twice to one");
	/* What was allocated before is still known, and everything goes on with what comes later. */
	void *before[] = { malloc(100), malloc(5000), malloc(LARGE) };

	heap_harden();
	for (size_t i = 0; i < 3; i++)
		free(realloc(before[i], 3000));
	test_random();
	return tap_done();
}
