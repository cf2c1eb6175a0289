/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Build tool: turns profiles/NAME.yaml into the table of built-in profiles.
 *
 * The hot program has no YAML parser, so what the files say is read here and written down as pairs of
 * words; `extends` becomes the parent's pairs in front. The tool needs no more than base, so that it
 * also builds when the target is another machine; tests/unit/test-profile.c compares the outcome with
 * what the parser makes of the same files.
 */
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/core/value.h"
#include "base/text/yaml.h"

#include <fcntl.h>
#include <string.h>

#define MAX_PROFILES 16

struct source {
	const char *path;
	struct str text;
	struct value *tree;
};

struct sources {
	struct source items[MAX_PROFILES];
	size_t count;
};

static const struct source *find_source(const struct sources *sources, const char *name)
{
	for (size_t i = 0; i < sources->count; i++)
		if (strcmp(value_get_text(sources->items[i].tree, "name"), name) == 0)
			return &sources->items[i];
	return NULL;
}

/* A profile stands behind the one it extends on the command line, so that one is there already. */
static int read_source(struct sources *sources, const char *path, struct error *err)
{
	struct source *source = &sources->items[sources->count];
	const char *parent;

	if (sources->count == MAX_PROFILES)
		return error_set(err, ERROR_INPUT, "too many built-in profiles");
	source->path = path;
	if (file_read(AT_FDCWD, path, YAML_MAX_BYTES, &source->text, err) < 0 ||
	    yaml_read(str_cstr(&source->text), source->text.len, path, YAML_TEXT, &source->tree,
		      err) < 0)
		return -1;
	if (!value_get_text(source->tree, "name"))
		return error_set(err, ERROR_INPUT, "%s: no name", path);
	parent = value_get_text(source->tree, "extends");
	if (parent && !find_source(sources, parent))
		return error_set(err, ERROR_INPUT, "%s: '%s' is not known yet", path, parent);
	sources->count++;
	return 0;
}

/* A C string literal; odd bytes are written in octal, three digits, which swallow nothing. */
static void add_literal(struct str *out, const char *text, size_t len)
{
	str_add_char(out, '"');
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '\n')
			str_add(out, i + 1 < len ? "\\n\"\n\t\"" : "\\n");
		else if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\' || c == '?')
			str_addf(out, "\\%03o", c);
		else
			str_add_char(out, (char)c);
	}
	str_add_char(out, '"');
}

static int add_pair(struct str *out, const struct source *source, const char *key,
		    const struct value *value, struct error *err)
{
	if (value->kind != VALUE_TEXT)
		return error_set(err, ERROR_INPUT, "%s:%u: '%s' is too deep for a built-in profile",
				 source->path, value->line, key);
	str_addf(out, "\t{ \"%s\", ", key);
	add_literal(out, value->text.bytes, value->text.len);
	str_add(out, " },\n");
	return 0;
}

static int add_entries(struct str *out, const struct source *source, const char *key,
		       const struct value *value, struct error *err)
{
	if (value->kind != VALUE_LIST)
		return add_pair(out, source, key, value, err);
	for (size_t i = 0; i < value->many.count; i++)
		if (add_pair(out, source, key, value->many.items[i], err) < 0)
			return -1;
	return 0;
}

static bool is_about_itself(const char *key)
{
	return strcmp(key, "name") == 0 || strcmp(key, "extends") == 0;
}

static int add_own_pairs(struct str *out, const struct source *source, struct error *err)
{
	const struct value *tree = source->tree;

	for (size_t i = 0; i < tree->many.count; i++)
		if (!is_about_itself(tree->many.keys[i]) &&
		    add_entries(out, source, tree->many.keys[i], tree->many.items[i], err) < 0)
			return -1;
	return 0;
}

/* The parent's pairs first, so that a later word replaces an earlier one. */
static int add_pairs(struct str *out, const struct sources *sources, const struct source *source,
		     struct error *err)
{
	const struct source *chain[MAX_PROFILES];
	size_t depth = 0;

	while (source && depth < MAX_PROFILES) {
		const char *parent = value_get_text(source->tree, "extends");

		chain[depth++] = source;
		source = parent ? find_source(sources, parent) : NULL;
	}
	while (depth > 0)
		if (add_own_pairs(out, chain[--depth], err) < 0)
			return -1;
	return 0;
}

/* The first line is a comment, and the comment is the summary. */
static void add_summary(struct str *out, const struct str *text)
{
	const char *start = str_cstr(text);
	const char *end = strchrnul(start, '\n');

	while (start < end && (*start == '#' || *start == ' '))
		start++;
	add_literal(out, start, (size_t)(end - start));
}

static int write_table(struct str *out, const struct sources *sources, struct error *err)
{
	str_add(out, "/* Built-in profiles, made from profiles/ by gen_builtin.c. */\n"
		     "#include \"profile/builtin.h\"\n\n");
	for (size_t i = 0; i < sources->count; i++) {
		str_addf(out, "static const struct profile_pair pairs_%zu[] = {\n", i);
		if (add_pairs(out, sources, &sources->items[i], err) < 0)
			return -1;
		str_addf(out,
			 "\t{ NULL, NULL },\n};\n\nstatic void apply_%zu(struct settings "
			 "*settings)\n"
			 "{\n\tprofile_apply_pairs(settings, pairs_%zu);\n}\n\n",
			 i, i);
	}
	str_add(out, "const struct profile_builtin profile_builtins[] = {\n");
	for (size_t i = 0; i < sources->count; i++) {
		const struct source *source = &sources->items[i];

		str_addf(out, "\t{ \"%s\",\n\t", value_get_text(source->tree, "name"));
		add_summary(out, &source->text);
		str_add(out, ",\n\t");
		add_literal(out, str_cstr(&source->text), source->text.len);
		str_addf(out, ",\n\tapply_%zu },\n", i);
	}
	str_add(out, "\t{ .name = NULL },\n};\n");
	return 0;
}

static int write_file(const char *path, const struct str *text, struct error *err)
{
	owned(fd_close) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || fd_write_all(fd, str_cstr(text), text->len) < 0)
		return error_errno(err, ERROR_HOST, "%s", path);
	return 0;
}

static void sources_done(struct sources *sources)
{
	for (size_t i = 0; i < MAX_PROFILES; i++) {
		str_done(&sources->items[i].text);
		value_free(sources->items[i].tree);
	}
}

/* gen-builtin OUTPUT PROFILE... */
int main(int argc, char **argv)
{
	owned(sources_done) struct sources sources = { .count = 0 };
	owned(str_done) struct str out = STR_INIT;
	struct error err = { .code = ERROR_NONE };
	int result = argc > 2 ? 0 : error_set(&err, ERROR_USAGE, "gen-builtin OUTPUT PROFILE...");

	for (int i = 2; result == 0 && i < argc; i++)
		result = read_source(&sources, argv[i], &err);
	if (result == 0)
		result = write_table(&out, &sources, &err);
	if (result == 0)
		result = write_file(argv[1], &out, &err);
	if (result < 0) {
		(void)fd_write_all(STDERR_FILENO, err.text, strlen(err.text));
		(void)fd_write_all(STDERR_FILENO, "\n", 1);
	}
	return result < 0 ? 1 : 0;
}
