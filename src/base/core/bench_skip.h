/* SPDX-License-Identifier: Apache-2.0 */
/* For tools/bench alone: leaving one layer out, to learn what it costs. Other builds have no such door. */
#ifndef BASE_PRICE_H
#define BASE_PRICE_H

#include <stdbool.h>

#ifdef AISBX_PRICE

#include <stdlib.h>
#include <string.h>

static inline bool bench_skip(const char *layer)
{
	const char *left_out = getenv("AISBX_PRICE_WITHOUT");

	return left_out && strcmp(left_out, layer) == 0;
}

#else

#define bench_skip(layer) false

#endif

#endif
