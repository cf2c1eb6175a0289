/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renaming directories on a plain user's overlay.
 *
 * The kernel refuses to rename a directory that the lower layer has a part in (EXDEV): it would have to leave a note
 * where to find that part, and notes of plain users are not trusted. It renames a directory gladly that lies wholly in
 * the writable layer. So before a rename goes on, its source is brought there: an empty directory beside it takes over
 * the entries one by one (the kernel copies each file up as it moves), then takes the place of the emptied one. What
 * can be seen of the directory is the same before and after; the rename itself remains the caller's own call, with its
 * own rights, checks and errors. If anything goes wrong the entries go back, and the caller gets the kernel's EXDEV.
 *
 * Processes that stand in the directory or hold it open meanwhile are left with the emptied one. And a rename during which
 * a signal handler without SA_RESTART runs may end in EINTR, before the supervisor has received it.
 */
#ifndef LAUNCH_DIR_RENAME_H
#define LAUNCH_DIR_RENAME_H

#include <stdbool.h>

/* A rename that a process inside has asked for: paths as given, and what they are relative to. */
struct dir_rename_request {
	int from_fd, to_fd;
	const char *from, *to;
};

/* Whether the source is a directory on an overlay; a quick look that spares a process for each rename of a file. */
bool dir_rename_may_help(const struct dir_rename_request *request);

/*
 * Does what is needed, or nothing when the rename works without it or could not work anyhow. Bounded in time and entries.
 * Runs inside, in a process of its own, with no more rights than the process that asked.
 */
void dir_rename_make(const struct dir_rename_request *request);

#endif
