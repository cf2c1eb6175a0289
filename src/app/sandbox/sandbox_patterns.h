/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the masks of a living sandbox were decided by. The mask layer hides the names that were there when it was built, and
 * has copies of the files of directories that are shown as lists. So each start notes what its patterns matched and what
 * its lists hold, and each command compares before it enters.
 */
#ifndef APP_SANDBOX_PATTERNS_H
#define APP_SANDBOX_PATTERNS_H

#include "base/core/error.h"
#include "spec/spec.h"

#include <stdbool.h>
#include <stdint.h>

/* Hidden files and directories beyond this number are not noted: directories come first. */
#define SANDBOX_HIDDEN_MAX 1000u

/*
 * Notes the patterns of SPEC and the names they match now in the sandbox's directory DIR_FD. HIDDEN: what its search for hard
 * links considered (alias_list). SINCE_NS (clock_stamp_ns) lies before that search: it may have missed a link made later.
 */
int sandbox_patterns_note(int dir_fd, const struct spec *spec, const struct strv *hidden,
			  uint64_t since_ns, struct error *err);

/* What changed since the sandbox's start. */
struct sandbox_outdated {
	/* The sandbox has to be started anew to show, and hide, what it should. */
	bool is_outdated;
	/* A name that a pattern hides and that is seen until then, or NULL; owned by the caller. */
	char *shown;
	/* A hidden file that has another name since, which may be seen until then, or NULL; owned by the caller. */
	char *linked;
	/* A directory that is shown as a list and has changed, or NULL; owned by the caller. */
	char *listed;
};

void sandbox_outdated_done(struct sandbox_outdated *outdated);

int sandbox_patterns_compare(int dir_fd, struct sandbox_outdated *ret_outdated, struct error *err);

#endif
