/* SPDX-License-Identifier: Apache-2.0 */
/* Masks: which rule decides for a path, and the layer that is built from the rules. */
#include "confine/mask/mask.h"

#include "base/core/own.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

static void test_rules(void)
{
	owned(spec_done) struct spec spec;

	spec_init(&spec);
	spec_add_mask(&spec, MASK_HIDE, "/etc/key");
	spec_add_mask(&spec, MASK_EMPTY, "/home");
	spec_add_mask(&spec, MASK_KEEP, "/home/u/work");
	spec_add_mask(&spec, MASK_HIDE, "/home/u/work/.env");
	spec_add_mask(&spec, MASK_KEEP, "/home/u/work/.env/public");
	spec_add_mask(&spec, MASK_GLOB, "/srv/*_key");
	spec_add_mask(&spec, MASK_HIDE, "/var/log");
	spec_add_mask(&spec, MASK_KEEP, "/var/log");
	tap_ok(mask_shows(&spec, "/"), "the root shows");
	tap_ok(mask_shows(&spec, "/etc") && mask_shows(&spec, "/etc/passwd"), "what no rule names");
	tap_ok(!mask_shows(&spec, "/etc/key") && !mask_shows(&spec, "/etc/key/below"),
	       "a rule holds for everything below it");
	tap_ok(mask_shows(&spec, "/etc/key.pub") && mask_shows(&spec, "/etc/keys") &&
		       mask_shows(&spec, "/etc/ke"),
	       "but not for names that begin alike");
	tap_ok(!mask_shows(&spec, "/home/u") && mask_shows(&spec, "/home/u/work/a/b"),
	       "the deepest rule decides");
	tap_ok(!mask_shows(&spec, "/home/u/work/.env/secret") &&
		       mask_shows(&spec, "/home/u/work/.env/public/x"),
	       "at any depth");
	tap_ok(mask_shows(&spec, "/var/log"), "of two rules for one path KEEP wins");
	tap_ok(!mask_shows(&spec, "/srv/a_key") && !mask_shows(&spec, "/srv/a_key/below") &&
		       mask_shows(&spec, "/srv/a_key.pub") && mask_shows(&spec, "/srv/sub/a_key"),
	       "a pattern holds for names of its directory, and what lies below them");
}

/* Patterns by place: literal directories, names that sort before and after the pattern, rules for the same name. */
static void test_patterns(void)
{
	owned(spec_done) struct spec spec;

	spec_init(&spec);
	spec_add_mask(&spec, MASK_GLOB, "/*.root");
	spec_add_mask(&spec, MASK_GLOB, "/odd/[ab]/*.pem");
	spec_add_mask(&spec, MASK_GLOB, "/ws/*.pem");
	spec_add_mask(&spec, MASK_KEEP, "/ws/kept.pem");
	spec_add_mask(&spec, MASK_HIDE, "/ws/kept.pem/not");
	spec_add_mask(&spec, MASK_KEEP, "/ws/x.pem/kept");
	tap_ok(!mask_shows(&spec, "/a.root") && mask_shows(&spec, "/a/b.root"), "in the root");
	tap_ok(!mask_shows(&spec, "/odd/[ab]/x.pem") && mask_shows(&spec, "/odd/a/x.pem"),
	       "only the last part is a pattern");
	tap_ok(mask_shows(&spec, "/ws/kept.pem") && mask_shows(&spec, "/ws/kept.pem/below") &&
		       !mask_shows(&spec, "/ws/kept.pem/not/x"),
	       "a rule that names the path stands above the pattern");
	tap_ok(!mask_shows(&spec, "/ws/x.pem") && mask_shows(&spec, "/ws/x.pem/kept/y") &&
		       !mask_shows(&spec, "/ws/x.pem/other"),
	       "a deeper rule decides");
	tap_ok(!mask_parent_shows(&spec, "/ws/x.pem/kept") && mask_parent_shows(&spec, "/ws/x.pem"),
	       "the parent is judged alike");
	tap_ok(mask_pattern_match("/ws/*.pem", "/ws/a.pem/b") == 9, "the part that matches");
	tap_ok(mask_pattern_match("/ws/*.pem", "/ws/") == 0, "an empty name matches nothing");
}

static void test_kept_below(void)
{
	owned(spec_done) struct spec spec;

	spec_init(&spec);
	spec_add_mask(&spec, MASK_FILE, "/home/u/.gitconfig");
	spec_add_mask(&spec, MASK_HIDE, "/opt/secret");
	spec_add_mask(&spec, MASK_KEEP, "/tmp/ws");
	spec_add_bind(&spec, "/srv", "/run/data");
	spec_add_bind(&spec, "/srv", "/var/tmp");
	tap_ok(mask_keeps_below(&spec, "/tmp") && !mask_keeps_below(&spec, "/tmp/ws"),
	       "a kept directory counts for those above it");
	tap_ok(mask_keeps_below(&spec, "/home"), "a file of ours counts, too");
	tap_ok(!mask_keeps_below(&spec, "/opt"), "what is hidden does not");
	tap_ok(mask_keeps_below(&spec, "/run") && mask_keeps_below(&spec, "/var/tmp"),
	       "a bind counts for its own place as well");
}

/* A host tree in the scratch directory and the layer made for it. */
struct built {
	struct scratch scratch;
	char *host, *layer;
	struct spec spec;
};

static void built_open(struct built *built)
{
	scratch_open(&built->scratch);
	built->host = scratch_path(&built->scratch, "host");
	built->layer = scratch_path(&built->scratch, "layer");
	scratch_mkdir(&built->scratch, "layer");
	spec_init(&built->spec);
}

static void built_close(struct built *built)
{
	spec_done(&built->spec);
	scratch_close(&built->scratch);
	free(built->host);
	free(built->layer);
}

static void put(const struct built *built, const char *name)
{
	owned(free_ptr) char *path = xasprintf("host/%s", name);

	free(scratch_write(&built->scratch, path, "of the host"));
}

/* Masks must come sorted by path. */
static struct spec_mask *mask(struct built *built, enum mask_kind kind, const char *name)
{
	owned(free_ptr) char *path = xasprintf("%s/%s", built->host, name);

	return spec_add_mask(&built->spec, kind, path);
}

static bool build(struct built *built, struct error *err)
{
	owned(fd_close) int fd = open(built->layer, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct mask_layer layer = { .dir_fd = fd, .path = built->host, .user_xattr = true };

	return mask_build(&built->spec, &layer, err) == 0;
}

/* What is at NAME in the layer: '-' nothing, 'w' whiteout, 'o' opaque directory, 'd', 'f', 'l'. */
static char kind_at(const struct built *built, const char *name)
{
	owned(free_ptr) char *path = xasprintf("%s/%s", built->layer, name);
	struct stat st;
	char value[2];

	if (lstat(path, &st) < 0)
		return '-';
	if (S_ISCHR(st.st_mode))
		return st.st_rdev == makedev(0, 0) ? 'w' : '?';
	if (S_ISLNK(st.st_mode))
		return 'l';
	if (!S_ISDIR(st.st_mode))
		return 'f';
	return getxattr(path, "user.overlay.opaque", value, sizeof(value)) == 1 ? 'o' : 'd';
}

static void fill_host(const struct built *built)
{
	owned(free_ptr) char *link = scratch_path(&built->scratch, "host/home/u/.local");
	owned(free_ptr) char *modes = scratch_path(&built->scratch, "host/home/u/.ssh");

	put(built, "etc/host_key");
	put(built, "etc/other_key");
	put(built, "etc/key.pub");
	put(built, "etc/shadow");
	put(built, "home/u/.ssh/id");
	put(built, "home/u/work/file");
	put(built, "srv/secret/file");
	if (symlink("work", link) < 0 || chmod(modes, 0700) < 0)
		tap_bail("cannot fill the scratch directory");
}

static void add_rules(struct built *built)
{
	mask(built, MASK_GLOB, "etc/*_key");
	mask(built, MASK_HIDE, "etc/no-such");
	mask(built, MASK_HIDE, "etc/shadow");
	mask(built, MASK_EMPTY, "home");
	mask(built, MASK_FILE, "home/u/.gitconfig")->content = xstrdup("[user]\n");
	mask(built, MASK_KEEP, "home/u/.local");
	mask(built, MASK_HIDE, "home/u/.ssh");
	mask(built, MASK_KEEP, "home/u/work");
	mask(built, MASK_HIDE, "srv/secret");
}

static bool has_whiteouts_and_attributes(const struct built *built)
{
	owned(free_ptr) char *path = scratch_path(&built->scratch, "probe");
	bool good = mknod(path, S_IFCHR, makedev(0, 0)) == 0;

	return good && setxattr(built->scratch.dir, "user.overlay.probe", "", 0, 0) == 0;
}

static void test_layer(void)
{
	struct built built;
	struct error err = { 0 };

	built_open(&built);
	fill_host(&built);
	add_rules(&built);
	if (!has_whiteouts_and_attributes(&built)) {
		tap_skip(8, "no whiteouts or no user attributes here");
		built_close(&built);
		return;
	}
	tap_ok(build(&built, &err), "the layer is built: %s", err.text);
	tap_ok(kind_at(&built, "etc") == 'd' && kind_at(&built, "etc/shadow") == 'w',
	       "a hidden file is a whiteout in a directory that merges");
	tap_ok(kind_at(&built, "etc/host_key") == 'w' && kind_at(&built, "etc/other_key") == 'w' &&
		       kind_at(&built, "etc/key.pub") == '-',
	       "a pattern hides what matches it");
	tap_ok(kind_at(&built, "etc/no-such") == 'w',
	       "what the host has not yet is hidden as well");
	tap_ok(kind_at(&built, "srv/secret") == 'o' && kind_at(&built, "srv/secret/file") == '-',
	       "a hidden directory is an empty opaque one");
	tap_ok(kind_at(&built, "home") == 'o' && kind_at(&built, "home/u/.ssh") == '-',
	       "what lies in an emptied directory is gone without a rule of its own");
	tap_ok(kind_at(&built, "home/u/work") == 'd' && kind_at(&built, "home/u/.local") == 'l',
	       "kept ones are there: a place to mount on, a link as it is");
	tap_ok(kind_at(&built, "home/u/.gitconfig") == 'f', "and so is a file of ours");
	built_close(&built);
}

static void test_mount_points(void)
{
	struct built built;
	struct error err = { 0 };

	built_open(&built);
	put(&built, "data/there");
	put(&built, "one-file");
	owned(free_ptr) char *new_place = xasprintf("%s/new/place", built.host);
	owned(free_ptr) char *new_file = xasprintf("%s/new/file", built.host);
	owned(free_ptr) char *old_place = xasprintf("%s/data", built.host);
	owned(free_ptr) char *source = xasprintf("%s/one-file", built.host);

	spec_add_bind(&built.spec, old_place, new_place);
	spec_add_bind(&built.spec, source, new_file);
	spec_add_bind(&built.spec, "/", old_place);
	tap_ok(build(&built, &err), "mount points are made: %s", err.text);
	tap_ok(kind_at(&built, "new/place") == 'd' && kind_at(&built, "new/file") == 'f',
	       "of the kind of what is mounted there");
	tap_ok(kind_at(&built, "data") == '-', "what the host has is not made again");
	built_close(&built);
}

static void test_metadata(void)
{
	struct built built;
	struct error err = { 0 };
	struct stat host, layer;

	built_open(&built);
	put(&built, "etc/deep/secret");
	mask(&built, MASK_HIDE, "etc/deep/secret");
	owned(free_ptr) char *on_host = xasprintf("%s/etc/deep", built.host);
	owned(free_ptr) char *in_layer = xasprintf("%s/etc/deep", built.layer);
	const struct timespec times[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1100000000 } };

	if (chmod(on_host, 0750) < 0 || utimensat(AT_FDCWD, on_host, times, 0) < 0)
		tap_bail("cannot set mode and times");
	if (!has_whiteouts_and_attributes(&built)) {
		tap_skip(2, "no whiteouts or no user attributes here");
		built_close(&built);
		return;
	}
	tap_ok(build(&built, &err) && stat(on_host, &host) == 0 && stat(in_layer, &layer) == 0 &&
		       layer.st_mode == host.st_mode,
	       "a directory that merges has the host's mode");
	tap_is_int(layer.st_mtim.tv_sec, 1100000000, "and its times");
	built_close(&built);
}

/* What does not exist is hidden at the first name that is missing, which may be below a directory that was seen before. */
static void test_absent(void)
{
	struct built built;
	struct error err = { 0 };

	built_open(&built);
	owned(free_ptr) char *link = scratch_path(&built.scratch, "host/v/link");

	put(&built, "v/lib/file");
	put(&built, "v/li");
	put(&built, "w");
	if (symlink("lib", link) < 0)
		tap_bail("cannot fill the scratch directory");
	static const char *const hidden[] = { "v/li/x",	     "v/lib/a",	 "v/lib/b/c",
					      "v/library/x", "v/link/x", "w/x" };

	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		mask(&built, MASK_HIDE, hidden[i]);
	if (!has_whiteouts_and_attributes(&built)) {
		tap_skip(3, "no whiteouts or no user attributes here");
		built_close(&built);
		return;
	}
	tap_ok(build(&built, &err), "a layer of what is not there: %s", err.text);
	tap_ok(kind_at(&built, "v/lib/a") == 'w' && kind_at(&built, "v/lib/b") == 'w' &&
		       kind_at(&built, "v/library") == 'w',
	       "the first missing name is hidden");
	tap_ok(kind_at(&built, "v/li") == '-' && kind_at(&built, "v/link") == '-' &&
		       kind_at(&built, "w") == '-',
	       "below a file or a link there is nothing to hide");
	built_close(&built);
}

int main(void)
{
	test_rules();
	test_patterns();
	test_kept_below();
	test_layer();
	test_absent();
	test_mount_points();
	test_metadata();
	return tap_done();
}
