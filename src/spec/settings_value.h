/* SPDX-License-Identifier: Apache-2.0 */
/* Settings out of a tree of values: files and messages that name them as flags do. */
#ifndef SPEC_SETTINGS_VALUE_H
#define SPEC_SETTINGS_VALUE_H

#include "base/text/value_reader.h"
#include "spec/settings.h"

/*
 * Sets KEY, a flag's name, to ITEM: a text or a number; a list of them where the flag may be repeated; a map for `env`.
 * OTHERS (ended by NULL) are the keys besides settings, from which the refusal of an unknown KEY suggests the nearest.
 */
int settings_read(const struct value_reader *reader, const struct value *item, const char *key,
		  const char *const *others, struct settings *settings);

/* The same for a file. It opens no place of the host and no secret: these are flags, or stand in a profile. */
int settings_read_file(const struct value_reader *reader, const struct value *item, const char *key,
		       const char *const *others, struct settings *settings);

#endif
