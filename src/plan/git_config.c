/* SPDX-License-Identifier: Apache-2.0 */
/* Git configuration as text: looked into, and rewritten for a sandbox. */
#include "plan/git_config.h"

#include "base/core/own.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NAME_SIZE 64

/* A configuration under way, and the setting that was read last. */
struct reader {
	const char *at, *end;
	char section[NAME_SIZE]; /* in lower case, as keys are */
	struct str sub;		 /* `[section "sub"]`; empty: none */
	char key[NAME_SIZE];
	struct str value; /* "true" for a key alone */
};

static void reader_done(struct reader *reader)
{
	str_done(&reader->sub);
	str_done(&reader->value);
}

static int peek(const struct reader *reader)
{
	return reader->at < reader->end ? (unsigned char)*reader->at : -1;
}

static void skip_blanks(struct reader *reader)
{
	while (peek(reader) == ' ' || peek(reader) == '\t' || peek(reader) == '\r')
		reader->at++;
}

static void skip_line(struct reader *reader)
{
	while (peek(reader) >= 0 && peek(reader) != '\n')
		reader->at++;
}

/* A word of letters, digits and dashes, folded to lower case; -1: there is none, or it is too long. */
static int read_name(struct reader *reader, char ret_name[static NAME_SIZE])
{
	size_t len = 0;

	while (peek(reader) >= 0 && (isalnum(peek(reader)) || peek(reader) == '-')) {
		if (len + 1 == NAME_SIZE)
			return -1;
		ret_name[len++] = (char)tolower(peek(reader));
		reader->at++;
	}
	ret_name[len] = '\0';
	return len > 0 ? 0 : -1;
}

/* What is between the quotes of a section's second name. */
static int read_quoted(struct reader *reader)
{
	for (reader->at++; peek(reader) != '"'; reader->at++) {
		if (peek(reader) == '\\')
			reader->at++;
		if (peek(reader) <= 0 || peek(reader) == '\n')
			return -1;
		str_add_char(&reader->sub, (char)peek(reader));
	}
	reader->at++;
	return 0;
}

/* The old form, [section.sub]. */
static int read_dotted(struct reader *reader)
{
	for (reader->at++; peek(reader) != ']'; reader->at++) {
		if (peek(reader) < 0 || (!isalnum(peek(reader)) && !strchr("-.", peek(reader))))
			return -1;
		str_add_char(&reader->sub, (char)tolower(peek(reader)));
	}
	return 0;
}

static int read_section(struct reader *reader)
{
	reader->at++;
	str_clear(&reader->sub);
	if (read_name(reader, reader->section) < 0 ||
	    (peek(reader) == '.' && read_dotted(reader) < 0))
		return -1;
	skip_blanks(reader);
	if (peek(reader) == '"' && read_quoted(reader) < 0)
		return -1;
	if (peek(reader) != ']')
		return -1;
	reader->at++;
	return 0;
}

/* Adds what stands behind a backslash; nothing for the end of a line, which goes on in the next one. */
static int read_escaped(struct reader *reader)
{
	static const char letters[] = "ntb\"\\", meanings[] = "\n\t\b\"\\";
	const char *found;

	reader->at++;
	if (peek(reader) == '\r' && reader->at + 1 < reader->end && reader->at[1] == '\n')
		reader->at++;
	if (peek(reader) == '\n')
		return 0;
	found = peek(reader) > 0 ? strchr(letters, peek(reader)) : NULL;
	if (!found)
		return -1;
	str_add_char(&reader->value, meanings[found - letters]);
	return 0;
}

static int read_value(struct reader *reader)
{
	bool is_quoted = false;
	size_t kept = 0; /* blanks at the end that stand outside of quotes are none of it */

	str_clear(&reader->value);
	skip_blanks(reader);
	for (; peek(reader) >= 0 && peek(reader) != '\n'; reader->at++) {
		int letter = peek(reader);

		if (letter == 0 || (letter == '\\' && read_escaped(reader) < 0))
			return -1;
		if (!is_quoted && (letter == '#' || letter == ';')) {
			skip_line(reader);
			break;
		}
		if (letter == '"')
			is_quoted = !is_quoted;
		else if (letter != '\\')
			str_add_char(&reader->value, (char)letter);
		if (is_quoted || !strchr(" \t\r", letter))
			kept = reader->value.len;
	}
	str_truncate(&reader->value, kept);
	return is_quoted ? -1 : 0;
}

/* 1 and the next setting, 0 at the end, -1 for what git refuses as well. */
static int next_setting(struct reader *reader)
{
	while (peek(reader) >= 0) {
		skip_blanks(reader);
		if (peek(reader) == '\n') {
			reader->at++;
		} else if (peek(reader) == '#' || peek(reader) == ';') {
			skip_line(reader);
		} else if (peek(reader) == '[') {
			if (read_section(reader) < 0)
				return -1;
		} else if (peek(reader) >= 0) {
			break;
		}
	}
	if (peek(reader) < 0)
		return 0;
	if (!reader->section[0] || !isalpha(peek(reader)) || read_name(reader, reader->key) < 0)
		return -1;
	skip_blanks(reader);
	str_clear(&reader->value);
	if (peek(reader) == '=') {
		reader->at++;
		return read_value(reader) < 0 ? -1 : 1;
	}
	str_add(&reader->value, "true");
	if (peek(reader) == '#' || peek(reader) == ';')
		skip_line(reader);
	return peek(reader) < 0 || peek(reader) == '\n' ? 1 : -1;
}

static void reader_init(struct reader *reader, const struct str *text)
{
	*reader = (struct reader){ .at = str_cstr(text), .end = str_cstr(text) + text->len };
	if (str_starts(reader->at, "\xef\xbb\xbf"))
		reader->at += 3;
}

char *git_config_find(const struct str *text, const char *section, const char *key)
{
	owned(reader_done) struct reader reader;
	char *found = NULL;

	reader_init(&reader, text);
	while (next_setting(&reader) > 0) {
		if (reader.sub.len > 0 || strcmp(reader.section, section) != 0 ||
		    strcmp(reader.key, key) != 0)
			continue;
		free(found);
		found = xstrdup(str_cstr(&reader.value));
	}
	return found;
}

/* What is shown: how a repository is stored and what its branches are, nothing that names a program or another file. */
struct shown_row {
	const char *section;
	bool has_sub;
	const char *keys; /* between blanks */
};

static const struct shown_row shown_rows[] = {
	{ "core", false,
	  " repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode "
	  "symlinks autocrlf eol safecrlf sharedrepository worktree sparsecheckout "
	  "sparsecheckoutcone quotepath abbrev " },
	{ "extensions", false,
	  " objectformat compatobjectformat noop partialclone preciousobjects relativeworktrees "
	  "worktreeconfig " },
	{ "index", false, " version sparse " },
	{ "user", false, " name email " },
	{ "branch", true, " remote merge rebase " },
	{ "remote", true, " url pushurl fetch tagopt promisor partialclonefilter " },
	{ "submodule", true, " url active branch " },
};

static bool is_shown(const struct reader *reader)
{
	char key[NAME_SIZE + 2] = " "; /* ended by the zeros behind it */
	size_t len = strlen(reader->key);

	memcpy(key + 1, reader->key, len);
	key[len + 1] = ' ';
	for (size_t i = 0; i < sizeof(shown_rows) / sizeof(shown_rows[0]); i++) {
		const struct shown_row *row = &shown_rows[i];

		if (strcmp(row->section, reader->section) == 0 &&
		    row->has_sub == (reader->sub.len > 0) && strstr(row->keys, key))
			return true;
	}
	return false;
}

/* Git takes an address wherever the name of a remote may stand. */
static bool is_address(const struct reader *reader)
{
	return strcmp(reader->key, "url") == 0 || strcmp(reader->key, "pushurl") == 0 ||
	       strstr(str_cstr(&reader->value), "://");
}

/*
 * An address without the user's name and password, and without what may be a token behind it. NULL: it is left out, since
 * it names a program ("ext::sh -c ..."), is no address, or still has a part that may be a password.
 */
static char *clean_address(const char *address)
{
	size_t scheme = strspn(address, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					"0123456789+-.");
	const char *host, *at = NULL;
	char *clean;

	if (address[0] == '-' || strncmp(address + scheme, "::", 2) == 0)
		return NULL;
	host = strncmp(address + scheme, "://", 3) == 0 ? address + scheme + 3 : address;
	for (const char *letter = host; *letter && !strchr("/?#", *letter); letter++)
		at = *letter == '@' ? letter : at;
	clean = xasprintf("%.*s%s", (int)(host - address), address, at ? at + 1 : host);
	if (host == address) {
		/* An address further behind is not looked into. */
		if (strstr(clean, "://") && strchr(clean, '@'))
			free_ptr(&clean);
		return clean;
	}
	clean[strcspn(clean, "?#")] = '\0';
	if (strchr(clean, '@'))
		free_ptr(&clean);
	return clean;
}

/* `[remote "https://user:token@host/"]` as well; false: the setting is left out. */
static bool clean_sub(struct reader *reader)
{
	owned(free_ptr) char *address = NULL;

	if (!strstr(str_cstr(&reader->sub), "://"))
		return true;
	address = clean_address(str_cstr(&reader->sub));
	if (!address)
		return false;
	str_clear(&reader->sub);
	str_add(&reader->sub, address);
	return true;
}

/* The line `KEY = "VALUE"`, quoted so that nothing in VALUE begins another line or section; nothing for NULL. */
static void add_setting(struct str *out, const char *key, const char *value)
{
	if (!value)
		return;
	str_addf(out, "\t%s = \"", key);
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			str_add_char(out, '\\');
		if ((unsigned char)*value >= 0x20)
			str_add_char(out, *value);
	}
	str_add(out, "\"\n");
}

/* The line `[SECTION "SUB"]`; without SUB for "". */
static void add_section(struct str *out, const char *section, const char *sub)
{
	str_addf(out, "[%s%s", section, *sub ? " \"" : "");
	for (const char *at = sub; *at; at++) {
		if (strchr("\"\\", *at))
			str_add_char(out, '\\');
		str_add_char(out, *at);
	}
	str_add(out, *sub ? "\"]\n" : "]\n");
}

void git_config_find_addressed(const struct str *text, const char *section, const char *key,
			       struct strv *ret_pairs)
{
	owned(reader_done) struct reader reader;

	reader_init(&reader, text);
	while (next_setting(&reader) > 0) {
		if (strcmp(reader.section, section) != 0 || strcmp(reader.key, key) != 0 ||
		    !strstr(str_cstr(&reader.sub), "://") || !clean_sub(&reader))
			continue;
		strv_add(ret_pairs, str_cstr(&reader.sub));
		strv_add(ret_pairs, str_cstr(&reader.value));
	}
}

int git_config_clean(const struct str *text, struct str *ret_clean)
{
	owned(str_done) struct str header = STR_INIT, last = STR_INIT;
	owned(reader_done) struct reader reader;
	int status;

	reader_init(&reader, text);
	while ((status = next_setting(&reader)) > 0) {
		owned(free_ptr) char *address = NULL;

		if (!is_shown(&reader) || !clean_sub(&reader))
			continue;
		if (is_address(&reader)) {
			address = clean_address(str_cstr(&reader.value));
			if (!address)
				continue;
		}
		str_clear(&header);
		add_section(&header, reader.section, str_cstr(&reader.sub));
		if (strcmp(str_cstr(&header), str_cstr(&last)) != 0) {
			str_add(ret_clean, str_cstr(&header));
			str_clear(&last);
			str_add(&last, str_cstr(&header));
		}
		add_setting(ret_clean, reader.key, address ? address : str_cstr(&reader.value));
	}
	return status;
}

char *git_config_make(const char *name, const char *email, const struct strv *authorities)
{
	struct str text = STR_INIT;

	if (!name && !email && authorities->count == 0)
		return NULL;
	str_add(&text, "[user]\n");
	add_setting(&text, "name", name);
	add_setting(&text, "email", email);
	for (size_t i = 0; i + 1 < authorities->count; i += 2) {
		add_section(&text, "http", authorities->items[i]);
		add_setting(&text, "sslCAInfo", authorities->items[i + 1]);
	}
	return str_detach(&text);
}
