/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A delta as a histogram: how many lines came and went per file, then the sum; the same as objects.
 *
 * Widths are shared out as git does it: numbers get what they need, names what is left of five eighths of the line when
 * there is a long bar, and the bars the rest.
 */
#include "workspace/patch/patch_parts.h"

#include "base/core/own.h"

#include <string.h>

#define COLUMNS_DEFAULT 80
#define COLUMNS_MAX 1000
#define FRAME 6 /* blanks, the bar between name and number, and one column that stays free */
#define GRAPH_MIN 6
#define NAME_MIN 16

struct row {
	char *name;
	size_t added, removed;
	bool is_binary; /* then the two are sizes in bytes: new and old */
};

struct rows {
	struct row *items;
	size_t count;
};

struct widths {
	size_t name, number, graph;
	size_t largest; /* change of any row, which fills the graph */
};

static void rows_done(struct rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		free(rows->items[i].name);
	free(rows->items);
}

/* "a/{old => new}/c": what both names share stands once. */
static void add_rename(struct str *out, const char *from, const char *to)
{
	size_t head = 0, from_len = strlen(from), to_len = strlen(to), tail = 0;

	for (size_t i = 0; from[i] && from[i] == to[i]; i++) {
		if (from[i] == '/')
			head = i + 1;
	}
	/* The slash before the brace may be the one behind it: "a/{b => }/c". */
	size_t floor = head > 0 ? head - 1 : 0;

	for (size_t i = 1;
	     from_len - i >= floor && to_len - i >= floor && from[from_len - i] == to[to_len - i];
	     i++) {
		if (from[from_len - i] == '/')
			tail = i;
		if (from_len == i || to_len == i)
			break;
	}
	if (head + tail == 0) {
		str_addf(out, "%s => %s", from, to);
		return;
	}
	size_t from_end = from_len - tail, to_end = to_len - tail;
	size_t from_mid = from_end > head ? from_end - head : 0;
	size_t to_mid = to_end > head ? to_end - head : 0;

	str_add_bytes(out, from, head);
	str_add_char(out, '{');
	str_add_bytes(out, from + head, from_mid);
	str_add(out, " => ");
	str_add_bytes(out, to + head, to_mid);
	str_add_char(out, '}');
	str_add_bytes(out, to + to_len - tail, tail);
}

static char *row_name(const struct patch_run *run, const struct delta_entry *entry)
{
	struct str name = STR_INIT, from = STR_INIT, to = STR_INIT;

	patch_quote(&to, "", patch_name(entry->path, run->options->workspace));
	if (entry->from) {
		patch_quote(&from, "", patch_name(entry->from, run->options->workspace));
		/* Quoted names share their quotes: such a pair is written out. */
		if (*str_cstr(&from) == '"' || *str_cstr(&to) == '"')
			str_addf(&name, "%s => %s", str_cstr(&from), str_cstr(&to));
		else
			add_rename(&name, str_cstr(&from), str_cstr(&to));
	} else {
		str_add(&name, str_cstr(&to));
	}
	str_done(&from);
	str_done(&to);
	return str_detach(&name);
}

/* Counts lines; files that are no text, or too large for it, count in bytes. */
static void count_changes(const struct patch_run *run, const struct delta_entry *entry,
			  struct row *row)
{
	static const struct delta_side absent;
	owned(patch_content_done) struct patch_content old, new;

	patch_content_read(run, patch_is_content(&entry->old) ? &entry->old : &absent, &old);
	patch_content_read(run, patch_is_content(&entry->new) ? &entry->new : &absent, &new);
	if (patch_content_equal(&old, &new))
		return;
	if (old.kind == PATCH_TEXT && new.kind == PATCH_TEXT) {
		owned(text_done) struct text a = { 0 }, b = { 0 };

		text_split(&a, str_cstr(&old.bytes), old.bytes.len);
		text_split(&b, str_cstr(&new.bytes), new.bytes.len);
		textdiff_stat(&a, &b, &row->added, &row->removed);
		return;
	}
	row->is_binary = true;
	row->added = (size_t) new.size;
	row->removed = (size_t)old.size;
}

static void rows_read(const struct patch_run *run, struct rows *rows)
{
	rows->items = xcalloc(run->count, sizeof(*rows->items));
	for (size_t i = 0; i < run->count; i++) {
		struct row *row = &rows->items[rows->count++];

		row->name = row_name(run, run->entries[i]);
		count_changes(run, run->entries[i], row);
	}
}

static size_t digits_of(size_t number)
{
	size_t digits = 1;

	while (number >= 10) {
		number /= 10;
		digits++;
	}
	return digits;
}

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Columns of "Bin 12 -> 3456 bytes". */
static size_t binary_width(const struct row *row)
{
	return strlen("Bin  ->  bytes") + digits_of(row->added) + digits_of(row->removed);
}

static void measure(const struct rows *rows, size_t columns, struct widths *ret_widths)
{
	struct widths widths = { 0 };
	size_t binary = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->items[i];

		widths.name = larger(widths.name, strlen(row->name));
		if (row->is_binary)
			binary = larger(binary, binary_width(row));
		else
			widths.largest = larger(widths.largest, row->added + row->removed);
	}
	widths.number = larger(digits_of(widths.largest), binary > 0 ? strlen("Bin") : 0);
	widths.graph = widths.largest + 4 > binary ? widths.largest : binary - 4;
	columns = larger(columns, NAME_MIN + FRAME + widths.number);
	size_t fixed = widths.number + FRAME;

	if (widths.name + fixed + widths.graph > columns) {
		size_t share = columns * 3 / 8 > fixed ? columns * 3 / 8 - fixed : 0;

		if (widths.graph > share)
			widths.graph = larger(share, GRAPH_MIN);
		if (widths.name > columns - fixed - widths.graph)
			widths.name = columns - fixed - widths.graph;
		else
			widths.graph = columns - fixed - widths.name;
	}
	*ret_widths = widths;
}

/* The end of a long name is more distinctive than its beginning; it is cut at a slash where there is one. */
static void add_name(struct str *out, const char *name, size_t width)
{
	size_t len = strlen(name), room = width;
	const char *dots = "";

	if (len > width) {
		dots = "...";
		room = width > 3 ? width - 3 : 0;
		name += len - room;
		const char *slash = strchr(name, '/');

		name = slash ? slash : name;
	}
	str_addf(out, " %s%-*s |", dots, (int)room, name);
}

/* At least one column for any change. */
static size_t scaled(size_t lines, const struct widths *widths)
{
	return lines == 0 ? 0 : 1 + lines * (widths->graph - 1) / widths->largest;
}

static void add_bar(struct str *out, const struct row *row, const struct widths *widths)
{
	size_t plus = row->added, minus = row->removed;

	if (widths->graph <= widths->largest) {
		size_t total = scaled(plus + minus, widths);

		if (total < 2 && plus && minus)
			total = 2;
		if (plus < minus) {
			plus = scaled(plus, widths);
			minus = total - plus;
		} else {
			minus = scaled(minus, widths);
			plus = total - minus;
		}
	}
	if (plus + minus > 0)
		str_add_char(out, ' ');
	while (plus-- > 0)
		str_add_char(out, '+');
	while (minus-- > 0)
		str_add_char(out, '-');
}

static void add_row(struct str *out, const struct row *row, const struct widths *widths)
{
	add_name(out, row->name, widths->name);
	if (row->is_binary) {
		str_addf(out, " %*s %zu -> %zu bytes", (int)widths->number, "Bin", row->removed,
			 row->added);
	} else {
		str_addf(out, " %*zu", (int)widths->number, row->added + row->removed);
		add_bar(out, row, widths);
	}
	str_add_char(out, '\n');
}

static void add_sum(struct str *out, const struct rows *rows)
{
	size_t added = 0, removed = 0;

	for (size_t i = 0; i < rows->count; i++) {
		added += rows->items[i].is_binary ? 0 : rows->items[i].added;
		removed += rows->items[i].is_binary ? 0 : rows->items[i].removed;
	}
	if (rows->count == 0)
		return;
	str_addf(out, " %zu file%s changed", rows->count, rows->count == 1 ? "" : "s");
	if (added > 0 || removed == 0)
		str_addf(out, ", %zu insertion%s(+)", added, added == 1 ? "" : "s");
	if (removed > 0 || added == 0)
		str_addf(out, ", %zu deletion%s(-)", removed, removed == 1 ? "" : "s");
	str_add_char(out, '\n');
}

int patch_write_stat(const struct patch_run *run)
{
	owned(rows_done) struct rows rows = { 0 };
	owned(str_done) struct str out = STR_INIT;
	size_t columns = run->options->columns ? run->options->columns : COLUMNS_DEFAULT;
	struct widths widths;

	rows_read(run, &rows);
	measure(&rows, columns < COLUMNS_MAX ? columns : COLUMNS_MAX, &widths);
	patch_add_warnings(run, &out);
	for (size_t i = 0; i < rows.count; i++) {
		add_row(&out, &rows.items[i], &widths);
		if (patch_flush(run, &out) < 0)
			return -1;
	}
	add_sum(&out, &rows);
	return patch_flush(run, &out);
}

static void add_lines(struct json *json, const char *key, const struct row *row, size_t lines)
{
	json_key(json, key);
	if (row->is_binary)
		json_write_null(json);
	else
		json_int(json, (int64_t)lines);
}

int patch_write_counts(const struct patch_run *run)
{
	owned(str_done) struct str out = STR_INIT;

	for (size_t i = 0; i < run->count; i++) {
		const struct delta_entry *entry = run->entries[i];
		struct row row = { 0 };
		struct json json;

		count_changes(run, entry, &row);
		json_init(&json, &out);
		json_open(&json, '{');
		json_key(&json, "op");
		json_text(&json, delta_op_name(entry->op));
		patch_add_raw(&json, "path", patch_name(entry->path, run->options->workspace));
		add_lines(&json, "added", &row, row.added);
		add_lines(&json, "removed", &row, row.removed);
		json_key(&json, "binary");
		json_bool(&json, row.is_binary);
		patch_add_asks(&json, run, i);
		json_close(&json, '}');
		str_add_char(&out, '\n');
		if (patch_flush(run, &out) < 0)
			return -1;
	}
	return 0;
}
