/* SPDX-License-Identifier: Apache-2.0 */
/* The runner's report, as far as it is trusted: bounded, in order, and only once. */
#ifndef DRIVER_WASM_INTAKE_H
#define DRIVER_WASM_INTAKE_H

#include "driver/wasm/report.h"
#include "wasm/module.h"

#include <stdbool.h>
#include <stddef.h>

struct intake {
	const char *data_dir, *cache_dir; /* borrowed */
	char key[SHA256_HEX_SIZE];
	bool wants_compiled; /* one more compiled module is taken */
	bool is_closed;	     /* nothing more is believed */
	bool has_end;
	struct wasm_report end;
	char text[WASM_REPORT_TEXT_MAX + 1]; /* of the end */
	/* Under way: a report, then what follows it. */
	struct wasm_report current;
	size_t have;   /* bytes of `current` */
	uint64_t left; /* bytes that still follow */
	struct wasm_draft draft;
};

void intake_init(struct intake *intake, const struct wasm_places *places, const char *key,
		 bool wants_compiled);

/* Takes LEN bytes, wherever they were divided. */
void intake_take(struct intake *intake, const void *bytes, size_t len);

/* Reads what there is, without blocking. 1 while more may come, 0 at the end, -1 with errno. */
int intake_read(struct intake *intake, int fd);

void intake_done(struct intake *intake);

#endif
