/* SPDX-License-Identifier: Apache-2.0 */
/* Long lists of paths for people: folded by directory. */
#include "ops/text/fold.h"

#include "base/core/own.h"
#include "ops/text/words.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Paths FROM to TO, sorted, which have their first LEN bytes in common. */
struct fold_row {
	size_t from, to, len;
	bool is_final; /* one path, or too many lines if it were opened */
};

struct fold {
	const char **paths;
	struct fold_row *rows;
	size_t count, lines;
};

/* What is in a directory comes right behind it. */
static int compare_paths(const void *a, const void *b)
{
	const unsigned char *one = *(const unsigned char *const *)a;
	const unsigned char *other = *(const unsigned char *const *)b;

	for (; *one && *one == *other; one++)
		other++;
	if (*one == '/' || *other == '/')
		return *one == '/' ? (*other ? -1 : 1) : (*one ? 1 : -1);
	return *one < *other ? -1 : *one > *other;
}

/* The row that begins with path FROM, one name longer than LEN bytes. */
static struct fold_row next_row(const struct fold *fold, size_t from, size_t end, size_t len)
{
	const char *path = fold->paths[from];
	/* What lies outside the workspace has a slash in front. */
	size_t start = len ? len + 1 : path[0] == '/';
	size_t own = strlen(path) <= len ? len : start + strcspn(path + start, "/");
	struct fold_row row = { .from = from, .to = from + 1, .len = own };

	while (own > len && row.to < end && strncmp(fold->paths[row.to], path, own) == 0 &&
	       (fold->paths[row.to][own] == '/' || !fold->paths[row.to][own]))
		row.to++;
	row.is_final = row.to - row.from == 1;
	if (row.is_final)
		row.len = strlen(path);
	return row;
}

/* Replaces row AT by what is in it, unless that would be too much. */
static void open_row(struct fold *fold, size_t at)
{
	struct fold_row whole = fold->rows[at];
	struct fold_row *inside = xcalloc(fold->lines + 1, sizeof(inside[0]));
	size_t count = 0;

	for (size_t from = whole.from; from < whole.to && count <= fold->lines; count++) {
		inside[count] = next_row(fold, from, whole.to, whole.len);
		from = inside[count].to;
	}
	fold->rows[at].is_final = true;
	if (fold->count - 1 + count <= fold->lines) {
		memmove(&fold->rows[at + count], &fold->rows[at + 1],
			(fold->count - at - 1) * sizeof(inside[0]));
		memcpy(&fold->rows[at], inside, count * sizeof(inside[0]));
		fold->count += count - 1;
	}
	free(inside);
}

/* The open directory with the fewest changes; COUNT of rows: none is left. */
static size_t smallest(const struct fold *fold)
{
	size_t best = fold->count, least = SIZE_MAX;

	for (size_t i = 0; i < fold->count; i++) {
		const struct fold_row *row = &fold->rows[i];

		if (row->is_final || row->to - row->from >= least)
			continue;
		best = i;
		least = row->to - row->from;
	}
	return best;
}

static void add_bytes(struct str *out, const struct fold *fold, const struct fold_row *row,
		      const char *root)
{
	int64_t bytes = 0;
	struct stat st;

	for (size_t i = row->from; i < row->to; i++) {
		owned(free_ptr) char *path = xasprintf("%s/%s", root, fold->paths[i]);

		if (lstat(path, &st) == 0 && S_ISREG(st.st_mode))
			bytes += st.st_size;
	}
	str_add(out, ", ");
	words_add_size(out, bytes);
}

static void add_row(struct str *out, const struct fold *fold, const struct fold_row *row,
		    const char *root)
{
	bool is_one = row->to - row->from == 1;
	owned(free_ptr) char *path =
		xasprintf("%.*s%s", (int)row->len, fold->paths[row->from], is_one ? "" : "/");

	str_add(out, "  ");
	words_add_path(out, path);
	if (!is_one) {
		str_addf(out, "  %zu changes", row->to - row->from);
		if (root)
			add_bytes(out, fold, row, root);
	}
	str_add_char(out, '\n');
}

void fold_add_paths(struct str *out, const struct strv *paths, size_t lines, const char *root)
{
	struct fold fold = { .lines = lines && lines < paths->count ? lines : paths->count };
	size_t seen = 0;

	if (paths->count == 0)
		return;
	fold.paths = xcalloc(paths->count, sizeof(fold.paths[0]));
	for (size_t i = 0; i < paths->count; i++)
		fold.paths[i] = paths->items[i];
	qsort(fold.paths, paths->count, sizeof(fold.paths[0]), compare_paths);
	fold.rows = xcalloc(fold.lines + 1, sizeof(fold.rows[0]));
	/* The names at the top, as far as there is room. */
	while (seen < paths->count && fold.count < fold.lines) {
		fold.rows[fold.count] = next_row(&fold, seen, paths->count, 0);
		seen = fold.rows[fold.count++].to;
	}
	for (size_t at; seen == paths->count && (at = smallest(&fold)) < fold.count;)
		open_row(&fold, at);
	for (size_t i = 0; i < fold.count; i++)
		add_row(out, &fold, &fold.rows[i], root);
	if (seen < paths->count)
		str_addf(out, "  and %zu more\n", paths->count - seen);
	if (lines && lines < paths->count)
		str_add(out, "  (--all lists each)\n");
	free(fold.paths);
	free(fold.rows);
}
