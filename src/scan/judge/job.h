/* One text on its way through the scanner; what the scanner's files share. */
#ifndef SCAN_JOB_H
#define SCAN_JOB_H

#include "scan/follow/follow.h"
#include "scan/judge/policy.h"
#include "scan/scan.h"
#include "scan/syntax/syntax.h"

/* Code in code in code: a shell in a Python text that starts Python. */
#define JOB_DEPTH_MAX 4u
/* So much of it in one text: each is parsed for itself, and time is bounded. */
#define JOB_NESTED_MAX 2000u
#define JOB_NESTED_BYTES_MAX ((size_t)4 << 20)
/* So many bytes are put in place of words, all in all: a variable of a few letters stands for much. */
#define JOB_WORDS_MAX ((size_t)64 << 20)

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
};

/* What a text and the texts within it share. */
struct job_common {
	unsigned nested; /* texts within it, so far */
	size_t nested_bytes;
	size_t words;	      /* bytes that words of commands became */
	struct str directory; /* where a shell's text has gone by cd; empty: where it began */
	bool has_moved;
	const struct strv *given; /* what the next shell text within is given: $0, $1, ... */
};

struct scan_job {
	const struct scan_text *text;
	enum scan_language language;
	const struct scan_policy *policy;
	struct scan_report *report;
	const struct syntax *syntax;
	struct follow *follow; /* not for shell */
	uint32_t *lines;       /* where each begins */
	size_t line_count;
	const struct scan_job *outer; /* this text stands in another one, */
	uint32_t outer_at;	      /* there */
	unsigned depth;
	const struct strv *given; /* of a shell's text: from $0 on; NULL: not known */
	struct job_common *common;
	unsigned traits;
	/* Modules that only start programs (judge_teeth), as bits: loaded, and seen to be used. */
	unsigned loaded, reached;
	uint32_t loaded_at;
	enum scan_severity worst; /* of what was found in it */
};

/* Notes a finding at byte AT. WHAT (may be NULL) stands in front of the rule's message. */
void job_find(struct scan_job *job, uint32_t at, enum scan_rule rule, enum scan_severity severity,
	      const char *what);
/* As job_find, for an entry of the policy's lists. */
void job_find_entry(struct scan_job *job, uint32_t at, enum scan_rule rule,
		    const struct policy_entry *entry, const char *what);

/* Scans a text that JOB would run, in LANGUAGE; its findings stand at AT. The worst of them. */
enum scan_severity job_nested(struct scan_job *job, uint32_t at, enum scan_language language,
			      const char *text, size_t len);

/* The worst that would be found in such a text, which is only supposed to be one; nothing is told. */
enum scan_severity job_probe(struct scan_job *job, enum scan_language language, const char *text,
			     size_t len);

/* Counts BYTES of work; false when there was so much that the rest is not followed, and the text not analysable. */
bool job_spend(struct scan_job *job, size_t bytes);

/* A shell's command may run a file, or go elsewhere. START: where the command itself begins in WORDS. */
void job_script(struct scan_job *job, const struct strv *words, size_t start);

/* A module the text loads. */
/* The bit of the module that PATH begins with, of those that are there to start programs; 0. */
unsigned job_teeth(const char *path);
void job_import(struct scan_job *job, uint32_t at, const char *module);

/* Python and JavaScript: what is done with names. Called for each node that has ended. */
void judge_node(struct scan_job *job, uint32_t node);
/* What traits mean together. */
void judge_whole(struct scan_job *job);

/* The body of a literal: credentials, long encoded texts. */
void judge_literal(struct scan_job *job, uint32_t at, const char *text, size_t len, bool hides);
/* A constant given to the name NAME: password = "..." */
void judge_assigned(struct scan_job *job, uint32_t at, const char *name, size_t name_len,
		    const char *text, size_t len);

/* A shell text; false when there was too much of it to be followed. */
bool judge_shell(struct scan_job *job);

/* Places in the file system, by text. */
enum place_kind {
	PLACE_PLAIN,
	PLACE_SECRET,
	PLACE_ACCOUNTS,	  /* /etc/passwd: names, no secrets */
	PLACE_START,	  /* what runs by itself: profiles, cron, hooks */
	PLACE_SYSTEM,	  /* absolute, not for programs to change */
	PLACE_DISK,	  /* a device with somebody's data on it */
	PLACE_EVERYTHING, /* the root, a home, all of the present directory's parents */
	PLACE_TEMPORARY,
};
enum place_kind place_of(const char *path);
/* Settings that name programs to run: harmless to read, not to write. */
bool place_is_obeyed(const char *path);
/* Where a cloud machine is given its credentials. */
bool place_is_metadata(const char *url);

#endif
