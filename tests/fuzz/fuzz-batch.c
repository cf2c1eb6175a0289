/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the lines of a batch: whatever is accepted has a command, and stays within what the command line says. */
#include "app/batch/batch_line.h"

#include "base/core/own.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY 1000000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(batch_line_done) struct batch_line line;
	owned(request_done) struct request base;
	struct error err = { 0 };

	request_init(&base);
	base.flags.mem_bytes = MEMORY;
	base.flags.net = xstrdup("none");
	batch_line_init(&line);
	if (batch_line_read((const char *)data, size, &base, &line, &err) < 0) {
		if (!err.text[0])
			abort();
		return 0;
	}
	if (line.request.command.count == 0 || line.request.flags.mem_bytes > MEMORY ||
	    strcmp(line.request.flags.net, "none") != 0 || line.request.flags.allow.count > 0)
		abort();
	return 0;
}
