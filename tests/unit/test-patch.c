/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of a delta as text: what comes first, what git is told, what only people are told. */
#include "tests/unit/layers_delta.h"

#include "workspace/patch/patch.h"

#include <sys/syscall.h>

static int keep(void *cookie, const char *bytes, size_t len, struct error *err)
{
	(void)err;
	str_add_bytes(cookie, bytes, len);
	return 0;
}

static int refuse(void *cookie, const char *bytes, size_t len, struct error *err)
{
	(void)cookie;
	(void)bytes;
	(void)len;
	return error_set(err, ERROR_HOST, "full");
}

/* The layers' change in one form. The caller owns it. */
static char *shown(const struct layers *layers, struct delta_options how, enum patch_form form)
{
	how.workspace = layers->base;
	owned(delta_done) struct delta delta = layers_delta(layers, how);
	struct patch_options options = { .form = form, .workspace = layers->base, .context = 3 };
	struct str text = STR_INIT;
	struct patch_sink sink = { .add = keep, .cookie = &text };
	struct error err = { 0 };

	if (patch_write(&layers->stack, &delta, &options, &sink, &err) < 0)
		printf("# %s\n", err.text);
	return str_detach(&text);
}

/* In front of the C library's. */
static unsigned umask_calls;

mode_t umask(mode_t mask)
{
	umask_calls++;
	return (mode_t)syscall(SYS_umask, mask);
}

/* Of a thousand changes each would have called the kernel twice. */
static void test_asked_once(void)
{
	owned(layers_close) struct layers l;
	owned(free_ptr) char *text = NULL;

	layers_open(&l, 1, true);
	for (int i = 0; i < 50; i++) {
		owned(free_ptr) char *name = xasprintf("new-%d", i);

		layers_put(&l, 0, name, "x\n");
	}
	umask_calls = 0;
	text = shown(&l, (struct delta_options){ 0 }, PATCH_NAME_STATUS);
	tap_ok(strstr(text, "A\tnew-49\n"), "many changes");
	tap_is_int(umask_calls, 2, "the caller's umask is read and put back once for all of them");
}

static void test_names(void)
{
	struct str out = STR_INIT;

	tap_is_str(patch_name("/w/x/a", "/w/x"), "a", "relative in the workspace");
	tap_is_str(patch_name("/w/xa", "/w/x"), "/w/xa", "absolute beside it");
	tap_is_str(patch_name("/w/x", "/w/x"), ".", "the workspace itself");
	tap_is_str(patch_name("/etc/x", "/"), "etc/x", "the root as workspace");
	patch_quote(&out, "a/", "plain name");
	tap_is_str(str_cstr(&out), "a/plain name", "blanks need no quotes");
	str_clear(&out);
	patch_quote(&out, "a/", "/etc/motd");
	tap_is_str(str_cstr(&out), "a/etc/motd", "one slash is enough");
	str_clear(&out);
	patch_quote(&out, "a/", "\a\b\t\n\v\f\r\"\\\x01\x7f\xc3\xa9");
	tap_is_str(str_cstr(&out), "\"a/\\a\\b\\t\\n\\v\\f\\r\\\"\\\\\\001\\177\\303\\251\"",
		   "everything else does");
	str_done(&out);
}

static void test_order(void)
{
	owned(layers_close) struct layers l;
	struct delta_options plain = { 0 };

	layers_open(&l, 1, true);
	layers_put(&l, 1, "a", "1\n");
	layers_put(&l, 0, "a", "2\n");
	layers_put(&l, 0, "Makefile", "all:\n");
	layers_link(&l, 0, "out", "/etc/passwd");
	owned(free_ptr) char *names = shown(&l, plain, PATCH_NAME_STATUS);
	owned(free_ptr) char *patch = shown(&l, plain, PATCH_UNIFIED);
	const char *want = "# Promotion asks about these before it applies them:\n"
			   "#   Makefile: build file\n"
			   "#   out: link leads out of the workspace\n"
			   "diff --git a/Makefile b/Makefile\n";

	tap_is_str(names, "A\tMakefile\nA\tout\nM\ta\n", "what promotion asks about comes first");
	if (!tap_ok(str_starts(patch, want), "and is said so"))
		printf("# %s\n", patch);
}

static void test_attributes(void)
{
	owned(layers_close) struct layers l;
	struct delta_options plain = { 0 };

	layers_open(&l, 1, true);
	layers_put(&l, 1, "a", "1\n");
	layers_put(&l, 0, "a", "1\n");
	owned(free_ptr) char *path = layers_path(&l, 0, "a");

	(void)chmod(path, 0600);
	owned(free_ptr) char *patch = shown(&l, plain, PATCH_UNIFIED);

	tap_is_str(patch, "# a: mode 0644 -> 0600\n", "a mode git has no word for");
	(void)chmod(path, 0755);
	owned(free_ptr) char *executable = shown(&l, plain, PATCH_UNIFIED);

	tap_is_str(executable, "diff --git a/a b/a\nold mode 100644\nnew mode 100755\n",
		   "the one it has");
	(void)chmod(path, 0777);
	owned(free_ptr) char *open_to_all = shown(&l, plain, PATCH_UNIFIED);

	tap_is_str(open_to_all,
		   "# Promotion asks about these before it applies them:\n"
		   "#   a: others may write to it\n# a: mode 0644 -> 0777\n"
		   "diff --git a/a b/a\nold mode 100644\nnew mode 100755\n",
		   "one that git would make look harmless");
}

static void test_new_modes(void)
{
	owned(layers_close) struct layers l;
	struct delta_options whole = { .expand = true };
	mode_t mask = umask(022);

	layers_open(&l, 1, true);
	layers_put(&l, 0, "a", "1\n");
	owned(free_ptr) char *path = layers_path(&l, 0, "a");

	(void)chmod(path, 0666);
	layers_mkdir(&l, 0, "d");
	owned(free_ptr) char *dir = layers_path(&l, 0, "d");

	(void)chmod(dir, 01777);
	owned(free_ptr) char *patch = shown(&l, whole, PATCH_UNIFIED);
	owned(free_ptr) char *names = shown(&l, whole, PATCH_NAME_STATUS);

	tap_is_str(patch,
		   "# a: mode 0666, promoted as 0644 by your umask\n"
		   "diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n"
		   "@@ -0,0 +1 @@\n+1\n"
		   "# d/: directory added\n# d/: mode 1777, promoted as 1755 by your umask\n",
		   "the modes of what is new, and what becomes of them");
	tap_is_str(names, "A\ta\nA\td/\n", "a directory ends in a slash");
	(void)umask(mask);
}

static void test_moved(void)
{
	struct layers l;
	struct delta_options whole = { .renames = true };
	struct delta_options split = { .renames = true, .split_renames = true };

	/* A plain user's overlay knows no renames of directories. */
	if (geteuid() != 0) {
		tap_skip(2, "needs root's attributes");
		return;
	}
	layers_open(&l, 1, false);
	layers_put(&l, 1, "old/a", "1\n");
	layers_put(&l, 1, "old/b", "2\n");
	layers_white(&l, 0, "old");
	layers_mkdir(&l, 0, "new");
	layers_mark(&l, 0, "new", "redirect", "old");
	owned(free_ptr) char *people = shown(&l, whole, PATCH_UNIFIED);
	owned(free_ptr) char *git = shown(&l, split, PATCH_UNIFIED);

	tap_is_str(people, "# new/: directory renamed from old/\n",
		   "a renamed directory is one line");
	tap_is_str(git,
		   "diff --git a/old/a b/new/a\nsimilarity index 100%\nrename from old/a\n"
		   "rename to new/a\ndiff --git a/old/b b/new/b\nsimilarity index 100%\n"
		   "rename from old/b\nrename to new/b\n",
		   "or a rename of each file, for git");
	layers_close(&l);
}

static void test_failures(void)
{
	owned(layers_close) struct layers l;
	struct delta_options plain = { 0 };
	struct patch_options options = { .form = PATCH_UNIFIED };
	struct patch_sink sink = { .add = refuse };
	struct error err = { 0 };
	struct str text = STR_INIT;

	layers_open(&l, 1, true);
	layers_put(&l, 0, "a", "1\n");
	owned(delta_done) struct delta delta = layers_delta(&l, plain);

	tap_ok(patch_write(&l.stack, &delta, &options, &sink, &err) < 0 && err.code == ERROR_HOST,
	       "a sink that fails stops it");
	layers_put(&l, 0, "a", "longer\n");
	sink = (struct patch_sink){ .add = keep, .cookie = &text };
	tap_is_int(patch_write(&l.stack, &delta, &options, &sink, &err), 0, "a file that changed");
	tap_ok(strstr(str_cstr(&text), ": changed again meanwhile") &&
		       strstr(str_cstr(&text), "Binary files /dev/null and "),
	       "is said, in a way git apply refuses");
	str_done(&text);
}

int main(void)
{
	test_asked_once();
	test_names();
	test_order();
	test_attributes();
	test_new_modes();
	test_moved();
	test_failures();
	return tap_done();
}
