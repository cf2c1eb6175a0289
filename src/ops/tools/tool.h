/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tools: the operations as programs call them, by name and with one JSON object of arguments.
 *
 * A tool is a row over a verb's row: which argument becomes which word, flag, setting or part of the command. What it
 * does is the verb; nothing happens here that the command line cannot do.
 */
#ifndef OPS_TOOL_H
#define OPS_TOOL_H

#include "app/run/zygote_pool.h"
#include "app/vet/rego_evaluator.h" /* IWYU pragma: export */
#include "ops/op.h"

enum tool_type {
	TOOL_TEXT,
	TOOL_INT,
	TOOL_NUMBER,
	TOOL_BOOL,
	TOOL_TEXTS,    /* array of strings */
	TOOL_PAIRS,    /* object of strings */
	TOOL_ATTEMPTS, /* array of {name, script | command} */
	TOOL_COMMAND,  /* array of strings, or one string for sh -c */
};

enum tool_to {
	TOOL_TO_FLAG,	  /* the verb's parameter or setting of that name */
	TOOL_TO_WORD,	  /* the next positional word, or words */
	TOOL_TO_SANDBOX,  /* the same, and the caller must own it */
	TOOL_TO_EXEC,	  /* the same, for a command in the background */
	TOOL_TO_NEW,	  /* the same, for one to be made; invented when absent */
	TOOL_TO_SNAPSHOT, /* behind the sandbox's name: NAME@SNAP */
	TOOL_TO_COMMAND,
	TOOL_TO_SCRIPT,	   /* as `sh -c` */
	TOOL_TO_DIRECTORY, /* where the command starts, as seen inside */
	TOOL_TO_INPUT,	   /* standard input */
	TOOL_TO_FILE,	   /* a word: a path of the host, in the workspace and nowhere else */
	TOOL_TO_PROFILE,   /* one of those of the ceiling */
};

struct tool_arg {
	const char *name;
	enum tool_type type;
	enum tool_to to;
	bool required;
	const char *help;
	const char *target;  /* name of the flag, where it differs */
	const char *suffix;  /* behind a number: "ms" */
	const char *choices; /* "a|b" */
	const char *absent;  /* a switch that is on where the argument is left out */
};

/* One key of the answer. */
struct tool_field {
	const char *name;
	const char *type; /* JSON's own word; it may also be null. NULL: not in the schema */
	const char *help;
};

enum tool_flags {
	TOOL_READ_ONLY = 1 << 0,
	TOOL_DESTRUCTIVE = 1 << 1, /* may take away what cannot be had back */
	TOOL_IDEMPOTENT = 1 << 2,
	TOOL_TOLD = 1 << 3, /* the verb is asked once more, for its words for people */
	TOOL_SAID = 1 << 6, /* its words for people come with the answer, and suit models as well */
	TOOL_ASKS = 1 << 7, /* the answer is a question to a person */
	TOOL_PROMOTES = 1 << 8, /* changes the real files without asking */
	TOOL_EXAMPLE =
		1 << 9, /* runs no command of the caller's: one that does nothing stands for all */
	TOOL_FAILS = 1 << 10, /* a status of the verb other than 0 is a failure */
	TOOL_RUNS = 1 << 4,   /* the answer is that of a run */
	TOOL_TIDY = 1 << 11,  /* mostly leaves its process fit for another call */
	TOOL_CORE = 1 << 12,  /* among those that every client is shown */
	TOOL_WHOLE = 1 << 5,  /* all arguments together are the verb's standard input, as JSON */
};

struct tool {
	const char *name, *title, *description;
	const char *verb;
	const char *word;		 /* stands before all others: "check"; may be NULL */
	const char *set;		 /* a switch that is on: "detach"; may be NULL */
	const struct tool_arg *args;	 /* ended by a row without a name */
	const struct tool_field *fields; /* the same */
	const char *list;		 /* a list of objects comes under this key; may be NULL */
	unsigned flags;
	const struct tool
		*asking; /* of TOOL_PROMOTES: the same arguments, as a question to a person */
};

/* Ended by NULL. */
extern const struct tool *const tools[];
const struct tool *tool_find(const char *name);
/* The same among those that are in no list, too: for resources. */
const struct tool *tool_find_any(const char *name);
/* The answers to a question of a tool that asks: in no list, for faces to pass on a person's word. */
extern const struct tool tool_approve, tool_reject;

/* JSON schemas, owned by the caller. */
struct value *tool_input_schema(const struct tool *tool, const struct op_ceiling *ceiling);
struct value *tool_output_schema(const struct tool *tool);

/* A call in the making: a verb's call and what goes with it. */
struct tool_call {
	const struct tool *tool;
	struct op_call call;
	struct strv sandboxes; /* that the caller must own */
	struct strv execs;     /* the same */
	char *directory;       /* where the command starts; NULL: as it would */
	struct str input;      /* for the verb's standard input */
	struct str arguments;  /* as JSON, where a policy may ask about them */
	bool has_input;
};

/* ENV and CEILING are borrowed. */
void tool_call_init(struct tool_call *call, const struct tool *tool,
		    const struct op_ceiling *ceiling, const char *const *env);
void tool_call_done(struct tool_call *call);

/*
 * Takes the arguments (an object, or NULL for none) over into the call. What is wrong with them is ERROR_USAGE that
 * names the argument; what the ceiling does not let through, ERROR_DENIED. Nothing is looked up yet.
 */
int tool_call_read(struct tool_call *call, const struct value *arguments, struct error *err);

/* Performs it, with standard input as the caller has set it up. The answer is an object in call->answer. */
int tool_call_perform(struct tool_call *call, struct error *err);

/* The same for the verb's words for people, in call->text, alone. */
int tool_call_words(struct tool_call *call, struct error *err);

#endif
