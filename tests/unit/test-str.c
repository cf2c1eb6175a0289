/* SPDX-License-Identifier: Apache-2.0 */
/* Growable text and vectors of words. */
#include "base/core/own.h"
#include "base/core/str.h"
#include "tests/tap.h"

/* One who takes a byte while two are added never has it all: what is kept stays in proportion to what waits. */
static void test_pass(void)
{
	owned(str_done) struct str text = STR_INIT;
	size_t at = 0;

	str_add(&text, "abcdef");
	str_pass(&text, &at, 2);
	tap_ok(at == 2 && text.len == 6, "a few bytes taken from the front stay");
	str_pass(&text, &at, 2);
	tap_ok(at == 0 && strcmp(str_cstr(&text), "ef") == 0, "with most of it taken they go");
	for (int i = 0; i < 100000; i++) {
		str_add(&text, "xy");
		str_pass(&text, &at, 1);
	}
	tap_is_int((long long)(text.len - at), 100002, "what waits is whole");
	tap_ok(at <= text.len / 2 + 1, "and not more than that is kept beside it");
	str_pass(&text, &at, text.len - at);
	tap_ok(at == 0 && text.len == 0 && !text.data, "with nothing left, the memory goes");
	str_add(&text, "ab");
	str_pass(&text, &at, 2);
	tap_ok(at == 0 && text.len == 0 && text.data, "a little memory stays");
}

static void test_text(void)
{
	owned(str_done) struct str text = STR_INIT;
	char *taken;

	tap_is_str(str_cstr(&text), "", "new text is empty");
	str_add(&text, "ab");
	str_add_char(&text, 'c');
	str_add_bytes(&text, "d\0e", 3);
	tap_is_int((long long)text.len, 6, "bytes are counted, NUL too");
	str_truncate(&text, 3);
	str_truncate(&text, 99);
	tap_is_str(str_cstr(&text), "abc", "truncating never lengthens");
	str_addf(&text, "-%d-%s", 5, "x");
	tap_is_str(str_cstr(&text), "abc-5-x", "formatted text is added");
	str_drop_front(&text, 0);
	str_drop_front(&text, 4);
	tap_is_str(str_cstr(&text), "5-x", "the front can be dropped");
	str_drop_front(&text, 99);
	tap_is_str(str_cstr(&text), "", "at most all of it");
	str_drop_front(&text, 1);
	str_add(&text, "new");
	str_clear(&text);
	tap_is_str(str_cstr(&text), "", "clearing leaves nothing");
	str_addf(&text, "%01000d", 7);
	tap_is_int((long long)text.len, 1000, "long formatted text is whole");
	str_add_bytes(&text, NULL, 0);
	tap_is_int((long long)text.len, 1000, "nothing can be added");
	taken = str_detach(&text);
	tap_is_int((long long)strlen(taken), 1000, "text can be taken");
	tap_ok(!text.data && text.len == 0, "and leaves nothing behind");
	free(taken);
	taken = str_detach(&text);
	tap_is_str(taken, "", "taking nothing gives an empty text");
	free(taken);
	for (int i = 0; i < 100000; i++)
		str_add_char(&text, 'x');
	tap_is_int((long long)text.len, 100000, "text grows");
}

static void test_vectors(void)
{
	owned(strv_done) struct strv list = STRV_INIT, copy = STRV_INIT;

	tap_ok(!strv_has(&list, "a"), "a new list has nothing");
	strv_add(&list, "a");
	strv_addf(&list, "%s=%d", "b", 2);
	strv_take(&list, xstrdup("c"));
	strv_copy(&copy, &list);
	tap_is_int((long long)copy.count, 3, "a copy has all");
	tap_ok(strv_has(&copy, "b=2") && !strv_has(&copy, "b"), "words are compared whole");
	tap_ok(copy.items[3] == NULL, "a list ends in NULL");
}

static void test_sorted(void)
{
	owned(strv_done) struct strv list = STRV_INIT;

	strv_sort(&list);
	tap_ok(!strv_has_sorted(&list, "a"), "an empty list has nothing");
	strv_add(&list, "b");
	strv_add(&list, "\xff");
	strv_add(&list, "a");
	strv_sort(&list);
	tap_ok(strcmp(list.items[0], "a") == 0 && strcmp(list.items[2], "\xff") == 0,
	       "items are sorted by their bytes");
	tap_ok(strv_has_sorted(&list, "b") && !strv_has_sorted(&list, "c"), "and found");
}

static void test_words(void)
{
	owned(free_ptr) char *made = xasprintf("%s-%d", "x", 3);
	owned(free_ptr) char *cut = xstrndup("abcdef", 3);
	owned(free_ptr) char *zeros = xcalloc(0, 0);
	char shown[STR_SHOWN_SIZE];

	tap_is_str(made, "x-3", "xasprintf formats");
	tap_is_str(cut, "abc", "xstrndup cuts");
	tap_ok(zeros != NULL, "nothing can be allocated");
	tap_ok(str_same("a", "a") && !str_same("a", "b") && !str_same("a", NULL) &&
		       !str_same(NULL, "") && str_same(NULL, NULL),
	       "str_same");
	tap_ok(str_starts("abc", "ab") && !str_starts("a", "ab") && str_starts("a", ""),
	       "str_starts");
	tap_ok(str_ends("abc", "bc") && !str_ends("c", "bc") && str_ends("a", ""), "str_ends");
	tap_is_str(str_shown("a\nb\x1b[31m\x7f", shown), "a?b?[31m?",
		   "control bytes are not shown");
	tap_is_str(str_shown("", shown), "", "nothing is shown as nothing");
	tap_is_int((long long)strlen(str_shown("0123456789012345678901234567890123456789"
					       "0123456789012345678901234567890",
					       shown)),
		   71, "what fits is shown whole");
	const char *cut_word = str_shown("0123456789012345678901234567890123456789"
					 "012345678901234567890123456\xe2\x82\xac and more",
					 shown);

	tap_ok(str_ends(cut_word, "6..."), "no half character is left: %s", cut_word);
}

static void test_script(void)
{
	owned(strv_done) struct strv plain = STRV_INIT, dashed = STRV_INIT;

	strv_add_script(&plain, "ls -l");
	tap_ok(plain.count == 3 && strcmp(plain.items[2], "ls -l") == 0, "a text for a shell");
	strv_add_script(&dashed, "-rf");
	tap_ok(dashed.count == 4 && strcmp(dashed.items[2], "--") == 0,
	       "one that begins with a dash is no option");
}

int main(void)
{
	test_script();
	test_text();
	test_pass();
	test_vectors();
	test_sorted();
	test_words();
	return tap_done();
}
