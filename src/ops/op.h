/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations: one row and one small function per verb, shared by every face.
 *
 * A row's parameters become command line options and MCP schemas, its columns a text table and JSON
 * keys, its summary the help line, the tool description and the manual's. Operations never print:
 * they fill `answer` (data) and, where a table does not do, `text` (words for people).
 */
#ifndef OPS_OP_H
#define OPS_OP_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "base/core/value.h"
#include "app/access/ceiling.h"
#include "spec/settings.h"

#include <stdbool.h>

enum param_kind { PARAM_TEXT, PARAM_SWITCH, PARAM_LIST };

struct op_param {
	const char *name; /* without dashes */
	char letter;	  /* short form, or 0 */
	enum param_kind kind;
	const char *metavar; /* NULL for switches */
	const char *help;
	const char *choices; /* "a|b" where only these words make sense; for completion */
};

struct op_column {
	const char *key;   /* in the answer's objects */
	const char *title; /* in the text table */
};

enum op_flags {
	OP_COMMAND = 1 << 0,   /* takes `[--] CMD ARGS`, passed exactly */
	OP_SETTINGS = 1 << 1,  /* takes every flag of setting_rows */
	OP_LIBRARIES = 1 << 2, /* lives in aisbx-full */
	OP_RUN_CODES = 1 << 3, /* exit codes of run, exec, try: own failures are 125 */
	OP_READ_ONLY = 1 << 4, /* changes nothing */
	OP_CLI_ONLY = 1 << 5,  /* for people: not offered over MCP */
	OP_WORDS = 1 << 6,     /* with OP_COMMAND: words may stand before the --, which is needed */
	OP_NAMED = 1 << 8,     /* with OP_COMMAND: the first word is a name, then the command */
	OP_PAGED = 1 << 7,     /* the answer may be long: paged on a terminal */
};

struct op;

/* The most that a calling program may reach, set by the user who started the server. */
struct op_ceiling {
	const char *owner;		  /* whose sandboxes it makes */
	uint64_t owner_bytes;		  /* memory for all of them; 0: the usual share */
	bool caches;			  /* they may have warm caches */
	bool sees_all;			  /* and not only its own */
	struct ceiling_profiles profiles; /* those it may name; the first one when it names none */
	const char *workspace;		  /* NULL: where it was started */
};

/* Whose things a call may see: NULL for everybody's. */
struct op_call;
const char *op_sees(const struct op_call *call);

/* One call: arguments in, answer out. */
struct op_call {
	const struct op *op;
	struct settings settings; /* with OP_SETTINGS */
	struct op_arg *args;	  /* named parameters given */
	size_t arg_count;
	struct strv words;   /* positional arguments */
	struct strv command; /* behind -- */
	bool json;	     /* the caller wants data */
	bool stdin_tty, stdout_tty, stderr_tty;
	const char *const *environ;
	const struct op_ceiling *ceiling; /* NULL: a person calls */
	int zygote_pool_fd;		  /* of a pool of zygotes (driver/driver.h); 0: none */
	int policy_fd;			  /* of a kept evaluator of policies; 0: none */
	/* Shows what long work is at; NULL as WHAT ends that. NULL without a terminal. */
	void (*progress)(const char *what);
	/*
	 * Shows `text` as far as it is written (and empties it), asks the user QUESTION and returns the
	 * first letter of the answer in lower case; 0 for none. NULL where there is no user to ask.
	 */
	char (*ask)(struct op_call *call, const char *question);
	/* Asks for a text that the terminal does not show; false when there is no terminal, or no answer. NULL: there is no user. */
	bool (*ask_hidden)(const char *question, char *ret_answer, size_t size);
	/* Shows `text` (with json: `data`) so far, and empties it: for answers too long to hold. NULL: all of it is wanted. */
	int (*pass_on)(struct op_call *call, struct error *err);

	/* Shows `notes` as far as they are written, and empties them, while a command has the terminal. NULL: they wait. */
	void (*note)(struct op_call *call);

	struct value *answer; /* object, or list of objects; owned */
	struct str data;  /* the answer as JSON, where a part writes it itself (run); else empty */
	struct str text;  /* words for people; used instead of a table when not empty */
	struct str notes; /* for stderr */
	bool is_patch;	  /* text is a unified diff: coloured as one */
	bool is_aside;	  /* text goes to stderr: stdout is the user's command's */
	bool is_raw; /* text goes out as it is, also to a terminal: the caller asked for that */
	int exit_status;
	bool is_unused; /* the process that performed it is as fit for another call as before */
};

struct op_arg {
	const struct op_param *param;
	struct strv values; /* one "1" for a switch */
};

/* As `words`: names that are completed from those there are; the others are in rows/complete.c. */
#define OP_SANDBOXES "@sandboxes"
#define OP_TOPICS "@topics"

struct op {
	const char *name;
	const char *usage;   /* what follows the name: "[flags] -- CMD..." */
	const char *summary; /* one line, no full stop */
	const char *group;   /* heading in `help` */
	/* What the first positional may be: "ls|show", OP_SANDBOXES; behind a ';', the later ones. NULL: files. */
	const char *words;
	unsigned flags;
	/* Calls the page may make, a ; between: first word (* any, - none), flags it may, or with a ! must give; NULL: none. */
	const char *page;
	const struct op_param *params;	 /* ended by a row without a name; may be NULL */
	const struct op_column *columns; /* ended by a row without a key; may be NULL */
	const char *help;		 /* paragraphs and examples for `help VERB`; may be NULL */
	/* NULL in the hot program for verbs that live in aisbx-full. */
	int (*run)(struct op_call *call, struct error *err);
};

/* Every verb in the order of the help, ended by NULL. */
extern const struct op *const ops[];
/* Flags that every verb takes: --json, --help. */
extern const struct op_param op_common_params[];
const struct op *op_find(const char *name);

/* Last value given, or NULL. */
const char *op_arg_text(const struct op_call *call, const char *name);
bool op_arg_switch(const struct op_call *call, const char *name);
const struct strv *op_arg_list(const struct op_call *call, const char *name);
/* A note for COOKIE, which is the call: shown at once where that can be. */
void op_note_line(void *cookie, const char *line);
/* Between MIN and MAX positional words; the refusal shows the usage. */
int op_want_words(const struct op_call *call, size_t min, size_t max, struct error *err);
/* Keeps one more value of PARAM; "1" for a switch. */
void op_arg_add(struct op_call *call, const struct op_param *param, const char *value);

/* ENV is borrowed. */
void op_call_init(struct op_call *call, const struct op *op, const char *const *env);
void op_call_done(struct op_call *call);

#endif
