/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to the person at the terminal. */
#ifndef FRONT_CLI_ASK_H
#define FRONT_CLI_ASK_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Writes QUESTION to stderr and reads a line from stdin. What was typed before the question is forgotten: it cannot be
 * an answer to it. The letter of a one-letter answer or of its word (y or yes), in lower case; '?' for anything else; 0
 * at the end of input.
 */
char ask_letter(const char *question);

/*
 * Asks on the terminal, whatever standard input is, and shows nothing of the answer. False when there is no terminal, or the
 * person ends it by ^C or ^D. RET_ANSWER has SIZE bytes; what does not fit is no answer.
 */
bool ask_hidden(const char *question, char *ret_answer, size_t size);

#endif
