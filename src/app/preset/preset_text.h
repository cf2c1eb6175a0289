/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What configuration files of package clients say: texts in, values out. No file is opened here.
 *
 * Nothing is evaluated: no variables, entities or includes, and what is not understood is passed over. A value that is found
 * may still be anything; only a URL in it counts (base/text/url.h).
 */
#ifndef APP_PRESET_TEXT_H
#define APP_PRESET_TEXT_H

#include "app/preset/preset_table.h"
#include "base/core/str.h"

/* Of one text; the rest is passed over. */
#define PRESET_VALUES_MAX 64
#define PRESET_VALUE_SIZE 4096

/*
 * Appends the values of KEYS ('|' between them) in TEXT. PRESET_QUOTED takes the first text behind each key, PRESET_LOOK
 * every one; forms that read no text give nothing.
 */
void preset_text_read(enum preset_form form, const char *text, size_t len, const char *keys,
		      struct strv *values);

#endif
