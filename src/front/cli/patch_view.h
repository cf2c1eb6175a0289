/* SPDX-License-Identifier: Apache-2.0 */
/* A patch on a terminal: nothing in it steers the terminal, and the kinds of lines have colours. */
#ifndef FRONT_CLI_PATCH_VIEW_H
#define FRONT_CLI_PATCH_VIEW_H

#include "front/cli/render.h"

/*
 * Adds the patch TEXT, which begins and ends with whole files. For a terminal every line is escaped as render_safe
 * does (tabs stay, carriage returns do not) before it is coloured; else the bytes are added as they are.
 */
void patch_view(struct str *out, const char *text, size_t len, const struct render_style *style);

#endif
