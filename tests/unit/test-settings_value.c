/* SPDX-License-Identifier: Apache-2.0 */
/* Settings out of values: what fits a flag, what is refused, and where. */
#include "base/core/own.h"
#include "spec/settings_value.h"
#include "tests/tap.h"

static const char *const others[] = { "attempts", NULL };

static int read_key(struct settings *settings, const char *key, struct value *item,
		    struct error *err)
{
	const struct value_reader reader = { "f.yaml", err };
	int status;

	item->line = 7;
	status = settings_read(&reader, item, key, others, settings);
	value_release(&item);
	return status;
}

static void is_refused(const char *key, struct value *item, const char *words)
{
	struct settings settings;
	struct error err = { 0 };

	settings_init(&settings);
	tap_ok(read_key(&settings, key, item, &err) < 0, "%s: refused", key);
	tap_ok(strstr(err.text, "f.yaml:7") && strstr(err.text, words), "%s: says %s: %s", key,
	       words, err.text);
	tap_is_int(err.code, ERROR_INPUT, "%s: it is the file that is wrong", key);
	settings_done(&settings);
}

static void test_taken(void)
{
	struct settings settings;
	struct error err = { 0 };
	struct value *list = value_new_list(), *map = value_new_map();

	settings_init(&settings);
	value_append(list, value_new_text("a.example:1"));
	value_append(list, value_new_text("b.example:2"));
	value_add(map, "A", value_new_text("1"));
	value_add(map, "B", value_new_int(2));
	tap_ok(read_key(&settings, "pids", value_new_int(12), &err) == 0, "a number");
	tap_ok(read_key(&settings, "cpu", value_new_real(1.5), &err) == 0, "a fraction");
	tap_ok(read_key(&settings, "mem", value_new_text("64m"), &err) == 0, "a text");
	tap_ok(read_key(&settings, "allow", list, &err) == 0, "a list");
	tap_ok(read_key(&settings, "env", map, &err) == 0, "a map of variables");
	tap_is_int(settings.pids, 12, "the number is there");
	tap_is_int((long long)settings.allow.count, 2, "both rules are there");
	tap_ok(settings.env.count == 2 && strcmp(settings.env.items[1], "B=2") == 0,
	       "the variables are there");
	settings_done(&settings);
}

static void test_refused(void)
{
	struct value *nested = value_new_list();

	value_append(nested, value_new_list());
	nested->many.items[0]->line = 7;
	is_refused("memm", value_new_text("1g"), "did you mean 'mem'");
	is_refused("attemps", value_new_text("1g"), "did you mean 'attempts'");
	is_refused("gates", value_new_text("tests==pass"), "unknown key");
	is_refused("mem", value_new_text("much"), "'much'");
	is_refused("mem", value_new_list(), "single value");
	is_refused("mem", value_new_bytes("1g\0", 3), "single value");
	is_refused("allow", nested, "single value");
	is_refused("mem", value_new_map(), "single value");
}

/* A race file or a task may come with a workspace, which must not send this user's secrets anywhere. */
static void test_secrets(void)
{
	static const char *const rows[][2] = {
		{ "secret", "token" },
		{ "secret-env", "TOKEN=token" },
		{ "secret-header", "a.example:80:X=/key" },
		{ "inject", "a.example:bearer=token" },
		{ "inject-env", "TOKEN=token@a.example" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct value *item = value_new_text(rows[i][1]);
		struct error err = { 0 };
		const struct value_reader reader = { "f.yaml", &err };
		struct settings settings;

		settings_init(&settings);
		item->line = 7;
		tap_ok(settings_read_file(&reader, item, rows[i][0], others, &settings) < 0,
		       "%s: refused", rows[i][0]);
		tap_is_int(err.code, ERROR_DENIED, "%s: %s", rows[i][0], err.text);
		value_release(&item);
		settings_done(&settings);
	}
}

int main(void)
{
	test_taken();
	test_refused();
	test_secrets();
	return tap_done();
}
