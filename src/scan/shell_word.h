/* Words of a shell text, as far as they can be told without running it. Private to the scanner's shell files. */
#ifndef SCAN_SHELL_WORD_H
#define SCAN_SHELL_WORD_H

#include "base/str.h"
#include "scan/job.h"

struct shell {
	struct scan_job *job;
	const struct syntax *syntax;
	struct meanings variables;
	struct strv fetched; /* files that a command before took from the network */
	unsigned depth;	     /* of substitutions being read */
};

/* Adds what the word NODE says; FOLD_GAP where that is not known. */
void shell_word_add(struct shell *shell, uint32_t node, struct str *out);

/* The same for $NAME or ${NAME...}, given as it is written. */
void shell_expansion_add(struct shell *shell, const char *text, size_t len, struct str *out);

/* The words of a command, split and unquoted as the shell does it. */
void shell_words(struct shell *shell, uint32_t command, struct strv *ret_words);

/* The first command at or below NODE, or SYNTAX_NONE. */
uint32_t shell_command_in(const struct shell *shell, uint32_t node);

/* What the echo, printf and decoders among the nodes [FROM, TO) would print; false when that cannot be told. */
bool shell_output(struct shell *shell, uint32_t from, uint32_t to, struct str *out);

/* Whether something below NODE takes from the network, or decodes. */
bool shell_fetches(struct shell *shell, uint32_t node);
bool shell_decodes(struct shell *shell, uint32_t node);
/* Likewise, from a form in which it cannot be read. */
bool shell_unpacks(struct shell *shell, uint32_t node);

#endif
