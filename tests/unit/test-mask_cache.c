/* SPDX-License-Identifier: Apache-2.0 */
/* Kept mask layers: the name changes with everything a layer depends on, and with nothing else. */
#include "confine/mask/mask_cache.h"

#include "base/core/own.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

#include <time.h>

static struct scratch scratch;

static char *path_of(const char *name)
{
	return xasprintf("%s%s%s", scratch.dir, *name ? "/" : "", name);
}

static void add_mask(struct spec *spec, enum mask_kind kind, const char *name)
{
	owned(free_ptr) char *path = path_of(name);

	spec_add_mask(spec, kind, path);
}

static void make_spec(struct spec *spec)
{
	spec_init(spec);
	spec->workspace = path_of("home/u/ws");
	add_mask(spec, MASK_HIDE, "etc/deep/down/key");
	add_mask(spec, MASK_GLOB, "etc/ssh/*_key");
	add_mask(spec, MASK_EMPTY, "home");
	add_mask(spec, MASK_KEEP, "home/u/.nvm");
	add_mask(spec, MASK_KEEP, "home/u/ws");
}

/* The name of SPEC's layer on NAME; times of the files have ticks, so some pass. */
static void name_of(const struct spec *spec, const char *name, char ret[static SHA256_HEX_SIZE])
{
	const struct timespec ticks = { .tv_nsec = 20000000 };
	owned(free_ptr) char *path = path_of(name);
	const struct mask_layer like = { -1, path, false, &spec->ids };

	(void)mask_cache_name(spec, &like, ret);
	(void)nanosleep(&ticks, NULL);
}

/* Whether the layer has another name than it had before, which is kept in LAST. */
static bool is_new(const struct spec *spec, char last[static SHA256_HEX_SIZE])
{
	char name[SHA256_HEX_SIZE];
	bool differs;

	name_of(spec, "", name);
	differs = strcmp(name, last) != 0;
	memcpy(last, name, sizeof(name));
	return differs;
}

static void test_host(void)
{
	owned(spec_done) struct spec spec;
	owned(free_ptr) char *home = path_of("home");
	owned(free_ptr) char *ws = path_of("home/u/ws");
	char last[SHA256_HEX_SIZE] = "";

	make_spec(&spec);
	tap_ok(is_new(&spec, last) && !is_new(&spec, last), "the same again has the same name");
	free(scratch_write(&scratch, "etc/ssh/new_key", "x"));
	tap_ok(is_new(&spec, last), "a new file where a pattern looks");
	free(scratch_write(&scratch, "home/u/ws/file", "x"));
	free(scratch_write(&scratch, "home/u/other", "x"));
	tap_ok(!is_new(&spec, last), "changes in the workspace and beside it are none");
	tap_ok(chmod(ws, 0700) == 0 && is_new(&spec, last), "its mode is one");
	tap_ok(chmod(home, 0711) == 0 && is_new(&spec, last), "or that of a directory above");
	scratch_mkdir(&scratch, "etc/deep");
	tap_ok(is_new(&spec, last), "a part of a path that was not there");
	scratch_mkdir(&scratch, "home/u/.nvm");
	tap_ok(is_new(&spec, last), "something to keep that was not there");
}

static void test_rules(void)
{
	owned(spec_done) struct spec spec;
	char plain[SHA256_HEX_SIZE], name[SHA256_HEX_SIZE];

	make_spec(&spec);
	name_of(&spec, "etc", plain);
	add_mask(&spec, MASK_EMPTY, "");
	name_of(&spec, "etc", name);
	tap_ok(strcmp(plain, name) != 0, "a rule above the layer changes its name");
	spec.ids.uid++;
	name_of(&spec, "etc", plain);
	tap_ok(strcmp(plain, name) != 0, "so do ids");
	name_of(&spec, "home", name);
	tap_ok(strcmp(plain, name) != 0 && strlen(name) == 64, "every place has its own");
}

/* On a busy machine we may come too late to see it: then once more. */
static bool is_uncertain_at_once(const struct spec *spec, const struct mask_layer *like)
{
	char name[SHA256_HEX_SIZE];
	bool is_certain = true;

	for (int i = 0; i < 1000 && is_certain; i++) {
		owned(free_ptr) char *path = scratch_write(&scratch, "etc/ssh/last_key", "x");

		is_certain = mask_cache_name(spec, like, name);
		(void)unlink(path);
	}
	return !is_certain;
}

static bool becomes_certain(const struct spec *spec, const struct mask_layer *like)
{
	char name[SHA256_HEX_SIZE];

	for (int i = 0; i < 1000; i++) {
		if (mask_cache_name(spec, like, name))
			return true;
		(void)usleep(10000);
	}
	return false;
}

static void test_settled(void)
{
	owned(spec_done) struct spec spec, empty;
	const struct mask_layer like = { -1, scratch.dir, false, NULL };
	char name[SHA256_HEX_SIZE];

	make_spec(&spec);
	spec_init(&empty);
	tap_ok(is_uncertain_at_once(&spec, &like), "what has just changed is not certain");
	tap_ok(becomes_certain(&spec, &like), "a moment later it is");
	tap_ok(mask_cache_name(&empty, &like, name), "what depends on nothing is at once");
}

int main(void)
{
	scratch_open(&scratch);
	scratch_mkdir(&scratch, "etc/ssh");
	scratch_mkdir(&scratch, "home/u/ws");
	test_host();
	test_rules();
	test_settled();
	scratch_close(&scratch);
	return tap_done();
}
