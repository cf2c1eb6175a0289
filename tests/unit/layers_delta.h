/* SPDX-License-Identifier: Apache-2.0 */
/* Deltas of layers made by hand, as lines a case can compare. */
#ifndef TESTS_LAYERS_DELTA_H
#define TESTS_LAYERS_DELTA_H

#include "tests/unit/layers.h"
#include "workspace/delta/delta.h"

/* The delta as lines: letter, path below the base, aspects that matter, old path. The caller owns it. */
static inline char *layers_shown(const struct layers *layers, const struct delta *delta)
{
	static const char *const names[] = { "content", "mode", "owner", "xattr",
					     NULL,	"type", "path" };
	size_t skip = strlen(layers->base) + 1;
	struct str text = STR_INIT;

	for (size_t i = 0; i < delta->count; i++) {
		const struct delta_entry *entry = &delta->items[i];

		str_addf(&text, "%s%c %s", text.len ? "; " : "", delta_op_letter(entry->op),
			 strlen(entry->path) > skip ? entry->path + skip : ".");
		for (size_t bit = 0; bit < sizeof(names) / sizeof(names[0]); bit++)
			if (names[bit] && (entry->aspects & (1u << bit)))
				str_addf(&text, " %s", names[bit]);
		if (entry->from)
			str_addf(&text, " < %s", entry->from + skip);
	}
	return str_detach(&text);
}

/* Reads a delta; what OPTIONS leave open: the top against the base, directories too. */
static inline struct delta layers_delta(const struct layers *layers, struct delta_options options)
{
	struct delta delta = { 0 };
	struct error err = { 0 };

	if (options.old_from == 0)
		options.old_from = layers->stack.count;
	if (delta_read(&layers->stack, &options, &delta, &err) < 0)
		printf("# %s\n", err.text);
	return delta;
}

/* One case: what the layers changed is WANT. */
__attribute__((unused)) static bool layers_is(const struct layers *layers,
					      struct delta_options options, const char *want,
					      const char *what)
{
	owned(delta_done) struct delta delta = layers_delta(layers, options);
	owned(free_ptr) char *got = layers_shown(layers, &delta);

	return tap_is_str(got, want, "%s", what);
}

#endif
