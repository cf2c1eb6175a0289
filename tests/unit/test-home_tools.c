/* SPDX-License-Identifier: Apache-2.0 */
/* Directories of tools in HOME: what a plan shows and hides of them, and what a profile may add. */
#include "plan/parts.h"

#include "base/core/own.h"
#include "spec/mask.h"
#include "tests/unit/plan_fixture.h"

static void test_tools(void)
{
	struct fixture f;

	fixture_open(&f);
	strv_add(&f.tools.targets, "/opt/hf/token");
	strv_add(&f.tools.targets, "/usr/lib");
	fixture_must_plan(&f);
	tap_ok(mask_shows(&f.spec, "/home/u/.cache/huggingface/hub/model"), "a cache is seen");
	tap_ok(!mask_shows(&f.spec, "/home/u/.cache/huggingface/token"), "not the token in it");
	tap_ok(!mask_shows(&f.spec, "/home/u/.cache/ms-playwright/mcp-chrome/Cookies") &&
		       mask_shows(&f.spec, "/home/u/.cache/ms-playwright/chromium/chrome"),
	       "nor what a pattern stands for");
	tap_ok(!mask_shows(&f.spec, "/opt/hf/token"), "where a link leads, it is hidden as well");
	tap_ok(mask_shows(&f.spec, "/usr/lib/x"), "but nothing that every sandbox needs");
	fixture_flag(&f, "home", "full");
	fixture_must_plan(&f);
	tap_ok(!mask_shows(&f.spec, "/home/u/.cache/huggingface/stored_tokens") &&
		       !mask_shows(&f.spec, "/home/u/.local/share/uv/credentials/x"),
	       "home: full hides them, too, also those that are not there yet");
	fixture_close(&f);
}

/* The words of one more directory; what they are refused with, or the name that they become. */
static void test_tool_words(void)
{
	static const struct {
		const char *word, *name;
	} rows[] = {
		{ ".foo", ".foo" },
		{ "~/.foo/bin", ".foo/bin" },
		{ "/home/u/.foo", ".foo" },
		{ "./.foo/", ".foo" },
		{ "/opt/foo", NULL },
		{ "~/../v", NULL },
		{ "~/", NULL },
		{ "~", NULL },
		{ "/home/u", NULL },
		{ ".f*", NULL },
		{ ".ssh", NULL },
		{ ".aws/cli", NULL },
		{ ".claude.json", NULL },
		{ ".cache/huggingface/token", NULL },
		{ ".cargo/git/db/x/config", NULL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		owned(strv_done) struct strv words = STRV_INIT;
		owned(strv_done) struct strv names = STRV_INIT;
		struct error err = { 0 };

		strv_add(&words, rows[i].word);
		bool good = plan_home_tools(&words, "/home/u", &names, &err) == 0;

		tap_ok(good == (rows[i].name != NULL) &&
			       (!good || strcmp(names.items[0], rows[i].name) == 0),
		       "home_tools %s: %s", rows[i].word, good ? names.items[0] : err.text);
	}
}

static void test_tool_tables(void)
{
	owned(strv_done) struct strv shown = STRV_INIT;
	owned(strv_done) struct strv secrets = STRV_INIT;

	plan_tool_secrets(".config", &secrets);
	tap_ok(strv_has(&secrets, ".config/gh") && !strv_has(&secrets, ".ssh"),
	       "a directory that a user adds has the table's credentials");
	strv_done(&secrets);
	plan_tool_secrets(".asdf/plugins/x", &secrets);
	tap_ok(secrets.count == 1 && strv_has(&secrets, ".asdf/plugins/*/.git/config"),
	       "also those of a pattern that it lies below");
	strv_add(&shown, ".cargo/bin");
	tap_ok(plan_tool_may_lead("/home/u", &shown, "/home/u/.cargo/bin/x") &&
		       plan_tool_may_lead("/home/u", &shown, "/opt/tool") &&
		       plan_tool_may_lead("/home/u", &shown, "/nix/store/x"),
	       "links to tools and to the system are followed");
	tap_ok(!plan_tool_may_lead("/home/u", &shown, "/home/u") &&
		       !plan_tool_may_lead("/home/u", &shown, "/home/u/notes") &&
		       !plan_tool_may_lead("/home/u", &shown, "/home/v/.cargo/bin") &&
		       !plan_tool_may_lead("/home/u", &shown, "/data/x") &&
		       !plan_tool_may_lead("/home/u", &shown, "/proc/1/root"),
	       "others are not");
}

int main(void)
{
	test_tools();
	test_tool_words();
	test_tool_tables();
	return tap_done();
}
