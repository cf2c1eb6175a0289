/* SPDX-License-Identifier: Apache-2.0 */
/* Languages for the wasm driver. */
#include "app/run/wasm.h"

#include "base/core/own.h"
#include "app/run/wasm_ready.h"
#include "host/host.h"
#include "wasm/install.h"
#include "wasm/module.h"

#include <string.h>

static const char *state_of(const struct host *host, const struct wasm_language *language)
{
	const struct wasm_places places = { host->data_dir, host->cache_dir, "/" };
	struct wasm_module module = WASM_MODULE_INIT;
	struct sealed part = SEALED_INIT;
	struct error ignored;
	const char *state;
	int found = wasm_part_look(host->data_dir, language, 0, &part, &ignored);

	sealed_done(&part);
	if (found <= 0)
		return found == 0 ? "absent" : "changed";
	if (wasm_is_engine(language))
		return "ready";
	if (wasm_module_find(&places, language->name, &module, &ignored) < 0)
		return "installed";
	state = module.has_compiled ? "ready" : "installed";
	wasm_module_done(&module);
	return state;
}

int app_wasm_list(struct value **ret_answer, struct error *err)
{
	owned(host_done) struct host host;
	struct value *list;

	if (host_read(&host, err) < 0)
		return -1;
	list = value_new_list();
	for (const struct wasm_language *row = wasm_languages; row->name; row++) {
		struct value *item = value_append(list, value_new_map());

		value_add(item, "name", value_new_text(row->name));
		value_add(item, "state", value_new_text(state_of(&host, row)));
		value_add(item, "bytes", value_new_int((int64_t)row->parts[0].bytes));
		value_add(item, "summary", value_new_text(row->summary));
	}
	*ret_answer = list;
	return 0;
}

static int install(const struct app_wasm_install *how, const struct host *host,
		   const struct wasm_language *language, struct value *list, struct error *err)
{
	const char *before = state_of(host, language);
	struct value *item;
	int placed;

	if (how->progress && strcmp(before, "absent") == 0) {
		owned(free_ptr) char *line = xasprintf("fetching %s", language->name);

		how->progress(line);
	}
	placed = wasm_install(host->data_dir, language, how->from, err);
	if (how->progress)
		how->progress(NULL);
	if (placed < 0)
		return -1;
	if (!wasm_is_engine(language) && strcmp(before, "ready") != 0 &&
	    wasm_compile(language, how->environ, how->progress, err) < 0)
		return -1;
	item = value_append(list, value_new_map());
	value_add(item, "name", value_new_text(language->name));
	value_add(item, "state",
		  value_new_text(strcmp(before, "ready") == 0 ? "present" : "placed"));
	return 0;
}

static int install_all(const struct app_wasm_install *how, const struct host *host,
		       struct value *list, struct error *err)
{
	const struct wasm_language *engine = wasm_engine_row();
	bool lacks_engine = strcmp(state_of(host, engine), "ready") != 0;

	/* A file that was given is that of a language. */
	if (lacks_engine && how->from && strcmp(how->names->items[0], engine->name) != 0) {
		error_set(err, ERROR_DENIED, "the engine comes first");
		return error_add_hint(
			err, "run `aisbx wasm install engine --from FILE` with the wheel of %s %s",
			engine->package.name, engine->package.version);
	}
	if (lacks_engine && !how->from && install(how, host, engine, list, err) < 0)
		return -1;
	for (size_t i = 0; i < how->names->count; i++) {
		const struct wasm_language *language = wasm_language_find(how->names->items[i]);

		if (wasm_is_engine(language) && lacks_engine && !how->from)
			continue;
		if (install(how, host, language, list, err) < 0)
			return -1;
	}
	return 0;
}

int app_wasm_install(const struct app_wasm_install *how, struct value **ret_answer,
		     struct error *err)
{
	owned(value_release) struct value *list = value_new_list();
	owned(host_done) struct host host = { 0 };
	char shown[STR_SHOWN_SIZE];

	for (size_t i = 0; i < how->names->count; i++) {
		if (!wasm_language_find(how->names->items[i]))
			return error_advise(err, ERROR_NOT_FOUND, "`aisbx wasm ls` names them",
					    "no language is called '%s'",
					    str_shown(how->names->items[i], shown));
	}
	if (how->from && how->names->count != 1)
		return error_set(err, ERROR_USAGE, "--from is the file of one name");
	if (host_read(&host, err) < 0 || install_all(how, &host, list, err) < 0)
		return -1;
	*ret_answer = ptr_take(&list);
	return 0;
}
