/* Which source text a command is about to run, told from its words. */
#include "scan/code.h"

#include "base/own.h"
#include "scan/command.h"

#include <stdlib.h>
#include <string.h>

/* How an interpreter's options are read. */
struct manner {
	const char *code;   /* letters before code */
	const char *module; /* letters before a module's name: nothing to read */
	const char *valued; /* letters that take a value */
	const char *words;  /* long options that take the next word, a blank around each */
};

static const struct manner manners[SCAN_LANGUAGES] = {
	[SCAN_PYTHON] = { "c", "m", "WXQ", " --check-hash-based-pycs " },
	[SCAN_JAVASCRIPT] = { "ep", "", "rC",
			      " --require --import --loader --experimental-loader --conditions "
			      "--input-type --env-file " },
	[SCAN_SHELL] = { "c", "", "oO", " --rcfile --init-file " },
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
					       "--rcfile",  "--init-file" };
	const char *word = words->items[at], *value = strchr(word, '=');
	size_t len = value ? (size_t)(value - word) : strlen(word);

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (strlen(options[i]) != len || strncmp(options[i], word, len) != 0)
			continue;
		value = value ? value + 1 : (at + 1 < words->count ? words->items[at + 1] : NULL);
		if (code->language == SCAN_SHELL && value)
			strv_add(&code->also, value);
		else
			add_first(code, value);
		return;
	}
}

enum letters { LETTERS_DONE, LETTERS_ONE_WORD, LETTERS_TWO_WORDS };

/* -lc CODE, -Ic CODE, -cCODE, -W ignore: what the letters of one word mean. */
static enum letters read_letters(const struct strv *words, size_t at, struct scan_code *code)
{
	const struct manner *manner = &manners[code->language];
	const char *next = at + 1 < words->count ? words->items[at + 1] : NULL;

	for (const char *letter = words->items[at] + 1; *letter; letter++) {
		if (strchr(manner->code, *letter)) {
			/* A shell takes the next word whatever stands behind the letter; the others, the rest of this one. */
			if (letter[1] && code->language == SCAN_PYTHON)
				set_code(code, CODE_TEXT, letter + 1);
			else if (next)
				set_code(code, CODE_TEXT, next);
			return LETTERS_DONE;
		}
		if (strchr(manner->module, *letter)) {
			if (letter[1] || next)
				set_code(code, CODE_MODULE, letter[1] ? letter + 1 : next);
			return LETTERS_DONE;
		}
		if (code->language == SCAN_JAVASCRIPT && *letter == 'r')
			add_first(code, letter[1] ? letter + 1 : next);
		if (code->language == SCAN_SHELL && *letter == 's') {
			set_code(code, CODE_INCOMES, "-");
			return LETTERS_DONE;
		}
		if (strchr(manner->valued, *letter))
			return letter[1] ? LETTERS_ONE_WORD : LETTERS_TWO_WORDS;
	}
	return LETTERS_ONE_WORD;
}

static bool takes_value(const struct manner *manner, const char *word)
{
	owned(free_ptr) char *wanted = xasprintf(" %s ", word);

	return strstr(manner->words, wanted) != NULL;
}

/* Versions and help run nothing. */
static bool only_tells(const char *word)
{
	return strcmp(word, "--version") == 0 || strcmp(word, "--help") == 0 ||
	       strcmp(word, "-V") == 0 || strcmp(word, "-h") == 0;
}

static void read_interpreter(const struct strv *words, size_t at, struct scan_code *code)
{
	for (at++; at < words->count; at++) {
		const char *word = words->items[at];
		bool is_option = word[0] == '-' || (code->language == SCAN_SHELL && word[0] == '+');

		if (strcmp(word, "-") == 0)
			break;
		if (strcmp(word, "--") == 0) {
			at++;
			is_option = false;
			if (at == words->count)
				break;
			word = words->items[at];
		}
		if (!is_option) {
			set_code(code, CODE_FILE, word);
			return;
		}
		if (only_tells(word) || (str_starts(word, "--") && read_long(words, at, code)))
			return;
		if (str_starts(word, "--")) {
			read_first(words, at, code);
			at += takes_value(&manners[code->language], word);
			continue;
		}
		switch (word[0] == '+' ? LETTERS_ONE_WORD : read_letters(words, at, code)) {
		case LETTERS_DONE:
			return;
		case LETTERS_ONE_WORD:
			break;
		case LETTERS_TWO_WORDS:
			at++;
			break;
		}
	}
	set_code(code, CODE_INCOMES, "-");
}

/* env -S "python3 -u x.py": one word that holds several. */
static bool split_env(const struct strv *command, struct strv *ret_words)
{
	for (size_t i = 1; i < command->count; i++) {
		const char *word = command->items[i], *text = NULL;

		if (strcmp(word, "-S") == 0 || strcmp(word, "--split-string") == 0)
			text = i + 1 < command->count ? command->items[++i] : "";
		else if (str_starts(word, "-S"))
			text = word + 2;
		else if (str_starts(word, "--split-string="))
			text = strchr(word, '=') + 1;
		if (text) {
			owned(free_ptr) char *copy = xstrdup(text);
			char *rest = NULL;

			strv_add(ret_words, "env");
			for (char *one = strtok_r(copy, " \t", &rest); one;
			     one = strtok_r(NULL, " \t", &rest))
				strv_add(ret_words, one);
			for (i++; i < command->count; i++)
				strv_add(ret_words, command->items[i]);
			return true;
		}
		if (word[0] != '-')
			break;
	}
	return false;
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
