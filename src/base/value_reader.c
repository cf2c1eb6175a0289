/* Reading a tree of values: every mistake with its place. */
#include "base/value_reader.h"

int value_reader_at(const struct value_reader *reader, const struct value *item)
{
	return error_context(reader->err, "%s:%u", reader->origin, item->line);
}

int value_reader_unknown(const struct value_reader *reader, const struct value *item,
			 const char *key, const char *best)
{
	char shown[STR_SHOWN_SIZE];

	error_set(reader->err, ERROR_INPUT, "unknown key '%s'%s%s%s", str_shown(key, shown),
		  best ? " (did you mean '" : "", best ? best : "", best ? "'?)" : "");
	return value_reader_at(reader, item);
}
