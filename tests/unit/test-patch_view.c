/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of a patch on a terminal: hostile content shows as escapes, colours follow the structure. */
#include "front/cli/patch_view.h"
#include "tests/tap.h"

static void shows(const char *text, struct render_style style, const char *want, const char *what)
{
	struct str out = STR_INIT;

	patch_view(&out, text, strlen(text), &style);
	tap_is_str(str_cstr(&out), want, "%s", what);
	str_done(&out);
}

static void test_content(void)
{
	struct render_style terminal = { .terminal = true }, pipe = { .terminal = false };

	shows("+ok\rbad\n", terminal, "+ok\\x0dbad\n", "a carriage return is seen");
	shows("+\033]52;c;eA==\a\n", terminal, "+\\x1b]52;c;eA==\\x07\n",
	      "the clipboard stays ours");
	shows("+\033]8;;http://x\033\\\n", terminal, "+\\x1b]8;;http://x\\x1b\\\n",
	      "no hidden links");
	shows("+\xe2\x80\xae\xe2\x80\x8b\n", terminal, "+\\u{202e}\\u{200b}\n",
	      "neither reordered nor hidden");
	shows("+\xff\tx\n", terminal, "+\\xff\tx\n", "bytes that are no text; tabs stay");
	shows("+\033[31m\r\n", pipe, "+\033[31m\r\n", "a pipe gets the bytes");
	shows("no end", terminal, "no end", "a last line without an end");
}

static void test_colours(void)
{
	struct render_style style = { .terminal = true, .colour = true };

	shows("# note\n", style, "\033[33m# note\033[0m\n", "notes");
	shows("@@ -1 +0,0 @@\n--- a/x\n", style,
	      "\033[36m@@ -1 +0,0 @@\033[0m\n\033[31m--- a/x\033[0m\n",
	      "a removed line that looks like a header is a removed line");
	shows("@@ -0,0 +1,2 @@\n+++ b\n+@@ -1 +1 @@\n-x\n", style,
	      "\033[36m@@ -0,0 +1,2 @@\033[0m\n\033[32m+++ b\033[0m\n"
	      "\033[32m+@@ -1 +1 @@\033[0m\n\033[1m-x\033[0m\n",
	      "a hunk ends where its header says");
	shows("@@ -1 +1 @@\n-\033[0m\n+a\n\\ No newline at end of file\n", style,
	      "\033[36m@@ -1 +1 @@\033[0m\n\033[31m-\\x1b[0m\033[0m\n\033[32m+a\033[0m\n"
	      "\\ No newline at end of file\n",
	      "content cannot end our colours");
	shows("@@ rubbish\n@@ -1,99999999999999999999999 +x\n", style,
	      "\033[36m@@ rubbish\033[0m\n\033[36m@@ -1,99999999999999999999999 +x\033[0m\n",
	      "a header that is none does no harm");
}

int main(void)
{
	test_content();
	test_colours();
	return tap_done();
}
