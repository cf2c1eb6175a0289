/* SPDX-License-Identifier: Apache-2.0 */
/* The row of the verb that looks after the wasm driver's languages. */
#include "ops/rows/rows.h"

/* In aisbx-full only: see table.c. */
#pragma weak op_wasm_run

static const struct op_param wasm_params[] = {
	{ .name = "from",
	  .metavar = "FILE",
	  .help = "install: the wheel of that name, got elsewhere, instead of fetching it" },
	{ .name = NULL },
};

static const struct op_column wasm_columns[] = {
	{ "name", "NAME" }, { "state", "STATE" }, { "summary", "WHAT" }, { NULL, NULL }
};

const struct op wasm_row = {
	.name = "wasm",
	.usage = "ls | install NAME... [--from FILE]",
	.summary = "languages for the wasm driver",
	.group = "Look after this machine",
	.words = "ls|install",
	.flags = OP_LIBRARIES | OP_CLI_ONLY,
	.params = wasm_params,
	.columns = wasm_columns,
	.help = "run --driver wasm runs a WebAssembly module, or one of these languages by\n"
		"its name. install fetches it with pip, checks it against the hash that is\n"
		"part of aisbx, places it into your data folder, and compiles it for this\n"
		"machine once, which takes some seconds. The engine comes with the first.\n"
		"Nothing of Python is needed to run them.\n"
		"\n"
		"In ls, ready can run; installed has to be compiled first; changed is not\n"
		"what was installed, and is refused until it is installed again.\n"
		"\n"
		"Examples:\n"
		"  aisbx wasm install python javascript\n"
		"  aisbx wasm ls\n"
		"  aisbx run --driver wasm -- python -c 'print(1 + 1)'\n",
	.run = op_wasm_run,
};
