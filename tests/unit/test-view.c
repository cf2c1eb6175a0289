/* SPDX-License-Identifier: Apache-2.0 */
/* Views: single paths through layers made by hand, and layers that lie. */
#include "base/text/clean_path.h"
#include "tests/unit/layers_delta.h"
#include "workspace/disk/overlay.h"

/* What the view has at NAME, as "layer:text", "base:text", "absent" or the error's code. The caller owns it. */
static char *seen_from(const struct layers *l, size_t from, const char *name)
{
	owned(free_ptr) char *path = xasprintf("%s%s%s", l->base, *name ? "/" : "", name);
	owned(view_object_done) struct view_object object = { .dir_fd = -1 };
	struct error err = { 0 };
	char text[32] = "";

	if (view_lookup(&l->stack, from, path, &object, &err) < 0)
		return xstrdup(error_code_name(err.code));
	if (object.kind == VIEW_ABSENT)
		return xstrdup("absent");
	owned(fd_close) int fd = view_open_file(&object);

	if (fd >= 0 && read(fd, text, sizeof(text) - 1) < 0)
		return xstrdup("unreadable");
	const char *what = S_ISDIR(object.st.st_mode) ? "dir" : fd < 0 ? "other" : text;

	return object.kind == VIEW_BASE ? xasprintf("base:%s", what)
					: xasprintf("%zu:%s", object.layer, what);
}

static bool is_seen(const struct layers *l, const char *name, const char *want)
{
	owned(free_ptr) char *got = seen_from(l, 0, name);

	return tap_is_str(got, want, "%s is %s", *name ? name : "the unit", want);
}

static void test_lookup(bool user)
{
	owned(layers_close) struct layers l;

	layers_open(&l, 2, user);
	layers_put(&l, 2, "a", "base");
	layers_put(&l, 2, "d/x", "base");
	layers_put(&l, 2, "d/y", "base");
	layers_put(&l, 2, "o/x", "base");
	layers_put(&l, 2, "f", "base");
	layers_put(&l, 1, "d/x", "one");
	layers_white(&l, 1, "d/y");
	layers_put(&l, 1, "f/below", "one");
	layers_put(&l, 0, "d/y", "top");
	layers_put(&l, 0, "o/y", "top");
	layers_mark(&l, 0, "o", "opaque", "y");
	is_seen(&l, "", "0:dir");
	is_seen(&l, "a", "base:base");
	is_seen(&l, "d/x", "1:one");
	is_seen(&l, "d/y", "0:top");
	is_seen(&l, "o/x", "absent");
	is_seen(&l, "o/y", "0:top");
	is_seen(&l, "f/below", "1:one");
	is_seen(&l, "a/below", "absent");
	is_seen(&l, "never/at/all", "absent");
	is_seen(&l, "d/../a", "usage");
	owned(free_ptr) char *middle = seen_from(&l, 1, "d/y"), *base = seen_from(&l, 2, "f");

	tap_is_str(middle, "absent", "an older point has its whiteout");
	tap_is_str(base, "base:base", "and the oldest nothing but the base");
}

static void test_redirects(void)
{
	owned(layers_close) struct layers l;

	layers_open(&l, 3, false);
	layers_put(&l, 3, "a/b/f", "base");
	layers_put(&l, 3, "secret/f", "base");
	layers_mkdir(&l, 2, "moved");
	layers_mark(&l, 2, "moved", "redirect", "/a/b");
	layers_mkdir(&l, 1, "again");
	layers_mark(&l, 1, "again", "redirect", "moved");
	layers_mkdir(&l, 0, "deep/here");
	layers_mark(&l, 0, "deep", "opaque", "y");
	layers_mark(&l, 0, "deep/here", "redirect", "/again");
	is_seen(&l, "moved/f", "base:base");
	is_seen(&l, "again/f", "base:base");
	is_seen(&l, "deep/here/f", "base:base");
	is_seen(&l, "deep/here", "0:dir");
}

static const char *const lies[] = { "..",    "../../..", "/..", "/a/../..", "/",    "//a",
				    "/a//b", "a/b",	 "",	".",	    "/./a", "/a/" };

/* What no kernel wrote is not believed, and told. */
static void test_lies(void)
{
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		owned(layers_close) struct layers l;

		layers_open(&l, 1, false);
		layers_put(&l, 1, "a/b", "base");
		layers_put(&l, 0, "d/new", "top");
		layers_mark(&l, 0, "d", "redirect", lies[i]);
		owned(free_ptr) char *got = seen_from(&l, 0, "d/b");
		owned(delta_done) struct delta delta =
			layers_delta(&l, (struct delta_options){ 0 });

		tap_ok(strcmp(got, "input") == 0 && delta.is_partial && delta.count == 1,
		       "redirect '%s' is refused", lies[i]);
	}
}

/* True marks with false content: loops, links, other trees. */
static void test_hostile(void)
{
	owned(layers_close) struct layers l;

	layers_open(&l, 2, false);
	layers_put(&l, 2, "a/f", "base");
	layers_put(&l, 2, "d/f", "base");
	layers_link(&l, 2, "link", "/etc");
	layers_mkdir(&l, 0, "self");
	layers_mark(&l, 0, "self", "redirect", "/self");
	layers_mkdir(&l, 1, "self");
	layers_mark(&l, 1, "self", "redirect", "/self/self");
	layers_mkdir(&l, 0, "up");
	layers_mark(&l, 0, "up", "redirect", "/link");
	layers_mkdir(&l, 0, "up2");
	layers_mark(&l, 0, "up2", "redirect", "/link/ssh");
	layers_link(&l, 0, "d", "/etc");
	is_seen(&l, "self/f", "absent");
	is_seen(&l, "up/passwd", "absent");
	is_seen(&l, "up2/sshd_config", "absent");
	is_seen(&l, "d/passwd", "absent");
	is_seen(&l, "link/passwd", "absent");
	layers_is(&l, (struct delta_options){ 0 }, "T d type; D d/f",
		  "a link where a directory was is a link");
}

static void test_plain_redirect(void)
{
	owned(layers_close) struct layers l;

	layers_open(&l, 1, true);
	layers_put(&l, 1, "a/f", "base");
	layers_mkdir(&l, 0, "d");
	layers_mark(&l, 0, "d", "redirect", "/a");
	is_seen(&l, "d/f", "input");
}

/* As the planned masks do, what lies below something hidden is hidden as well. */
static bool shows(const char *path, void *cookie)
{
	const struct layers *l = cookie;
	owned(free_ptr) char *hidden = xasprintf("%s/home/.ssh", l->base);

	return !path_is_within(path, hidden);
}

/* What a mask hides is neither shown nor told, by whatever way one comes to it. */
static void test_masks(bool user)
{
	owned(layers_close) struct layers l;
	struct delta_options options = { .expand = true, .renames = true };

	layers_open(&l, 1, user);
	l.stack.shows = shows;
	l.stack.cookie = &l;
	layers_put(&l, 1, "home/.ssh/key", "secret");
	layers_put(&l, 1, "home/file", "content");
	is_seen(&l, "home/.ssh/key", "absent");
	is_seen(&l, "home/.ssh", "absent");
	layers_put(&l, 0, "home/.ssh/key", "other!");
	owned(delta_done) struct delta delta = layers_delta(&l, options);
	owned(free_ptr) char *got = layers_shown(&l, &delta);

	tap_is_str(got, "A home/.ssh; A home/.ssh/key", "written where a secret lies: added");
	tap_ok(!delta.items[1].old.exists && delta_open_side(&l.stack, &delta.items[1].old) < 0,
	       "and no old content");
	owned(free_ptr) char *key = xasprintf("%s/home/.ssh/key", l.base);
	struct delta_side forged = { .exists = true, .layer = 1, .layer_path = key };

	(void)stat(key, &forged.st);
	tap_ok(delta_open_side(&l.stack, &forged) < 0 && errno == ENOENT,
	       "not even to somebody who knows where it is");
	layers_white(&l, 0, "x");
	layers_close(&l);
	layers_open(&l, 1, user);
	l.stack.shows = shows;
	l.stack.cookie = &l;
	layers_put(&l, 1, "home/.ssh/key", "secret");
	layers_put(&l, 1, "home/file", "content");
	layers_white(&l, 0, "home");
	layers_put(&l, 0, "copy", "secret");
	layers_is(&l, options, "A copy; D home; D home/file",
		  "its directory removed: its name is not told, nor its content matched");
	if (user)
		return;
	layers_mkdir(&l, 0, "away");
	layers_mark(&l, 0, "away", "redirect", "/home");
	is_seen(&l, "away/file", "base:content");
	is_seen(&l, "away/.ssh", "absent");
	layers_mkdir(&l, 0, "in");
	layers_mark(&l, 0, "in", "redirect", "/home/.ssh");
	is_seen(&l, "in/key", "absent");
}

static void test_both(void (*test)(bool user))
{
	test(true);
	if (geteuid() == 0)
		test(false);
}

int main(void)
{
	(void)umask(022);
	test_both(test_lookup);
	test_both(test_masks);
	test_plain_redirect();
	if (geteuid() == 0) {
		test_redirects();
		test_lies();
		test_hostile();
	} else {
		tap_skip(3, "trusted attributes need root");
	}
	return tap_done();
}
