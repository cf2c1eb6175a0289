/* SPDX-License-Identifier: Apache-2.0 */
/* Settings as the text of a profile: what settings_set would take to make them again. */
#ifndef PROFILE_SHOW_H
#define PROFILE_SHOW_H

#include "base/core/str.h"
#include "base/core/value.h"
#include "spec/settings.h"

#include <stdbool.h>

/* Appends a single-valued row's value ("512m"). False, and nothing appended, when it is not set or many. */
bool profile_words(const struct settings *settings, const struct setting_row *row, struct str *out);

/* The entries of a list row; NULL for every other kind. */
const struct strv *profile_list(const struct settings *settings, const struct setting_row *row);

/* "ro", "rw" or "rw-through". */
const char *profile_mount_mode(const struct settings_mount *mount);

/* Everything that is set, as YAML a profile could hold. */
void profile_show(const struct settings *settings, struct str *out);

/* The same as an object; the caller owns it. */
struct value *profile_show_value(const struct settings *settings);

#endif
