/* SPDX-License-Identifier: Apache-2.0 */
/* A delta in the order people should read it, and the forms that need no content. */
#include "workspace/patch/patch.h"

#include "base/file/file_rights.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "workspace/patch/patch_parts.h"
#include "workspace/disk/target.h"
#include "workspace/consent/write_rule.h"

#include <errno.h>
#include <string.h>

const char *patch_name(const char *path, const char *workspace)
{
	size_t len = workspace ? strlen(workspace) : 0;

	while (len > 0 && workspace[len - 1] == '/')
		len--;
	if (!workspace || strncmp(path, workspace, len) != 0)
		return path;
	if (path[len] == '\0')
		return ".";
	return path[len] == '/' && path[len + 1] ? path + len + 1 : path;
}

void patch_add_why(struct str *out, unsigned asks, const char *name)
{
	const char *between = "";

	for (unsigned reason = 1; reason < 1u << CONSENT_REASONS; reason <<= 1) {
		if (!(asks & reason))
			continue;
		str_addf(out, "%s%s", between, consent_words(reason, name));
		between = ", ";
	}
}

static bool is_plain(const char *name)
{
	for (; *name; name++) {
		unsigned char c = (unsigned char)*name;

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			return false;
	}
	return true;
}

static void add_escaped(struct str *out, unsigned char c)
{
	static const char letters[] = "abtnvfr";

	if (c >= '\a' && c <= '\r')
		str_addf(out, "\\%c", letters[c - '\a']);
	else if (c == '"' || c == '\\')
		str_addf(out, "\\%c", c);
	else if (c < 0x20 || c >= 0x7f)
		str_addf(out, "\\%03o", c);
	else
		str_add_char(out, (char)c);
}

void patch_quote(struct str *out, const char *prefix, const char *name)
{
	/* Outside the workspace names are absolute: "a/etc/motd" reads better than "a//etc/motd". */
	if (*prefix && *name == '/')
		name++;
	if (is_plain(name)) {
		str_add(out, prefix);
		str_add(out, name);
		return;
	}
	str_add_char(out, '"');
	str_add(out, prefix);
	for (; *name; name++)
		add_escaped(out, (unsigned char)*name);
	str_add_char(out, '"');
}

int patch_flush(const struct patch_run *run, struct str *text)
{
	int status = 0;

	if (text->len > 0)
		status = run->sink->add(run->sink->cookie, text->data, text->len, run->err);
	str_clear(text);
	return status;
}

bool patch_is_content(const struct delta_side *side)
{
	return side->exists && (S_ISREG(side->st.st_mode) || S_ISLNK(side->st.st_mode));
}

int patch_open(const struct patch_run *run, const struct delta_side *side)
{
	/* The reviewer may read more than the sandbox could, and may be the sandbox's own agent. */
	if (!(side->st.st_mode & S_IROTH) &&
	    delta_is_from_outside(run->stack, side, run->options->workspace)) {
		errno = EACCES;
		return -1;
	}
	owned(file_rights_restore) struct file_rights rights;

	return file_rights_lessen(&rights) < 0 ? -1 : delta_open_side(run->stack, side);
}

static int read_file(const struct patch_run *run, const struct delta_side *side, struct str *out)
{
	owned(fd_close) int fd = patch_open(run, side);

	if (fd < 0)
		return -1;
	return fd_read_all(fd, PATCH_TEXT_MAX, out);
}

void patch_content_read(const struct patch_run *run, const struct delta_side *side,
			struct patch_content *ret_content)
{
	struct patch_content content = { .kind = PATCH_TEXT };

	if (side->exists && S_ISLNK(side->st.st_mode)) {
		str_add(&content.bytes, side->link ? side->link : "");
	} else if (side->exists && S_ISREG(side->st.st_mode)) {
		content.size = (uint64_t)side->st.st_size;
		if (content.size > PATCH_TEXT_MAX) {
			content.kind = PATCH_LARGE;
		} else if (read_file(run, side, &content.bytes) < 0) {
			content.errnum = errno;
			content.kind = errno == EFBIG ? PATCH_LARGE : PATCH_UNREADABLE;
		}
	}
	if (content.kind == PATCH_TEXT) {
		content.size = content.bytes.len;
		if (text_is_binary(str_cstr(&content.bytes), content.bytes.len))
			content.kind = PATCH_BINARY;
	}
	*ret_content = content;
}

void patch_content_done(struct patch_content *content)
{
	str_done(&content->bytes);
}

bool patch_content_equal(const struct patch_content *a, const struct patch_content *b)
{
	return a->kind == b->kind && a->kind <= PATCH_BINARY && a->bytes.len == b->bytes.len &&
	       memcmp(str_cstr(&a->bytes), str_cstr(&b->bytes), a->bytes.len) == 0;
}

void patch_add_warnings(const struct patch_run *run, struct str *out)
{
	bool first = true;

	if (run->why_partial)
		str_addf(out, "# This list is not complete: %s.\n", run->why_partial);
	for (size_t i = 0; i < run->count; i++) {
		const struct delta_entry *entry = run->entries[i];
		const char *name = patch_name(entry->path, run->options->workspace);

		if (run->asks[i] == 0)
			continue;
		if (first)
			str_add(out, "# Promotion asks about these before it applies them:\n");
		first = false;
		str_add(out, "#   ");
		patch_quote(out, "", name);
		str_add(out, ": ");
		patch_add_why(out, run->asks[i], name);
		str_add_char(out, '\n');
	}
}

static char type_of(const struct delta_side *side)
{
	const struct txn_identity identity = { .exists = side->exists,
					       .mode = side->exists ? side->st.st_mode : 0 };

	return target_type(&identity);
}

static struct consent_side side_of(const struct delta_side *side)
{
	return (struct consent_side){ .type = type_of(side),
				      .mode = side->st.st_mode & 07777,
				      .uid = side->st.st_uid,
				      .gid = side->st.st_gid };
}

mode_t patch_promoted_mode(const struct patch_run *run, const struct delta_entry *entry)
{
	const struct consent_side old = side_of(&entry->old), new = side_of(&entry->new);
	bool is_own = delta_is_own(run->stack, &entry->new, run->options->workspace);

	return consent_mode(&run->caller, is_own ? &new : &old, &new);
}

static bool is_unwritable(const struct patch_run *run, const struct delta_entry *entry)
{
	return run->options->settings && write_rules_forbid(run->options->settings, entry->path);
}

/* What promotion would ask about the change. Attributes are read where there are any that matter. */
static unsigned asks_of(const struct patch_run *run, struct git_tree *tree,
			const struct delta_entry *entry)
{
	owned(xattr_list_done) struct xattr_list old = { 0 }, new = { 0 };
	const char *workspace = run->options->workspace;
	bool is_edit = entry->op == DELTA_MODIFIED || entry->op == DELTA_RENAMED;
	struct error unseen;

	if (!workspace || (entry->flags & FLAG_OUTSIDE))
		return 0;
	if ((entry->aspects & ASPECT_XATTR) || (entry->flags & FLAG_CAPABILITY)) {
		if (entry->new.exists)
			(void)delta_xattrs(run->stack, &entry->new, &new, &unseen);
		if (entry->old.exists)
			(void)delta_xattrs(run->stack, &entry->old, &old, &unseen);
	}
	struct consent_case what = {
		.caller = &run->caller,
		.path = patch_name(entry->path, workspace),
		.root = workspace,
		.root_fd = tree->root_fd,
		.tree = tree,
		.named = run->options->named,
		.is_linked = S_ISREG(entry->new.st.st_mode) && entry->new.st.st_nlink > 1,
		.old = side_of(&entry->old),
		.new = side_of(&entry->new),
		.link = entry->new.link,
		.is_from_outside = delta_is_from_outside(run->stack, &entry->new, workspace),
		.is_content_new = !S_ISDIR(entry->new.st.st_mode) &&
				  (!is_edit || (entry->aspects & ASPECT_CONTENT)),
	};

	what.old.xattrs = &old;
	what.new.xattrs = &new;
	what.new.mode = patch_promoted_mode(run, entry);
	return consent_reasons(&what) | (is_unwritable(run, entry) ? CONSENT_UNWRITABLE : 0);
}

/* The workspace with all of the changes. */
static void see_git(const char *workspace, int root_fd, const struct delta *delta,
		    struct git_tree *ret_tree)
{
	git_tree_init(ret_tree, workspace, root_fd);
	for (size_t i = 0; i < delta->count; i++) {
		const struct delta_entry *entry = &delta->items[i];

		if (!entry->new.exists || (entry->flags & FLAG_OUTSIDE))
			continue;
		git_tree_add(ret_tree, patch_name(entry->path, workspace));
		if (entry->from && S_ISDIR(entry->new.st.st_mode))
			git_tree_add_moved(ret_tree, patch_name(entry->from, workspace),
					   patch_name(entry->path, workspace));
	}
}

/* First what promotion asks about, then the rest of the workspace, then what lies outside. */
static void put_in_order(struct patch_run *run, const struct delta *delta)
{
	owned(free_ptr) unsigned *asks = xcalloc(delta->count, sizeof(unsigned));
	owned(git_tree_done) struct git_tree tree = { .root_fd = -1 };
	owned(fd_close) int root_fd = -1;
	struct error unseen;

	if (run->options->workspace) {
		(void)target_open(run->options->workspace, &root_fd, &unseen);
		see_git(run->options->workspace, root_fd, delta, &tree);
	}
	for (size_t i = 0; i < delta->count; i++)
		asks[i] = asks_of(run, &tree, &delta->items[i]);
	for (int rank = 0; rank <= 2; rank++) {
		for (size_t i = 0; i < delta->count; i++) {
			bool is_outside = delta->items[i].flags & FLAG_OUTSIDE;

			if ((is_outside ? 2 : asks[i] == 0) != rank)
				continue;
			run->asks[run->count] = asks[i];
			run->entries[run->count++] = &delta->items[i];
		}
	}
}

char *patch_label(const struct patch_run *run, const struct delta_side *side, const char *path)
{
	const char *name = patch_name(path, run->options->workspace);
	struct str label = STR_INIT;
	bool is_marked = S_ISDIR(side->st.st_mode) && strcmp(name, ".") != 0 &&
			 name[strlen(name) - 1] != '/';

	str_add(&label, name);
	if (is_marked)
		str_add_char(&label, '/');
	return str_detach(&label);
}

/* With NULs names stand as they are; else a name that would break the line is quoted. */
static void add_field(struct str *out, const struct patch_run *run, const struct delta_side *side,
		      const char *path)
{
	owned(free_ptr) char *name = patch_label(run, side, path);

	str_add_char(out, run->options->nul ? '\0' : '\t');
	if (run->options->nul)
		str_add(out, name);
	else
		patch_quote(out, "", name);
}

static int write_name_status(const struct patch_run *run)
{
	owned(str_done) struct str line = STR_INIT;
	bool nul = run->options->nul;

	for (size_t i = 0; i < run->count; i++) {
		const struct delta_entry *entry = run->entries[i];

		str_add_char(&line, delta_op_letter(entry->op));
		if (entry->from)
			add_field(&line, run, &entry->old, entry->from);
		add_field(&line, run, entry->new.exists ? &entry->new : &entry->old, entry->path);
		str_add_char(&line, nul ? '\0' : '\n');
		if (patch_flush(run, &line) < 0)
			return -1;
	}
	return 0;
}

int patch_write(const struct view_stack *stack, const struct delta *delta,
		const struct patch_options *options, const struct patch_sink *sink,
		struct error *err)
{
	owned(free_ptr) const struct delta_entry **entries =
		xcalloc(delta->count, sizeof(const struct delta_entry *));
	owned(free_ptr) unsigned *asks = xcalloc(delta->count, sizeof(unsigned));
	char why[DELTA_WHY_SIZE];
	struct patch_run run = { .stack = stack,
				 .options = options,
				 .sink = sink,
				 .err = err,
				 .entries = entries,
				 .asks = asks,
				 .caller = consent_caller(),
				 .why_partial =
					 delta->is_partial
						 ? delta_why_partial(delta, options->workspace, why)
						 : NULL };

	put_in_order(&run, delta);
	switch (options->form) {
	case PATCH_UNIFIED:
		return patch_write_unified(&run);
	case PATCH_STAT:
		return patch_write_stat(&run);
	case PATCH_NAME_STATUS:
		return write_name_status(&run);
	case PATCH_JSON:
		return patch_write_json(&run);
	case PATCH_COUNTS:
		return patch_write_counts(&run);
	}
	return error_set(err, ERROR_INTERNAL, "no such form of a patch");
}
