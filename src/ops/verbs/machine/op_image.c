/* SPDX-License-Identifier: Apache-2.0 */
/* `image`, and `init`, which brings one or writes a profile. */
#include "app/config/init.h"
#include "app/image/image.h"
#include "base/core/own.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

#include <string.h>

static void add_facts(struct op_call *call)
{
	const struct value *image = call->answer;
	const struct {
		const char *key, *words;
	} rows[] = {
		{ "set_ids_dropped", "lost their set-id bit" },
		{ "devices_left_out", "were left out: devices, fifos and sockets" },
		{ "attributes_dropped", "lost extended attributes, capabilities among them" },
	};
	owned(str_done) struct str size = STR_INIT;

	words_add_size(&size, value_int_of(image, "bytes"));
	str_addf(&call->text, "%s  %.12s  %zu layers, %lld entries, %s\n",
		 value_get_text(image, "name"), value_get_text(image, "id"),
		 value_list_count(image, "layers"), (long long)value_int_of(image, "entries"),
		 str_cstr(&size));
	if (strcmp(value_get_text(image, "owners"), "caller") == 0)
		str_add(&call->text, "all of its files are yours: you are not root\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (value_int_of(image, rows[i].key) > 0)
			str_addf(&call->text, "%lld %s\n",
				 (long long)value_int_of(image, rows[i].key), rows[i].words);
	}
}

static void add_list(struct str *text, const char *title, const struct value *list)
{
	for (size_t i = 0; list && i < list->many.count; i++) {
		str_addf(text, "%-12s", i == 0 ? title : "");
		words_add_line(text, list->many.items[i]->text.bytes);
		str_add_char(text, '\n');
	}
}

static int show(struct op_call *call, struct error *err)
{
	static const char *const lists[] = { "layers", "env", "entrypoint", "policy" };
	static const char *const texts[] = { "version", "created", "source", "directory", "user" };

	if (app_image_show(call->words.items[1], &call->answer, err) < 0)
		return -1;
	add_facts(call);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char *value = value_get_text(call->answer, texts[i]);

		if (!value)
			continue;
		str_addf(&call->text, "%-12s", texts[i]);
		words_add_line(&call->text, value);
		str_add_char(&call->text, '\n');
	}
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		add_list(&call->text, lists[i], value_get(call->answer, lists[i]));
	return 0;
}

static int import_from(struct op_call *call, const char *path, struct error *err)
{
	const struct app_image_import wish = { .path = path,
					       .name = op_arg_text(call, "name"),
					       .progress = call->progress };
	int status = app_image_import(&wish, &call->answer, err);

	if (call->progress)
		call->progress(NULL);
	if (status < 0)
		return -1;
	if (value_is_true(call->answer, "was_there"))
		str_add(&call->text, "was there: ");
	add_facts(call);
	str_addf(&call->notes, "run on it: aisbx run --root %s -- CMD\n",
		 value_get_text(call->answer, "name"));
	return 0;
}

static int import(struct op_call *call, struct error *err)
{
	return import_from(call, call->words.items[1], err);
}

static int pack(struct op_call *call, struct error *err)
{
	const char *name = op_arg_text(call, "name");

	if (!name)
		return error_set(err, ERROR_USAGE, "image pack SANDBOX wants --name NAME");
	if (app_image_pack(call->words.items[1], name, &call->answer, err) < 0)
		return -1;
	add_facts(call);
	return 0;
}

static int list(struct op_call *call, struct error *err)
{
	owned(strv_done) struct strv cells = STRV_INIT;

	if (app_image_list(&call->answer, err) < 0)
		return -1;
	if (call->answer->many.count == 0) {
		str_add(&call->text, "no images; aisbx image import FILE brings one\n");
		return 0;
	}
	strv_add(&cells, "NAME");
	strv_add(&cells, "ID");
	strv_add(&cells, "LAYERS");
	strv_add(&cells, "SIZE");
	strv_add(&cells, "CREATED");
	for (size_t i = 0; i < call->answer->many.count; i++) {
		const struct value *row = call->answer->many.items[i];
		const char *id = value_get_text(row, "id");
		struct str age = STR_INIT, size = STR_INIT;

		words_add_age(&age, words_moment(row, "created"));
		words_add_size(&size, value_int_of(row, "bytes"));
		strv_add(&cells, value_get_text(row, "name"));
		strv_addf(&cells, "%.12s", id ? id : "damaged");
		strv_addf(&cells, "%zu", value_list_count(row, "layers"));
		strv_take(&cells, str_detach(&size));
		strv_take(&cells, str_detach(&age));
	}
	words_add_table(&call->text, &cells, 5);
	return 0;
}

static void rest_of(const struct op_call *call, struct strv *ret_names)
{
	for (size_t i = 1; i < call->words.count; i++)
		strv_add(ret_names, call->words.items[i]);
}

static int remove_some(struct op_call *call, struct error *err)
{
	owned(strv_done) struct strv names = STRV_INIT;

	rest_of(call, &names);
	if (app_image_remove(&names, &call->answer, err) < 0)
		return -1;
	for (size_t i = 0; i < names.count; i++)
		str_addf(&call->text, "%s is removed\n", names.items[i]);
	return 0;
}

static int verify(struct op_call *call, struct error *err)
{
	owned(strv_done) struct strv names = STRV_INIT;

	rest_of(call, &names);
	if (app_image_verify(&names, &call->answer, err) < 0)
		return -1;
	for (size_t i = 0; i < call->answer->many.count; i++) {
		const struct value *row = call->answer->many.items[i];
		const char *state = value_get_text(row, "state");

		str_addf(&call->text, "%s  %.12s  %s\n", value_get_text(row, "name"),
			 value_get_text(row, "layer"), state);
		if (strcmp(state, "whole") != 0)
			call->exit_status = 1;
	}
	return 0;
}

static int collect(struct op_call *call, struct error *err)
{
	if (app_image_gc(&call->answer, err) < 0)
		return -1;
	str_addf(&call->text, "%zu layers without an image were removed\n",
		 call->answer->many.count);
	return 0;
}

static int export(struct op_call *call, struct error *err)
{
	static const char *const forms[] = {
		[IMAGE_OCI] = "oci", [IMAGE_PSEUDO] = "dir", [IMAGE_TAR] = "tar"
	};
	enum image_form form = IMAGE_OCI;
	const char *path = NULL;
	size_t given = 0;

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (!op_arg_text(call, forms[i]))
			continue;
		path = op_arg_text(call, forms[i]);
		form = (enum image_form)i;
		given++;
	}
	if (given != 1)
		return error_set(err, ERROR_USAGE,
				 "image export NAME wants --oci DIR, --dir DIR or --tar FILE");
	if (app_image_export(call->words.items[1], path, form, &call->answer, err) < 0)
		return -1;
	str_addf(&call->text, "%s\n", value_get_text(call->answer, "digest"));
	return 0;
}

int op_image_run(struct op_call *call, struct error *err)
{
	static const struct {
		const char *word;
		size_t min, max; /* words behind it */
		op_function *run;
	} rows[] = {
		{ "import", 1, 1, import },    { "ls", 0, 0, list },
		{ "show", 1, 1, show },	       { "rm", 1, 1000, remove_some },
		{ "verify", 0, 1000, verify }, { "gc", 0, 0, collect },
		{ "export", 1, 1, export },    { "pack", 1, 1, pack },
	};
	const char *word = call->words.count > 0 ? call->words.items[0] : "";

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(word, rows[i].word) != 0)
			continue;
		if (call->words.count - 1 < rows[i].min || call->words.count - 1 > rows[i].max)
			break;
		return rows[i].run(call, err);
	}
	return error_set(
		err, ERROR_USAGE,
		"write aisbx image import FILE|DIR [--name NAME], ls, show NAME, "
		"rm NAME..., export NAME --oci DIR|--dir DIR|--tar FILE, pack SANDBOX --name NAME, "
		"verify [NAME...] or gc");
}

int op_init_run(struct op_call *call, struct error *err)
{
	const char *root = op_arg_text(call, "rootfs");

	if (op_want_words(call, 0, 0, err) < 0)
		return -1;
	if (root)
		return import_from(call, root, err);
	if (app_init(&call->answer, err) < 0)
		return -1;
	str_addf(&call->text, "%s is written\n", value_get_text(call->answer, "path"));
	return 0;
}
