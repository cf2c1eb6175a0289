/* SPDX-License-Identifier: Apache-2.0 */
/* `archive ls|show|restore|verify|pin|unpin`: what retention took away, and what it leaves alone. */
#include "app/archive/archive.h"
#include "app/config/own_config.h"
#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/text/json_write.h"
#include "ops/rows/rows.h"

#include <string.h>

static int check_day(const char *day, struct error *err)
{
	uint64_t ignored;

	if (!day || (strlen(day) == strlen("2026-11-18") && time_parse_utc(day, &ignored)))
		return 0;
	return error_set(err, ERROR_USAGE, "a day is written as 2026-11-18");
}

static int list(struct op_call *call, struct archive_wish *wish, struct error *err)
{
	if (call->words.count > 1)
		wish->day = call->words.items[1];
	if (check_day(wish->day, err) < 0 ||
	    app_archive_list(wish, &call->answer, &call->notes, err) < 0)
		return -1;
	for (size_t i = 0; wish->day && i < call->answer->many.count; i++) {
		const struct value *row = call->answer->many.items[i];

		str_addf(&call->text, "%-9s %s  %lld bytes\n", value_get_text(row, "kind"),
			 value_get_text(row, "id"), (long long)value_int_of(row, "size"));
	}
	if (call->answer->many.count == 0)
		str_add(&call->text, "nothing was archived\n");
	return 0;
}

static int show(struct op_call *call, struct archive_wish *wish, struct error *err)
{
	if (app_archive_show(wish, &call->answer, err) < 0)
		return -1;
	json_write(&call->text, call->answer, 2);
	str_add_char(&call->text, '\n');
	return 0;
}

static int restore(struct op_call *call, struct archive_wish *wish, struct error *err)
{
	if (!wish->ids && !wish->day && !op_arg_switch(call, "all"))
		return error_set(err, ERROR_USAGE, "archive restore: name ids, --day DAY or --all");
	if (app_archive_restore(wish, &call->answer, err) < 0)
		return -1;
	str_addf(&call->text, "restored %lld runs, %lld logs; they stay until archive unpin\n",
		 (long long)value_int_of(call->answer, "runs"),
		 (long long)value_int_of(call->answer, "logs"));
	return 0;
}

static int verify(struct op_call *call, struct archive_wish *wish, struct error *err)
{
	const struct value *problems;

	if (app_archive_verify(wish, &call->answer, err) < 0)
		return -1;
	problems = value_get(call->answer, "problems");
	for (size_t i = 0; i < problems->many.count; i++)
		str_addf(&call->text, "%s\n", problems->many.items[i]->text.bytes);
	str_addf(&call->text, "%lld items in %lld objects checked, %zu problems\n",
		 (long long)value_int_of(call->answer, "items"),
		 (long long)value_int_of(call->answer, "objects"), problems->many.count);
	call->exit_status = problems->many.count > 0;
	return 0;
}

static int pin(struct op_call *call, const struct strv *ids, struct error *err)
{
	bool is_pinned = strcmp(call->words.items[0], "pin") == 0;

	if (app_archive_pin(ids, is_pinned, &call->answer, err) < 0)
		return -1;
	for (size_t i = 0; i < call->answer->many.count; i++)
		str_addf(&call->text, "%s\n", call->answer->many.items[i]->text.bytes);
	return 0;
}

static int read_wish(struct op_call *call, struct own_config *config, struct archive_wish *wish,
		     struct error *err)
{
	const char *from = op_arg_text(call, "from");

	if (own_config_read(call->environ, config, err) < 0)
		return -1;
	wish->url = from ? from : config->archive;
	wish->is_own = !from;
	wish->day = op_arg_text(call, "day");
	wish->environ = (char *const *)(uintptr_t)call->environ;
	if (!wish->url)
		return error_advise(err, ERROR_USAGE,
				    "write archive: file:/DIR into ~/.config/aisbx/config.yaml, or "
				    "name one with --from",
				    "there is no archive");
	return check_day(wish->day, err);
}

int op_archive_run(struct op_call *call, struct error *err)
{
	static const struct {
		const char *word;
		size_t least, most; /* words behind it */
		int (*run)(struct op_call *call, struct archive_wish *wish, struct error *err);
	} rows[] = { { "ls", 0, 1, list },
		     { "show", 1, 1, show },
		     { "restore", 0, 10000, restore },
		     { "verify", 0, 0, verify },
		     { "pin", 0, 10000, NULL },
		     { "unpin", 1, 10000, NULL } };
	owned(own_config_done) struct own_config config = { 0 };
	owned(strv_done) struct strv ids = STRV_INIT;
	struct archive_wish wish = { 0 };

	for (size_t i = 1; i < call->words.count; i++)
		strv_add(&ids, call->words.items[i]);
	for (size_t i = 0; call->words.count && i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(call->words.items[0], rows[i].word) != 0)
			continue;
		if (op_want_words(call, rows[i].least + 1, rows[i].most + 1, err) < 0)
			return -1;
		if (!rows[i].run)
			return pin(call, &ids, err);
		wish.ids = ids.count ? &ids : NULL;
		return read_wish(call, &config, &wish, err) < 0 ? -1
								: rows[i].run(call, &wish, err);
	}
	return error_set(err, ERROR_USAGE, "archive: ls, show, restore, verify, pin or unpin?");
}
