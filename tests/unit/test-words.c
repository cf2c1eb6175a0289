/* SPDX-License-Identifier: Apache-2.0 */
/* Paths, moments, sizes and tables as words for people. */
#include "ops/text/words.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "tests/tap.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void check_path(const char *path, const char *want)
{
	owned(str_done) struct str out = STR_INIT;
	owned(free_ptr) char *back = NULL;

	words_add_path(&out, path);
	tap_ok(strcmp(str_cstr(&out), want) == 0, "%s is shown", want);
	back = words_read_path(str_cstr(&out));
	tap_ok(back && strcmp(back, path) == 0, "and read back");
}

static void test_paths(void)
{
	check_path("src/a.c", "src/a.c");
	check_path("with space", "with space");
	check_path("a\nb", "\"a\\012b\"");
	check_path("quote\"back\\slash", "\"quote\\\"back\\\\slash\"");
	check_path("\033]52;c;x\007", "\"\\033]52;c;x\\007\"");
	check_path("\342\200\256rtl", "\"\\342\\200\\256rtl\"");
	check_path("\377\376", "\"\\377\\376\"");
	check_path("\"", "\"\\\"\"");
}

static void test_broken_quotes(void)
{
	static const char *const broken[] = { "\"a\\\"",   "\"\\9\"",  "\"\\400\"",
					      "\"\\000\"", "\"a\"b\"", "\"\\" };

	for (size_t i = 0; i + 1 < sizeof(broken) / sizeof(broken[0]); i++) {
		owned(free_ptr) char *back = words_read_path(broken[i]);

		tap_ok(!back, "%s is no path", broken[i]);
	}
	owned(free_ptr) char *tab = words_read_path("\"a\\tb\"");

	tap_ok(tab && strcmp(tab, "a\tb") == 0, "git's letters are read, too");
	owned(free_ptr) char *one = words_read_path("\"");

	tap_ok(one && strcmp(one, "\"") == 0, "one quote is a name");
}

static void check_shell(const char *path, const char *want)
{
	owned(str_done) struct str out = STR_INIT;

	words_add_shell(&out, path);
	tap_ok(strcmp(str_cstr(&out), want) == 0, "for a shell: %s", want);
}

static void test_shell(void)
{
	check_shell("src/a.c", "src/a.c");
	check_shell("-rf", "./-rf");
	check_shell("a b", "'a b'");
	check_shell("it's", "'it'\\''s'");
	check_shell("a\nb", "'\"a\\012b\"'");
	check_shell("$(x)", "'$(x)'");
}

/* Pieces of names that a shell, a terminal or a reader could take for something else. */
static const char *const pieces[] = {
	"a",	 "-",	"--x",		" ",	    "'",    "\"", "\\", "`id`",	   "$(id)",
	"$HOME", "\n",	"\t",		";",	    "&",    "|",  "<",	">",	   "*",
	"?",	 "[a]", "{a,b}",	"~",	    "#",    "!",  "\r", "\033[2J", "=",
	"%s",	 "\\n", "\342\200\256", "\302\233", "\377", "./", "(",	")",	   "^",
};

static unsigned random_below(uint64_t *state, unsigned limit)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(*state >> 33) % limit;
}

/* What a shell makes of the words, each ended by a NUL. */
static void ask_shell(const struct str *words, struct str *out)
{
	owned(str_done) struct str command = STR_INIT;
	char buffer[4096];
	int ends[2], status = -1;
	ssize_t got;

	str_addf(&command, "printf '%%s\\0'%s", str_cstr(words));
	if (pipe(ends) < 0)
		tap_bail("pipe");
	pid_t shell = fork();

	if (shell == 0) {
		(void)dup2(ends[1], STDOUT_FILENO);
		(void)execl("/bin/sh", "sh", "-c", str_cstr(&command), NULL);
		_exit(127);
	}
	(void)close(ends[1]);
	while ((got = read(ends[0], buffer, sizeof(buffer))) > 0)
		str_add_bytes(out, buffer, (size_t)got);
	(void)close(ends[0]);
	tap_ok(shell > 0 && waitpid(shell, &status, 0) == shell && status == 0,
	       "a shell reads the words");
}

/* Whatever a name is, a shell takes what we print of it for one word, and we take that for the name. */
static void test_hostile(void)
{
	const char *seed = getenv("AISBX_SEED");
	uint64_t state = seed ? strtoull(seed, NULL, 10) : 20261117;
	owned(strv_done) struct strv names = STRV_INIT;
	owned(str_done) struct str words = STR_INIT, out = STR_INIT;
	size_t good = 0, at = 0;

	printf("# AISBX_SEED=%llu\n", (unsigned long long)state);
	for (size_t i = 0; i < 500; i++) {
		owned(str_done) struct str name = STR_INIT;

		for (unsigned j = 1 + random_below(&state, 5); j > 0; j--)
			str_add(&name,
				pieces[random_below(&state, sizeof(pieces) / sizeof(pieces[0]))]);
		strv_add(&names, str_cstr(&name));
		str_add_char(&words, ' ');
		words_add_shell(&words, str_cstr(&name));
	}
	for (size_t i = 0; i < words.len; i++)
		good += words.data[i] >= ' ' && words.data[i] < 0x7f;
	tap_ok(good == words.len, "what is printed of them is seen as it is");
	ask_shell(&words, &out);
	good = 0;
	for (size_t i = 0; i < names.count && at < out.len; i++, at += strlen(out.data + at) + 1) {
		owned(free_ptr) char *back = words_read_path(out.data + at);
		const char *name = back && names.items[i][0] == '-' ? back + 2 : back;

		if (!back || strcmp(name, names.items[i]) != 0)
			tap_ok(false, "'%s' became '%s'", names.items[i], out.data + at);
		good += back && back[0] != '-' && strcmp(name, names.items[i]) == 0;
	}
	tap_ok(good == names.count && at == out.len, "%zu names come back, each as one word", good);
}

static void check_quoted(const char *text, size_t max, const char *want)
{
	owned(str_done) struct str out = STR_INIT;

	words_add_quoted(&out, text, max);
	tap_ok(strcmp(str_cstr(&out), want) == 0, "in quotes: %s", want);
}

static void test_quoted(void)
{
	check_quoted("plain words", 100, "\"plain words\"");
	check_quoted("ends\" here\\", 100, "\"ends\\\" here\\\\\"");
	check_quoted("a\nb\033", 100, "\"a\\u{a}b\\u{1b}\"");
	check_quoted("turned \xe2\x80\xae round", 100, "\"turned \\u{202e} round\"");
	check_quoted("cut\xc3\xa9\xc3\xa9", 4, "\"cut\xc3\xa9...\"");
	check_quoted("half \xc3", 100, "\"half \\xc3\"");
	check_quoted("far          away", 100, "\"far away\"");
	check_quoted("", 100, "\"\"");
}

static void check_age(uint64_t ago_s, const char *want)
{
	owned(str_done) struct str out = STR_INIT;

	words_add_age(&out, clock_epoch_ms() - ago_s * 1000);
	tap_ok(strcmp(str_cstr(&out), want) == 0, "%s", want);
}

static void test_moments(void)
{
	owned(value_release) struct value *row = value_new_map();
	owned(str_done) struct str never = STR_INIT;

	words_add_age(&never, 0);
	tap_is_str(str_cstr(&never), "unknown", "no moment is not fifty years ago");
	check_age(0, "just now");
	check_age(15 * 60 + 5, "15 min ago");
	check_age(3 * 3600 + 5, "3 h ago");
	check_age(10 * 86400 + 5, "10 days ago");
	value_set(row, "made", value_new_text("2026-11-15T00:00:01.250Z"));
	value_set(row, "bad", value_new_text("yesterday"));
	tap_ok(words_moment(row, "made") == 1794700801250u, "a moment is read back");
	tap_ok(words_moment(row, "bad") == 0 && words_moment(row, "none") == 0, "or is none");
}

static void test_table(void)
{
	owned(str_done) struct str out = STR_INIT;
	owned(strv_done) struct strv cells = STRV_INIT;

	for (const char *const *at = (const char *const[]){ "NAME", "SIZE", "a", "10 B", NULL };
	     *at; at++)
		strv_add(&cells, *at);
	words_add_table(&out, &cells, 2);
	tap_ok(strcmp(str_cstr(&out), "NAME  SIZE\na     10 B\n") == 0, "a table is aligned");
	str_clear(&out);
	words_add_size(&out, 1536);
	str_add_char(&out, ' ');
	words_add_size(&out, 512);
	tap_ok(strcmp(str_cstr(&out), "1.5 KiB 512 B") == 0, "sizes");
	str_clear(&out);
	words_add_line(&out, "a\n\033b");
	tap_ok(strcmp(str_cstr(&out), "a\\x0a\\x1bb") == 0, "one line stays one");
}

static void test_command(void)
{
	owned(value_release) struct value *words = value_new_list();
	owned(str_done) struct str whole = STR_INIT, cut = STR_INIT;

	value_append(words, value_new_text("sh"));
	value_append(words, value_new_text("a\nb"));
	value_append(words, value_new_null());
	words_add_command(&whole, words, 10);
	tap_is_str(str_cstr(&whole), "sh a\\x0ab ", "a command on one line");
	words_add_command(&cut, words, 8);
	tap_is_str(str_cstr(&cut), "sh a\\...", "and what is too long of it cut");
	words_add_command(&cut, NULL, 8);
	tap_is_int((long long)cut.len, 8, "no list, no words");
}

int main(void)
{
	test_command();
	test_paths();
	test_broken_quotes();
	test_shell();
	test_hostile();
	test_quoted();
	test_moments();
	test_table();
	return tap_done();
}
