/* SPDX-License-Identifier: Apache-2.0 */
/* The row of the verb about secrets. */
#include "ops/rows/rows.h"

/* In aisbx-full only: see table.c. */
#pragma weak op_secret_run

static const struct op_param params[] = {
	{ .name = "host",
	  .kind = PARAM_LIST,
	  .metavar = "HOST",
	  .help = "only for requests to this host, which nothing sends it to yet: no sandbox gets "
		  "it to read; may be repeated" },
	{ .name = "profile",
	  .kind = PARAM_LIST,
	  .metavar = "NAME",
	  .help = "only for sandboxes under this profile; may be repeated" },
	{ .name = "workspace",
	  .letter = 'C',
	  .kind = PARAM_LIST,
	  .metavar = "DIR",
	  .help = "only for sandboxes whose workspace is this directory or lies in it; may be "
		  "repeated" },
	{ .name = "passphrase",
	  .kind = PARAM_SWITCH,
	  .help = "encrypt all secrets by a passphrase from now on, instead of a key file" },
	{ .name = NULL },
};

static const struct op_column columns[] = {
	{ "name", "NAME" },	      { "scopes", "FOR" }, { "set", "SET" },
	{ "last_used", "LAST USED" }, { NULL, NULL },
};

const struct op secret_row = {
	.name = "secret",
	.usage = "set NAME [flags] | ls | rm NAME | show-use NAME",
	.words = "set|ls|rm|show-use",
	.summary = "keep credentials by name, encrypted, for runs that need them",
	.group = "Decide what is allowed",
	.flags = OP_LIBRARIES | OP_CLI_ONLY,
	.params = params,
	.columns = columns,
	.help = "set takes the value from standard input, or asks for it on a terminal\n"
		"without showing it; it is never an argument. A value has 8 bytes to 64 KiB\n"
		"and replaces the one of that name, whose scopes stay unless others are\n"
		"given. ls lists names, scopes, when each was set and last used, never a\n"
		"value. show-use lists the runs on record that were given one.\n"
		"\n"
		"All are in ~/.config/aisbx/secrets, encrypted. The key is the file\n"
		"secrets.key beside it (mode 0600, made at the first set), or comes from a\n"
		"passphrase, which the kernel's keyring keeps for 8 hours; aisbx doctor\n"
		"says which.\n"
		"\n"
		"run --secret NAME gives one to the command as a file, --secret-env VAR=NAME\n"
		"as a variable. Both are the weaker way: the command can read it, and what\n"
		"it does with it is up to the command. Output, logs and results show\n"
		"[secret NAME] instead (docs/secrets.md). The stronger way: run --inject\n"
		"HOST:HEADER=NAME puts it into requests outside, and no command holds it.\n"
		"\n"
		"Examples:\n"
		"  aisbx secret set api_token < token.txt\n"
		"  aisbx run --secret api_token -- tool --token /run/secrets/api_token\n"
		"  aisbx run --secret-env API_TOKEN=api_token -- tool\n"
		"  aisbx run --allow api.example --inject api.example:bearer=api_token -- tool\n"
		"  aisbx secret show-use api_token\n",
	.run = op_secret_run,
};
