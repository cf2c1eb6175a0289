/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of libzstd that are called; loaded by name, or linked into a static program. */
#ifndef BASE_FILE_ZSTD_FUNCTIONS_H
#define BASE_FILE_ZSTD_FUNCTIONS_H

#define ZSTD_FUNCTIONS(F)         \
	F(ZSTD_createCCtx)        \
	F(ZSTD_freeCCtx)          \
	F(ZSTD_CCtx_setParameter) \
	F(ZSTD_compressStream2)   \
	F(ZSTD_createDCtx)        \
	F(ZSTD_freeDCtx)          \
	F(ZSTD_decompressStream)  \
	F(ZSTD_isError)           \
	F(ZSTD_getErrorName)

#endif
