/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Warm caches: what tools fetched and built in sandboxes, kept for later ones as a layer each.
 *
 *   caches/NAME        a pointer: which layer the cache is, for which tool of which workspace; changed by one rename
 *   caches/top-RUN/    the writable top of a run that has caches, locked while it lasts
 *   caches/lock        flock: held while a pointer is compared and changed
 *
 * A cache is never written to. What a run left in its tool's directories is folded with the old layer into a new one, to
 * which the pointer moves if it did not move meanwhile. A layer is complete, record included, before anything points to
 * it; one that a crash of the machine may have torn is not used. Layers that lost their pointer are garbage as others are,
 * but for those that a run holds a lock on.
 */
#ifndef WORKSPACE_CACHE_H
#define WORKSPACE_CACHE_H

#include "base/core/str.h"
#include "workspace/store/layer.h"

struct cache_record {
	char name[64];
	char layer[LAYER_ID_SIZE];
	char *workspace, *tool;
	uint64_t files, bytes;
	uint64_t used_ms; /* when a run last began with it */
};

void cache_record_done(struct cache_record *record);

/* Reads the pointer; false where there is none, it is damaged, or its layer is not whole. */
bool cache_find(const struct store *store, const char *name, struct cache_record *ret_record);

/* The layer of cache NAME for a run that begins; false as above. */
bool cache_use(const struct store *store, const char *name, char ret_layer[static LAYER_ID_SIZE]);

struct cache_fold {
	const char *name;
	const char *expected; /* the layer it has to be still; "" for none */
	const char *base;     /* the layer that was laid below the tops; "" for none */
	const char *workspace, *tool;
	const struct strv *dirs;		       /* absolute: what is kept */
	bool (*skips)(const char *path, void *cookie); /* absolute: never kept */
	void *cookie;
	const int *top_fds; /* what lay above it, newest first: nothing writes to them meanwhile */
	size_t top_count;
	bool is_live;	 /* the first of them is written to again: nothing may be shared with it */
	bool user_xattr; /* of the marks in them */
};

/*
 * Makes a layer of what the directories hold now, over what the cache was, and points to it. 0 with its name when it does; 1
 * when there was nothing to keep or the pointer has moved; -1 with the reason.
 */
int cache_fold(const struct store *store, const struct cache_fold *fold,
	       char ret_layer[static LAYER_ID_SIZE], struct error *err);

/* Makes caches/top-RUN and locks it; *ret_path is absolute. Descriptor and path are the caller's. */
int cache_top_make(const struct store *store, const char *run_id, char **ret_path, int *ret_fd,
		   struct error *err);
/* Whether PATH is that of this run. */
bool cache_is_top(const char *path, const char *run_id);
/* Takes the top out of what is swept up; its new path, or NULL. */
char *cache_top_leave(const struct store *store, const char *run_id);

void cache_top_remove(const struct store *store, const char *run_id);

/* Of a named sandbox: which caches its last start laid (app/run/warm_cache.h). */
#define CACHE_LAID_FILE "caches"
/* Whether it laid any in the sandbox whose directory this is. */
bool cache_is_laid(int dir_fd);

/* The caches there are, last used first. */
int cache_list(const struct store *store, struct cache_record **ret_records, size_t *ret_count,
	       struct error *err);
void cache_records_free(struct cache_record *records, size_t count);

/*
 * Takes back pointers that were not used for a month, and those beyond the size that all may have together, the oldest
 * first. ALL: every pointer. Adds what it took.
 */
void cache_sweep(const struct store *store, bool all, struct strv *removed);

/* Tops of runs that are over. The store is held exclusively: a top that is made is locked before this sees it. */
void cache_sweep_tops(const struct store *store, struct strv *removed);

/* Where a killed run has left one, the store's worker removes it. */
void cache_collect_tops(const struct store *store);

#endif
