/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts by name and number, out of files that may hold anything. */
#include "base/text/account.h"

#include "base/core/own.h"
#include "tests/tap.h"

#include <stdint.h>
#include <string.h>

static const char passwd[] = "root:x:0:0:root:/root:/bin/sh\n"
			     "short:x:7\n"
			     ":x:1:1::/:\n"
			     "bad:x:12x:3::/bad:\n"
			     "huge:x:4294967296:1::/:\n"
			     "minus:x:-1:1::/:\n"
			     "a b:x:5:5::/:\n"
			     "postgres:x:101:103:the server,,,:/var/lib/postgresql:/bin/bash\n"
			     "postgres:x:0:0:a second one:/root:/bin/sh\n"
			     "also:x:101:0::/also:\n"
			     "homeless:x:102:104::relative:\n"
			     "machine$:x:103:105::/m:\n"
			     "overflow:x:4294967295:4294967295::/o:\n"
			     "last:x:104:106::/last";
static const char group[] = "root:x:0:\nadm:x:4:last\nbroken\nadm:x:0:\nhuge:x:99999999999:\n";

/* "UID:GID NAME HOME", or "-". */
static void is_account(const char *word, const char *expected)
{
	owned(account_done) struct account account = { 0 };
	char got[200] = "-";
	struct error err;

	if (account_find(word, passwd, group, &account, &err) == 0)
		(void)snprintf(got, sizeof(got), "%u:%u %s %s", account.uid, account.gid,
			       account.name, account.home);
	tap_ok(strcmp(got, expected) == 0, "%s: %s", word, got);
}

static void test_words(void)
{
	static const char *const good[] = { "0",	  "101",      "postgres", "postgres:adm",
					    "101:4",	  "www-data", "_apt",	  "a.b",
					    "4294967295", "machine$", "x:0" };
	static const char *const bad[] = {
		"",	   ":",	       ":4",
		"101:",	   "1:2:3",    "-1",
		"+1",	   " 1",       "1 ",
		"0x10",	   "1e3",      "12345678901",
		"a b",	   "a;id",     "$(id)",
		"a\nb",	   "../root",  "a/b",
		"*",	   "a`id`",    "a'b",
		"$",	   "-x",       "1a",
		"a:$(id)", "\xc3\xa4", "abcdefghijklmnopqrstuvwxyz0123456"
	};
	struct error err;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		tap_is_int(account_check(good[i], &err), 0, "%s is a word", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_ok(account_check(bad[i], &err) < 0 && err.code == ERROR_USAGE && err.hint_at,
		       "bad word %zu is refused", i);
}

static void test_look_up(void)
{
	is_account("root", "0:0 root /root");
	is_account("0", "0:0 root /root");
	is_account("postgres", "101:103 postgres /var/lib/postgresql");
	is_account("101", "101:103 postgres /var/lib/postgresql");
	is_account("0000000101", "101:103 postgres /var/lib/postgresql");
	is_account("postgres:adm", "101:4 postgres /var/lib/postgresql");
	is_account("postgres:9", "101:9 postgres /var/lib/postgresql");
	is_account("homeless", "102:104 homeless /");
	is_account("machine$", "103:105 machine$ /m");
	is_account("last", "104:106 last /last");
	is_account("4711", "4711:4711 4711 /");
	is_account("4711:adm", "4711:4 4711 /");
	is_account("4294967295", "4294967295:4294967295 overflow /o");
	is_account("4294967296", "-");
	is_account("9999999999", "-");
	is_account("short", "-");
	is_account("bad", "-");
	is_account("huge", "-");
	is_account("minus", "-");
	is_account("unknown", "-");
	is_account("postgre", "-");
	is_account("root:huge", "-");
	is_account("root:broken", "-");
	is_account("root:unknown", "-");
}

static void test_nothing(void)
{
	owned(account_done) struct account account = { 0 };
	struct error err;

	tap_ok(account_find("5", "", "", &account, &err) == 0 && account.gid == 5,
	       "a number needs no file");
	tap_ok(account_find("root", "", "", &account, &err) < 0, "a name does");
	tap_ok(account_find("root", "\n\n::::\n:", "", &account, &err) < 0, "lines of nothing");
}

int main(void)
{
	test_words();
	test_look_up();
	test_nothing();
	return tap_done();
}
