/* A delta in the order people should read it, and the forms that need no content. */
#include "workspace/patch.h"

#include "base/fd.h"
#include "base/own.h"
#include "workspace/patch_parts.h"
#include "workspace/trigger.h"

#include <errno.h>
#include <string.h>

#define FLAGS_ASKED (FLAG_SETID | FLAG_CAPABILITY | FLAG_SPECIAL | FLAG_TRIGGER | FLAG_LINK_OUT)

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

const char *patch_why(const struct delta_entry *entry, const char *workspace)
{
	const char *why = NULL;

	if (entry->flags & FLAG_TRIGGER)
		why = trigger_why(patch_name(entry->path, workspace));
	if (why)
		return why;
	if (entry->flags & FLAG_TRIGGER)
		return "makes something run";
	if (entry->flags & FLAG_SETID)
		return "gains setuid or setgid";
	if (entry->flags & FLAG_CAPABILITY)
		return "carries capabilities or other security attributes";
	if (entry->flags & FLAG_SPECIAL)
		return "is a device, a pipe or a socket";
	return entry->flags & FLAG_LINK_OUT ? "is a link that leads out of the workspace" : NULL;
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

static int read_file(const struct patch_run *run, const struct delta_side *side, struct str *out)
{
	owned(fd_close) int fd = delta_open_side(run->stack, side);

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

	if (run->is_partial)
		str_add(out,
			"# This list is not complete: there were more changes than were read.\n");
	for (size_t i = 0; i < run->count; i++) {
		const struct delta_entry *entry = run->entries[i];
		const char *why = patch_why(entry, run->options->workspace);

		if (!why || (entry->flags & FLAG_OUTSIDE))
			continue;
		if (first)
			str_add(out, "# Promotion asks about these before it applies them:\n");
		first = false;
		str_add(out, "#   ");
		patch_quote(out, "", patch_name(entry->path, run->options->workspace));
		str_addf(out, ": %s\n", why);
	}
}

/* 0 for what promotion asks about, 1 for the rest of the workspace, 2 for what lies outside. */
static int rank_of(const struct delta_entry *entry)
{
	if (entry->flags & FLAG_OUTSIDE)
		return 2;
	return entry->flags & FLAGS_ASKED ? 0 : 1;
}

static void put_in_order(struct patch_run *run, const struct delta *delta)
{
	for (int rank = 0; rank <= 2; rank++) {
		for (size_t i = 0; i < delta->count; i++) {
			if (rank_of(&delta->items[i]) == rank)
				run->entries[run->count++] = &delta->items[i];
		}
	}
}

/* With NULs names stand as they are; else a name that would break the line is quoted. */
static void add_field(struct str *out, bool nul, const char *name)
{
	if (nul)
		str_add(out, name);
	else
		patch_quote(out, "", name);
}

static int write_name_status(const struct patch_run *run)
{
	owned(str_done) struct str line = STR_INIT;
	const char *workspace = run->options->workspace;
	bool nul = run->options->nul;

	for (size_t i = 0; i < run->count; i++) {
		const struct delta_entry *entry = run->entries[i];

		str_add_char(&line, delta_op_letter(entry->op));
		if (entry->from) {
			str_add_char(&line, nul ? '\0' : '\t');
			add_field(&line, nul, patch_name(entry->from, workspace));
		}
		str_add_char(&line, nul ? '\0' : '\t');
		add_field(&line, nul, patch_name(entry->path, workspace));
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
	struct patch_run run = { .stack = stack,
				 .options = options,
				 .sink = sink,
				 .err = err,
				 .entries = entries,
				 .is_partial = delta->is_partial };

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
	}
	return error_set(err, ERROR_INTERNAL, "no such form of a patch");
}
