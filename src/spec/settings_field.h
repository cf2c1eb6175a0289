/* SPDX-License-Identifier: Apache-2.0 */
/* Reaching a row's field in struct settings by its shape; for the files that work on the table. */
#ifndef SPEC_SETTINGS_FIELD_H
#define SPEC_SETTINGS_FIELD_H

#include "spec/settings.h"

enum setting_shape { SHAPE_NUMBER, SHAPE_WORD, SHAPE_LIST, SHAPE_MOUNT };

enum setting_shape setting_shape(const struct setting_row *row);

/* Each is only for rows of its shape. */
int64_t *settings_number(struct settings *settings, const struct setting_row *row);
char **settings_word(struct settings *settings, const struct setting_row *row);
struct strv *settings_list(struct settings *settings, const struct setting_row *row);
int64_t settings_get_number(const struct settings *settings, const struct setting_row *row);
const char *settings_get_word(const struct settings *settings, const struct setting_row *row);
const struct strv *settings_get_list(const struct settings *settings,
				     const struct setting_row *row);

/* The row's bit in `ceilings`. */
uint32_t settings_ceiling_bit(const struct setting_row *row);

#endif
