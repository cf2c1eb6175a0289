/* SPDX-License-Identifier: Apache-2.0 */
/* Identifiers: sortable ones for runs, short random ones for sandboxes. */
#ifndef BASE_ID_H
#define BASE_ID_H

#include "base/core/error.h"

#include <stdbool.h>
#include <stdint.h>

#define ID_RUN_SIZE 27
#define ID_RUN_RANDOM 10
#define ID_SHORT_SIZE 16

/* 26 letters and digits: 48 bits of milliseconds, 80 of randomness. Later ones sort behind earlier ones. */
int id_run(char ret_id[static ID_RUN_SIZE], struct error *err);

/* The same from given parts. */
void id_run_format(uint64_t epoch_ms, const unsigned char random[static ID_RUN_RANDOM],
		   char ret_id[static ID_RUN_SIZE]);

/* When the run was that ID belongs to, in milliseconds since 1970; 0 when it is none. */
uint64_t id_run_epoch_ms(const char *id);

/* PREFIX (at most 8 bytes), a dash and six hex digits: "s-7f3a91". */
int id_short(const char *prefix, char ret_id[static ID_SHORT_SIZE], struct error *err);

/* Whether TEXT is a W3C traceparent: 00-TRACE-SPAN-FLAGS in lower-case hex digits, neither id zero. */
bool id_is_traceparent(const char *text);

#endif
