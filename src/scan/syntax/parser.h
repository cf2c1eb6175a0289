/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser's own process. The text's author chooses what the parser meets, and the parser is third-party code: it runs
 * where a wild write or an endless loop costs a child that can open, start and reach nothing. Its answer is checked before
 * it is used.
 *
 * One process serves all texts of a report; one that died or was ended is replaced with the next text.
 */
#ifndef SCAN_PARSER_H
#define SCAN_PARSER_H

#include "scan/syntax/syntax.h"

#include <sys/types.h>

struct parser {
	pid_t pid; /* 0: none yet */
	int fd;
};

#define PARSER_INIT   \
	{             \
		0, -1 \
	}

/* As syntax_parse, in the other process. ERROR_INPUT also when that one broke down over TEXT. */
int parser_parse(struct parser *parser, enum scan_language language, const char *text, size_t len,
		 struct syntax *ret_syntax, struct error *err);

void parser_done(struct parser *parser);

/* In that process: what is left is memory, time and the descriptor it has. 0, or -1. */
int parser_lockdown(void);

#endif
