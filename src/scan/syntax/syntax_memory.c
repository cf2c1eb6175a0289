/* SPDX-License-Identifier: Apache-2.0 */
/* The parser's memory. */
#include "scan/syntax/syntax_memory.h"

#include "base/core/str.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define STEP 16u
#define CLASSES 33u /* of 0, 16, ... 512 bytes; larger blocks come from malloc */
#define PIECE_BYTES ((size_t)256 << 10)
/* So many pieces stay for the next text: most texts within texts are a line. */
#define SPARE_MAX 2u

/* Stands in front of each block. */
struct head {
	size_t size;	   /* behind it */
	struct head *next; /* of those that are free */
};

_Static_assert(sizeof(struct head) % STEP == 0, "blocks are as aligned as malloc's");

/* Stands in front of the head of a block that came from malloc. */
struct large {
	struct large *next, *before;
};

_Static_assert(sizeof(struct large) % STEP == 0, "blocks are as aligned as malloc's");

struct piece {
	struct piece *next;
	size_t unused;
};

/* The library's functions take no cookie, so the memory is the thread's. */
static _Thread_local struct {
	struct head *unused[CLASSES];
	struct piece *pieces;
	struct large *large;
	size_t used, most;
	size_t *is_over;
	struct piece *spare; /* of texts before */
	unsigned spare_count;
} memory;

static void account(size_t size)
{
	memory.used += size;
	if (memory.used > memory.most && memory.is_over)
		*memory.is_over = 1;
}

void syntax_memory_begin(size_t most, size_t *is_over)
{
	memory.most = most;
	memory.is_over = is_over;
}

static void drop_piece(struct piece *piece)
{
	if (memory.spare_count == SPARE_MAX) {
		(void)munmap(piece, PIECE_BYTES);
		return;
	}
	piece->next = memory.spare;
	memory.spare = piece;
	memory.spare_count++;
}

void syntax_memory_end(void)
{
	while (memory.pieces) {
		struct piece *piece = memory.pieces;

		memory.pieces = piece->next;
		drop_piece(piece);
	}
	while (memory.large) {
		struct large *next = memory.large->next;

		free(memory.large);
		memory.large = next;
	}
	memset(memory.unused, 0, sizeof(memory.unused));
	memory.used = 0;
	memory.is_over = NULL;
}

/* Its pages are there at once: one request of the kernel instead of one for each. */
static struct piece *take_piece(void)
{
	struct piece *piece = memory.spare;

	if (piece) {
		memory.spare = piece->next;
		memory.spare_count--;
		return piece;
	}
	piece = mmap(NULL, PIECE_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (piece == MAP_FAILED)
		abort();
	return piece;
}

static void *cut(size_t size)
{
	struct piece *piece = memory.pieces;
	char *block;

	if (!piece || piece->unused < size) {
		piece = take_piece();
		piece->next = memory.pieces;
		piece->unused = PIECE_BYTES - sizeof(*piece);
		memory.pieces = piece;
		account(PIECE_BYTES);
	}
	block = (char *)piece + PIECE_BYTES - piece->unused;
	piece->unused -= size;
	return block;
}

static struct head *head_of(void *block)
{
	return (struct head *)block - 1;
}

static struct head *make_large(size_t size)
{
	struct large *large = xmalloc(sizeof(*large) + sizeof(struct head) + size);

	*large = (struct large){ .next = memory.large };
	if (memory.large)
		memory.large->before = large;
	memory.large = large;
	account(size);
	return (struct head *)(large + 1);
}

static void free_large(struct head *head)
{
	struct large *large = (struct large *)head - 1;

	memory.used -= head->size;
	if (large->next)
		large->next->before = large->before;
	if (large->before)
		large->before->next = large->next;
	else
		memory.large = large->next;
	free(large);
}

void *syntax_malloc(size_t size)
{
	size_t steps = (size + STEP - 1) / STEP;
	struct head *head;

	if (steps >= CLASSES) {
		head = make_large(size);
	} else if (memory.unused[steps]) {
		head = memory.unused[steps];
		memory.unused[steps] = head->next;
		size = steps * STEP;
	} else {
		size = steps * STEP;
		head = cut(sizeof(*head) + size);
	}
	head->size = size;
	return head + 1;
}

void *syntax_calloc(size_t count, size_t size)
{
	void *block;

	/* No legitimate request is so large; the answer is the same as when memory is out. */
	if (size > 0 && count > SIZE_MAX / 2 / size)
		abort();
	block = syntax_malloc(count * size);
	memset(block, 0, count * size);
	return block;
}

void syntax_free(void *block)
{
	struct head *head;
	size_t steps;

	if (!block)
		return;
	head = head_of(block);
	steps = (head->size + STEP - 1) / STEP;
	if (steps >= CLASSES) {
		free_large(head);
		return;
	}
	head->next = memory.unused[steps];
	memory.unused[steps] = head;
}

void *syntax_realloc(void *old, size_t size)
{
	void *block;
	size_t kept;

	if (!old)
		return syntax_malloc(size);
	kept = head_of(old)->size;
	if (size <= kept && kept < CLASSES * STEP)
		return old;
	block = syntax_malloc(size);
	memcpy(block, old, kept < size ? kept : size);
	syntax_free(old);
	return block;
}
