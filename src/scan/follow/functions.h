/* SPDX-License-Identifier: Apache-2.0 */
/* Functions the scanner knows, by the path that names them. */
#ifndef SCAN_FUNCTIONS_H
#define SCAN_FUNCTIONS_H

#include "scan/rule.h"
#include "scan/syntax/language.h"

/* What a function's arguments are. */
enum function_use {
	USE_PLAIN,
	USE_SHELL,     /* the first is a text for a shell */
	USE_ARGV,      /* the first is a list of words, or with shell=True a text */
	USE_WORDS,     /* each is a word, or a list of words */
	USE_CODE,      /* the first is code of the same language */
	USE_FILE,      /* the first is a file to be deleted */
	USE_TREE,      /* the first is a tree to be deleted */
	USE_OPEN,      /* the first is opened, in the mode of the second */
	USE_READ,      /* all are places to be read */
	USE_WRITE,     /* the first is a place to be written */
	USE_URL,       /* the first is an address to get */
	USE_SEND,      /* something goes out */
	USE_MODULE,    /* the first names a module */
	USE_MEMBER,    /* the second names a member of the first */
	USE_MODE,      /* the second is a file's mode */
	USE_TIMER,     /* code only when the first is a text */
	USE_LOOPED,    /* grave within a loop */
	USE_KILL,      /* the first is a process; a negative one is many */
	USE_NAME,      /* the first names a member of something that comes later */
	USE_WORKER,    /* the first is code, with an option */
	USE_OWN_FILE,  /* what it is a method of is a file to be deleted */
	USE_OWN_TREE,  /* likewise, a tree to be gone through */
	USE_OWN_WRITE, /* likewise, a place to be written */
	USE_PAGE,      /* the first is text of a page */
	USE_LISTEN,    /* waits for others at an address */
	USE_LOOKUP,    /* the first is a name to be resolved */
	USE_MOVE,      /* the first is a file that goes away, the second a place to be written */
	USE_NAMED, /* its last name is a program, or of git a subcommand, and each argument a word for it */
	USE_METHOD,   /* a request; among its arguments stands by which method */
	USE_CONNECT,  /* where to is among its arguments */
	USE_UNPICKLE, /* the first is read as objects, unless an option prevents it */
};

/* What one text does that is worse together than each alone. */
enum job_trait {
	TRAIT_NETWORK = 1 << 0,
	TRAIT_SECRET = 1 << 1,
	TRAIT_REDIRECTS = 1 << 2, /* wires descriptors: dup2 */
	TRAIT_SHELL = 1 << 3,
	TRAIT_CIPHER = 1 << 4,
	TRAIT_WALKS = 1 << 5, /* goes through whole trees */
	TRAIT_WRITES = 1 << 6,
	TRAIT_DECODES = 1 << 7,
	TRAIT_SENDS = 1 << 8,
	TRAIT_WALKS_ALL = 1 << 9,   /* through everything there is */
	TRAIT_DELETES = 1 << 10,    /* what only the run knows */
	TRAIT_OVERWRITES = 1 << 11, /* likewise */
	TRAIT_SELF = 1 << 12,	    /* reads its own text */
	TRAIT_PRIVATE = 1 << 13,    /* reads from a home, or everything */
};

struct function_row {
	const char *path; /* with a * at its end: everything that begins so */
	enum scan_rule rule;
	enum scan_severity severity; /* SEVERITY_NONE: only what its arguments make of it */
	enum function_use use;
	unsigned traits;
};

/* NULL when the function is not known. */
const struct function_row *function_find(enum scan_language language, const char *path);

/* Each ended by a row without a path. */
extern const struct function_row python_functions[];
extern const struct function_row javascript_functions[];

#endif
