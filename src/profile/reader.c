/* What every key of a profile needs: errors with their place, text, paths. */
#include "profile/reader.h"

#include "base/nearest.h"
#include "profile/path.h"

int reader_at(const struct reader *reader, const struct value *item)
{
	return error_context(reader->err, "%s:%u", reader->origin, item->line);
}

int reader_refuse(const struct reader *reader, const struct value *item, const char *key,
		  const char *reason)
{
	char shown[STR_SHOWN_SIZE];

	error_set(reader->err, ERROR_INPUT, "'%s' %s", str_shown(key, shown), reason);
	return reader_at(reader, item);
}

int reader_unknown(const struct reader *reader, const struct value *item, const char *key,
		   const char *best)
{
	char shown[STR_SHOWN_SIZE];

	error_set(reader->err, ERROR_INPUT, "unknown key '%s'%s%s%s", str_shown(key, shown),
		  best ? " (did you mean '" : "", best ? best : "", best ? "'?)" : "");
	return reader_at(reader, item);
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
	char *clean = profile_path(reader->base_dir, path, reader->err);

	if (!clean) {
		error_context(reader->err, "%s", key);
		reader_at(reader, item);
	}
	return clean;
}

const char *reader_nearest(const char *word, const char *const *names)
{
	struct nearest nearest;

	nearest_init(&nearest, word);
	for (; *names; names++)
		nearest_try(&nearest, *names);
	return nearest.best;
}
