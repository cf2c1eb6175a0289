/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C (Castagnoli), the checksum of spool records. */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues SEED (0 to begin) over the bytes, by the processor's instruction where it has one. */
uint32_t crc32c(uint32_t seed, const void *bytes, size_t len);

/* The same by table only; what crc32c falls back to. */
uint32_t crc32c_portable(uint32_t seed, const void *bytes, size_t len);

#endif
