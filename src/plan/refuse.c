/* SPDX-License-Identifier: Apache-2.0 */
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

	if (settings->fuel != SETTING_UNSET && !(driver && is_one_of(driver, "wasm", "auto")))
		return error_advise(err, ERROR_DENIED, "--cpu-time bounds a native program",
				    "--fuel counts instructions of WebAssembly: add --driver wasm");
	return 0;
}

/*
 * What would be left of a sandbox without each of those that must hold. These cannot be given up: what is built on top of
 * one (the copy, the rules, the end of all processes) would be promised and not kept.
 */
static const char *why_mandatory(enum layer layer)
{
	static const char *const words[LAYER_COUNT] = {
		[LAYER_USER] = "all others are built in it, and the command would keep your rights",
		[LAYER_MOUNT] = "there would be no copy, and every write would reach this machine",
		[LAYER_PID] = "nothing would end what the command leaves behind",
		[LAYER_NET] =
			"the command would have this machine's network, and no rule would hold",
		[LAYER_SECCOMP] =
			"the kernel would answer every call, also those that undo the others",
		[LAYER_OVERLAY] =
			"there would be no copy, and every write would reach this machine",
		[LAYER_MASKS] = "the command would see your credentials",
	};

	return words[layer];
}

/*
 * Of those that must hold, the two that nothing is built on may be waived where the kernel has none. Layers that may be
 * absent anyway can be named: that changes nothing, and is no lie.
 */
static int refuse_degraded(const struct settings *settings, struct error *err)
{
	for (size_t i = 0; i < settings->allow_degraded.count; i++) {
		const char *name = settings->allow_degraded.items[i];
		enum layer layer = layer_find(name);

		if (layer != LAYER_COUNT && layer_is_mandatory(layer) && !layer_is_waivable(layer))
			return error_advise(err, ERROR_DENIED, "`aisbx doctor` says how to get it",
					    "--allow-degraded %s: not without that layer: %s", name,
					    why_mandatory(layer));
	}
	return 0;
}

int plan_refuse_absent(const struct planning *planning, struct error *err)
{
	const struct settings *settings = planning->settings;

	if (refuse_driver(settings, err) < 0 || refuse_degraded(settings, err) < 0)
		return -1;
	if (settings->root && !is_one_of(settings->root, "host", "project") &&
	    !planning->paths->image)
		return error_advise(err, ERROR_DENIED, "use host or project",
				    "--root %.40s: there is no such image", settings->root);
	if (planning->paths->image && settings->driver && strcmp(settings->driver, "linux") != 0)
		return error_advise(err, ERROR_DENIED, "leave --root out, or use --driver linux",
				    "--root %.40s: only the linux driver runs on images",
				    settings->root);
	if (settings->with_services.count > 0)
		return error_advise(err, ERROR_DENIED, "create a sandbox with them and exec in it",
				    "--with-services: services are not cloned for this");
	return 0;
}
