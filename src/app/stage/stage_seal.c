/* SPDX-License-Identifier: Apache-2.0 */
/* What a sandbox changed, sealed as a bundle: contents in the store, sides as data. */
#include "app/change/secret_look.h"
#include "app/stage/stage_parts.h"

#include "base/core/own.h"
#include "app/change/workspace_parts.h"
#include "workspace/store/cas.h"
#include "workspace/disk/target.h"

#include <string.h>

static char type_of(const struct delta_side *side)
{
	if (!side->exists)
		return '\0';
	if (S_ISREG(side->st.st_mode))
		return 'f';
	if (S_ISDIR(side->st.st_mode))
		return 'd';
	return S_ISLNK(side->st.st_mode) ? 'l' : '?';
}

/* The old content is kept as well: what a merge starts from. */
static int keep_side(const struct store *store, const struct view_stack *stack,
		     const struct delta_side *side, struct bundle_side *ret_side, struct error *err)
{
	ret_side->type = type_of(side);
	if (!ret_side->type)
		return 0;
	if (ret_side->type == '?')
		return error_advise(err, ERROR_DENIED, "leave it out",
				    "a device, socket or pipe cannot be staged");
	ret_side->mtime_s = side->st.st_mtim.tv_sec > 0 ? (uint64_t)side->st.st_mtim.tv_sec : 0;
	if (ret_side->type == 'l') {
		ret_side->link = xstrdup(side->link ? side->link : "");
		return 0;
	}
	ret_side->mode = side->st.st_mode & 07777;
	if (ret_side->type == 'd')
		return 0;
	owned(fd_close) int fd = delta_open_side(stack, side);

	if (fd < 0)
		return error_errno(err, ERROR_HOST, "cannot read it");
	return cas_keep_fd(store, fd, ret_side->sha256, err);
}

static int add_entry(const struct store *store, const struct view_stack *stack,
		     const struct delta_entry *entry, const char *path, struct bundle *bundle,
		     struct error *err)
{
	struct bundle_change *change = NULL;
	char shown[STR_SHOWN_SIZE];

	if (bundle_add(bundle, path, &change, err) < 0)
		return -1;
	/* Times of directories follow from what is in them. */
	if (keep_side(store, stack, &entry->old, &change->old, err) < 0 ||
	    keep_side(store, stack, &entry->new, &change->new, err) < 0)
		return error_context(err, "%s", str_shown(path, shown));
	if (change->new.type == 'd')
		change->new.mtime_s = 0;
	if (change->old.type != 'f')
		change->old.mtime_s = 0;
	return 0;
}

static int add_entries(const struct store *store, const struct view_stack *stack,
		       const char *workspace, const struct delta *delta, struct bundle *bundle,
		       struct error *err)
{
	for (size_t i = 0; i < delta->count; i++) {
		const char *path = target_relative(workspace, delta->items[i].path);

		if (path && *path &&
		    add_entry(store, stack, &delta->items[i], path, bundle, err) < 0)
			return -1;
	}
	return 0;
}

int stage_seal(const char *sandbox, const char *snapshot, const struct store *store,
	       struct bundle *ret_bundle, struct error *err)
{
	owned(secret_look_close) struct secret_look look = { 0 };
	owned(opened_close) struct opened opened;
	struct delta delta = { .count = 0 };
	struct view_stack stack;
	int status;

	opened_init(&opened);
	if (opened_open(&opened, sandbox, SANDBOX_SHARED, err) < 0 ||
	    secret_look_open(&opened.sandbox, &look, err) < 0 ||
	    app_view(&opened.sandbox, snapshot, &stack, err) < 0)
		return -1;
	const struct delta_options options = { .workspace = opened.sandbox.workspace,
					       .sandbox = &opened.sandbox,
					       .old_from = stack.count,
					       .only_workspace = true,
					       .expand = true };

	status = delta_read(&stack, &options, &delta, err);
	if (status == 0 && delta.is_partial)
		status = error_set(err, ERROR_DENIED, "%s changed too much to be staged", sandbox);
	if (status == 0)
		status = secret_look_delta(&look, &stack, &delta, err);
	if (status == 0)
		status = add_entries(store, &stack, opened.sandbox.workspace, &delta, ret_bundle,
				     err);
	delta_done(&delta);
	view_close(&stack);
	if (status == 0 && ret_bundle->count == 0) {
		error_set(err, ERROR_NOT_FOUND, "%s changed nothing that could be staged", sandbox);
		return error_add_hint(err, "aisbx diff %s", sandbox);
	}
	return status;
}
