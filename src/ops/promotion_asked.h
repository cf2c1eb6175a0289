/* SPDX-License-Identifier: Apache-2.0 */
/* The questions of a promotion: which paths are asked about by themselves, and which with their directory. */
#ifndef OPS_PROMOTION_ASKED_H
#define OPS_PROMOTION_ASKED_H

#include "base/core/str.h"
#include "base/core/value.h"

#include <stdbool.h>

/* The bytes of a path (text, or {path, path_b64}); the caller's to free. */
char *promotion_read_path(const struct value *item);

/* What kind of agreement FLAG is: one word per path, or one for all of its kind. */
bool promotion_names_path(const char *flag);

/*
 * What each consent of ANSWER is asked as, in their order: the path itself or, with a slash at its end, the outermost
 * directory that is generated.
 */
void promotion_find_asked(const struct value *answer, struct strv *ret_asked);

#endif
