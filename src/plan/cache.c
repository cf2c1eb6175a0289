/* SPDX-License-Identifier: Apache-2.0 */
/* Which runs share warm caches: those of the same workspace, profile, root and network rules. */
#include "plan/cache.h"

#include "base/core/own.h"
#include "base/hash/sha256.h"
#include "plan/parts.h"

#include <string.h>

/* As much of the digest as names a cache. */
#define KEY_DIGITS 32

bool plan_cache_is_inside(const struct plan_cache *cache)
{
	return str_starts(cache->name, "./");
}

char *plan_cache_path(const struct spec *spec, const struct plan_cache *cache)
{
	return plan_cache_is_inside(cache) ? plan_join(spec->workspace, cache->name + 2)
					   : plan_join(spec->home, cache->name);
}

/* With its NUL, so that two texts never read like two others. */
static void add_text(struct sha256 *sum, const char *text)
{
	sha256_add(sum, text ? text : "", strlen(text ? text : "") + 1);
}

static void add_rules(struct sha256 *sum, const struct strv *rules)
{
	for (size_t i = 0; i < rules->count; i++)
		add_text(sum, rules->items[i]);
	add_text(sum, "");
}

/*
 * A run with wider rules must not be fed by one with narrower ones, nor the other way round: what a tool finds in its
 * cache it takes for what it would have fetched. What an MCP server's clients run feeds none and is fed by none, unless the
 * server was started with caches.
 */
void plan_cache(const struct planning *planning)
{
	struct spec *spec = planning->spec;
	const char *wish = planning->settings->cache;
	char hex[SHA256_HEX_SIZE];
	struct sha256 sum;

	if (!wish || strcmp(wish, "true") != 0 || strcmp(spec->driver, "linux") != 0 ||
	    spec->workspace_made || root_is_project(spec->root) ||
	    (planning->request->owner && !planning->request->owner_caches))
		return;
	/* The top of a sandbox with caches lies on disk, where its size is only watched. */
	if (planning->settings->disk_bytes != SETTING_UNSET) {
		if (planning->request->flags.cache)
			strv_add(&spec->notes,
				 "no warm cache: with one, --disk would be no hard bound");
		return;
	}
	sha256_start(&sum);
	add_text(&sum, spec->workspace);
	add_text(&sum, spec->home);
	add_text(&sum, planning->request->profile);
	add_text(&sum, root_is_idmapped(spec->root) ? "idmapped" : "forest");
	add_text(&sum, spec->net == NET_NONE ? "none" : planning->settings->net);
	add_rules(&sum, &spec->allow);
	add_rules(&sum, &spec->deny);
	sha256_end(&sum, hex);
	spec->cache = xstrndup(hex, KEY_DIGITS);
}
