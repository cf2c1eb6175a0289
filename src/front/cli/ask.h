/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to the person at the terminal. */
#ifndef FRONT_CLI_ASK_H
#define FRONT_CLI_ASK_H

/*
 * Writes QUESTION to stderr and reads a line from stdin. What was typed before the question is forgotten: it cannot be
 * an answer to it. The letter of a one-letter answer or of its word (y or yes), in lower case; '?' for anything else; 0
 * at the end of input.
 */
char ask_letter(const char *question);

#endif
