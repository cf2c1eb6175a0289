/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heap of a program that is linked with musl. musl's own is made to be hard to attack, and gives memory back as soon
 * as it can: some fifty calls, and as many pages touched anew, in one start. Here sizes are powers of two, what is freed
 * waits for the next of its size, and only what is large goes back to the kernel: processes of the hot program end soon,
 * or hold little. One thread, like everything in it. A chunk whose seal is broken is not trusted.
 */
#include "base/core/die.h"
#include "base/core/heap.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SMALLEST 4
/* Beyond that each has a mapping of its own. */
#define LARGEST 19
#define MAPPED (LARGEST + 1)
/* A mapping that ends where the next page is not there; of this size on, once the heap is hardened. */
#define GUARDED (MAPPED + 1)
#define GUARDED_SIZE ((size_t)1024)
#define ARENA_SIZE ((size_t)256 << 10)
#define PAGE ((size_t)4096)
#define SIZE_MOST (PTRDIFF_MAX - PAGE - sizeof(struct chunk))

#define TAKEN 0x7a6b3e55u
#define FREED 0x1d94c0a3u

/* In front of what is handed out; as large as the strictest alignment. */
struct chunk {
	_Alignas(16) size_t size;
	uint32_t class;
	uint32_t seal; /* over all of it, its state and where it lies */
};

/* What a freed chunk holds. */
struct waiting {
	struct waiting *next;
};

static _Alignas(16) char first_arena[ARENA_SIZE];
static char *arena = first_arena, *arena_end = first_arena + ARENA_SIZE;
static struct waiting *waiting[MAPPED];
static bool is_hardened;

/* Detects chunks that are freed twice, were never allocated or were overwritten; a copied head does not pass. */
static uint32_t seal_of(const struct chunk *chunk, uint32_t state)
{
	uint64_t mixed = ((uint64_t)(uintptr_t)chunk >> 4) * 0x9e3779b97f4a7c15u;

	mixed ^= (uint64_t)chunk->size * 0xff51afd7ed558ccdu;
	return (uint32_t)(mixed >> 32) ^ chunk->class ^ state;
}

static void put_seal(struct chunk *chunk, uint32_t state)
{
	chunk->seal = seal_of(chunk, state);
}

/* Of memory that was handed out, and not given back since. */
static struct chunk *chunk_of(void *memory)
{
	struct chunk *chunk = (struct chunk *)memory - 1;

	if ((uintptr_t)memory % _Alignof(struct chunk) != 0)
		die("memory is given back that was never taken");
	if (chunk->seal == seal_of(chunk, FREED))
		die("memory is given back twice");
	if (chunk->seal != seal_of(chunk, TAKEN) || chunk->class < SMALLEST ||
	    chunk->class > GUARDED)
		die("memory is given back that was never taken, or was written over");
	return chunk;
}

static uint32_t class_of(size_t size)
{
	if (size <= (size_t)1 << SMALLEST)
		return SMALLEST;
	return (uint32_t)(sizeof(long) * CHAR_BIT) - (uint32_t)__builtin_clzl(size - 1);
}

static void *map(size_t size)
{
	void *got = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return got == MAP_FAILED ? NULL : got;
}

/* With a page behind it that cannot be touched. */
static void *map_guarded(size_t size)
{
	void *got = mmap(NULL, size + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (got == MAP_FAILED)
		return NULL;
	if (mmap(got, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) != MAP_FAILED)
		return got;
	(void)munmap(got, size + PAGE);
	return NULL;
}

static void *hand_out(struct chunk *chunk, size_t size, uint32_t class)
{
	chunk->size = size;
	chunk->class = class;
	put_seal(chunk, TAKEN);
	return chunk + 1;
}

static void *take_mapped(size_t size)
{
	size_t whole = (size + sizeof(struct chunk) + PAGE - 1) & ~(PAGE - 1);
	struct chunk *chunk = map(whole);

	return chunk ? hand_out(chunk, whole - sizeof(*chunk), MAPPED) : NULL;
}

/* At the end of its mapping. */
static void *take_guarded(size_t size)
{
	size_t rounded = (size + sizeof(struct chunk) - 1) & ~(sizeof(struct chunk) - 1);
	size_t whole = (rounded + sizeof(struct chunk) + PAGE - 1) & ~(PAGE - 1);
	char *got = map_guarded(whole);

	return got ? hand_out((struct chunk *)(got + whole - rounded) - 1, rounded, GUARDED) : NULL;
}

static void give_back(struct chunk *chunk)
{
	char *start =
		chunk->class == MAPPED ? (char *)chunk : (char *)((uintptr_t)chunk & ~(PAGE - 1));
	char *end = (char *)(chunk + 1) + chunk->size + (chunk->class == MAPPED ? 0 : PAGE);

	(void)munmap(start, (size_t)(end - start));
}

void heap_harden(void)
{
	is_hardened = true;
	arena = arena_end = first_arena;
	memset(waiting, 0, sizeof(waiting));
}

/* From the arena, whose memory is zero; what is left of an arena that is too small is given up. */
static void *take_new(uint32_t class)
{
	size_t size = (size_t)1 << class, whole = size + sizeof(struct chunk);
	struct chunk *chunk;

	if ((size_t)(arena_end - arena) < whole) {
		size_t more = whole > ARENA_SIZE ? whole : ARENA_SIZE;
		char *got = is_hardened ? map_guarded(more) : map(more);

		if (!got)
			return NULL;
		arena = got;
		arena_end = got + more;
	}
	chunk = (struct chunk *)arena;
	arena += whole;
	return hand_out(chunk, size, class);
}

/* One that waits: its link to the next is trusted only when it is what was stored there. */
static void *take_waiting(uint32_t class)
{
	struct waiting *old = waiting[class];
	struct chunk *chunk = (struct chunk *)old - 1;

	if ((uintptr_t)old % _Alignof(struct chunk) != 0 || chunk->class != class ||
	    chunk->seal != seal_of(chunk, FREED))
		die("memory was written to after it was given back");
	waiting[class] = old->next;
	put_seal(chunk, TAKEN);
	return old;
}

static void *take(size_t size, bool *ret_is_zero)
{
	uint32_t class;

	*ret_is_zero = true;
	if (size > SIZE_MOST) {
		errno = ENOMEM;
		return NULL;
	}
	if (is_hardened && size >= GUARDED_SIZE)
		return take_guarded(size);
	class = class_of(size);
	if (class > LARGEST)
		return take_mapped(size);
	if (!waiting[class])
		return take_new(class);
	*ret_is_zero = false;
	return take_waiting(class);
}

void *malloc(size_t size)
{
	bool is_zero;

	return take(size, &is_zero);
}

void *calloc(size_t count, size_t size)
{
	size_t whole;
	bool is_zero;
	void *got;

	if (__builtin_mul_overflow(count, size, &whole)) {
		errno = ENOMEM;
		return NULL;
	}
	got = take(whole, &is_zero);
	return got && !is_zero ? memset(got, 0, whole) : got;
}

void free(void *memory)
{
	struct chunk *chunk;
	struct waiting *now = memory;
	int saved = errno;

	if (!memory)
		return;
	chunk = chunk_of(memory);
	if (chunk->class >= MAPPED) {
		give_back(chunk);
		errno = saved;
		return;
	}
	put_seal(chunk, FREED);
	now->next = waiting[chunk->class];
	waiting[chunk->class] = now;
}

/* What has a mapping of its own grows and shrinks in it, or moves with it: nothing is copied. */
static void *change_mapped(struct chunk *chunk, size_t size)
{
	size_t whole = (size + sizeof(*chunk) + PAGE - 1) & ~(PAGE - 1);
	struct chunk *now = mremap(chunk, chunk->size + sizeof(*chunk), whole, MREMAP_MAYMOVE);

	return now == MAP_FAILED ? NULL : hand_out(now, whole - sizeof(*now), MAPPED);
}

void *realloc(void *memory, size_t size)
{
	struct chunk *chunk;
	bool is_zero;
	void *got;

	if (!memory)
		return malloc(size);
	chunk = chunk_of(memory);
	if (size <= chunk->size && (chunk->class < MAPPED || size > chunk->size / 2))
		return memory;
	if (chunk->class == MAPPED && !is_hardened && size > (size_t)1 << LARGEST &&
	    size <= SIZE_MOST)
		return change_mapped(chunk, size);
	got = take(size, &is_zero);
	if (got) {
		memcpy(got, memory, chunk->size < size ? chunk->size : size);
		free(memory);
	}
	return got;
}
