/* SPDX-License-Identifier: Apache-2.0 */
/* Which source text a command is about to run, judged by its words. */
#include "scan/judge/code.h"

#include "base/core/own.h"
#include "scan/follow/in_list.h"
#include "scan/judge/command.h"

#include <stdlib.h>
#include <string.h>

/* How the options of Python and JavaScript are read; a shell's are read_shell()'s. */
struct manner {
	const char *code;   /* letters before code */
	const char *module; /* letters before a module's name: nothing to read */
	const char *valued; /* letters that take a value */
	const char *prints; /* letters and words with which nothing runs */
	const char *words;  /* long options that take the next word */
};

/* Node: what `node --help` shows with a value. Without it the value would be taken for the script. */
#define NODE_WORDS                                                                                 \
	"--allow-fs-read --allow-fs-write --build-snapshot-config --conditions --cpu-prof-dir "    \
	"--cpu-prof-interval --cpu-prof-name --debug-port --diagnostic-dir --disable-proto "       \
	"--disable-warning --dns-result-order --env-file --env-file-if-exists "                    \
	"--experimental-config-file --experimental-default-type --experimental-loader "            \
	"--experimental-policy --experimental-sea-config --heap-prof-dir --heap-prof-interval "    \
	"--heap-prof-name --heapsnapshot-near-heap-limit --heapsnapshot-signal --icu-data-dir "    \
	"--import --input-type --inspect-port --inspect-publish-uid --loader --localstorage-file " \
	"--max-http-header-size --network-family-autoselection-attempt-timeout --openssl-config "  \
	"--policy-integrity --redirect-warnings --report-dir --report-directory "                  \
	"--report-filename --report-signal --require --secure-heap --secure-heap-min "             \
	"--snapshot-blob --test-concurrency --test-coverage-branches "                             \
	"--test-coverage-exclude --test-coverage-functions --test-coverage-include "               \
	"--test-coverage-lines --test-isolation --test-name-pattern --test-reporter "              \
	"--test-reporter-destination --test-shard --test-skip-pattern --test-timeout --title "     \
	"--tls-cipher-list --tls-keylog --trace-event-categories "                                 \
	"--trace-event-file-pattern --trace-require-module --unhandled-rejections "                \
	"--use-largepages --v8-pool-size --watch-kill-signal --watch-path"

static const struct manner manners[SCAN_LANGUAGES] = {
	[SCAN_PYTHON] = { "c", "m", "WXQ", "-h -V --help --version",
			  "--check-hash-based-pycs --jit" },
	[SCAN_JAVASCRIPT] = { "ep", "", "rCI", "-h -v --help --version",
			      NODE_WORDS " --include --memory-limit --stack-size" },
};

void scan_code_done(struct scan_code *code)
{
	free_ptr(&code->text);
	strv_done(&code->also);
}

static void set_code(struct scan_code *code, enum scan_code_kind kind, const char *text)
{
	code->kind = kind;
	code->text = xstrdup(text);
}

char *scan_code_module_file(const char *name, unsigned which)
{
	char *file = xasprintf("%s%s", name, which == 0 ? ".py" : "/__main__.py");

	for (char *dot = strchr(file, '.'); dot && dot < file + strlen(name);
	     dot = strchr(dot, '.'))
		*dot = '/';
	return file;
}

/* Words as an interpreter goes through them. */
struct reader {
	const struct strv *words;
	size_t at; /* the option that is read; where it takes words, the last of them */
	struct scan_code *code;
	bool wants_code; /* a shell's -c: the first word that is no option is code */
	bool is_strange; /* what would run cannot be told, or comes in later */
	bool is_done;
};

static const char *word_at(const struct reader *reader, size_t at)
{
	return at < reader->words->count ? reader->words->items[at] : NULL;
}

static const char *take_word(struct reader *reader)
{
	const char *word = word_at(reader, reader->at + 1);

	reader->at += word != NULL;
	return word;
}

static void finish(struct reader *reader, enum scan_code_kind kind, const char *text)
{
	reader->is_done = true;
	if (text && reader->code->kind == CODE_NONE)
		set_code(reader->code, kind, text);
}

/* -e CODE of Node, which reads options behind it, too; of two the last one runs. */
static void note_code(struct reader *reader, const char *text)
{
	reader->is_strange |= reader->code->kind != CODE_NONE;
	if (text && !reader->is_strange)
		set_code(reader->code, CODE_TEXT, text);
}

/* What an option has run before the program; a name without a path is that of an installed package. */
static void add_first(struct reader *reader, const char *file)
{
	if (file && (file[0] == '.' || file[0] == '/'))
		strv_add(&reader->code->also, file);
	/* data:text/javascript,... and file:///... */
	else if (file && strchr(file, ':') && !str_starts(file, "node:"))
		reader->is_strange = true;
}

/* Whether WORD is OPTION or OPTION=...; Node takes an underscore for a dash. */
static bool is_long(const char *word, const char *option)
{
	for (; *option && (*word == *option || (*word == '_' && *option == '-')); option++)
		word++;
	return !*option && (!*word || *word == '=');
}

static bool is_one_of(const char *word, const char *list)
{
	owned(free_ptr) char *name = xstrndup(word, strcspn(word, "="));

	for (char *c = name + strspn(name, "-"); *c; c++)
		*c = *c == '_' ? '-' : *c;
	return in_list(list, name);
}

static void read_long(struct reader *reader)
{
	const struct manner *manner = &manners[reader->code->language];
	const char *word = word_at(reader, reader->at), *value = strchr(word, '=');
	const char *next = word_at(reader, reader->at + 1);
	bool is_node = reader->code->language == SCAN_JAVASCRIPT;

	if (is_node && (is_long(word, "--eval") || is_long(word, "--print"))) {
		if (value || is_long(word, "--eval") || (next && next[0] != '-'))
			note_code(reader, value ? value + 1 : take_word(reader));
		return;
	}
	if (!value && is_one_of(word, manner->words))
		take_word(reader);
	value = value ? value + 1 : next;
	if (is_node && is_one_of(word, "--require --import --loader --experimental-loader"))
		add_first(reader, value);
	/* A file, whatever it is called. */
	else if (is_node && value && is_long(word, "--include"))
		strv_add(&reader->code->also, value);
	/* A script that a package names. */
	reader->is_strange |= is_node && is_long(word, "--run");
}

/* Whether the rest of the word is none of its letters any more. */
static bool read_letter(struct reader *reader, const char *letter)
{
	const struct manner *manner = &manners[reader->code->language];
	const char *next = word_at(reader, reader->at + 1), *value;
	bool is_node = reader->code->language == SCAN_JAVASCRIPT;

	if (is_node && *letter == 'p' && (letter[1] || !next || next[0] == '-'))
		return false;
	if (!strchr(manner->code, *letter) && !strchr(manner->module, *letter) &&
	    !strchr(manner->valued, *letter))
		return false;
	value = letter[1] ? letter + 1 : take_word(reader);
	if (strchr(manner->module, *letter))
		finish(reader, CODE_MODULE, value);
	else if (strchr(manner->code, *letter) && is_node)
		note_code(reader, value);
	else if (strchr(manner->code, *letter))
		finish(reader, CODE_TEXT, value);
	else if (is_node && *letter == 'r')
		add_first(reader, value);
	/* QuickJS's -I FILE. */
	else if (is_node && *letter == 'I' && value)
		strv_add(&reader->code->also, value);
	return true;
}

/* -lc CODE, -Ic CODE, -cCODE, -W ignore: what the letters of one word mean. */
static void read_option(struct reader *reader)
{
	const char *letter = word_at(reader, reader->at) + 1;

	/* Nothing runs then. */
	if (in_list(manners[reader->code->language].prints, letter - 1))
		reader->is_done = true;
	else if (*letter == '-')
		read_long(reader);
	else
		while (*letter && !read_letter(reader, letter))
			letter++;
}

/* Of zsh and ksh: these have -oNAME in one word. */
static bool joins_values(const char *shell)
{
	return in_list("zsh rzsh ksh ksh93 mksh lksh", shell);
}

/*
 * Shells go through all letters of a word, behind a plus as behind a dash, and take the words for -o and -O from behind it: bash -Ox
 * extglob x.sh runs x.sh. Code, too, is the first word that is no option, wherever -c stands.
 */
static void read_shell_letters(struct reader *reader, const char *shell)
{
	for (const char *letter = word_at(reader, reader->at) + 1; *letter; letter++) {
		reader->wants_code |= *letter == 'c';
		/* zsh -b: what follows is no option any more. */
		reader->is_strange |= *letter == 's' || (*letter == 'b' && joins_values(shell));
		if (*letter == 'o' && letter[1] && joins_values(shell))
			return;
		if (*letter == 'o' || (*letter == 'O' && !joins_values(shell)))
			take_word(reader);
	}
}

/* Of bash's long options any may stand behind one dash, which are letters to other shells, and to bash itself behind letters. */
static bool is_two_things(const char *word)
{
	return in_list("-debug -debugger -dump-po-strings -dump-strings -help -init-file -login "
		       "-noediting -noprofile -norc -posix -pretty-print -protected -rcfile "
		       "-restricted -verbose -version -wordexp",
		       word);
}

static void read_shell(struct reader *reader, const char *shell)
{
	const char *word = word_at(reader, reader->at);

	reader->is_strange |= is_two_things(word);
	if (in_list("--version --help", word)) {
		reader->is_done = true;
	} else if (word[0] == '-' && word[1] == '-') {
		const char *value =
			in_list("--rcfile --init-file --emulate", word) ? take_word(reader) : NULL;

		if (value && strcmp(word, "--emulate") != 0)
			strv_add(&reader->code->also, value);
	} else {
		read_shell_letters(reader, shell);
	}
}

static bool is_option(const char *word, enum scan_language language)
{
	return word[0] == '-' || (language == SCAN_SHELL && word[0] == '+');
}

static void read_interpreter(const struct strv *words, size_t at, struct scan_code *code)
{
	struct reader reader = { .words = words, .at = at + 1, .code = code };
	const char *name = command_name(words->items[at]), *word;

	while ((word = word_at(&reader, reader.at)) && is_option(word, code->language)) {
		if (strcmp(word, "-") == 0)
			break;
		if (strcmp(word, "--") == 0) {
			word = word_at(&reader, ++reader.at);
			break;
		}
		if (code->language == SCAN_SHELL)
			read_shell(&reader, name);
		else
			read_option(&reader);
		if (reader.is_done)
			return;
		reader.at++;
	}
	/* A dash behind "--" is the standard input, too. */
	if (reader.is_strange || ((!word || strcmp(word, "-") == 0) && code->kind == CODE_NONE)) {
		free_ptr(&code->text);
		set_code(code, CODE_INCOMES, "-");
	} else {
		finish(&reader, reader.wants_code ? CODE_TEXT : CODE_FILE, word);
	}
}

/* The text of -S or --split-string at *AT, which goes on to the word it stands in; NULL when it is another word. */
static const char *split_text(const struct strv *command, size_t *at)
{
	const char *word = command->items[*at];

	if (strcmp(word, "-S") == 0 || strcmp(word, "--split-string") == 0)
		return *at + 1 < command->count ? command->items[++*at] : "";
	if (str_starts(word, "--split-string="))
		return strchr(word, '=') + 1;
	return str_starts(word, "-S") ? word + 2 : NULL;
}

static void add_words(struct strv *words, const char *text)
{
	owned(free_ptr) char *copy = xstrdup(text);
	char *rest = NULL;

	for (char *one = strtok_r(copy, " \t", &rest); one; one = strtok_r(NULL, " \t", &rest))
		strv_add(words, one);
}

/* env -S "python3 -u x.py": one word that holds several. */
static bool split_env(const struct strv *command, struct strv *ret_words)
{
	const char *text = NULL;
	size_t at = 1;

	for (; at < command->count && command->items[at][0] == '-'; at++) {
		text = split_text(command, &at);
		if (text)
			break;
	}
	if (!text)
		return false;
	strv_add(ret_words, "env");
	add_words(ret_words, text);
	for (at++; at < command->count; at++)
		strv_add(ret_words, command->items[at]);
	return true;
}

static void find(const struct strv *words, struct scan_code *code)
{
	size_t at = command_start(words);

	if (at >= words->count)
		return;
	code->language = scan_language_of_program(words->items[at]);
	if (code->language != SCAN_UNKNOWN) {
		read_interpreter(words, at, code);
		return;
	}
	code->is_program = true;
	set_code(code, CODE_FILE, words->items[at]);
}

void scan_code_find_in(const struct strv *command, enum scan_language language,
		       struct scan_code *ret_code)
{
	*ret_code = (struct scan_code){ .kind = CODE_NONE, .language = language };
	read_interpreter(command, 0, ret_code);
}

void scan_code_find(const struct strv *command, struct scan_code *ret_code)
{
	owned(strv_done) struct strv split = STRV_INIT;

	*ret_code = (struct scan_code){ .kind = CODE_NONE, .language = SCAN_UNKNOWN };
	if (command->count > 1 && strcmp(command_name(command->items[0]), "env") == 0 &&
	    split_env(command, &split))
		find(&split, ret_code);
	else
		find(command, ret_code);
}
