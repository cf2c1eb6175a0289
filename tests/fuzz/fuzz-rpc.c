/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the framing of messages: lines out of a stream cut anywhere are the same lines, and each is a message or a fault. */
#include "base/core/own.h"
#include "front/rpc/lines.h"
#include "front/rpc/message.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a reader makes of the stream when it comes in parts of STEP bytes. */
static void read_stream(const uint8_t *data, size_t size, size_t step, struct str *ret_seen)
{
	struct rpc_lines lines = { .at = 0 };
	const char *line;
	size_t len;

	for (size_t at = 0; at < size; at += step) {
		enum rpc_line kind;

		rpc_lines_add(&lines, (const char *)data + at, size - at < step ? size - at : step);
		while ((kind = rpc_lines_next(&lines, LINE_MAX, &line, &len)) != RPC_LINE_NONE) {
			if (kind == RPC_LINE_TOO_LONG) {
				str_add(ret_seen, "<long>\n");
				continue;
			}
			if (len > LINE_MAX || memchr(line, '\n', len))
				abort();
			str_add_bytes(ret_seen, line, len);
			str_add_char(ret_seen, '\n');
		}
		if (lines.buffer.len - lines.at > LINE_MAX + step)
			abort();
	}
	rpc_lines_done(&lines);
}

static void read_message(const uint8_t *data, size_t size)
{
	owned(str_done) struct str out = STR_INIT;
	struct rpc_message message;
	struct rpc_fault fault;

	if (rpc_read((const char *)data, size, &message, &fault) < 0) {
		if (fault.code != RPC_PARSE_ERROR && fault.code != RPC_INVALID_REQUEST)
			abort();
		rpc_add_error(&out, fault.id, fault.code, fault.text, NULL);
		rpc_fault_done(&fault);
	} else {
		owned(value_release) struct value *id = rpc_copy_id(message.id);

		if (message.kind == RPC_REQUEST && (!id || !rpc_same_id(id, message.id)))
			abort();
		if ((message.kind == RPC_RESPONSE) == (message.method != NULL))
			abort();
		rpc_add_result(&out, id, "{}", 2);
		rpc_message_done(&message);
	}
	/* Whatever came in, what goes out is one line. */
	if (memchr(out.data, '\n', out.len))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(str_done) struct str whole = STR_INIT, parts = STR_INIT;

	read_stream(data, size, size ? size : 1, &whole);
	read_stream(data, size, 7, &parts);
	if (strcmp(str_cstr(&whole), str_cstr(&parts)) != 0 && !strstr(str_cstr(&whole), "<long>"))
		abort();
	read_message(data, size);
	return 0;
}
