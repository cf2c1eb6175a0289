/* SPDX-License-Identifier: Apache-2.0 */
/* Which source text a command is about to run, judged by its words. */
#include "scan/judge/code.h"

#include "base/core/own.h"
#include "scan/follow/in_list.h"
#include "scan/judge/command.h"

#include <stdlib.h>
#include <string.h>

/* How an interpreter's options are read. */
struct manner {
	const char *code;   /* letters before code */
	const char *module; /* letters before a module's name: nothing to read */
	const char *valued; /* letters that take a value */
	const char *words;  /* long options that take the next word */
};

static const struct manner manners[SCAN_LANGUAGES] = {
	[SCAN_PYTHON] = { "c", "m", "WXQ", "--check-hash-based-pycs" },
	[SCAN_JAVASCRIPT] = { "ep", "", "rCI",
			      "--require --import --loader --experimental-loader --conditions "
			      "--input-type --env-file --include --memory-limit --stack-size" },
	[SCAN_SHELL] = { "c", "", "oO", "--rcfile --init-file" },
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

/* --eval CODE, --print=CODE. True when it was one that brings code. */
static bool read_long(const struct strv *words, size_t at, struct scan_code *code)
{
	const char *word = words->items[at], *value = strchr(word, '=');
	size_t len = value ? (size_t)(value - word) : strlen(word);
	const char *next = at + 1 < words->count ? words->items[at + 1] : NULL;

	if (code->language != SCAN_JAVASCRIPT || !((len == 6 && strncmp(word, "--eval", 6) == 0) ||
						   (len == 7 && strncmp(word, "--print", 7) == 0)))
		return false;
	if (value || next)
		set_code(code, CODE_TEXT, value ? value + 1 : next);
	return true;
}

char *scan_code_module_file(const char *name, unsigned which)
{
	char *file = xasprintf("%s%s", name, which == 0 ? ".py" : "/__main__.py");

	for (char *dot = strchr(file, '.'); dot && dot < file + strlen(name);
	     dot = strchr(dot, '.'))
		*dot = '/';
	return file;
}

/* What an option has run before the program; a name without a path is that of an installed package. */
static void add_first(struct scan_code *code, const char *file)
{
	if (file && (file[0] == '.' || file[0] == '/'))
		strv_add(&code->also, file);
}

/* --require ./x.js, --import=./x.mjs, --rcfile x */
static void read_first(const struct strv *words, size_t at, struct scan_code *code)
{
	static const char *const options[] = { "--require", "--import",
					       "--loader",  "--experimental-loader",
					       "--rcfile",  "--init-file",
					       "--include" };
	const char *word = words->items[at], *value = strchr(word, '=');
	size_t len = value ? (size_t)(value - word) : strlen(word);

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (strlen(options[i]) != len || strncmp(options[i], word, len) != 0)
			continue;
		value = value ? value + 1 : (at + 1 < words->count ? words->items[at + 1] : NULL);
		/* Files, whatever they are called. */
		if ((code->language == SCAN_SHELL || strcmp(options[i], "--include") == 0) && value)
			strv_add(&code->also, value);
		else
			add_first(code, value);
		return;
	}
}

/* How far an option was read. */
enum reading { READING_LETTERS, READING_DONE, READING_ONE_WORD, READING_TWO_WORDS };

static enum reading bring(struct scan_code *code, enum scan_code_kind kind, const char *text)
{
	if (text)
		set_code(code, kind, text);
	return READING_DONE;
}

static enum reading read_letter(const struct strv *words, size_t at, const char *letter,
				struct scan_code *code)
{
	const struct manner *manner = &manners[code->language];
	const char *next = at + 1 < words->count ? words->items[at + 1] : NULL;
	const char *value = letter[1] ? letter + 1 : next;

	/* A shell takes the next word whatever stands behind the letter; Python, the rest of this one. */
	if (strchr(manner->code, *letter))
		return bring(code, CODE_TEXT, code->language == SCAN_PYTHON ? value : next);
	if (strchr(manner->module, *letter))
		return bring(code, CODE_MODULE, value);
	if (code->language == SCAN_SHELL && *letter == 's')
		return bring(code, CODE_INCOMES, "-");
	if (code->language == SCAN_JAVASCRIPT && *letter == 'r')
		add_first(code, value);
	/* QuickJS's -I FILE. */
	if (code->language == SCAN_JAVASCRIPT && *letter == 'I' && value)
		strv_add(&code->also, value);
	if (strchr(manner->valued, *letter))
		return letter[1] ? READING_ONE_WORD : READING_TWO_WORDS;
	return READING_LETTERS;
}

/* -lc CODE, -Ic CODE, -cCODE, -W ignore: what the letters of one word mean. */
static enum reading read_letters(const struct strv *words, size_t at, struct scan_code *code)
{
	enum reading reading = READING_LETTERS;

	for (const char *letter = words->items[at] + 1; *letter && reading == READING_LETTERS;
	     letter++)
		reading = read_letter(words, at, letter, code);
	return reading == READING_LETTERS ? READING_ONE_WORD : reading;
}

static bool takes_value(const struct manner *manner, const char *word)
{
	return in_list(manner->words, word);
}

/* Versions and help run nothing. */
static bool only_prints(const char *word)
{
	return in_list("--version --help -V -h", word);
}

static bool is_option(const char *word, enum scan_language language)
{
	return word[0] == '-' || (language == SCAN_SHELL && word[0] == '+');
}

static enum reading read_option(const struct strv *words, size_t at, struct scan_code *code)
{
	const char *word = words->items[at];

	if (only_prints(word))
		return READING_DONE;
	if (word[0] == '+')
		return READING_ONE_WORD;
	if (!str_starts(word, "--"))
		return read_letters(words, at, code);
	if (read_long(words, at, code))
		return READING_DONE;
	read_first(words, at, code);
	return takes_value(&manners[code->language], word) ? READING_TWO_WORDS : READING_ONE_WORD;
}

static void read_interpreter(const struct strv *words, size_t at, struct scan_code *code)
{
	for (at++; at < words->count && strcmp(words->items[at], "-") != 0; at++) {
		bool is_end = strcmp(words->items[at], "--") == 0;
		enum reading reading;

		at += is_end;
		if (at == words->count)
			break;
		if (is_end || !is_option(words->items[at], code->language)) {
			set_code(code, CODE_FILE, words->items[at]);
			return;
		}
		reading = read_option(words, at, code);
		if (reading == READING_DONE)
			return;
		at += reading == READING_TWO_WORDS;
	}
	set_code(code, CODE_INCOMES, "-");
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
