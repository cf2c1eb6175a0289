/* SPDX-License-Identifier: Apache-2.0 */
/* The state of one parse, shared by the files that read a profile's tree. */
#ifndef PROFILE_READER_H
#define PROFILE_READER_H

#include "base/text/value_reader.h"
#include "profile/profile.h"

struct reader {
	struct value_reader file;
	const char *base_dir;
	struct profile *profile;
	struct strv seen; /* keys met, spelt our way */
};

/* "'KEY' REASON" with its place; -1. */
int reader_refuse(const struct reader *reader, const struct value *item, const char *key,
		  const char *reason);

/* The text of a value that must be one; NULL with an error otherwise. */
const char *reader_text(const struct reader *reader, const struct value *item, const char *key);

/* PATH made absolute and clean, owned by the caller; NULL with an error. */
char *reader_path(const struct reader *reader, const struct value *item, const char *key,
		  const char *path);

/* The values of `default_limits` and `language_specific`. */
int reader_limits(const struct reader *reader, const struct value *map, struct settings *settings);
int reader_language_limits(const struct reader *reader, const struct value *map);

/* The value of `mounts`. */
int reader_mounts(const struct reader *reader, const struct value *list);

#endif
