/*
 * The heap of a program that is linked with musl. musl's own is made to be hard to attack, and gives memory back as soon as
 * it can: some fifty calls, and as many pages touched anew, in one start. Here sizes are powers of two, what is
 * freed waits for the next of its size, and only what is large goes back to the kernel: processes of the hot program end
 * soon, or hold little. One thread, like everything in it.
 */
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
#define ARENA_SIZE ((size_t)256 << 10)
#define PAGE ((size_t)4096)

/* What is freed twice, or was never taken, is told by these. */
#define TAKEN 0x7a6b3e55u
#define FREED 0x1d94c0a3u

/* In front of what is handed out; as large as the strictest alignment. */
struct chunk {
	_Alignas(16) size_t size;
	uint32_t class;
	uint32_t state;
};

/* What a freed chunk holds. */
struct waiting {
	struct waiting *next;
};

static _Alignas(16) char first_arena[ARENA_SIZE];
static char *arena = first_arena, *arena_end = first_arena + ARENA_SIZE;
static struct waiting *waiting[MAPPED];

static struct chunk *chunk_of(void *memory)
{
	struct chunk *chunk = (struct chunk *)memory - 1;

	if (chunk->state != TAKEN)
		__builtin_trap();
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

static void *take_mapped(size_t size)
{
	size_t whole = (size + sizeof(struct chunk) + PAGE - 1) & ~(PAGE - 1);
	struct chunk *chunk = map(whole);

	if (!chunk)
		return NULL;
	*chunk = (struct chunk){ .size = whole - sizeof(*chunk), .class = MAPPED, .state = TAKEN };
	return chunk + 1;
}

/* From the arena, whose memory is zero; what is left of an arena that is too small is given up. */
static void *take_new(uint32_t class)
{
	size_t size = (size_t)1 << class, whole = size + sizeof(struct chunk);
	struct chunk *chunk;

	if ((size_t)(arena_end - arena) < whole) {
		size_t more = whole > ARENA_SIZE ? whole : ARENA_SIZE;
		char *got = map(more);

		if (!got)
			return NULL;
		arena = got;
		arena_end = got + more;
	}
	chunk = (struct chunk *)arena;
	arena += whole;
	*chunk = (struct chunk){ .size = size, .class = class, .state = TAKEN };
	return chunk + 1;
}

static void *take(size_t size, bool *ret_is_zero)
{
	uint32_t class;
	struct waiting *old;

	*ret_is_zero = true;
	if (size > PTRDIFF_MAX - PAGE - sizeof(struct chunk)) {
		errno = ENOMEM;
		return NULL;
	}
	class = class_of(size);
	if (class > LARGEST)
		return take_mapped(size);
	old = waiting[class];
	if (!old)
		return take_new(class);
	waiting[class] = old->next;
	((struct chunk *)old - 1)->state = TAKEN;
	*ret_is_zero = false;
	return old;
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
	if (chunk->class == MAPPED) {
		(void)munmap(chunk, chunk->size + sizeof(*chunk));
		errno = saved;
		return;
	}
	chunk->state = FREED;
	now->next = waiting[chunk->class];
	waiting[chunk->class] = now;
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
	got = take(size, &is_zero);
	if (got) {
		memcpy(got, memory, chunk->size < size ? chunk->size : size);
		free(memory);
	}
	return got;
}
