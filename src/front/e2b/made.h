/* SPDX-License-Identifier: Apache-2.0 */
/* What sandboxes are made of: a template's name, and what that stands for. */
#ifndef FRONT_E2B_MADE_H
#define FRONT_E2B_MADE_H

#include "ops/serve.h"

#define E2B_ID_SIZE 22

struct made {
	char *template;	       /* as clients call it */
	char *profile, *image; /* NULL: the server's own */
	bool has_no_net;
	struct strv env; /* K=V, for all commands in it */
};

void made_copy(struct made *ret_made, const struct made *made);
void made_done(struct made *made);
/* All but the name of the new one; valid as long as MADE is. */
struct served_wish made_wish(const struct made *made);

struct e2b;
struct http_request;
struct saved;

/* What a template's name stands for; *RET_FROM is the snapshot that it is, or NULL. made_done() *RET_MADE in any case. */
bool template_find(const struct e2b *e2b, const char *name, struct made *ret_made,
		   const struct saved **ret_from);
/* False: the path is none of theirs. */
bool templates_handle(struct e2b *e2b, struct http_request *request, const char *path);

#endif
