/* SPDX-License-Identifier: Apache-2.0 */
/* Bundles from elsewhere, refused before anything of them is unpacked. */
#include "app/travel/pull_check.h"

#include "base/core/own.h"
#include "workspace/consent/consent_rule.h"
#include "workspace/disk/digest.h"

#include <stdlib.h>
#include <string.h>

int pull_check_content(int fd, const char *sha256, struct error *err)
{
	int is_same = digest_matches(fd, sha256);

	if (is_same < 0)
		return error_errno(err, ERROR_HOST, "the content %.12s", sha256);
	return is_same ? 0
		       : error_set(err, ERROR_INPUT, "the content %.12s is not what was signed",
				   sha256);
}

static int compare_path(const void *key, const void *item)
{
	return strcmp(key, ((const struct bundle_change *)item)->path);
}

/* The other machine's workspace lies elsewhere: an absolute link leads out, whatever it names. */
static bool leads_out(const char *path, const char *link)
{
	return link[0] == '/' || consent_leads_out("/workspace", path, link);
}

/* Every directory above PATH that the bundle itself changes must be one afterwards. */
static int check_above(const struct bundle *bundle, const char *path, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		owned(free_ptr) char *above = xstrndup(path, (size_t)(slash - path));
		const struct bundle_change *found = bsearch(above, bundle->items, bundle->count,
							    sizeof(bundle->items[0]), compare_path);

		if (found && found->new.type != 'd')
			return error_set(err, ERROR_DENIED, "'%s' lies below a link or a file",
					 str_shown(path, shown));
	}
	return 0;
}

static int check_change(const struct bundle *bundle, const struct bundle_change *change,
			bool allow_links, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	if (change->new.mode & 06000)
		return error_set(err, ERROR_DENIED, "'%s' is setuid or setgid",
				 str_shown(change->path, shown));
	if (change->new.type == 'l' && !allow_links && leads_out(change->path, change->new.link))
		return error_advise(err, ERROR_DENIED, "--allow-links takes such links, too",
				    "'%s' is a link that leads out of the workspace",
				    str_shown(change->path, shown));
	return change->new.type ? check_above(bundle, change->path, err) : 0;
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
