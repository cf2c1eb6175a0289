/* SPDX-License-Identifier: Apache-2.0 */
/* The one door to libzstd. */
#include "base/file/zstd.h"

#include "base/core/own.h"
#include "base/core/str.h"
#include "base/file/fd.h"
#include "base/file/library.h"
#include "base/file/zstd_functions.h"

#include <errno.h>
#include <unistd.h>
#include <zstd.h>

#define BLOCK_BYTES ((size_t)128 << 10)
/* Between speed and size: logs shrink to a tenth at some hundred megabytes a second. */
#define LEVEL 3

struct functions {
#define MEMBER(name) __typeof__(&name) name;
	ZSTD_FUNCTIONS(MEMBER)
#undef MEMBER
};

struct zstd_out {
	struct functions call;
	ZSTD_CCtx *context;
	int fd;
	char block[BLOCK_BYTES];
};

struct zstd_in {
	struct functions call;
	ZSTD_DCtx *context;
	int fd;
	size_t at, len; /* of block: what is not decompressed yet */
	bool is_inside; /* a frame was begun and has not ended */
	char block[BLOCK_BYTES];
};

static int load(struct functions *ret_call, struct error *err)
{
	static const struct library_row rows[] = {
#define ROW(name) { #name, offsetof(struct functions, name) },
		ZSTD_FUNCTIONS(ROW)
#undef ROW
	};

	return library_load(&(const struct library){ "libzstd.so.1", "libzstd1", rows,
						     sizeof(rows) / sizeof(rows[0]) },
			    ret_call, err);
}

int zstd_out_open(int fd, struct zstd_out **ret_out, struct error *err)
{
	owned(zstd_out_release) struct zstd_out *out = xcalloc(1, sizeof(*out));

	if (load(&out->call, err) < 0)
		return -1;
	out->fd = fd;
	out->context = out->call.ZSTD_createCCtx();
	if (!out->context)
		return error_set(err, ERROR_HOST, "no memory to compress");
	(void)out->call.ZSTD_CCtx_setParameter(out->context, ZSTD_c_compressionLevel, LEVEL);
	(void)out->call.ZSTD_CCtx_setParameter(out->context, ZSTD_c_checksumFlag, 1);
	*ret_out = ptr_take(&out);
	return 0;
}

void zstd_out_release(struct zstd_out **slot)
{
	if (*slot && (*slot)->context)
		(void)(*slot)->call.ZSTD_freeCCtx((*slot)->context);
	free(*slot);
	*slot = NULL;
}

static int compress(struct zstd_out *out, ZSTD_inBuffer *in, ZSTD_EndDirective how,
		    struct error *err)
{
	size_t left;

	do {
		ZSTD_outBuffer room = { out->block, sizeof(out->block), 0 };

		left = out->call.ZSTD_compressStream2(out->context, &room, in, how);
		if (out->call.ZSTD_isError(left))
			return error_set(err, ERROR_HOST, "cannot compress: %s",
					 out->call.ZSTD_getErrorName(left));
		if (fd_write_all(out->fd, out->block, room.pos) < 0)
			return error_errno(err, ERROR_HOST, "cannot write");
	} while (how == ZSTD_e_end ? left > 0 : in->pos < in->size);
	return 0;
}

int zstd_out_add(struct zstd_out *out, const void *bytes, size_t len, struct error *err)
{
	return compress(out, &(ZSTD_inBuffer){ bytes, len, 0 }, ZSTD_e_continue, err);
}

int zstd_out_end(struct zstd_out *out, struct error *err)
{
	return compress(out, &(ZSTD_inBuffer){ NULL, 0, 0 }, ZSTD_e_end, err);
}

int zstd_in_open(int fd, struct zstd_in **ret_in, struct error *err)
{
	owned(zstd_in_release) struct zstd_in *in = xcalloc(1, sizeof(*in));

	if (load(&in->call, err) < 0)
		return -1;
	in->fd = fd;
	in->context = in->call.ZSTD_createDCtx();
	if (!in->context)
		return error_set(err, ERROR_HOST, "no memory to decompress");
	*ret_in = ptr_take(&in);
	return 0;
}

void zstd_in_release(struct zstd_in **slot)
{
	if (*slot && (*slot)->context)
		(void)(*slot)->call.ZSTD_freeDCtx((*slot)->context);
	free(*slot);
	*slot = NULL;
}

/* More of the file into the block; 0 at its end. */
static ssize_t fill(struct zstd_in *in, struct error *err)
{
	ssize_t got;

	do
		got = read(in->fd, in->block, sizeof(in->block));
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return error_errno(err, ERROR_HOST, "cannot read");
	in->at = 0;
	in->len = (size_t)got;
	return got;
}

ssize_t zstd_in_read(struct zstd_in *in, void *buffer, size_t size, struct error *err)
{
	ZSTD_outBuffer room = { buffer, size, 0 };

	while (room.pos < size) {
		ssize_t got = in->at < in->len ? 1 : fill(in, err);

		if (got < 0)
			return -1;
		/* What the library still holds comes out without more input. */
		ZSTD_inBuffer from = { in->block + in->at, in->len - in->at, 0 };
		size_t before = room.pos;
		size_t left = in->call.ZSTD_decompressStream(in->context, &room, &from);

		if (in->call.ZSTD_isError(left))
			return error_set(err, ERROR_INPUT, "damaged: %s",
					 in->call.ZSTD_getErrorName(left));
		in->at += from.pos;
		if (got > 0 || room.pos > before)
			in->is_inside = left > 0;
		if (got == 0 && room.pos == before)
			break;
	}
	if (room.pos < size && in->is_inside)
		return error_set(err, ERROR_INPUT, "cut off");
	return (ssize_t)room.pos;
}
