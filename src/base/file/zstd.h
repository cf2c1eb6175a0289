/* SPDX-License-Identifier: Apache-2.0 */
/* Streams compressed by zstd. The one door to libzstd, which is loaded when there is something to compress. */
#ifndef BASE_ZSTD_H
#define BASE_ZSTD_H

#include "base/core/error.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct zstd_out;

/* Writes to FD, which stays the caller's. */
int zstd_out_open(int fd, struct zstd_out **ret_out, struct error *err);
int zstd_out_add(struct zstd_out *out, const void *bytes, size_t len, struct error *err);
/* The end of the stream: everything is in FD. */
int zstd_out_end(struct zstd_out *out, struct error *err);
/* Cleanup for owned(zstd_out_release) struct zstd_out *o. */
void zstd_out_release(struct zstd_out **slot);

struct zstd_in;

/* Reads FD from its position on, which stays the caller's. Takes no more memory than a window of 128 MiB. */
int zstd_in_open(int fd, struct zstd_in **ret_in, struct error *err);
/* Fills BUFFER; less only at the end. How much, or -1 with an error: damaged, or cut off. */
ssize_t zstd_in_read(struct zstd_in *in, void *buffer, size_t size, struct error *err);
/* Cleanup for owned(zstd_in_release) struct zstd_in *i. */
void zstd_in_release(struct zstd_in **slot);

#endif
