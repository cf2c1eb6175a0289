/* SPDX-License-Identifier: Apache-2.0 */
/* A run by a zygote, as the wasm driver sees it: a task like the one of the driver beneath it. */
#ifndef DRIVER_WASM_ZYGOTE_CLIENT_H
#define DRIVER_WASM_ZYGOTE_CLIENT_H

#include "driver/wasm/zygote.h"

/* The run layer's side of it; its start is zygote_start. */
extern const struct driver zygote_driver;

/* Whether a zygote may do this run: nothing in it needs a sandbox of its own. */
bool zygote_fits(const struct spec *spec, const struct driver_io *io);

struct zygote_wish {
	const char *module_key; /* names the code */
	bool is_started;	/* an interpreter that is started already */
	int report_fd;		/* the runner's end of its report; borrowed */
};

/* Asks the io's zygote pool. */
int zygote_start(const struct spec *spec, const struct driver_io *io,
		 const struct zygote_wish *wish, struct task **ret_task, struct error *err);

/* Whether an interpreter of Python that is started already can be given this command, with these variables. */
bool zygote_can_boot(const struct spec *spec);

/* It has ended before anything ran, because there is no zygote for it: run it without. */
bool zygote_is_refused(const struct task *task);
/* That could not be done either. */
void zygote_fail(struct task *task, const struct error *err);

#endif
