/* SPDX-License-Identifier: Apache-2.0 */
/* The code interpreter's source, part of the agent: interpreter_source.c is made of interpreter.py by `bundle`. */
#ifndef ENVD_INTERPRETER_H
#define ENVD_INTERPRETER_H

#include <stddef.h>

extern const unsigned char interpreter_source[];
extern const size_t interpreter_source_len;

#endif
