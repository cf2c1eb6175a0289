/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of presets.tsv, as gen_presets.c makes them at build time: where the clients of a registry keep its address. */
#ifndef APP_PRESET_TABLE_H
#define APP_PRESET_TABLE_H

#include <stddef.h>

/* How a row's place is read; presets.tsv explains each. */
enum preset_form {
	PRESET_ENV,
	PRESET_INI,
	PRESET_TOML,
	PRESET_XML,
	PRESET_DEB,
	PRESET_DEB822,
	PRESET_LINES,
	PRESET_QUOTED,
	PRESET_JAR,
	PRESET_INDEX_NAME,
	PRESET_INDEX_FILES,
	PRESET_ASK,
	PRESET_LOOK,
	PRESET_SET,
};

struct preset_row {
	const char *preset;
	const char *slot;
	enum preset_form form;
	const char *place;
	const char *keys; /* with '|' between them; "" for none */
};

extern const struct preset_row preset_rows[];
extern const size_t preset_rows_count;

#endif
