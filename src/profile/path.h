/* SPDX-License-Identifier: Apache-2.0 */
/* Names and paths as profiles write them, judged as text only. */
#ifndef PROFILE_PATH_H
#define PROFILE_PATH_H

#include "base/core/error.h"

#include <stdbool.h>

/*
 * PATH absolute and clean; a relative one lies below BASE_DIR (may be NULL). ".." is refused: behind
 * a symbolic link it does not lead to the directory that the text names. The caller owns the path; NULL with an error.
 */
char *profile_path(const char *base_dir, const char *path, struct error *err);

/* Whether a word can name a profile: at most 63 letters, digits, '.', '_', '-'; no leading mark. */
bool profile_is_name(const char *word);

/* Whether --profile and `extends` mean a file by it: it has a slash or ends in .yaml or .yml. */
bool profile_is_file(const char *word);

#endif
