/* SPDX-License-Identifier: Apache-2.0 */
/* What a sandbox's changes were made from, recorded while it is still known. */
#include "base/core/clock.h"
#include "base/core/own.h"
#include "app/sandbox/sandbox_parts.h"
#include "workspace/store/moments.h"
#include "workspace/base/origin_record.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

/* A command's caller waits for it: what is not written down by then is compared later. */
#define CAPTURE_NS 1000000000u
#define TOUCHED "touched"

/* Its file carries the time of the look it was written after, not that of the writing. */
static void set_time(int dir_fd, const struct timespec *then)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, *then };

	(void)utimensat(dir_fd, TOUCHED, times, AT_SYMLINK_NOFOLLOW);
}

bool sandbox_capture_is_due(int dir_fd, uint64_t newest_ns)
{
	struct stat st;

	if (newest_ns == 0)
		return false;
	if (fstatat(dir_fd, TOUCHED, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return true;
	return clock_ns_of(&st.st_mtim) <= newest_ns;
}

void sandbox_capture(struct sandbox *sandbox)
{
	uint64_t listed_ns = clock_now_ns();
	struct timespec now;
	struct view_stack stack;
	struct delta delta;
	struct error ignored;

	/* Coarse, as the stamps of files are. */
	(void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
	if (app_view(sandbox, NULL, &stack, &ignored) < 0)
		return;
	struct delta_options options = { .workspace = sandbox->workspace,
					 .sandbox = sandbox,
					 .old_from = stack.count,
					 .renames = true,
					 .only_workspace = true,
					 .same = true,
					 .expand = true,
					 .until_ns = clock_now_ns() + CAPTURE_NS };

	if (delta_read(&stack, &options, &delta, &ignored) == 0) {
		owned(origin_records_done) struct origin_records unkept = { 0 };

		if (origin_capture(sandbox, &stack, &delta, &unkept, &ignored) == 0 &&
		    !delta.is_partial &&
		    origin_capture_copied(sandbox, &stack, options.until_ns, &ignored) == 0) {
			set_time(sandbox->dir_fd, &now);
			moments_add_listed(sandbox->dir_fd, listed_ns);
		}
		sandbox_note_blobs(sandbox, &unkept);
		delta_done(&delta);
	}
	view_close(&stack);
}
