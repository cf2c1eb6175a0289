/* SPDX-License-Identifier: Apache-2.0 */
/* What --hide asks for: paths a sandbox is not to see, beyond those that no sandbox sees; the state of services; and what HOME hides and shows all the same. */
#include "base/text/clean_path.h"
#include "base/core/own.h"
#include "plan/git_config.h"
#include "plan/parts.h"
#include "spec/mask.h"

#include <stdlib.h>
#include <string.h>

/* Relative paths are the workspace's, wherever the caller stands: a profile means the same from everywhere. */
static char *absolute(const struct planning *planning, const char *path)
{
	const struct spec *spec = planning->spec;
	owned(free_ptr) char *joined = NULL;

	if (strcmp(path, "~") == 0)
		return xstrdup(spec->home);
	if (str_starts(path, "~/"))
		joined = plan_join(spec->home, path + 2);
	else if (path[0] != '/')
		joined = plan_join(spec->workspace, path);
	return path_clean(joined ? joined : path);
}

/* Masks lie on what is cloned from the host; what a sandbox has of its own stays. */
static int check_place(const struct spec *spec, const char *path, struct error *err)
{
	static const char *const made[] = { "/proc", "/sys", "/dev", "/run" };
	const char *pattern = strchr(path, '*');

	if (strcmp(path, "/") == 0)
		return error_set(err, ERROR_USAGE, "--hide /: nothing would be left to run");
	if (strcmp(path, spec->workspace) == 0)
		return error_set(err, ERROR_USAGE,
				 "--hide %s is the workspace: hide something in it, or choose "
				 "another with -C",
				 path);
	if (pattern && strchr(pattern, '/'))
		return error_advise(err, ERROR_USAGE, "name the directory",
				    "--hide %s: * is understood in the last part only", path);
	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
		if (path_is_within(path, made[i]))
			return error_set(err, ERROR_USAGE,
					 "--hide %s: the sandbox has its own %s, with nothing of "
					 "the host's in it",
					 path, made[i]);
	}
	return 0;
}

/*
 * Programs started over the live state of a service would read a mix of two times, without an error. A copy of it that the
 * sandbox has is mounted over the mask.
 */
static void add_services(const struct planning *planning, struct strv *paths)
{
	const struct strv *places = &planning->paths->services;
	struct spec *spec = planning->spec;
	owned(free_ptr) char *note = NULL;

	for (size_t i = 0; i < places->count; i++) {
		const char *place = places->items[i];

		if (strchr(place, '*') || plan_is_needed(spec, place))
			continue;
		strv_add(paths, place);
		/* Elsewhere it is not missed. */
		if (!note && path_is_within(place, spec->workspace))
			note = xasprintf("%s is hidden: it is the state of a service that runs "
					 "here; --with-services brings a copy",
					 place);
	}
	if (note && !strv_has(&spec->notes, note))
		strv_add(&spec->notes, note);
}

int plan_hidden(const struct planning *planning, struct strv *ret_paths, struct error *err)
{
	const struct strv *hide = &planning->settings->hide;

	for (size_t i = 0; i < hide->count; i++) {
		owned(free_ptr) char *path = absolute(planning, hide->items[i]);

		if (!path)
			return error_set(err, ERROR_USAGE,
					 "--hide %.200s: write the path without '..'",
					 hide->items[i]);
		if (check_place(planning->spec, path, err) < 0)
			return -1;
		strv_add(ret_paths, path);
	}
	add_services(planning, ret_paths);
	return 0;
}

static bool is_named(const char *pattern, const char *path)
{
	return path_is_within(path, pattern) ||
	       (strchr(pattern, '*') && mask_pattern_match(pattern, path) > 0);
}

/* Whether a rule for PATH itself or a directory above it hides it; of HIDDEN those below an empty HOME are no masks. */
static bool is_ruled_out(const struct spec *spec, const struct strv *hidden, const char *path)
{
	for (size_t i = 0; i < hidden->count; i++) {
		if (is_named(hidden->items[i], path))
			return true;
	}
	for (size_t i = 0; i < spec->mask_count; i++) {
		const struct spec_mask *mask = &spec->masks[i];

		if ((mask->kind == MASK_HIDE || mask->kind == MASK_GLOB) &&
		    is_named(mask->path, path))
			return true;
	}
	return false;
}

/* Of the authorities that git's configuration names, those whose files are found inside; it was made with the masks. */
static void name_authorities(const struct planning *planning)
{
	const struct plan_paths *paths = planning->paths;
	const struct strv *pairs = &paths->git_authorities;
	owned(free_ptr) char *config = plan_join(planning->spec->home, ".gitconfig");
	owned(strv_done) struct strv shown = STRV_INIT;
	struct spec *spec = planning->spec;

	for (size_t i = 0; i + 1 < pairs->count; i += 2) {
		const char *address = pairs->items[i], *file = pairs->items[i + 1];

		if (mask_shows(spec, file) || mask_has_file(spec, file)) {
			strv_add(&shown, address);
			strv_add(&shown, file);
		} else {
			strv_addf(&spec->notes, "git's sslCAInfo%s%s left out: %s is hidden",
				  *address ? " for " : "", address, file);
		}
	}
	for (size_t i = 0; i < spec->mask_count && shown.count < pairs->count; i++) {
		struct spec_mask *mask = &spec->masks[i];

		if (mask->kind != MASK_FILE || strcmp(mask->path, config) != 0)
			continue;
		free(mask->content);
		mask->content = git_config_make(paths->git_name, paths->git_email, &shown);
		if (!mask->content)
			mask->content = xstrdup("");
	}
}

/* Shown where nothing but HOME's own emptiness hides the file: neither a rule about credentials nor --hide. */
int plan_certificates(const struct planning *planning, struct error *err)
{
	const struct strv *files = &planning->paths->certificates;
	const char *home = planning->spec->home;
	owned(strv_done) struct strv hidden = STRV_INIT;

	if (files->count > 0 && plan_hidden(planning, &hidden, err) < 0)
		return -1;
	for (size_t i = 0; i + 1 < files->count; i += 2) {
		const char *path = files->items[i];
		bool is_hidden = !path_is_within(path, home) || strcmp(path, home) == 0 ||
				 plan_credential(path + strlen(home) + 1) ||
				 plan_own_dir(planning->host, path, false) ||
				 mask_has_file(planning->spec, path) ||
				 is_ruled_out(planning->spec, &hidden, path);

		if (!is_hidden && !mask_shows(planning->spec, path))
			spec_insert_mask(planning->spec, MASK_FILE, path)->content =
				xstrdup(files->items[i + 1]);
	}
	name_authorities(planning);
	return 0;
}
