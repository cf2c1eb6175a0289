/* SPDX-License-Identifier: Apache-2.0 */
/* When kept output is held to its bounds. */
#include "app/record/log_room.h"

#include "base/core/own.h"
#include "history/log_files.h"

#include <string.h>
#include <unistd.h>

/* Listing thousands of files takes milliseconds: for a small output it is done after one run in 32. */
#define LARGE_BYTES (UINT64_C(1) << 20)

/* Run ids end in random letters, 32 of them. */
static bool is_chosen(const struct run_result *result)
{
	size_t len = result->run_id ? strlen(result->run_id) : 0;

	return len > 0 && result->run_id[len - 1] == '0';
}

/* aisbx-full links the other one, which wins: the hot program serves no owners. */
__attribute__((weak)) int app_log_trim_owner(const char *state_dir, const char *owner,
					     struct error *err)
{
	(void)state_dir;
	(void)owner;
	return error_set(err, ERROR_LIBRARIES, "this needs aisbx-full");
}

/* Where the user has an archive, nothing goes but by gc, which archives it first. */
static bool is_archived(const char *state_dir)
{
	owned(free_ptr) char *mark = xasprintf("%s/" LOG_ARCHIVED, state_dir);

	return access(mark, F_OK) == 0;
}

void log_room_keep(const char *state_dir, const char *owner, const struct run_result *result)
{
	const struct log_bounds bounds = { LOG_BYTES_MAX, LOG_COUNT_MAX };
	owned(log_files_done) struct log_files files = { .dir_fd = -1 };
	uint64_t bytes = result->out.bytes + result->err.bytes;
	struct log_removed removed = { 0 };
	struct error ignored;

	if (!state_dir || bytes == 0 || (bytes < LARGE_BYTES && !is_chosen(result)))
		return;
	if (is_archived(state_dir))
		return;
	if (owner)
		(void)app_log_trim_owner(state_dir, owner, &ignored);
	log_files_read(state_dir, &files);
	log_files_trim(&files, &bounds, &removed);
}
