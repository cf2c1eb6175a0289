/* SPDX-License-Identifier: Apache-2.0 */
/* `snaps`: the snapshots of a sandbox as a tree. */
#include "app/change/workspace.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Deeper ones are still listed, only no further to the right. */
#define INDENT_MAX 24

/* A row that hangs from the clone itself. */
#define NO_PARENT SIZE_MAX

struct tree {
	const struct value *rows;
	size_t *parents; /* of each row: its parent's */
	struct str *out;
	struct str prefix; /* what stands to the left of a row's branches */
};

/* One that is no longer listed is none; an earlier row always, so that the tree has no circle. */
static size_t parent_of(const struct value *rows, size_t row)
{
	const char *name = value_get_text(rows->many.items[row], "parent");

	for (size_t i = 0; name && i < row; i++) {
		if (strcmp(value_get_text(rows->many.items[i], "name"), name) == 0)
			return i;
	}
	return NO_PARENT;
}

/* The next row at or behind FROM that hangs from PARENT; the count of rows when there is none. */
static size_t next_child(const struct tree *tree, size_t parent, size_t from)
{
	while (from < tree->rows->many.count && tree->parents[from] != parent)
		from++;
	return from;
}

static void add_row(struct tree *tree, const struct value *row, bool is_last)
{
	struct str *out = tree->out;
	const char *message = value_get_text(row, "message");

	str_addf(out, "%s%s%s  ", str_cstr(&tree->prefix), is_last ? "`-- " : "|-- ",
		 value_get_text(row, "name"));
	words_add_age(out, words_moment(row, "made"));
	str_add(out, value_is_true(row, "auto") ? "  (automatic)" : "");
	str_add(out, value_is_true(row, "torn")
			     ? "  (torn: the machine went down before it was on disk)"
			     : "");
	str_add(out, value_is_true(row, "current") ? "  <- here" : "");
	if (message) {
		str_add(out, "  ");
		words_add_line(out, message);
	}
	str_add_char(out, '\n');
}

/* One step of the walk: a row whose children are being shown, and the next of them. */
struct step {
	size_t row, next, prefix_len;
};

/* A chain of snapshots may be long: a stack of our own instead of the program's. */
static void add_tree(struct tree *tree)
{
	size_t rows = tree->rows->many.count, depth = 1;
	struct step *steps = xcalloc(rows + 1, sizeof(*steps));

	steps[0] = (struct step){ .row = NO_PARENT };
	while (depth > 0) {
		struct step *step = &steps[depth - 1];
		size_t child = next_child(tree, step->row, step->next);

		str_truncate(&tree->prefix, step->prefix_len);
		if (child == rows) {
			depth--;
			continue;
		}
		bool is_last = next_child(tree, step->row, child + 1) == rows;

		add_row(tree, tree->rows->many.items[child], is_last);
		step->next = child + 1;
		if (depth < INDENT_MAX)
			str_add(&tree->prefix, is_last ? "    " : "|   ");
		steps[depth++] = (struct step){ .row = child, .prefix_len = tree->prefix.len };
	}
	free(steps);
}

int op_snaps_run(struct op_call *call, struct error *err)
{
	struct tree tree = { .out = &call->text, .prefix = STR_INIT };
	size_t count;

	if (op_want_words(call, 1, 1, err) < 0 ||
	    app_snaps(call->words.items[0], &call->answer, err) < 0)
		return -1;
	tree.rows = call->answer;
	count = call->answer->many.count;
	tree.parents = xcalloc(count + 1, sizeof(*tree.parents));
	for (size_t i = 0; i < count; i++)
		tree.parents[i] = parent_of(call->answer, i);
	str_addf(&call->text, "%s, as cloned\n", call->words.items[0]);
	add_tree(&tree);
	str_done(&tree.prefix);
	free(tree.parents);
	if (count == 0)
		str_addf(&call->text, "no snapshots yet (aisbx snap %s makes one)\n",
			 call->words.items[0]);
	return 0;
}
