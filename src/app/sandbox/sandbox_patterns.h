/*
 * What the masks of a living sandbox hide by pattern. The mask layer hides the names that were there when it was built;
 * a file that the host makes later under such a name would be seen by the next command. So each start notes what its
 * patterns matched, and each command compares before it enters.
 */
#ifndef ENGINE_SANDBOX_PATTERNS_H
#define ENGINE_SANDBOX_PATTERNS_H

#include "base/error.h"
#include "spec/spec.h"

/* Notes the patterns of SPEC and the names they match now in the sandbox's directory DIR_FD. */
int sandbox_patterns_note(int dir_fd, const struct spec *spec, struct error *err);

/*
 * Finds a name that a pattern hides and that was not there at the start: *ret_path, owned by the caller; NULL when there is
 * none.
 */
int sandbox_patterns_compare(int dir_fd, char **ret_path, struct error *err);

#endif
