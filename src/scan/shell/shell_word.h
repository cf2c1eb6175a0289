/* SPDX-License-Identifier: Apache-2.0 */
/* Words of a shell text, as far as they are known without running it. Private to the scanner's shell files. */
#ifndef SCAN_SHELL_WORD_H
#define SCAN_SHELL_WORD_H

#include "base/core/str.h"
#include "scan/judge/job.h"

#define SHELL_WORD_MAX 16384u
#define SHELL_FETCHED_MAX 256u
/* So deep do calls of the text's own functions go. */
#define SHELL_CALLS_MAX 40u

struct shell {
	struct scan_job *job;
	const struct syntax *syntax;
	struct abstract_values variables; /* and functions, as NAME() */
	struct strv fetched;		  /* files that a command before took from the network */
	unsigned depth;			  /* of substitutions being read */
	struct strv positional;		  /* what set -- has set */
	struct strv *given;		  /* $1, $2 and so on; NULL where they are not known */
	size_t shifted;			  /* so many of them are gone */
	uint32_t again; /* nodes looked at once more: bodies of functions and loops */
	uint32_t calls[SHELL_CALLS_MAX]; /* functions being looked at, */
	uint32_t marks[SHELL_CALLS_MAX]; /* and what each has run so far that varies, as a sum */
	unsigned call_depth;
	uint32_t
		stopped; /* a function that was not gone through once more; 0, which is the text, when there is none */
	uint32_t returned;   /* the mark of its round that ended last, from the call of itself on */
	bool is_cut;	     /* there was more to look at again than may be */
	bool has_references; /* some names stand for other names */
	bool has_aliases;
	/* Assignments in this command that end before this byte come before it. */
	uint32_t lines_of, lines_end;
	bool has_separators; /* IFS is another, for words as well */
	bool is_former; /* variables are what they were before an assignment that may not count */
	void (*judge)(struct shell *shell, uint32_t node); /* one node, for what it does */
};

/* Adds the value of the word NODE; FOLD_GAP where that is not known. */
void shell_word_add(struct shell *shell, uint32_t node, struct str *out);

/* The same for $NAME or ${NAME...}, given as it is written. */
void shell_expansion_add(struct shell *shell, const char *text, size_t len, struct str *out);

/* Adds the words of TEXT, which stand between blanks: what an unquoted variable holds is split so. */
void shell_split(struct shell *shell, const char *text, struct strv *words);
/* The words that one word becomes, split and unquoted as the shell does it; and those of a command. */
void shell_add_words(struct shell *shell, uint32_t node, struct strv *words);
void shell_words(struct shell *shell, uint32_t command, struct strv *ret_words);

/* Whether NODE makes words of the text mean others than they say. */
bool shell_sets_names(const struct shell *shell, uint32_t node);

/* The first command at or below NODE, or SYNTAX_NONE. */
uint32_t shell_command_in(const struct shell *shell, uint32_t node);

/* What the echo, printf and decoders among the nodes [FROM, TO) would print; false when that is not certain. */
bool shell_output(struct shell *shell, uint32_t from, uint32_t to, struct str *out);

/* Whether something below NODE takes from the network, or decodes. */
bool shell_fetches(struct shell *shell, uint32_t node);
bool shell_decodes(struct shell *shell, uint32_t node);
/* Likewise, from a form in which it cannot be read. */
bool shell_unpacks(struct shell *shell, uint32_t node);

/* Adds the text of a here-document or here-string. */
void shell_document(struct shell *shell, uint32_t node, struct str *out);

/* From here on NAME is VALUE; NULL, or one with gaps: unknown. */
void shell_define(struct shell *shell, const char *name, size_t len, const char *value);
/* What NAME is, or was before an assignment that may not count; NULL when that is not known. */
const struct abstract_value *shell_variable(const struct shell *shell, const char *name,
					    size_t len);
/* NAME is about to change; unless IS_SURE, it may also stay what it is: in a branch, a shell of its own, a command's own. */
void shell_keep(struct shell *shell, const char *name, size_t len, bool is_sure);
/* Whether the name of COMMAND is made of variables. */
bool shell_name_varies(const struct shell *shell, uint32_t command);
/* A command whose name varies, or that runs its words as code, has become WORDS. */
void shell_mark(struct shell *shell, uint32_t command, const struct strv *words);
/* What a command does to variables, or within a function of the text; one that reads TEXT; a loop; a function. */
void shell_effect(struct shell *shell, const struct strv *words);
void shell_read(struct shell *shell, const struct strv *words, const char *text);
void shell_loop(struct shell *shell, uint32_t node);
void shell_note_function(struct shell *shell, uint32_t node);
/* declare -n NAME=VALUE: from here on NAME is another name of the variable VALUE. */
void shell_refer(struct shell *shell, const char *name, size_t len, const char *value);
/* Goes once more through what varies below NODE; false when there was too much of it. */
bool shell_look_again(struct shell *shell, uint32_t node);
/* Other names of commands: alias l=rm, hash -p /bin/rm l. */
void shell_note_alias(struct shell *shell, const struct strv *words);
/* The words with the alias in front of them put in place; false when there is none. */
bool shell_unalias(struct shell *shell, const struct strv *words, struct strv *ret_words);
/* Room for blanks and what IFS has, each once. */
#define SHELL_SEPARATORS_SIZE 256
/* Blanks, and the characters of IFS, which may be the command's own, or be out of force. */
void shell_separators(const struct shell *shell, char out[static SHELL_SEPARATORS_SIZE]);
/* NODE, a redirection, gives TEXT to its command: code to an interpreter, lines to read. */
void shell_feed(struct shell *shell, uint32_t node, const char *text);
/* The same for what DESTINATION, a command or a descriptor in its place, gives. */
void shell_feed_from(struct shell *shell, uint32_t node, uint32_t destination);

/* The language a command's input would be run as; SCAN_UNKNOWN when it is no code. */
enum scan_language shell_reads_as(const struct strv *words);
void shell_judge_pipeline(struct shell *shell, uint32_t node);

/* PATH is a file that came from the network. */
void shell_note_fetched(struct shell *shell, const char *path);
/* A redirection; a here-document or here-string. */
void shell_judge_redirect(struct shell *shell, uint32_t node);
void shell_judge_document(struct shell *shell, uint32_t node);

/* A command by its first word, where that has gaps or is a pattern. */
void judge_hidden(struct shell *shell, uint32_t node, const struct strv *words);

#endif
