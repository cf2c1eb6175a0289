/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of texts, shared by the readers of configuration files of this folder only. */
#ifndef APP_PRESET_PARTS_H
#define APP_PRESET_PARTS_H

#include "base/core/str.h"

/* Bytes of a text; no NUL behind them. */
struct part {
	const char *text;
	size_t len;
};

/* Without blanks around it; without the quotes around all of it. */
struct part part_trim(struct part part);
struct part part_unquote(struct part part);

/* Whether NAME is one of KEYS, with '|' between them and * ? [set] in them; case and '_' for '-' make no difference. */
bool part_has_key(struct part name, const char *keys);

/* Appends a copy, within the limits of preset_text.h. */
void part_add(struct strv *values, struct part part);

void preset_toml_read(struct part text, const char *keys, struct strv *values);
void preset_xml_read(struct part text, const char *keys, struct strv *values);

#endif
