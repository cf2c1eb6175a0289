/* SPDX-License-Identifier: Apache-2.0 */
/* What `stats --serve` asks of the program with an HTTP server. */
#ifndef OPS_FIGURES_H
#define OPS_FIGURES_H

#include "base/core/error.h"
#include "base/core/str.h"

struct figures_setup {
	int *listen_fd; /* taken over */
	/* All figures as text, which stays the callee's. */
	int (*text)(void *cookie, const struct str **ret_text, struct error *err);
	void *cookie;
};

/* Answers GET /metrics until the process is ended. In aisbx-http only. */
int figures_serve(const struct figures_setup *setup, struct error *err);

#endif
