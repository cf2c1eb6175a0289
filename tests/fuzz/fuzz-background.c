/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes what poll reads from disk: the record of a command, and its kept output from every offset on. */
#include "supervise/background/output.h"
#include "supervise/background/place.h"

#include "base/file/fd.h"
#include "base/core/own.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_card(const char *bytes, size_t len)
{
	owned(exec_record_done) struct exec_record record = { 0 };
	owned(str_done) struct str text = STR_INIT;
	struct error err;

	if (exec_record_parse(bytes, len, &record, &err) < 0)
		return;
	if (!record.sandbox || record.command.count == 0)
		abort();
	exec_record_format(&record, &text);
}

/* What is read from one byte later on is the same without that byte. */
static void check_output(int fd)
{
	struct output whole = { 0 }, rest = { .out.offset = 1, .err.offset = 1 };
	struct error err;

	if (output_read_log(fd, true, &whole, &err) == 0) {
		if (output_read_log(fd, true, &rest, &err) < 0)
			abort();
		if (whole.out.bytes.len > 0 &&
		    (rest.out.bytes.len != whole.out.bytes.len - 1 ||
		     memcmp(str_cstr(&rest.out.bytes), whole.out.bytes.data + 1,
			    rest.out.bytes.len) != 0))
			abort();
	}
	output_done(&whole);
	output_done(&rest);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(fd_close) int fd = memfd_create("log", MFD_CLOEXEC);

	if (size == 0 || size > 60000 || fd < 0 || fd_write_all(fd, data, size) < 0)
		return 0;
	check_card((const char *)data, size);
	check_output(fd);
	return 0;
}
