/* Requests this build cannot honour: each is refused with the way round it, none is passed over in silence. */
#include "plan/parts.h"

#include <string.h>

static bool is_one_of(const char *word, const char *a, const char *b)
{
	return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

static int refuse_driver(const struct settings *settings, struct error *err)
{
	const char *driver = settings->driver;

	if (driver && !is_one_of(driver, "linux", "fake") && !is_one_of(driver, "wasm", "auto"))
		return error_set(
			err, ERROR_DENIED,
			"driver '%.40s' is not in this build; drivers here: linux, wasm, fake",
			driver);
	if (settings->fuel != SETTING_UNSET && !(driver && is_one_of(driver, "wasm", "auto")))
		return error_set(err, ERROR_DENIED,
				 "--fuel counts instructions of WebAssembly: add --driver wasm; "
				 "--cpu-time bounds a native program");
	return 0;
}

/* Layers that may be absent anyway can be named: that changes nothing, and is no lie. */
static int refuse_degraded(const struct settings *settings, struct error *err)
{
	for (size_t i = 0; i < settings->allow_degraded.count; i++) {
		const char *name = settings->allow_degraded.items[i];
		enum layer layer = layer_find(name);

		if (layer != LAYER_COUNT && layer_is_mandatory(layer))
			return error_set(err, ERROR_DENIED,
					 "--allow-degraded %s: this build cannot run without that "
					 "layer; `aisbx doctor` says how to get it",
					 name);
	}
	return 0;
}

int plan_refuse_absent(const struct planning *planning, struct error *err)
{
	const struct settings *settings = planning->settings;

	if (refuse_driver(settings, err) < 0 || refuse_degraded(settings, err) < 0)
		return -1;
	if (settings->root && !is_one_of(settings->root, "host", "project"))
		return error_set(err, ERROR_DENIED,
				 "--root %.40s: images are not in this build; use host or project",
				 settings->root);
	return 0;
}
