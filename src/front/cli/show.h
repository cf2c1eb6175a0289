/* SPDX-License-Identifier: Apache-2.0 */
/* What a verb has to say on its way out: to stdout, through a pager on a terminal, and to stderr. */
#ifndef FRONT_CLI_SHOW_H
#define FRONT_CLI_SHOW_H

#include "front/cli/pager.h"
#include "front/cli/render.h"
#include "ops/op.h"

/* One call and where its answer goes. The call comes first: it is what its callbacks are given. */
struct showing {
	struct op_call call;
	struct pager pager;
	bool has_pager;
	bool is_enough; /* the user left the pager: what is still to come is dropped */
};

/* Gives the call its callbacks, as far as there is a terminal to ask and to print on. */
void showing_start(struct showing *showing);

/* Shows text or data, and notes, as far as they are written. Output that did not arrive is an error. */
int showing_show(struct showing *showing, struct error *err);

/* Waits until the person leaves the pager, where there is one. */
int showing_finish(struct showing *showing, struct error *err);

/* How to show something on a terminal or elsewhere, as the person has it. */
struct render_style showing_style(bool terminal, const char *const *env);

#endif
