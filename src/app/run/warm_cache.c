/* SPDX-License-Identifier: Apache-2.0 */
/* Warm caches: laid below what a sandbox writes, and replaced by what it leaves. */
#include "app/run/warm_cache.h"

#include "app/git/git_ignored.h"
#include "base/text/clean_path.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/text/wildcard.h"
#include "plan/cache.h"
#include "plan/plan.h"
#include "workspace/disk/fields.h"
#include "workspace/store/sandbox_record.h"
#include "workspace/store/store_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LAID_KIND "aisbx-laid 1"
#define LAID_MAX ((size_t)64 << 10)
#define TAINT_FILE "secret"

/* The row behind those of the same tool. */
static const struct plan_cache *next_tool(const struct plan_cache *row)
{
	const char *tool = row->tool;

	while (row->tool && strcmp(row->tool, tool) == 0)
		row++;
	return row;
}

static char *cache_name(const struct spec *spec, const struct plan_cache *row)
{
	return xasprintf("%s-%s", spec->cache, row->tool);
}

/* That of promoted sandboxes; all below HOME: promote and diff see what lies in a workspace from outside, without caches. */
static char *promoted_name(const struct spec *spec, const struct plan_cache *row)
{
	return plan_cache_is_inside(row) ? NULL : xasprintf("%sp-%s", spec->cache, row->tool);
}

/* The host's own directory in the workspace is as warm, and newer. */
static bool is_host_own(const struct spec *spec, const struct plan_cache *row)
{
	owned(free_ptr) char *path = plan_cache_path(spec, row);
	struct stat st;

	return plan_cache_is_inside(row) && lstat(path, &st) == 0;
}

/* Its layer, if it has one, goes to the plan. */
static bool lay_one(const struct store *store, const char *name, struct spec *spec,
		    char ret_layer[static LAYER_ID_SIZE])
{
	ret_layer[0] = '\0';
	if (!name || spec->layers.count >= SPEC_LAYERS_MAX - 1 ||
	    !cache_use(store, name, ret_layer)) {
		ret_layer[0] = '\0';
		return false;
	}
	strv_addf(&spec->layers, "%s/layers/%s", store->path, ret_layer);
	return true;
}

/* The layer stays while this process lives, whatever becomes of the cache. */
static int hold_layer(struct warm_cache *cache, const char *layer, struct error *err)
{
	owned(fd_close) int fd = -1;

	if (layer_open(&cache->store, layer, &fd, err) < 0)
		return -1;
	if (store_flock(fd, LOCK_SH | LOCK_NB) < 0)
		return error_errno(err, ERROR_HOST, "cannot hold layer %s", layer);
	cache->lock_fds = xrealloc(cache->lock_fds, cache->lock_count + 1, sizeof(int));
	cache->lock_fds[cache->lock_count++] = fd_take(&fd);
	return 0;
}

static int lay_for_run(struct warm_cache *cache, struct spec *spec, struct error *err)
{
	char layer[LAYER_ID_SIZE];

	for (const struct plan_cache *row = plan_caches; row->tool; row = next_tool(row)) {
		owned(free_ptr) char *name = cache_name(spec, row);
		owned(free_ptr) char *promoted = promoted_name(spec, row);

		if (is_host_own(spec, row))
			continue;
		bool is_own = lay_one(&cache->store, name, spec, layer);

		if ((is_own || lay_one(&cache->store, promoted, spec, layer)) &&
		    hold_layer(cache, layer, err) < 0)
			return -1;
		strv_add(&cache->names, name);
		strv_add(&cache->bases, is_own ? layer : "");
		strv_add(&cache->laid, layer);
		strv_add(&cache->tools, row->tool);
	}
	return 0;
}

static void forget(struct warm_cache *cache)
{
	for (size_t i = 0; i < cache->lock_count; i++)
		fd_close(&cache->lock_fds[i]);
	free(cache->lock_fds);
	strv_done(&cache->names);
	strv_done(&cache->bases);
	strv_done(&cache->laid);
	strv_done(&cache->tools);
	fd_close(&cache->top_fd);
	if (cache->has_store)
		store_close(&cache->store);
	*cache = (struct warm_cache){ .top_fd = -1 };
}

int warm_cache_begin(struct spec *spec, struct warm_cache *ret_cache, struct error *err)
{
	*ret_cache = (struct warm_cache){ .top_fd = -1 };
	if (!spec->cache)
		return 0;
	if (store_open(spec->store_dir, &ret_cache->store, err) < 0)
		return -1;
	ret_cache->has_store = true;
	if (lay_for_run(ret_cache, spec, err) < 0 ||
	    cache_top_make(&ret_cache->store, spec->run_id, &spec->upper_dir, &ret_cache->top_fd,
			   err) < 0 ||
	    spec_check(spec, err) < 0) {
		warm_cache_end(spec, ret_cache, NULL);
		return -1;
	}
	store_unlock(&ret_cache->store);
	return 0;
}

/* Credentials of the tool, as the table has them: patterns below HOME. */
struct secrets_of {
	const char *home;
	struct strv patterns;
};

static bool skips(const char *path, void *cookie)
{
	const struct secrets_of *of = cookie;
	size_t len = strlen(of->home);

	if (!path_is_within(path, of->home) || !path[len])
		return false;
	for (size_t i = 0; i < of->patterns.count; i++) {
		if (wildcard_matches(of->patterns.items[i], path + len + 1,
				     WILDCARD_PATH | WILDCARD_BELOW))
			return true;
	}
	return false;
}

/*
 * In a workspace only what the host's git ignores: all else is the project's, and promoted. A tool's directory that holds
 * the workspace, or lies in it, has changes that are to be thrown away.
 */
static bool may_keep(const struct spec *spec, const struct plan_cache *row)
{
	owned(strv_done) struct strv paths = STRV_INIT;
	owned(free_ptr) char *path = plan_cache_path(spec, row);
	struct error ignored;
	bool is_ignored = false;

	if (!plan_cache_is_inside(row))
		return !path_is_within(path, spec->workspace) &&
		       !path_is_within(spec->workspace, path);
	strv_addf(&paths, "%s/", row->name + 2);
	return git_ignored(spec->workspace, &paths, &is_ignored, &ignored) == 0 && is_ignored;
}

/* FOLD has its name and its layers; the rest follows from the tool's rows, of which ROW is the first. */
static int fold_tool(const struct store *store, const struct spec *spec,
		     const struct plan_cache *row, struct cache_fold *fold,
		     char ret_layer[static LAYER_ID_SIZE], struct error *err)
{
	owned(strv_done) struct strv dirs = STRV_INIT;
	struct secrets_of of = { .home = spec->home };
	int status = 1;

	ret_layer[0] = '\0';
	fold->tool = row->tool;
	fold->workspace = spec->workspace;
	fold->user_xattr = !root_is_idmapped(spec->root);
	fold->dirs = &dirs;
	fold->skips = skips;
	fold->cookie = &of;
	for (const struct plan_cache *end = next_tool(row); row < end; row++) {
		if (!may_keep(spec, row))
			continue;
		strv_take(&dirs, plan_cache_path(spec, row));
		if (!plan_cache_is_inside(row))
			plan_tool_secrets(row->name, &of.patterns);
	}
	if (dirs.count > 0)
		status = cache_fold(store, fold, ret_layer, err);
	strv_done(&of.patterns);
	return status;
}

static const struct plan_cache *find_tool(const char *tool)
{
	const struct plan_cache *row = plan_caches;

	while (row->tool && strcmp(row->tool, tool) != 0)
		row++;
	return row;
}

static void fold_run(const struct spec *spec, struct warm_cache *cache, struct strv *notes)
{
	for (size_t i = 0; i < cache->names.count; i++) {
		struct cache_fold fold = { .name = cache->names.items[i],
					   .expected = cache->bases.items[i],
					   .base = cache->laid.items[i],
					   .top_fds = &cache->top_fd,
					   .top_count = 1 };
		char layer[LAYER_ID_SIZE];
		struct error err = { 0 };

		if (fold_tool(&cache->store, spec, find_tool(cache->tools.items[i]), &fold, layer,
			      &err) < 0)
			strv_addf(notes, "the cache of %s stays as it was: %s",
				  cache->tools.items[i], err.text);
	}
}

void warm_cache_end(const struct spec *spec, struct warm_cache *cache, struct run_result *result)
{
	struct error ignored;

	if (!cache->has_store)
		return;
	if (store_relock(&cache->store, &ignored) == 0 && cache->top_fd >= 0) {
		if (result && result->status == RUN_SUCCESS && spec->secrets.count == 0 &&
		    spec->secret_header.count == 0 && !result->network.is_changed)
			fold_run(spec, cache, &result->notes);
		cache_top_remove(&cache->store, spec->run_id);
	}
	forget(cache);
}

int warm_cache_taint(int dir_fd, struct error *err)
{
	return store_replace(dir_fd, TAINT_FILE, "", 0, false, err);
}

void warm_cache_untaint(int dir_fd)
{
	(void)unlinkat(dir_fd, TAINT_FILE, 0);
}

int warm_cache_fork(int from_fd, int dir_fd, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;

	if (file_read(from_fd, CACHE_LAID_FILE, LAID_MAX, &text, err) < 0)
		return err->code == ERROR_NOT_FOUND ? 0 : -1;
	return store_replace(dir_fd, CACHE_LAID_FILE, str_cstr(&text), text.len, false, err);
}

bool warm_cache_is_tainted(int dir_fd)
{
	return faccessat(dir_fd, TAINT_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The cache, what it is now, and the layer that was laid of it. */
static void put_laid(struct str *text, const char *name, const char *now, const char *laid)
{
	owned(free_ptr) char *value = xasprintf("%s %s %s", name, *now ? now : "-", laid);

	fields_put(text, "cache", value);
}

/* Whether an earlier start had other caches, or such that cannot be read: what it wrote came by other rules. */
static bool is_other(int dir_fd, bool is_new, const struct spec *spec)
{
	owned(fields_done) struct fields fields = { 0 };
	struct error err = { 0 };
	const char *value;

	if (fields_read(dir_fd, CACHE_LAID_FILE, LAID_KIND, &fields, &err) < 0)
		return !is_new || err.code != ERROR_NOT_FOUND;
	value = fields_get(&fields, "cache");
	return !value || !str_starts(value, spec->cache);
}

int warm_cache_lay(const struct sandbox *sandbox, bool is_new, struct spec *spec, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	char layer[LAYER_ID_SIZE];

	/* Copies of services are the only mounts of something that the store keeps. */
	if (!spec->cache || (spec->bind_count > 0 && spec->binds[spec->bind_count - 1].stored)) {
		(void)unlinkat(sandbox->dir_fd, CACHE_LAID_FILE, 0);
		return 0;
	}
	if ((spec->secrets.count + spec->secret_header.count > 0 ||
	     is_other(sandbox->dir_fd, is_new, spec)) &&
	    warm_cache_taint(sandbox->dir_fd, err) < 0)
		return -1;
	fields_begin(&text, LAID_KIND);
	for (const struct plan_cache *row = plan_caches; row->tool; row = next_tool(row)) {
		owned(free_ptr) char *name = promoted_name(spec, row);
		bool is_laid = lay_one(sandbox->store, name, spec, layer);

		if (name)
			put_laid(&text, name, layer, is_laid ? layer : "-");
	}
	fields_end(&text);
	return store_replace(sandbox->dir_fd, CACHE_LAID_FILE, text.data, text.len, false, err);
}

static const char *layer_word(const char *word)
{
	return strcmp(word, "-") == 0 ? "" : word;
}

/* VALUE as put_laid() wrote it. TEXT is to be what stands there from now on. */
static void keep_one(const struct sandbox *sandbox, const struct spec *spec, const char *value,
		     struct cache_fold *fold, struct str *text)
{
	char name[64], now[LAYER_ID_SIZE], laid[LAYER_ID_SIZE], layer[LAYER_ID_SIZE];
	const struct plan_cache *row = plan_caches;
	struct error ignored = { 0 };

	if (sscanf(value, "%63s %26s %26s", name, now, laid) != 3)
		return;
	fold->name = name;
	fold->expected = layer_word(now);
	fold->base = layer_word(laid);
	for (; row->tool; row = next_tool(row)) {
		owned(free_ptr) char *of_row = promoted_name(spec, row);

		if (!of_row || strcmp(of_row, name) != 0)
			continue;
		/* A cache that cannot be kept is a cold one; the promotion has been made. */
		if (fold_tool(sandbox->store, spec, row, fold, layer, &ignored) == 0)
			memcpy(now, layer, sizeof(now));
	}
	put_laid(text, name, layer_word(now), laid);
}

void warm_cache_promoted(const struct sandbox *sandbox, const struct spec *spec,
			 const struct view_stack *stack, bool is_live)
{
	struct cache_fold fold = { .top_fds = stack->layer_fds,
				   .top_count = stack->count,
				   .is_live = is_live };
	owned(fields_done) struct fields fields = { 0 };
	owned(str_done) struct str text = STR_INIT;
	struct error ignored;

	if (!spec->cache || warm_cache_is_tainted(sandbox->dir_fd) ||
	    fields_read(sandbox->dir_fd, CACHE_LAID_FILE, LAID_KIND, &fields, &ignored) < 0)
		return;
	fields_begin(&text, LAID_KIND);
	for (size_t i = 0; i < fields.count; i++) {
		if (strcmp(fields.items[i].key, "cache") == 0)
			keep_one(sandbox, spec, fields.items[i].value, &fold, &text);
	}
	fields_end(&text);
	(void)store_replace(sandbox->dir_fd, CACHE_LAID_FILE, text.data, text.len, false, &ignored);
}
