/* SPDX-License-Identifier: Apache-2.0 */
/* A delta as JSON, one object per line. */
#include "workspace/patch/patch_parts.h"

#include "base/core/own.h"

#include <stdio.h>
#include <string.h>

struct flag_name {
	unsigned flag;
	const char *name;
};

static const struct flag_name aspect_names[] = {
	{ ASPECT_CONTENT, "content" }, { ASPECT_MODE, "mode" },	  { ASPECT_OWNER, "owner" },
	{ ASPECT_XATTR, "xattr" },     { ASPECT_MTIME, "mtime" }, { ASPECT_TYPE, "type" },
	{ ASPECT_PATH, "path" },       { ASPECT_LINK, "link" },	  { 0, NULL },
};

static const struct flag_name flag_names[] = {
	{ FLAG_CAPABILITY, "capability" },
	{ FLAG_SPECIAL, "special" },
	{ FLAG_HARDLINK_BROKEN, "hardlink-broken" },
	{ FLAG_TRIGGER, "trigger" },
	{ FLAG_OUTSIDE, "outside" },
	{ FLAG_LINK_OUT, "link-out" },
	{ FLAG_TOO_LARGE, "too-large" },
	{ 0, NULL },
};

static const char *type_name(const struct delta_side *side)
{
	switch (side->st.st_mode & S_IFMT) {
	case S_IFREG:
		return "file";
	case S_IFDIR:
		return "directory";
	case S_IFLNK:
		return "symlink";
	case S_IFIFO:
		return "fifo";
	case S_IFSOCK:
		return "socket";
	case S_IFCHR:
		return "char-device";
	case S_IFBLK:
		return "block-device";
	default:
		return "unknown";
	}
}

static void add_flags(struct json *json, unsigned flags, const struct flag_name *names)
{
	for (; names->name; names++) {
		if (flags & names->flag)
			json_text(json, names->name);
	}
}

void patch_add_raw(struct json *json, const char *key, const char *bytes)
{
	owned(str_done) struct str other_key = STR_INIT, text = STR_INIT;
	bool is_text = !bytes || utf8_valid(bytes, strlen(bytes));

	if (!is_text)
		patch_quote(&text, "", bytes);
	json_key(json, key);
	json_text(json, is_text ? bytes : str_cstr(&text));
	str_addf(&other_key, "%s_b64", key);
	json_key(json, str_cstr(&other_key));
	str_clear(&text);
	if (!is_text)
		base64_add(&text, bytes, strlen(bytes));
	json_text(json, is_text ? NULL : str_cstr(&text));
}

static void add_digest(struct json *json, const struct patch_run *run,
		       const struct delta_side *side)
{
	char hex[SHA256_HEX_SIZE] = "";

	json_key(json, "sha256");
	if (S_ISREG(side->st.st_mode) && (uint64_t)side->st.st_size <= PATCH_DIGEST_MAX) {
		owned(fd_close) int fd = patch_open(run, side);

		if (fd < 0 || sha256_fd(fd, hex) < 0)
			hex[0] = '\0';
	}
	json_text(json, hex[0] ? hex : NULL);
}

/* Values are bytes, therefore base64. Attributes that cannot be read are null, not empty. */
static void add_xattrs(struct json *json, const struct patch_run *run,
		       const struct delta_side *side)
{
	owned(xattr_list_done) struct xattr_list list = { 0 };
	struct error unseen;

	json_key(json, "xattrs");
	if (delta_xattrs(run->stack, side, &list, &unseen) < 0) {
		json_write_null(json);
		return;
	}
	json_open(json, '{');
	for (size_t i = 0; i < list.count; i++) {
		owned(str_done) struct str value = STR_INIT;

		base64_add(&value, list.items[i].value, list.items[i].len);
		json_key(json, list.items[i].name);
		json_text(json, str_cstr(&value));
	}
	json_close(json, '}');
}

static void add_side(struct json *json, const struct patch_run *run, const char *key,
		     const struct delta_side *side)
{
	char mode[8];

	json_key(json, key);
	if (!side->exists) {
		json_write_null(json);
		return;
	}
	(void)snprintf(mode, sizeof(mode), "%04o", side->st.st_mode & 07777u);
	json_open(json, '{');
	json_key(json, "size");
	json_int(json, side->st.st_size);
	json_key(json, "mode");
	json_text(json, mode);
	json_key(json, "uid");
	json_int(json, side->st.st_uid);
	json_key(json, "gid");
	json_int(json, side->st.st_gid);
	add_digest(json, run, side);
	if (side->link)
		patch_add_raw(json, "link", side->link);
	add_xattrs(json, run, side);
	json_close(json, '}');
}

static int add_base(struct json *json, const struct patch_run *run, const struct delta_entry *entry)
{
	owned(origin_done) struct origin origin = { 0 };

	json_key(json, "base");
	/* What is never promoted needs no base. */
	if (!run->options->origins || (entry->flags & FLAG_OUTSIDE)) {
		json_write_null(json);
		return 0;
	}
	if (origin_find(run->options->origins, entry, &origin, run->err) < 0)
		return -1;
	json_text(json, origin_quality_name(origin.quality));
	return 0;
}

/* The paths the host changed too, sorted for looking up. */
struct stale_paths {
	const char **items;
	size_t count;
};

static int compare_paths(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void stale_paths_read(const struct staleness *staleness, struct stale_paths *paths)
{
	if (!staleness)
		return;
	paths->items = xcalloc(staleness->count, sizeof(*paths->items));
	for (size_t i = 0; i < staleness->count; i++)
		paths->items[paths->count++] = staleness->items[i].path;
	qsort(paths->items, paths->count, sizeof(*paths->items), compare_paths);
}

static void stale_paths_done(struct stale_paths *paths)
{
	free(paths->items);
}

static void add_stale(struct json *json, const struct stale_paths *paths, const char *path)
{
	json_key(json, "stale");
	if (paths->items)
		json_bool(json, bsearch(&path, paths->items, paths->count, sizeof(*paths->items),
					compare_paths));
	else
		json_write_null(json);
}

static void add_entry_flags(struct json *json, const struct delta_entry *entry)
{
	mode_t gained = entry->new.st.st_mode;

	if (entry->old.exists)
		gained &= ~entry->old.st.st_mode;
	json_key(json, "flags");
	json_open(json, '[');
	if ((entry->flags & FLAG_SETID) && (gained & S_ISUID))
		json_text(json, "setuid");
	if ((entry->flags & FLAG_SETID) && (gained & S_ISGID))
		json_text(json, "setgid");
	add_flags(json, entry->flags, flag_names);
	json_close(json, ']');
}

void patch_add_asks(struct json *json, const struct patch_run *run, size_t index)
{
	owned(str_done) struct str why = STR_INIT;
	unsigned asks = run->asks[index];

	patch_add_why(&why, asks, patch_name(run->entries[index]->path, run->options->workspace));
	json_key(json, "asks");
	json_text(json, asks ? str_cstr(&why) : NULL);
}

static int add_entry(struct str *out, const struct patch_run *run, const struct stale_paths *paths,
		     size_t index)
{
	const struct delta_entry *entry = run->entries[index];
	const char *workspace = run->options->workspace;
	struct json json;

	json_init(&json, out);
	json_open(&json, '{');
	json_key(&json, "op");
	json_text(&json, delta_op_name(entry->op));
	patch_add_raw(&json, "path", patch_name(entry->path, workspace));
	json_key(&json, "type");
	json_text(&json, type_name(entry->new.exists ? &entry->new : &entry->old));
	json_key(&json, "aspects");
	json_open(&json, '[');
	add_flags(&json, entry->aspects, aspect_names);
	json_close(&json, ']');
	add_side(&json, run, "old", &entry->old);
	add_side(&json, run, "new", &entry->new);
	patch_add_raw(&json, "from", entry->from ? patch_name(entry->from, workspace) : NULL);
	patch_add_raw(&json, "hardlink", entry->mate ? patch_name(entry->mate, workspace) : NULL);
	if (add_base(&json, run, entry) < 0)
		return -1;
	add_stale(&json, paths, entry->path);
	add_entry_flags(&json, entry);
	patch_add_asks(&json, run, index);
	json_close(&json, '}');
	str_add_char(out, '\n');
	return 0;
}

int patch_write_json(const struct patch_run *run)
{
	owned(stale_paths_done) struct stale_paths paths = { 0 };
	owned(str_done) struct str out = STR_INIT;

	stale_paths_read(run->options->staleness, &paths);
	for (size_t i = 0; i < run->count; i++) {
		if (add_entry(&out, run, &paths, i) < 0 || patch_flush(run, &out) < 0)
			return -1;
	}
	return 0;
}
