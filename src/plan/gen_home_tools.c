/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Build-time generator: home_tools.tsv in, a C file with the lists of HOME of mask_list.h out.
 *
 * Runs on the build machine. A row that is not understood, a name that stands twice, and a shown directory inside another
 * one stop the build.
 */
#include "base/gen/gen_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 1000
#define FIELDS 4

struct list {
	char *items[NAMES_MAX];
	size_t count;
};

/* Clean, relative, and nothing that C would have to escape. */
static bool is_name(const char *text, bool may_have_star)
{
	char previous = '/';

	for (const char *at = text; *at; previous = *at++) {
		if (*at <= ' ' || *at == '"' || *at == '\\' || (*at == '*' && !may_have_star) ||
		    (*at == '/' && previous == '/'))
			return false;
	}
	return previous != '/' && !strstr(text, "..");
}

static bool add_names(struct list *list, char *field, bool may_have_star)
{
	char *rest = NULL;

	if (strcmp(field, "-") == 0)
		return true;
	for (char *text = strtok_r(field, " ", &rest); text; text = strtok_r(NULL, " ", &rest)) {
		if (list->count == NAMES_MAX || !is_name(text, may_have_star))
			return false;
		list->items[list->count++] = strdup(text);
	}
	return true;
}

struct lists {
	struct list shown, hidden;
	struct list caches; /* "TOOL", "NAME", in the order of the rows */
};

/* The tool's name becomes part of a file's. */
static bool add_caches(struct list *list, const char *tool, char *field)
{
	static struct list names;
	bool is_word = tool[strspn(tool, "abcdefghijklmnopqrstuvwxyz-")] == '\0';

	names.count = 0;
	if (!add_names(&names, field, false) || (names.count > 0 && !is_word))
		return false;
	for (size_t i = 0; i < names.count; i++) {
		if (list->count + 2 > NAMES_MAX)
			return false;
		list->items[list->count++] = strdup(tool);
		list->items[list->count++] = names.items[i];
	}
	return true;
}

static bool add_row(char **fields, void *cookie)
{
	struct lists *lists = cookie;

	return add_names(&lists->shown, fields[1], false) &&
	       add_names(&lists->hidden, fields[2], true) &&
	       add_caches(&lists->caches, fields[0], fields[3]);
}

static bool is_within(const char *name, const char *dir)
{
	size_t len = strlen(dir);

	return strncmp(name, dir, len) == 0 && (name[len] == '/' || !name[len]);
}

static bool is_shown(const struct list *shown, const char *name)
{
	for (size_t i = 0; i < shown->count; i++) {
		if (is_within(name, shown->items[i]))
			return true;
	}
	return false;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorted, so that a second one is found, and so that the same rows always make the same program. */
static int check(struct list *list, bool may_nest)
{
	qsort(list->items, list->count, sizeof(list->items[0]), compare_names);
	for (size_t i = 0; i < list->count; i++) {
		for (size_t k = 0; k < i; k++) {
			if (strcmp(list->items[i], list->items[k]) == 0 ||
			    (!may_nest && is_within(list->items[i], list->items[k]))) {
				fprintf(stderr, "%s stands twice\n", list->items[i]);
				return -1;
			}
		}
	}
	return 0;
}

static bool has_middle_pattern(const char *name)
{
	const char *star = strchr(name, '*');

	return star && strchr(star, '/');
}

enum part { ALL, PLAIN, OUTSIDE, INSIDE };

static bool is_part(const char *name, const struct list *shown, enum part part)
{
	switch (part) {
	case PLAIN:
		return !has_middle_pattern(name);
	case OUTSIDE:
		return !is_shown(shown, name);
	case INSIDE:
		return is_shown(shown, name);
	case ALL:
		break;
	}
	return true;
}

static void write_list(const char *table, const struct list *names, const struct list *shown,
		       enum part part)
{
	printf("const char *const %s[] = {\n", table);
	for (size_t i = 0; i < names->count; i++) {
		if (is_part(names->items[i], shown, part))
			printf("\t\"%s\",\n", names->items[i]);
	}
	puts("\tNULL,\n};\n");
}

/* Outside what is shown only a last part may be a pattern: the masks of a whole home know no others. */
static int check_patterns(const struct list *hidden, const struct list *shown)
{
	for (size_t i = 0; i < hidden->count; i++) {
		if (has_middle_pattern(hidden->items[i]) && !is_shown(shown, hidden->items[i])) {
			fprintf(stderr, "%s: a pattern in the middle of what is not shown\n",
				hidden->items[i]);
			return -1;
		}
	}
	return 0;
}

static void write_caches(const struct list *caches)
{
	puts("const struct plan_cache plan_caches[] = {");
	for (size_t i = 0; i < caches->count; i += 2)
		printf("\t{ \"%s\", \"%s\" },\n", caches->items[i], caches->items[i + 1]);
	puts("\t{ NULL, NULL },\n};");
}

static void free_list(struct list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i]);
}

int main(int argc, char **argv)
{
	static struct lists lists;
	struct list *shown = &lists.shown, *hidden = &lists.hidden;

	if (argc != 2 || gen_rows_read(argv[1], FIELDS, add_row, &lists) < 0 ||
	    check(shown, false) < 0 || check(hidden, true) < 0 || check_patterns(hidden, shown) < 0)
		return 1;
	puts("/* Generated by gen_home_tools.c from home_tools.tsv. */");
	puts("#include \"plan/cache.h\"\n#include \"plan/mask_list.h\"\n\n#include <stddef.h>\n");
	write_list("mask_home_kept", shown, shown, ALL);
	write_list("mask_home_hidden", hidden, shown, PLAIN);
	write_list("mask_home_outside", hidden, shown, OUTSIDE);
	write_list("mask_tool_hidden", hidden, shown, INSIDE);
	write_caches(&lists.caches);
	free_list(&lists.caches);
	free_list(shown);
	free_list(hidden);
	return 0;
}
