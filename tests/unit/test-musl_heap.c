/* The hot program's heap, linked as it is there: random use against what was written, zeros, and misuse that is told. */
#include "tests/tap.h"

#include <signal.h>
#include <stdint.h>
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

static void give_twice(void *volatile memory)
{
	free(memory);
	free(memory);
}

static void give_middle(void *volatile memory)
{
	free((char *)memory + 16);
}

static bool is_told(void (*misuse)(void *volatile memory))
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		void *memory = calloc(1, 100);

		misuse(memory);
		_exit(0);
	}
	return waitpid(child, &status, 0) == child && WIFSIGNALED(status);
}

int main(void)
{
	test_random();
	test_bounds();
	tap_ok(is_told(give_twice), "freed twice");
	tap_ok(is_told(give_middle), "freed in its middle");
	return tap_done();
}
