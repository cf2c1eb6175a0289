/* SPDX-License-Identifier: Apache-2.0 */
/* Bundles from elsewhere, refused before anything of them is unpacked. */
#include "app/travel/pull_check.h"

#include "base/core/own.h"
#include "workspace/consent/consent_rule.h"

#include <limits.h>
#include <string.h>

#define DEPTH_MAX 128

/* The other machine's workspace lies elsewhere: an absolute link leads out, whatever it names. */
static bool leads_out(const char *path, const char *link)
{
	return link[0] == '/' || consent_leads_out("/workspace", path, link);
}

static bool is_too_long(const char *path)
{
	size_t depth = 0;

	if (strlen(path) >= PATH_MAX / 2)
		return true;
	for (const char *part = path; *part; part += *part == '/') {
		size_t len = strcspn(part, "/");

		if (len > NAME_MAX || ++depth > DEPTH_MAX)
			return true;
		part += len;
	}
	return false;
}

/* Every directory above PATH that the bundle itself changes must be one afterwards. */
static int check_above(const struct bundle *bundle, const char *path, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		owned(free_ptr) char *above = xstrndup(path, (size_t)(slash - path));
		const struct bundle_change *found = travel_find(bundle, above);

		if (found && found->new.type != 'd')
			return error_set(err, ERROR_DENIED, "'%s' lies below a link or a file",
					 str_shown(path, shown));
	}
	return 0;
}

static int check_change(const struct bundle *bundle, const struct bundle_change *change,
			bool allow_links, struct error *err)
{
	const char *path = change->path, *link = change->new.link;
	char shown[STR_SHOWN_SIZE];

	if (is_too_long(path) || (link && strlen(link) >= PATH_MAX))
		return error_set(err, ERROR_DENIED, "'%s' is too long or lies too deep",
				 str_shown(path, shown));
	if (change->new.mode & 06000)
		return error_set(err, ERROR_DENIED, "'%s' is setuid or setgid",
				 str_shown(path, shown));
	if (link && !allow_links && leads_out(path, link))
		return error_advise(err, ERROR_DENIED, "--allow-links takes such links, too",
				    "'%s' is a link that leads out of the workspace",
				    str_shown(path, shown));
	return change->new.type ? check_above(bundle, path, err) : 0;
}

int pull_check_bundle(const struct bundle *bundle, bool allow_links, struct error *err)
{
	for (size_t i = 1; i < bundle->count; i++)
		if (strcmp(bundle->items[i - 1].path, bundle->items[i].path) >= 0)
			return error_set(err, ERROR_INPUT,
					 "damaged: the bundle's paths are not in order");
	for (size_t i = 0; i < bundle->count; i++)
		if (check_change(bundle, &bundle->items[i], allow_links, err) < 0)
			return -1;
	return 0;
}

int pull_check_places(const struct bundle *bundle, const struct sandbox *sandbox, struct error *err)
{
	struct travel_walls walls = { .paths = STRV_INIT };
	char shown[STR_SHOWN_SIZE];
	int status = travel_walls_read(sandbox, &walls, err);

	for (size_t i = 0; status == 0 && i < bundle->count; i++) {
		owned(free_ptr) char *path =
			xasprintf("%s/%s", sandbox->workspace, bundle->items[i].path);
		const char *wall = travel_walls_find(&walls, path);

		if (wall)
			status = error_set(err, ERROR_DENIED,
					   "'%s' lies in %s, which is mounted or aisbx's own",
					   str_shown(bundle->items[i].path, shown), wall);
	}
	travel_walls_done(&walls);
	return status;
}
