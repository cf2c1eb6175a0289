/* What $NAME and ${NAME...} stand for, as far as the text itself says it. */
#include "base/own.h"
#include "scan/fold.h"
#include "scan/shell_word.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A name and what stands behind it up to the closing brace. */
struct expansion {
	const char *name;
	size_t name_len;
	char *rest; /* "" where the whole value is meant */
};

static void expansion_done(struct expansion *expansion)
{
	free_ptr(&expansion->rest);
}

static void split(const char *text, size_t len, struct expansion *ret)
{
	const char *name = text + 1, *end = text + len;
	bool is_braced = len > 3 && *name == '{';
	size_t name_len = 0;

	name += is_braced;
	end -= is_braced;
	while (name + name_len < end &&
	       (isalnum((unsigned char)name[name_len]) || name[name_len] == '_'))
		name_len++;
	*ret = (struct expansion){
		name, name_len,
		is_braced ? xstrndup(name + name_len, (size_t)(end - name) - name_len) : xstrdup("")
	};
}

static bool is_named(const struct expansion *expansion, const char *name)
{
	return strlen(name) == expansion->name_len &&
	       strncmp(name, expansion->name, expansion->name_len) == 0;
}

/* Of these the value is not known, but it begins with a slash everywhere. */
static bool is_absolute(const struct expansion *expansion)
{
	return is_named(expansion, "PATH") || is_named(expansion, "PWD") ||
	       is_named(expansion, "SHELL") || is_named(expansion, "BASH") ||
	       is_named(expansion, "OLDPWD") || is_named(expansion, "HOME");
}

/* ${x:2:3} */
static void add_slice(const char *value, const char *rest, struct str *out)
{
	size_t len = strlen(value);
	char *end;
	unsigned long from = strtoul(rest, &end, 10);
	unsigned long count = *end == ':' ? strtoul(end + 1, &end, 10) : len;

	if (*end) {
		str_add_char(out, FOLD_GAP);
		return;
	}
	if (from < len)
		str_add_bytes(out, value + from, count < len - from ? count : len - from);
}

/* ${x[2]}, of a list that is kept with blanks between its items. */
static void add_item(const char *value, const char *rest, struct str *out)
{
	char *end;
	unsigned long index = strtoul(rest, &end, 10);

	if (strcmp(end, "]") != 0) {
		str_add_char(out, FOLD_GAP);
		return;
	}
	while (index-- > 0 && *value) {
		value += strcspn(value, " ");
		value += *value == ' ';
	}
	str_add_bytes(out, value, strcspn(value, " "));
}

/* ${x//a/b} and ${x/a/b}, of plain letters. */
static void add_replaced(const char *value, const char *rest, struct str *out)
{
	bool is_all = rest[0] == '/';
	const char *old = rest + is_all, *slash = strchr(old, '/'), *found;
	const char *new = slash ? slash + 1 : "";
	owned(free_ptr) char *wanted = xstrndup(old, slash ? (size_t)(slash - old) : strlen(old));

	if (!*wanted || strpbrk(wanted, "*?[$\\") || strpbrk(new, "$\\")) {
		str_add_char(out, FOLD_GAP);
		return;
	}
	while ((found = strstr(value, wanted))) {
		str_add_bytes(out, value, (size_t)(found - value));
		str_add(out, new);
		value = found + strlen(wanted);
		if (!is_all)
			break;
	}
	str_add(out, value);
}

/* ${x,,} and ${x^^} */
static void add_cased(const char *value, bool is_upper, struct str *out)
{
	for (; *value; value++)
		str_add_char(out, (char)(is_upper ? toupper((unsigned char)*value)
						  : tolower((unsigned char)*value)));
}

static void add_changed(const char *value, const char *rest, struct str *out)
{
	if (!*rest || strcmp(rest, "[@]") == 0 || strcmp(rest, "[*]") == 0)
		str_add(out, value);
	else if (rest[0] == ':' && isdigit((unsigned char)rest[1]))
		add_slice(value, rest + 1, out);
	else if (strcmp(rest, ",,") == 0 || strcmp(rest, "^^") == 0)
		add_cased(value, rest[0] == '^', out);
	else if (rest[0] == '[')
		add_item(value, rest + 1, out);
	else if (rest[0] == '/')
		add_replaced(value, rest + 1, out);
	else
		str_add_char(out, FOLD_GAP);
}

void shell_expansion_add(struct shell *shell, const char *text, size_t len, struct str *out)
{
	owned(expansion_done) struct expansion expansion;
	const struct meaning *meaning = NULL;

	split(text, len, &expansion);
	(void)meanings_look_up(&shell->variables, expansion.name, expansion.name_len, &meaning);
	meaning = meaning_of_kind(meaning, MEANS_TEXT);
	if (is_named(&expansion, "IFS"))
		str_add_char(out, ' ');
	else if (strcmp(expansion.rest, ":0:1") == 0 && is_absolute(&expansion))
		str_add_char(out, '/');
	else if (is_named(&expansion, "HOME"))
		str_add(out, "$HOME");
	else if (meaning)
		add_changed(meaning->text, expansion.rest, out);
	else
		str_add_char(out, FOLD_GAP);
}
