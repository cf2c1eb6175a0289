/* SPDX-License-Identifier: Apache-2.0 */
/* The inner part of SHA-256: blocks into a state. Two ways to the same result. */
#ifndef BASE_SHA256_MIX_H
#define BASE_SHA256_MIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fractional parts of the cube roots of the first 64 primes. */
extern const uint32_t sha256_round_constants[64];

/* In plain C. */
void sha256_mix_plain(uint32_t state[static 8], const uint8_t *blocks, size_t count);

/*
 * By instructions made for it, where the processor has them: several times as fast. False, and nothing done, elsewhere, or
 * where that is not known yet and so few blocks are not worth a probe.
 */
bool sha256_mix_by_processor(uint32_t state[static 8], const uint8_t *blocks, size_t count);

#endif
