/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled modules: one file each in the caller's private cache, named by what it was made from and for (module, engine,
 * settings, processor), sealed. A file that was tampered with is removed, and compiled anew.
 */
#ifndef WASM_CACHE_H
#define WASM_CACHE_H

#include "base/hash/sha256.h"
#include "wasm/sealed.h"

#include <stdbool.h>
#include <stdint.h>

/* Whatever the runner's configuration changes in the code that is made; in every name. */
#define WASM_SETTINGS "fuel epoch nothreads nounwind 1"

/* Fills RET_KEY for a module of that hash. */
void wasm_cache_key(const char *module_sha256, char ret_key[static SHA256_HEX_SIZE]);

/*
 * 1 with *ret filled, 0 when there is none. *ret_removed: there was one that was not as it had been made, and is gone.
 */
int wasm_cache_find(const char *cache_dir, const char *key, const struct seal_key *seal_key,
		    struct sealed *ret, bool *ret_removed, struct error *err);

void wasm_cache_remove(const char *cache_dir, const char *key);

/* A compiled module that comes in pieces; nothing of it is in the cache before it is whole. */
struct wasm_draft {
	int dir_fd, fd; /* -1: none */
	struct sha256 sum;
};

#define WASM_DRAFT_INIT           \
	{                         \
		-1, -1,           \
		{                 \
			{ 0 }, 0, \
			{         \
				0 \
			}         \
		}                 \
	}

int wasm_draft_start(struct wasm_draft *draft, const char *cache_dir, struct error *err);
int wasm_draft_add(struct wasm_draft *draft, const void *bytes, size_t len, struct error *err);
/* Puts it into the cache as KEY. */
int wasm_draft_finish(struct wasm_draft *draft, const char *key, const struct seal_key *seal_key,
		      struct error *err);
/* Lets go of it, whatever state it is in. */
void wasm_draft_drop(struct wasm_draft *draft);

#endif
