/* SPDX-License-Identifier: Apache-2.0 */
/* What every key of a profile needs: errors with their place, text, paths. */
#include "profile/reader.h"

#include "profile/path.h"

int reader_refuse(const struct reader *reader, const struct value *item, const char *key,
		  const char *reason)
{
	char shown[STR_SHOWN_SIZE];

	error_set(reader->file.err, ERROR_INPUT, "'%s' %s", str_shown(key, shown), reason);
	return value_reader_at(&reader->file, item);
}

const char *reader_text(const struct reader *reader, const struct value *item, const char *key)
{
	if (item->kind == VALUE_TEXT)
		return item->text.bytes;
	reader_refuse(reader, item, key,
		      item->kind == VALUE_NULL ? "has no value"
					       : "takes one value, not a list or a map");
	return NULL;
}

char *reader_path(const struct reader *reader, const struct value *item, const char *key,
		  const char *path)
{
	char *clean = profile_path(reader->base_dir, path, reader->file.err);

	if (!clean) {
		error_context(reader->file.err, "%s", key);
		value_reader_at(&reader->file, item);
	}
	return clean;
}
