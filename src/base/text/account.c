/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts by name and number. The C library's own look-ups load plug-ins, and read the files of the wrong root. */
#include "base/text/account.h"

#include "base/core/own.h"
#include "base/core/str.h"

#include <stdbool.h>
#include <string.h>

#define NUMBER_DIGITS 10
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define DIGITS "0123456789"

/* A part of a text. */
struct piece {
	const char *at;
	size_t len;
};

static bool is_number(struct piece piece)
{
	return piece.len > 0 && piece.len <= NUMBER_DIGITS && strspn(piece.at, DIGITS) >= piece.len;
}

static bool is_name(struct piece piece)
{
	size_t len = piece.len;

	/* As Samba has those of machines. */
	if (len > 1 && piece.at[len - 1] == '$')
		len--;
	return len > 0 && piece.len <= ACCOUNT_NAME_MAX && strchr(LETTERS, piece.at[0]) &&
	       strspn(piece.at, LETTERS DIGITS ".-") >= len;
}

/* Whether it fits 32 bits. */
static bool read_number(struct piece piece, uint32_t *ret_number)
{
	uint64_t number = 0;

	if (!is_number(piece))
		return false;
	for (size_t i = 0; i < piece.len; i++)
		number = number * 10 + (uint64_t)(piece.at[i] - '0');
	*ret_number = (uint32_t)number;
	return number <= UINT32_MAX;
}

/* The group's part is empty where there is none. */
static void split(const char *word, struct piece *ret_user, struct piece *ret_group)
{
	size_t len = strcspn(word, ":");
	const char *rest = word[len] ? word + len + 1 : word + len;

	*ret_user = (struct piece){ word, len };
	*ret_group = (struct piece){ rest, strlen(rest) };
}

int account_check(const char *word, struct error *err)
{
	struct piece user, group;
	char shown[STR_SHOWN_SIZE];

	split(word, &user, &group);
	bool has_group = word[user.len] == ':';

	if ((is_number(user) || is_name(user)) &&
	    (!has_group || is_number(group) || is_name(group)))
		return 0;
	return error_advise(err, ERROR_USAGE, "give ID or ID:GID, each a number or a name",
			    "--user: '%s' is neither a number nor a name", str_shown(word, shown));
}

/* Field INDEX of LINE. */
static bool take_field(struct piece line, unsigned index, struct piece *ret_field)
{
	for (;; index--) {
		const char *colon = memchr(line.at, ':', line.len);
		size_t len = colon ? (size_t)(colon - line.at) : line.len;

		if (index == 0) {
			*ret_field = (struct piece){ line.at, len };
			return true;
		}
		if (!colon)
			return false;
		line = (struct piece){ colon + 1, line.len - len - 1 };
	}
}

static bool is_same(struct piece a, struct piece b)
{
	return a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
}

/* Of both files: the name is field 0, the number field 2, and something is behind it. */
static bool line_fits(struct piece line, struct piece word)
{
	struct piece name, number, more;
	uint32_t wanted, found;

	if (!take_field(line, 0, &name) || !take_field(line, 2, &number) ||
	    !take_field(line, 3, &more) || !is_name(name) || !read_number(number, &found))
		return false;
	return is_number(word) ? read_number(word, &wanted) && wanted == found
			       : is_same(name, word);
}

static bool find_line(const char *text, struct piece word, struct piece *ret_line)
{
	while (*text) {
		size_t len = strcspn(text, "\n");
		struct piece line = { text, len };

		if (line_fits(line, word)) {
			*ret_line = line;
			return true;
		}
		text += len + (text[len] == '\n');
	}
	return false;
}

static int find_number(const char *what, const char *text, struct piece word, uint32_t *ret_number,
		       struct error *err)
{
	struct piece line, field;

	if (is_number(word)) {
		if (read_number(word, ret_number))
			return 0;
		return error_set(err, ERROR_DENIED, "--user: %.*s is more than any id",
				 (int)word.len, word.at);
	}
	if (find_line(text, word, &line) && take_field(line, 2, &field) &&
	    read_number(field, ret_number))
		return 0;
	return error_set(err, ERROR_DENIED, "--user: the sandbox's %s has no '%.*s'", what,
			 (int)word.len, word.at);
}

static char *copy(struct piece piece)
{
	return xstrndup(piece.at, piece.len);
}

/* Of the line in passwd. */
static void take_line(struct piece line, struct account *account)
{
	struct piece field;

	if (take_field(line, 3, &field))
		(void)read_number(field, &account->gid);
	if (take_field(line, 0, &field))
		account->name = copy(field);
	if (take_field(line, 5, &field) && field.len > 0 && field.at[0] == '/')
		account->home = copy(field);
}

int account_find(const char *word, const char *passwd, const char *group,
		 struct account *ret_account, struct error *err)
{
	owned(account_done) struct account account = { 0 };
	struct piece user, of_group, line;

	if (account_check(word, err) < 0)
		return -1;
	split(word, &user, &of_group);
	if (find_number("/etc/passwd", passwd, user, &account.uid, err) < 0)
		return -1;
	account.gid = account.uid;
	if (find_line(passwd, user, &line))
		take_line(line, &account);
	if (of_group.len > 0 && find_number("/etc/group", group, of_group, &account.gid, err) < 0)
		return -1;
	if (!account.name)
		account.name = xasprintf("%u", account.uid);
	if (!account.home)
		account.home = xstrdup("/");
	*ret_account = account;
	account = (struct account){ 0 };
	return 0;
}

void account_done(struct account *account)
{
	free(account->name);
	free(account->home);
	*account = (struct account){ 0 };
}
