/* SPDX-License-Identifier: Apache-2.0 */
/* A delta as git writes patches, with what git has no words for in lines it skips. */
#include "workspace/patch/patch_parts.h"

#include "base/core/error.h"
#include "base/core/own.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* One file in a patch. An old or new side that is NULL is not there. */
struct section {
	const struct delta_side *old, *new;
	const char *old_name, *new_name;
};

static unsigned git_mode(const struct delta_side *side)
{
	if (S_ISLNK(side->st.st_mode))
		return 0120000;
	return side->st.st_mode & S_IXUSR ? 0100755 : 0100644;
}

/* Whether git can express the mode of a file. */
static bool is_git_mode(mode_t mode)
{
	return (mode & 07777) == 0644 || (mode & 07777) == 0755;
}

static bool is_renamed(const struct section *section)
{
	return section->old && section->new &&strcmp(section->old_name, section->new_name) != 0;
}

/* Of a hundred: how much of the larger text is in both. */
static unsigned similarity(const struct patch_content *old, const struct patch_content *new)
{
	owned(text_done) struct text a = { 0 }, b = { 0 };
	owned(hunks_done) struct hunks hunks = { 0 };
	size_t largest = old->bytes.len > new->bytes.len ? old->bytes.len : new->bytes.len;
	size_t kept = old->bytes.len;

	if (patch_content_equal(old, new))
		return 100;
	if (old->kind != PATCH_TEXT || new->kind != PATCH_TEXT || largest == 0)
		return 0;
	text_split(&a, str_cstr(&old->bytes), old->bytes.len);
	text_split(&b, str_cstr(&new->bytes), new->bytes.len);
	textdiff(&a, &b, &hunks);
	for (size_t i = 0; i < hunks.count; i++) {
		const struct hunk *hunk = &hunks.items[i];

		kept -= a.starts[hunk->start_a + hunk->count_a] - a.starts[hunk->start_a];
	}
	size_t percent = kept * 100 / largest;

	return percent < 99 ? (unsigned)percent : 99;
}

static void add_named(struct str *out, const char *words, const char *prefix, const char *name)
{
	str_add(out, words);
	patch_quote(out, prefix, name);
	str_add_char(out, '\n');
}

static void add_head(struct str *out, const struct section *section, const char *old_name,
		     const char *new_name)
{
	str_add(out, "diff --git ");
	patch_quote(out, "a/", old_name);
	str_add_char(out, ' ');
	patch_quote(out, "b/", new_name);
	str_add_char(out, '\n');
	if (!section->old) {
		str_addf(out, "new file mode %o\n", git_mode(section->new));
	} else if (!section->new) {
		str_addf(out, "deleted file mode %o\n", git_mode(section->old));
	} else if (git_mode(section->old) != git_mode(section->new)) {
		str_addf(out, "old mode %o\nnew mode %o\n", git_mode(section->old),
			 git_mode(section->new));
	}
}

/* A name with blanks ends in a tab, so that patch(1) sees where it ends; a quoted one needs none. */
static void add_file_line(struct str *out, const char *sign, const char *prefix, const char *name)
{
	size_t start = out->len;

	str_add(out, sign);
	if (!prefix) {
		str_add(out, "/dev/null\n");
		return;
	}
	patch_quote(out, prefix, name);
	if (strchr(name, ' ') && out->data[start + strlen(sign)] != '"')
		str_add_char(out, '\t');
	str_add_char(out, '\n');
}

static void add_side_name(struct str *out, const char *prefix, const char *name, bool exists)
{
	if (exists)
		patch_quote(out, prefix, name);
	else
		str_add(out, "/dev/null");
}

/* The reason why a file is one line, where it is not that it is binary. */
static void add_why_no_text(struct str *out, const char *name, const struct patch_content *content)
{
	if (content->kind <= PATCH_BINARY)
		return;
	str_add(out, "# ");
	patch_quote(out, "", name);
	if (content->kind == PATCH_LARGE)
		str_addf(out, ": too large to show, %llu bytes\n",
			 (unsigned long long)content->size);
	else if (content->errnum == ESTALE)
		str_add(out, ": changed again meanwhile; ask once more\n");
	else
		str_addf(out, ": cannot be read: %s\n", error_words(content->errnum));
}

/* git apply refuses this line, as it should: the patch does not hold the change. */
static void add_differ(struct str *out, const struct section *section, const char *old_name,
		       const char *new_name)
{
	str_add(out, "Binary files ");
	add_side_name(out, "a/", old_name, section->old);
	str_add(out, " and ");
	add_side_name(out, "b/", new_name, section->new);
	str_add(out, " differ\n");
}

static void add_hunks(struct str *out, const struct patch_run *run, const struct patch_content *old,
		      const struct patch_content *new)
{
	owned(text_done) struct text a = { 0 }, b = { 0 };
	struct unified_options options = { .context = run->options->context };

	text_split(&a, str_cstr(&old->bytes), old->bytes.len);
	text_split(&b, str_cstr(&new->bytes), new->bytes.len);
	textdiff_unified(&a, &b, &options, out);
}

static void add_section(struct str *out, const struct patch_run *run, const struct section *section)
{
	static const struct delta_side absent;
	owned(patch_content_done) struct patch_content old, new;
	const char *old_name = section->old ? section->old_name : section->new_name;
	const char *new_name = section->new ? section->new_name : section->old_name;

	patch_content_read(run, section->old ? section->old : &absent, &old);
	patch_content_read(run, section->new ? section->new : &absent, &new);
	bool is_same = patch_content_equal(&old, &new);

	if (is_same && section->old && section->new && !is_renamed(section) &&
	    git_mode(section->old) == git_mode(section->new))
		return;
	add_why_no_text(out, old_name, &old);
	add_why_no_text(out, new_name, &new);
	add_head(out, section, old_name, new_name);
	if (is_renamed(section)) {
		str_addf(out, "similarity index %u%%\n", similarity(&old, &new));
		add_named(out, "rename from ", "", old_name);
		add_named(out, "rename to ", "", new_name);
	}
	if (is_same)
		return;
	if (old.kind != PATCH_TEXT || new.kind != PATCH_TEXT) {
		add_differ(out, section, old_name, new_name);
		return;
	}
	add_file_line(out, "--- ", section->old ? "a/" : NULL, old_name);
	add_file_line(out, "+++ ", section->new ? "b/" : NULL, new_name);
	add_hunks(out, run, &old, &new);
}

static const char *type_words(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "directory";
	case S_IFLNK:
		return "symbolic link";
	case S_IFIFO:
		return "pipe";
	case S_IFSOCK:
		return "socket";
	case S_IFCHR:
	case S_IFBLK:
		return "device";
	default:
		return "file";
	}
}

static void begin_note(struct str *out, const char *name)
{
	str_add(out, "# ");
	patch_quote(out, "", name);
	str_add(out, ": ");
}

/* Both sides are there and the same thing: the differences that git cannot express. */
static void add_attribute_notes(struct str *out, const struct delta_entry *entry, const char *name)
{
	const struct stat *old = &entry->old.st, *new = &entry->new.st;
	bool git_tells = patch_is_content(&entry->new) && is_git_mode(old->st_mode) &&
			 is_git_mode(new->st_mode);

	if ((entry->aspects & ASPECT_MODE) && !git_tells) {
		begin_note(out, name);
		str_addf(out, "mode %04o -> %04o\n", old->st_mode & 07777, new->st_mode & 07777);
	}
	if (entry->aspects & ASPECT_OWNER) {
		begin_note(out, name);
		str_addf(out, "owner %u:%u -> %u:%u\n", old->st_uid, old->st_gid, new->st_uid,
			 new->st_gid);
	}
	if (entry->aspects & ASPECT_XATTR) {
		begin_note(out, name);
		str_add(out, "extended attributes changed\n");
	}
	if (entry->aspects == ASPECT_MTIME) {
		begin_note(out, name);
		str_add(out, "only its time of modification changed\n");
	}
}

/* Of what is new: what git cannot express of it, and what the caller's umask makes of it. */
static void add_new_notes(struct str *out, const struct patch_run *run,
			  const struct delta_entry *entry, const char *name)
{
	const struct stat *st = &entry->new.st;
	mode_t mode = st->st_mode & 07777, promoted = patch_promoted_mode(run, entry);
	bool is_plain = is_git_mode(mode) && (S_ISREG(st->st_mode) || mode == 0755);

	if (S_ISLNK(st->st_mode))
		return;
	if (!is_plain || promoted != mode) {
		begin_note(out, name);
		str_addf(out, "mode %04o", mode);
		if (promoted != mode && !(entry->flags & FLAG_OUTSIDE))
			str_addf(out, ", promoted as %04o by your umask", promoted);
		str_add_char(out, '\n');
	}
	/* A plain user's files are the user's, whatever the owner in a layer. */
	if (geteuid() == 0 && st->st_uid != 0) {
		begin_note(out, name);
		str_addf(out, "owner %u:%u\n", st->st_uid, st->st_gid);
	}
	if (entry->aspects & ASPECT_XATTR) {
		begin_note(out, name);
		str_add(out, "has extended attributes\n");
	}
}

static void add_existence_note(struct str *out, const struct delta_side *side, const char *name,
			       const char *what)
{
	if (!side->exists || patch_is_content(side))
		return;
	begin_note(out, name);
	str_addf(out, "%s %s\n", type_words(side->st.st_mode), what);
}

static bool is_same_type(const struct delta_entry *entry)
{
	return entry->old.exists && entry->new.exists &&
	       (entry->old.st.st_mode & S_IFMT) == (entry->new.st.st_mode &S_IFMT);
}

static void add_notes(struct str *out, const struct patch_run *run, const struct delta_entry *entry,
		      const char *name, const char *from)
{
	if (is_same_type(entry)) {
		add_attribute_notes(out, entry, name);
	} else {
		add_existence_note(out, &entry->old, from ? from : name, "deleted");
		add_existence_note(out, &entry->new, name, "added");
		if (entry->new.exists)
			add_new_notes(out, run, entry, name);
	}
	if (from && is_same_type(entry) && !patch_is_content(&entry->new)) {
		begin_note(out, name);
		str_addf(out, "%s renamed from ", type_words(entry->new.st.st_mode));
		add_named(out, "", "", from);
	}
	if (entry->mate) {
		begin_note(out, name);
		add_named(out, "hard link to ", "",
			  patch_name(entry->mate, run->options->workspace));
	}
	if (entry->flags & FLAG_HARDLINK_BROKEN) {
		begin_note(out, name);
		str_add(out, "other names of this file keep the old content\n");
	}
}

static void add_entry(struct str *out, const struct patch_run *run, const struct delta_entry *entry)
{
	const char *name = patch_name(entry->path, run->options->workspace);
	const char *from = entry->from ? patch_name(entry->from, run->options->workspace) : NULL;
	struct section section = { .old_name = from ? from : name, .new_name = name };
	const struct delta_side *old = patch_is_content(&entry->old) ? &entry->old : NULL;
	const struct delta_side *new = patch_is_content(&entry->new) ? &entry->new : NULL;
	owned(free_ptr) char *label =
		patch_label(run, entry->new.exists ? &entry->new : &entry->old, entry->path);
	owned(free_ptr) char *from_label = from ? patch_label(run, &entry->old, entry->from) : NULL;

	add_notes(out, run, entry, label, from_label);
	if (old && new &&is_same_type(entry)) {
		section.old = old;
		section.new = new;
		add_section(out, run, &section);
		return;
	}
	if (old) {
		section.old = old;
		add_section(out, run, &section);
	}
	if (new) {
		section.old = NULL;
		section.new = new;
		add_section(out, run, &section);
	}
}

/* What lies outside is shown, but in a form that git apply never applies. */
static void add_as_notes(struct str *out, const struct str *text)
{
	const char *at = str_cstr(text), *end = at + text->len;

	while (at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		size_t len = line_end ? (size_t)(line_end - at) + 1 : (size_t)(end - at);

		if (*at != '#')
			str_add(out, "# ");
		str_add_bytes(out, at, len);
		at += len;
	}
}

int patch_write_unified(const struct patch_run *run)
{
	owned(str_done) struct str out = STR_INIT, part = STR_INIT;
	bool was_outside = false;

	patch_add_warnings(run, &out);
	for (size_t i = 0; i < run->count; i++) {
		bool is_outside = run->entries[i]->flags & FLAG_OUTSIDE;

		if (is_outside && !was_outside)
			str_add(&out, "# Outside the workspace; never promoted:\n");
		was_outside = is_outside;
		str_clear(&part);
		add_entry(is_outside ? &part : &out, run, run->entries[i]);
		add_as_notes(&out, &part);
		if (patch_flush(run, &out) < 0)
			return -1;
	}
	return patch_flush(run, &out);
}
