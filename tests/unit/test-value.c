/* SPDX-License-Identifier: Apache-2.0 */
/* The neutral tree: order of keys, replacing, finding, and freeing without a stack. */
#include "base/core/own.h"
#include "base/core/value.h"
#include "tests/tap.h"

static void test_maps(void)
{
	owned(value_release) struct value *map = value_new_map();
	int64_t number = 7;

	value_set(map, "b", value_new_int(1));
	value_set(map, "a", value_new_text("x"));
	value_set(map, "b", value_new_int(2));
	tap_is_int((long long)map->many.count, 2, "setting a key again replaces its value");
	tap_is_str(map->many.keys[0], "b", "keys keep their order");
	tap_ok(value_get_int(map, "b", &number) && number == 2, "the later value is found");
	tap_is_str(value_get_text(map, "a"), "x", "text is found");
	tap_ok(!value_get_text(map, "b"), "a number is not text");
	tap_ok(!value_get_int(map, "a", &number), "text is not a number");
	tap_ok(!value_get_int(map, "zzz", &number) && number == 2,
	       "an absent number is left alone");
	tap_ok(!value_get(map, "c"), "an absent key is not found");
	tap_ok(!value_get(NULL, "c"), "nothing has no keys");
	tap_ok(!value_get(value_get(map, "a"), "c"), "text has no keys");
	tap_ok(!value_get_text(map, "none"), "absent text is NULL");
}

static void test_kinds(void)
{
	owned(value_release) struct value *list = value_new_list();
	struct strv words = STRV_INIT;

	value_append(list, value_new_null());
	value_append(list, value_new_bool(true));
	value_append(list, value_new_real(1.5));
	value_append(list, value_new_text(NULL));
	value_append(list, value_new_bytes("a\0b", 3));
	value_append(list, value_new_bytes(NULL, 0));
	tap_is_int(list->many.items[1]->truth, 1, "a truth is kept");
	tap_ok(list->many.items[2]->real == 1.5, "a real is kept");
	tap_is_int(list->many.items[3]->kind, VALUE_NULL, "no text is null");
	tap_is_int((long long)list->many.items[4]->text.len, 3, "bytes keep a NUL");
	tap_is_str(list->many.items[5]->text.bytes, "", "no bytes are an empty text");
	strv_add(&words, "one");
	strv_add(&words, "two");
	value_append(list, value_from_strv(&words));
	tap_is_str(list->many.items[6]->many.items[1]->text.bytes, "two",
		   "a list of words is copied");
	strv_done(&words);
}

static void test_depth(void)
{
	struct value *root = value_new_list();
	struct value *at = root;

	/* A recursive free would need far more than the stack has. */
	for (int i = 0; i < 1000000; i++) {
		struct value *next = i % 2 ? value_new_list() : value_new_map();

		if (at->kind == VALUE_MAP)
			value_set(at, "k", next);
		else
			value_append(at, next);
		at = next;
	}
	value_free(root);
	tap_ok(true, "a million levels are freed");
	value_free(NULL);
	tap_ok(true, "nothing can be freed");
}

static void test_width(void)
{
	owned(value_release) struct value *map = value_new_map();
	char key[16];
	bool good = true;

	for (int i = 0; i < 1000; i++) {
		(void)snprintf(key, sizeof(key), "k%d", i);
		value_add(map, key, value_new_int(i));
	}
	for (int i = 0; i < 1000; i++)
		good &= map->many.items[i]->integer == i;
	tap_ok(good && map->many.count == 1000, "a thousand keys stay in order");
}

static void test_take(void)
{
	owned(value_release) struct value *map = value_new_map();
	owned(value_release) struct value *taken = NULL;

	value_add(map, "a", value_new_int(1));
	value_add(map, "b", value_new_int(2));
	value_add(map, "c", value_new_int(3));
	taken = value_take(map, "b");
	tap_ok(taken && taken->integer == 2 && map->many.count == 2, "a child can be taken out");
	tap_ok(!value_get(map, "b") && value_get(map, "c")->integer == 3, "the others stay");
	tap_ok(!value_take(map, "b"), "once");
}

static void test_defaults(void)
{
	owned(value_release) struct value *map = value_new_map();

	value_add(map, "number", value_new_int(7));
	value_add(map, "text", value_new_text("7"));
	value_add(map, "yes", value_new_bool(true));
	value_add(map, "no", value_new_bool(false));
	tap_is_int(value_int_of(map, "number"), 7, "a number");
	tap_ok(value_int_of(map, "text") == 0 && value_int_of(map, "none") == 0,
	       "0 where there is none");
	tap_ok(value_is_true(map, "yes") && !value_is_true(map, "no") &&
		       !value_is_true(map, "number") && !value_is_true(map, "none"),
	       "only true is true");
}

int main(void)
{
	test_defaults();
	test_take();
	test_maps();
	test_kinds();
	test_depth();
	test_width();
	return tap_done();
}
