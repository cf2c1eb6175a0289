/* SPDX-License-Identifier: Apache-2.0 */
/* Git configurations: read as git reads them, rewritten without what runs or is secret. */
#include "base/core/own.h"
#include "plan/git_config.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <string.h>

static void finds(const char *text, const char *want, const char *what)
{
	owned(str_done) struct str config = STR_INIT;
	owned(free_ptr) char *found = NULL;

	str_add(&config, text);
	found = git_config_find(&config, "core", "worktree");
	tap_ok(want ? found && strcmp(found, want) == 0 : !found, "%s", what);
}

static void cleans(const char *text, const char *want, const char *what)
{
	owned(str_done) struct str config = STR_INIT, clean = STR_INIT;
	int status;

	str_add(&config, text);
	status = git_config_clean(&config, &clean);
	tap_ok(want ? status == 0 && strcmp(str_cstr(&clean), want) == 0 : status < 0, "%s", what);
}

int main(void)
{
	finds("[core]\n\tworktree = /a b \n", "/a b", "blanks around a value are none of it");
	finds("[CORE] WorkTree=\"/a \" ; x\n", "/a ", "quotes keep them, comments end a value");
	finds("[core]\nworktree = a\\\nb\\tc\n", "ab\tc", "lines go on, letters are escaped");
	finds("[core]\nworktree = a\n[core]\nworktree = b\n", "b", "the last value counts");
	finds("[core \"x\"]\nworktree = a\n", NULL, "another section is another setting");
	finds("[core]\n# worktree = a\n[user]\nworktree = b\n", NULL, "so is a comment");
	cleans("[core]\n\tbare\n\tfsmonitor = x\n", "[core]\n\tbare = \"true\"\n",
	       "what runs is left out");
	cleans("[user]\n\tname = a\\n[core]\\npager=x\n", "[user]\n\tname = \"a[core]pager=x\"\n",
	       "a value stays in its line");
	cleans("[remote \"o\"]\nurl = https://u:p@h:1/x?t#f\n",
	       "[remote \"o\"]\n\turl = \"https://h:1/x\"\n",
	       "an address loses user, password and what follows it");
	cleans("[remote \"o\"]\nurl = u:p@h:x\n", "[remote \"o\"]\n\turl = \"h:x\"\n",
	       "also in its short form");
	cleans("[remote \"o\"]\nurl = https://u:p/q@h/x\n", "",
	       "one that may still have a password is left out");
	cleans("[remote \"o\"]\nurl = ext::sh -c x\npushurl = -x\n", "",
	       "and one that names a program");
	cleans("[remote \"o\"]\nurl = /srv/a@b\n", "[remote \"o\"]\n\turl = \"/srv/a@b\"\n",
	       "a path is a path");
	cleans("[branch \"b\"]\nremote = https://u:p@h/x\n[extensions]\npartialclone = "
	       "http://p@h/\n",
	       "[branch \"b\"]\n\tremote = \"https://h/x\"\n[extensions]\n\tpartialclone = "
	       "\"http://h/\"\n",
	       "an address in place of a remote's name is cleaned too");
	cleans("[remote \"https://u:p@h/x\"]\npromisor = true\nfetch = a\n",
	       "[remote \"https://h/x\"]\n\tpromisor = \"true\"\n\tfetch = \"a\"\n",
	       "and one in the name of a section");
	cleans("[remote \"https://u:p/q@h/x\"]\npromisor = true\n", "",
	       "which is left out where a password may remain");
	cleans("[user]\nname = see https://u:p@h/\n", "", "as is one behind other words");
	cleans("[submodule \"a\\\"b\"]\nupdate = !x\nactive = true\n",
	       "[submodule \"a\\\"b\"]\n\tactive = \"true\"\n",
	       "names of sections are quoted again");
	cleans("[include]\npath = x\n[includeIf \"gitdir:/\"]\npath = x\n[alias]\nx = !y\n", "",
	       "no file is included");
	cleans("[core\n", NULL, "a broken section is an error");
	cleans("[core]\nbare = \"x\n", NULL, "so are open quotes");
	cleans("bare = x\n", NULL, "and a setting without a section");
	return tap_done();
}
