/* SPDX-License-Identifier: Apache-2.0 */
/* `serve`: what the verb hands to the face that speaks with another product's clients. */
#ifndef OPS_SERVE_H
#define OPS_SERVE_H

#include "app/change/workspace.h"
#include "app/serve/served.h"

struct serve_setup {
	int listen_fd; /* on the loopback; taken over */
	char key[64];  /* clients have to send it */
	struct served_plan plan;
	/* Called once, when clients can connect. */
	void (*is_ready)(struct serve_setup *setup);
	int report_fd; /* of is_ready */
};

/* Serves until a signal ends it. Only in aisbx-http: weak elsewhere. */
int e2b_serve(struct serve_setup *setup, struct error *err);

#endif
