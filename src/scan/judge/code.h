/* SPDX-License-Identifier: Apache-2.0 */
/* Which source text a command is about to run: a script, the words behind -c, or what comes in. */
#ifndef SCAN_CODE_H
#define SCAN_CODE_H

#include "base/core/str.h"
#include "scan/syntax/language.h"

enum scan_code_kind {
	CODE_NONE,    /* nothing that is known */
	CODE_TEXT,    /* among the words */
	CODE_FILE,    /* a file's content; a program that is no script is none */
	CODE_INCOMES, /* read from the standard input */
	CODE_MODULE, /* python -m NAME: a file where it lies in the directory, else one that is installed */
};

struct scan_code {
	enum scan_code_kind kind;
	enum scan_language language; /* SCAN_UNKNOWN of a file: decided by its first line */
	char *text;		     /* the code, or the file's name as it stands in the command */
	bool is_program;	     /* the file is the command itself: looked up on the PATH */
	struct strv also;	     /* files that options have run first: node -r ./x.js */
};

/* The files that module NAME can be in its directory: a/b.py, a/b/__main__.py. The caller's to free. */
#define CODE_MODULE_FILES 2u
char *scan_code_module_file(const char *name, unsigned which);

/*
 * Looks through env, nohup, timeout and their like, and at the options of python, node, sh and bash. The first that
 * is found: what a shell's text starts is seen by scanning the text.
 */
void scan_code_find(const struct strv *command, struct scan_code *ret_code);
/* The same where the first word names an interpreter of LANGUAGE by itself, whatever programs are called. */
void scan_code_find_in(const struct strv *command, enum scan_language language,
		       struct scan_code *ret_code);
void scan_code_done(struct scan_code *code);

#endif
