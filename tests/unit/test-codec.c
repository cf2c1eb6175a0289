/* SPDX-License-Identifier: Apache-2.0 */
/* The spec's codec: the round trip is the identity, and everything else is refused by name. */
#include "base/text/json_read.h"
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "spec/codec.h"
#include "spec/codec_field.h"
#include "tests/tap.h"
#include "tests/unit/sample_spec.h"

static char *written(const struct spec *spec)
{
	owned(value_release) struct value *value = spec_to_value(spec);
	struct str out = STR_INIT;

	json_write(&out, value, 0);
	return str_detach(&out);
}

/* Through text, as `plan --json` and a reader of it would. */
static void test_round_trip(const char *what, const struct spec *spec)
{
	owned(free_ptr) char *text = written(spec);
	owned(value_release) struct value *value = NULL;
	owned(spec_done) struct spec back;
	struct error err = { 0 };

	spec_init(&back);
	if (!tap_ok(json_read(text, strlen(text), NULL, &value, &err) == 0, "%s is JSON: %s", what,
		    err.text))
		return;
	if (!tap_ok(spec_from_value(value, &back, &err) == 0, "%s is read back: %s", what,
		    err.text))
		return;
	owned(free_ptr) char *again = written(&back);

	tap_is_str(again, text, "%s is the same afterwards", what);
}

static void test_content(void)
{
	owned(spec_done) struct spec spec, back;
	owned(value_release) struct value *value = NULL;
	struct error err = { 0 };

	sample_spec(&spec);
	value = spec_to_value(&spec);
	spec_init(&back);
	tap_ok(spec_from_value(value, &back, &err) == 0, "the sample is read: %s", err.text);
	tap_is_str(back.command.items[1], spec.command.items[1],
		   "bytes that are not UTF-8 survive");
	tap_is_str(back.command.items[2], "", "an empty word survives");
	tap_ok(back.trees[1].ino == UINT64_MAX, "a number beyond int64 survives");
	tap_ok(memcmp(&back.limits, &spec.limits, sizeof(spec.limits)) == 0, "limits survive");
	tap_ok(back.ids.host_gid == 300000 && back.ids.count == 65536, "ids survive");
	tap_ok(back.masks[2].kind == MASK_FILE && strcmp(back.masks[2].content, "[user]\n") == 0,
	       "masks survive");
	tap_ok(back.binds[0].through && !back.binds[1].through, "binds survive");
	tap_ok(back.require == spec.require && back.allow_degraded == spec.allow_degraded,
	       "layers survive");
	tap_is_str(value_get_text(value, "root"), "forest", "choices are words");
}

static size_t field_size(const struct field *field)
{
	switch (field->kind) {
	case FIELD_TEXT:
		return sizeof(char *);
	case FIELD_TEXTS:
		return sizeof(struct strv);
	case FIELD_BOOL:
		return sizeof(bool);
	case FIELD_U32:
	case FIELD_ENUM:
	case FIELD_LAYERS:
		return sizeof(uint32_t);
	case FIELD_U64:
		return sizeof(uint64_t);
	case FIELD_RECORD:
		return field->record->size;
	case FIELD_RECORDS:
		break;
	}
	return sizeof(char *) + sizeof(size_t);
}

/* Bytes of a struct that no field covers can only be padding: less than a word behind each small field. */
static void test_coverage(const char *what, const struct record *record)
{
	size_t covered = 0, small = 0;

	for (const struct field *field = record->fields; field->name; field++) {
		covered += field_size(field);
		small += field_size(field) % 8 ? 1 : 0;
		if (field->record)
			test_coverage(field->name, field->record);
	}
	tap_ok(record->size - covered <= small * 7,
	       "every field of %s is in the table (%zu of %zu bytes)", what, covered, record->size);
}

/* Reads the sample's JSON after replacing the first FROM by TO. */
static void is_refused(const char *from, const char *to, const char *part)
{
	owned(spec_done) struct spec spec;
	owned(value_release) struct value *value = NULL;
	owned(str_done) struct str changed = STR_INIT;
	struct spec back = { .run_id = NULL };
	struct error err = { 0 };

	sample_spec(&spec);
	owned(free_ptr) char *text = written(&spec);
	char *at = strstr(text, from);

	if (!at)
		tap_bail(from);
	str_add_bytes(&changed, text, (size_t)(at - text));
	str_add(&changed, to);
	str_add(&changed, at + strlen(from));
	if (json_read(changed.data, changed.len, NULL, &value, &err) < 0)
		tap_bail(err.text);
	tap_ok(spec_from_value(value, &back, &err) < 0 && err.code == ERROR_INPUT &&
		       strstr(err.text, part),
	       "refused: %s", err.text);
	tap_ok(!back.run_id && !back.trees, "and nothing comes out");
}

static void test_refused(void)
{
	is_refused("\"splice\":true,", "", "'splice' is missing");
	is_refused("\"splice\":", "\"splyce\":", "unknown key 'splyce'; did you mean 'splice'?");
	is_refused("\"splice\":", "\"zzzzzzzzzzz\":1,\"splice\":", "unknown key 'zzzzzzzzzzz'");
	is_refused("\"splice\":true", "\"splice\":1", "splice: must be true or false");
	is_refused("\"root\":\"forest\"", "\"root\":\"tree\"", "root: must be one of its words");
	is_refused("\"root\":\"forest\"", "\"root\":1", "root: must be one of its words");
	is_refused("\"uid\":1000", "\"uid\":-1", "ids: uid: must be a number from 0 to 4294967295");
	is_refused("\"uid\":1000", "\"uid\":4294967296", "ids: uid: must be");
	is_refused("\"uid\":1000", "\"uid\":\"1000\"", "ids: uid: must be");
	is_refused("\"pids\":128", "\"pids\":-1", "limits: pids: must be a number from 0");
	is_refused("\"pids\":128", "\"pids\":1.5", "limits: pids: must be a number from 0");
	is_refused("\"pids\":128", "\"pids\":\"128\"", "limits: pids: must be a number from 0");
	is_refused("\"18446744073709551615\"", "\"18446744073709551616\"",
		   "trees: 1: ino: must be");
	is_refused("\"18446744073709551615\"", "\"0000000000000000000\"", "trees: 1: ino: must be");
	is_refused("\"18446744073709551615\"", "\"1000000000000000000\"", "trees: 1: ino: must be");
	is_refused("\"18446744073709551615\"", "\"1844674407370955161x\"",
		   "trees: 1: ino: must be");
	is_refused("\"run_id\":\"", "\"run_id\":7,\"x\":\"", "unknown key 'x'");
	is_refused("\"driver\":\"linux\"", "\"driver\":[]", "driver: must be text");
	is_refused("\"driver\":\"linux\"", "\"driver\":{}", "driver: must be text");
	is_refused("\"driver\":\"linux\"", "\"driver\":{\"base64\":\"YQ==\"}",
		   "driver: must be text, or");
	is_refused("\"driver\":\"linux\"", "\"driver\":{\"base64\":\"/wD/\"}",
		   "driver: must be text, or");
	is_refused("\"driver\":\"linux\"", "\"driver\":{\"base64\":\"!\"}",
		   "driver: must be text, or");
	is_refused("\"driver\":\"linux\"", "\"driver\":{\"base64\":\"/w==\",\"b\":1}",
		   "must be text");
	is_refused("\"env\":[\"A=b\"]", "\"env\":[1]", "env: 0: must be text");
	is_refused("\"env\":[\"A=b\"]", "\"env\":{}", "env: must be a list of texts");
	is_refused("\"env\":[\"A=b\"]", "\"env\":[null]", "env: 0: must be text");
	is_refused("\"binds\":[", "\"binds\":[[],", "binds: 0: must be an object");
	is_refused("\"target\":\"/data\",", "", "binds: 0: 'target' is missing");
	is_refused("\"require\":[\"user\"", "\"require\":[\"users\"", "require: must be layers");
	is_refused("\"require\":[\"user\"", "\"require\":[\"user\",\"user\"",
		   "require: must be layers");
	is_refused("\"require\":[\"user\"", "\"require\":[7,\"user\"", "require: 0: must be text");
	is_refused("\"kind\":\"overlay\"", "\"kind\":null",
		   "trees: 0: kind: must be one of its words");
}

static void test_other_kinds(void)
{
	owned(value_release) struct value *list = value_new_list();
	owned(value_release) struct value *map = NULL;
	owned(spec_done) struct spec spec;
	struct spec back;
	struct error err = { 0 };

	tap_ok(spec_from_value(list, &back, &err) < 0, "a list is no spec: %s", err.text);
	sample_spec(&spec);
	map = spec_to_value(&spec);
	value_set(map, "trees", value_new_text("none"));
	tap_ok(spec_from_value(map, &back, &err) < 0 && strstr(err.text, "trees: must be a list"),
	       "a text is no list: %s", err.text);
	value_set(map, "trees", value_new_list());
	value_set(map, "home", value_new_bytes("a\0b", 3));
	tap_ok(spec_from_value(map, &back, &err) < 0 && strstr(err.text, "home: must be text"),
	       "a NUL is no text: %s", err.text);
}

int main(void)
{
	owned(spec_done) struct spec full, empty;

	sample_spec(&full);
	spec_init(&empty);
	test_round_trip("the sample", &full);
	test_round_trip("an empty spec", &empty);
	test_content();
	test_coverage("the spec", &spec_record);
	test_refused();
	test_other_kinds();
	return tap_done();
}
