/* SPDX-License-Identifier: Apache-2.0 */
/* What the user shows, read-only, to every sandbox of a workspace: checked by a plan, then kept. */
#include "app/sandbox/mounts.h"

#include "app/config/mount_list.h"
#include "app/sandbox/network_parts.h"
#include "base/text/clean_path.h"
#include "base/core/own.h"
#include "base/file/real_path.h"
#include "plan/mask_list.h"
#include "spec/mask.h"

/* The mounts as flags of the place's request, so that a plan can refuse what no sandbox may see. */
static int read_wish(const struct strv *show, struct network_place *place, struct error *err)
{
	struct settings *flags = &place->request.flags;

	for (size_t i = 0; show && i < show->count; i++) {
		if (settings_set(flags, setting_find("ro"), "--ro", show->items[i], err) < 0)
			return -1;
	}
	for (size_t i = 0; i < flags->mount_count; i++) {
		char *real = path_real(flags->mounts[i].host);

		if (!real)
			return error_errno(err, ERROR_NOT_FOUND, "%s", flags->mounts[i].host);
		free_ptr(&flags->mounts[i].host);
		flags->mounts[i].host = real;
	}
	return network_place_plan(place, err);
}

/* Whether HOST, or something in it, is hidden for what it holds, and not only because its place is emptied, as HOME is. */
static bool is_hidden(const struct spec *spec, const char *host)
{
	for (size_t i = 0; i < spec->mask_count; i++) {
		const struct spec_mask *mask = &spec->masks[i];

		if (mask->kind != MASK_HIDE && mask->kind != MASK_GLOB)
			continue;
		if (path_is_within(mask->path, host) || path_is_within(host, mask->path) ||
		    (mask->kind == MASK_GLOB && mask_pattern_match(mask->path, host) > 0))
			return true;
	}
	return mask_home_hides(spec->home, host) || path_is_within(spec->home, host);
}

static int keep(const struct network_place *place, struct strv *notes, struct error *err)
{
	const struct settings *flags = &place->request.flags;
	char shown[STR_SHOWN_SIZE];

	for (size_t i = 0; i < flags->mount_count; i++) {
		if (mount_list_change(place->around.host.config_dir, place->around.paths.workspace,
				      flags->mounts[i].host, flags->mounts[i].guest, err) < 0)
			return -1;
		if (is_hidden(&place->spec, flags->mounts[i].host))
			strv_addf(notes,
				  "%s is, or holds, what is hidden from sandboxes otherwise: "
				  "every sandbox of this workspace can read it now",
				  str_shown(flags->mounts[i].host, shown));
	}
	return 0;
}

/* Also where no plan can be made any more: that may be what the mount is taken away for. */
static int forget(const struct strv *drop, const struct network_place *place, struct error *err)
{
	for (size_t i = 0; drop && i < drop->count; i++) {
		owned(free_ptr) char *guest = path_clean(drop->items[i]);

		if (mount_list_change(place->around.host.config_dir, place->around.paths.workspace,
				      NULL, guest ? guest : drop->items[i], err) < 0)
			return -1;
	}
	return 0;
}

int app_mounts(const struct app_mounts *wish, struct value **ret_answer, struct error *err)
{
	owned(network_place_done) struct network_place place;
	owned(settings_done) struct settings kept;

	settings_init(&kept);
	if (network_place_open(NULL, wish->workspace, &place, err) < 0 ||
	    forget(wish->drop, &place, err) < 0 ||
	    (wish->show &&
	     (read_wish(wish->show, &place, err) < 0 || keep(&place, wish->ret_notes, err) < 0)) ||
	    mount_list_read(place.around.host.config_dir, place.around.paths.workspace, &kept,
			    err) < 0)
		return -1;
	*ret_answer = value_new_list();
	for (size_t i = 0; i < kept.mount_count; i++) {
		struct value *row = value_append(*ret_answer, value_new_map());

		value_add(row, "host", value_new_text(kept.mounts[i].host));
		value_add(row, "guest", value_new_text(kept.mounts[i].guest));
		value_add(row, "mode", value_new_text("ro"));
		value_add(row, "workspace", value_new_text(place.around.paths.workspace));
	}
	return 0;
}
