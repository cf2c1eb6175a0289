/* SPDX-License-Identifier: Apache-2.0 */
/* What the masks of a living sandbox hide by pattern: noted at its start, compared before each command. */
#include "app/sandbox/sandbox_patterns.h"

#include "base/core/clock.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/file/real_path.h"
#include "base/core/own.h"
#include "base/hash/sha256.h"
#include "base/text/wildcard.h"
#include "plan/mask_list.h"
#include "spec/mask.h"
#include "workspace/store/store.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NOTE "patterns"
#define NOTE_MAX ((size_t)16 << 20)

/* What stands before each path of the note; a NUL stands behind it. */
#define PATTERN 'p'
/* HOME, two slashes, and a credential of the table of tools, of which any part may be a pattern. */
#define WITHIN 'w'
#define MATCH 'm'
#define LIST 'l'
/* Behind a list: its entries that the sandbox does not see, and a digest of the others. */
#define UNSEEN 'u'
#define ENTRIES 'e'
/* A hidden file or directory, behind a digest of what it was. */
#define HIDDEN 'h'
/* A directory in which patterns were looked for, behind a digest of what it was. */
#define SEARCHED 's'
#define STAMP_SIZE 16u
/* What has no part of a second lies on a filesystem that counts in seconds, or, as FAT does, in two. */
#define COARSE_NS UINT64_C(2000000000)

/* Adds PATH, or the lowest directory above it that exists: without a change there, nothing can appear at PATH. */
static void add_searched(const char *path, struct strv *searched)
{
	owned(free_ptr) char *dir = xstrdup(path);
	struct stat st;
	char *slash;

	/* A link to nowhere stays: its target may appear anywhere. */
	while (lstat(dir, &st) < 0 && (slash = strrchr(dir, '/')))
		*slash = '\0';
	if (!strv_has(searched, *dir ? dir : "/"))
		strv_add(searched, *dir ? dir : "/");
}

/* What PATTERN matches; SEARCHED, if there is one, gets the directories that decide about it. */
static void list_matches(const char *pattern, struct strv *ret_paths, struct strv *searched)
{
	size_t dir_len = (size_t)(strrchr(pattern, '/') - pattern);
	owned(free_ptr) char *dir_path = xstrndup(pattern, dir_len);
	owned(dir_close) DIR *dir = opendir(dir_len ? dir_path : "/");
	struct dirent *entry;

	if (searched)
		add_searched(dir_len ? dir_path : "/", searched);
	while (dir_next(dir, &entry) > 0) {
		owned(free_ptr) char *path = xasprintf("%s/%s", dir_path, entry->d_name);

		if (mask_pattern_match(pattern, path))
			strv_take(ret_paths, ptr_take(&path));
	}
}

/* The same below TOP for PATTERN, of which any part may be one. */
static void list_within(const char *top, const char *pattern, struct strv *ret_paths,
			struct strv *searched)
{
	const char *star = strchr(pattern, '*'), *begin = star;
	struct dirent *entry;
	struct stat st;

	if (!star) {
		owned(free_ptr) char *path = xasprintf("%s/%s", top, pattern);
		owned(free_ptr) char *parent = xstrndup(path, (size_t)(strrchr(path, '/') - path));

		if (searched)
			add_searched(parent, searched);
		if (lstat(path, &st) == 0)
			strv_take(ret_paths, ptr_take(&path));
		return;
	}
	while (begin > pattern && begin[-1] != '/')
		begin--;
	const char *rest = begin + strcspn(begin, "/");
	owned(free_ptr) char *dir_path = xasprintf("%s/%.*s", top, (int)(begin - pattern), pattern);
	owned(free_ptr) char *match = xstrndup(begin, (size_t)(rest - begin));
	owned(dir_close) DIR *dir = opendir(dir_path);

	if (searched)
		add_searched(dir_path, searched);
	while (dir_next(dir, &entry) > 0) {
		if (!wildcard_matches(match, entry->d_name, 0))
			continue;
		owned(free_ptr) char *path = xasprintf("%s%s", dir_path, entry->d_name);

		if (!*rest)
			strv_add(ret_paths, path);
		else if (entry->d_type != DT_REG)
			list_within(path, rest + 1, ret_paths, searched);
	}
}

static void list_line(const char *line, struct strv *ret_paths, struct strv *searched)
{
	const char *within = *line == PATTERN ? NULL : strstr(line, "//");
	owned(free_ptr) char *top = xstrndup(line + 1, within ? (size_t)(within - line - 1) : 0);

	if (*line == PATTERN)
		list_matches(line + 1, ret_paths, searched);
	else if (within)
		list_within(top, within + 2, ret_paths, searched);
}

static void add_line(struct str *bytes, char kind, const char *path)
{
	str_add_char(bytes, kind);
	str_add_bytes(bytes, path, strlen(path) + 1);
}

/* The lines of a note, sorted, so that each of many entries is looked up without reading all of it. */
struct note {
	struct str bytes;
	struct strv patterns;
	const char **lines;  /* of the kinds that are looked up whole */
	const char **hidden; /* sorted by what follows the stamp */
	size_t count, hidden_count;
};

static void note_done(struct note *note)
{
	str_done(&note->bytes);
	strv_done(&note->patterns);
	free(note->lines);
	free(note->hidden);
}

static int compare_lines(const void *one, const void *other)
{
	return strcmp(*(const char *const *)one, *(const char *const *)other);
}

static int compare_hidden(const void *one, const void *other)
{
	return strcmp(*(const char *const *)one + 1 + STAMP_SIZE,
		      *(const char *const *)other + 1 + STAMP_SIZE);
}

static void note_sort(struct note *note)
{
	const char *at = note->bytes.data, *end = note->bytes.data + note->bytes.len;
	size_t count = 0;

	for (const char *line = at; line < end; line += strlen(line) + 1)
		count++;
	note->lines = xcalloc(count + 1, sizeof(*note->lines));
	note->hidden = xcalloc(count + 1, sizeof(*note->hidden));
	for (; at < end; at += strlen(at) + 1) {
		if (*at == PATTERN)
			strv_add(&note->patterns, at + 1);
		else if (*at != HIDDEN)
			note->lines[note->count++] = at;
		else if (strlen(at) > STAMP_SIZE)
			note->hidden[note->hidden_count++] = at;
	}
	qsort(note->lines, note->count, sizeof(*note->lines), compare_lines);
	qsort(note->hidden, note->hidden_count, sizeof(*note->hidden), compare_hidden);
}

static bool is_noted(const struct note *note, char kind, const char *path)
{
	owned(free_ptr) char *line = xasprintf("%c%s", kind, path);

	return bsearch(&(const char *){ line }, note->lines, note->count, sizeof(*note->lines),
		       compare_lines);
}

static bool is_matched(const struct strv *patterns, const char *path)
{
	for (size_t i = 0; i < patterns->count; i++) {
		if (mask_pattern_match(patterns->items[i], path))
			return true;
	}
	return false;
}

/* The mask layer has directories by their names, and copies of the files as they were. */
static void add_entry(struct sha256 *sum, int dir_fd, const char *name)
{
	struct stat st = { 0 };

	(void)fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW);
	sha256_add(sum, name, strlen(name) + 1);
	sha256_add(sum, &st.st_mode, sizeof(st.st_mode));
	if (!S_ISDIR(st.st_mode)) {
		sha256_add(sum, &st.st_ino, sizeof(st.st_ino));
		sha256_add(sum, &st.st_ctim, sizeof(st.st_ctim));
	}
}

/* A digest of those entries of DIR that neither the note nor a pattern in it calls unseen. */
static void digest_list(const struct note *note, const char *dir_path,
			char ret_hex[static SHA256_HEX_SIZE])
{
	owned(dir_close) DIR *dir = opendir(dir_path);
	struct dirent *entry;
	struct sha256 sum;

	sha256_start(&sum);
	while (dir_next(dir, &entry) > 0) {
		owned(free_ptr) char *path = xasprintf("%s/%s", dir_path, entry->d_name);

		if (!is_noted(note, UNSEEN, path) && !is_matched(&note->patterns, path))
			add_entry(&sum, dirfd(dir), entry->d_name);
	}
	sha256_end(&sum, ret_hex);
}

/* The same from the plan: what digest_list() will find if nothing changes. */
static void add_list(struct str *bytes, const struct spec *spec, const struct strv *patterns,
		     const char *dir_path)
{
	owned(dir_close) DIR *dir = opendir(dir_path);
	char hex[SHA256_HEX_SIZE];
	struct dirent *entry;
	struct sha256 sum;

	add_line(bytes, LIST, dir_path);
	sha256_start(&sum);
	while (dir_next(dir, &entry) > 0) {
		owned(free_ptr) char *path = xasprintf("%s/%s", dir_path, entry->d_name);

		if (is_matched(patterns, path))
			continue;
		if (mask_shows(spec, path))
			add_entry(&sum, dirfd(dir), entry->d_name);
		else
			add_line(bytes, UNSEEN, path);
	}
	sha256_end(&sum, hex);
	add_line(bytes, ENTRIES, hex);
}

/* Changes with each link that is made, removed or renamed; of a directory, with each entry. */
static void stamp_of(const struct stat *st, char ret_stamp[static STAMP_SIZE + 1])
{
	const uint64_t facts[] = { st->st_dev, st->st_ino, st->st_nlink,
				   (uint64_t)st->st_ctim.tv_sec, (uint64_t)st->st_ctim.tv_nsec };
	char hex[SHA256_HEX_SIZE];

	sha256_hex(facts, sizeof(facts), hex);
	memcpy(ret_stamp, hex, STAMP_SIZE);
	ret_stamp[STAMP_SIZE] = '\0';
}

static bool has_stamp(const char *line, const struct stat *st)
{
	char stamp[STAMP_SIZE + 1];

	stamp_of(st, stamp);
	return memcmp(stamp, line + 1, STAMP_SIZE) == 0;
}

/* What changed since SINCE_NS gets a stamp that nothing has: the next command looks into it. */
static void add_stamped(struct str *bytes, char kind, const char *path, const struct stat *st,
			uint64_t since_ns)
{
	char stamp[STAMP_SIZE + 1];

	stamp_of(st, stamp);
	if (clock_ns_of(&st->st_ctim) + (st->st_ctim.tv_nsec ? 0 : COARSE_NS) >= since_ns)
		memset(stamp, '-', STAMP_SIZE);
	str_add_char(bytes, kind);
	str_add(bytes, stamp);
	str_add_bytes(bytes, path, strlen(path) + 1);
}

/* Adds the directories among HIDDEN, or all the others, until COUNT is SANDBOX_HIDDEN_MAX. */
static void add_all_hidden(struct str *bytes, const struct strv *hidden, bool are_dirs,
			   uint64_t since_ns, unsigned *count)
{
	struct stat st;

	for (size_t i = 0; i < hidden->count && *count < SANDBOX_HIDDEN_MAX; i++) {
		if (lstat(hidden->items[i], &st) < 0 || S_ISDIR(st.st_mode) != are_dirs)
			continue;
		add_stamped(bytes, HIDDEN, hidden->items[i], &st, since_ns);
		(*count)++;
	}
}

static void add_all_searched(struct str *bytes, const struct strv *searched, uint64_t since_ns)
{
	for (size_t i = 0; i < searched->count; i++) {
		struct stat st = { 0 };

		(void)stat(searched->items[i], &st);
		add_stamped(bytes, SEARCHED, searched->items[i], &st, since_ns);
	}
}

static bool is_noted_hidden(const struct note *note, const char *path)
{
	owned(free_ptr) char *line = xasprintf("%*s%s", (int)(1 + STAMP_SIZE), "", path);

	return bsearch(&(const char *){ line }, note->hidden, note->hidden_count,
		       sizeof(*note->hidden), compare_hidden);
}

/* A file of the hidden directory at PATH that is new and has another name as well; NULL when there is none. */
static char *find_linked(const struct note *note, const char *path)
{
	owned(dir_close) DIR *dir = opendir(path);
	struct dirent *entry;
	struct stat st;

	while (dir_next(dir, &entry) > 0) {
		owned(free_ptr) char *file = xasprintf("%s/%s", path, entry->d_name);

		if ((entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN) &&
		    lstat(file, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink > 1 &&
		    !is_noted_hidden(note, file))
			return ptr_take(&file);
	}
	return NULL;
}

/* The hidden file that LINE of the note stands for, or one in that directory, if it has a link that the start did not see. */
static char *newly_linked(const struct note *note, const char *line)
{
	const char *path = line + 1 + STAMP_SIZE;
	struct stat st;

	if (lstat(path, &st) < 0 || has_stamp(line, &st))
		return NULL;
	if (S_ISDIR(st.st_mode))
		return find_linked(note, path);
	return S_ISREG(st.st_mode) && st.st_nlink > 1 ? xstrdup(path) : NULL;
}

/* What appeared after the plan was made is not hidden by it, and no match: the next command finds it new. */
static void add_matches(struct str *bytes, const struct spec *spec, char kind, const char *pattern,
			struct strv *searched)
{
	owned(free_ptr) char *line = xasprintf("%c%s", kind, pattern);
	owned(strv_done) struct strv matches = STRV_INIT;

	add_line(bytes, kind, pattern);
	list_line(line, &matches, searched);
	for (size_t i = 0; i < matches.count; i++) {
		const char *path = matches.items[i];
		owned(free_ptr) char *real = mask_shows(spec, path) ? path_real(path) : NULL;

		if (!mask_shows(spec, real ? real : path) || strcmp(path, spec->workspace) == 0)
			add_line(bytes, MATCH, path);
	}
}

/* The plan has only the names that such patterns stood for at the start. */
static void add_tool_patterns(struct str *bytes, const struct spec *spec, struct strv *searched)
{
	for (const char *const *name = mask_tool_hidden; *name; name++) {
		const char *star = strchr(*name, '*');

		if (!star || !strchr(star, '/'))
			continue;
		owned(free_ptr) char *first =
			xasprintf("%s/%.*s", spec->home, (int)(star - *name), *name);
		owned(free_ptr) char *pattern = xasprintf("%s//%s", spec->home, *name);

		if (mask_parent_shows(spec, first))
			add_matches(bytes, spec, WITHIN, pattern, searched);
	}
}

int sandbox_patterns_note(int dir_fd, const struct spec *spec, const struct strv *hidden,
			  uint64_t since_ns, struct error *err)
{
	owned(str_done) struct str bytes = STR_INIT;
	owned(strv_done) struct strv patterns = STRV_INIT, searched = STRV_INIT;
	unsigned count = 0;

	for (size_t i = 0; i < spec->mask_count; i++) {
		const char *pattern = spec->masks[i].path;

		if (spec->masks[i].kind != MASK_GLOB || !mask_parent_shows(spec, pattern))
			continue;
		add_matches(&bytes, spec, PATTERN, pattern, &searched);
		strv_add(&patterns, pattern);
	}
	add_tool_patterns(&bytes, spec, &searched);
	for (size_t i = 0; i < spec->mask_count; i++) {
		if (spec->masks[i].kind == MASK_LIST)
			add_list(&bytes, spec, &patterns, spec->masks[i].path);
	}
	add_all_searched(&bytes, &searched, since_ns);
	add_all_hidden(&bytes, hidden, true, since_ns, &count);
	add_all_hidden(&bytes, hidden, false, since_ns, &count);
	if (bytes.len > NOTE_MAX)
		return error_set(err, ERROR_DENIED,
				 "the patterns of what is hidden match too many files: hide the "
				 "directory instead");
	return store_replace(dir_fd, NOTE, str_cstr(&bytes), bytes.len, false, err);
}

/* Whether the directory that the note has at AT has the entries that it had at the start. */
static bool is_list_same(const struct note *note, const char *at)
{
	const char *end = note->bytes.data + note->bytes.len, *dir_path = at + 1;
	char hex[SHA256_HEX_SIZE];

	while (at < end && *at != ENTRIES)
		at += strlen(at) + 1;
	digest_list(note, dir_path, hex);
	return at < end && strcmp(at + 1, hex) == 0;
}

/* A directory of PATTERN that is shown as a list shows nothing new. */
static bool is_in_list(const struct note *note, const char *pattern)
{
	owned(free_ptr) char *dir = xstrndup(pattern, (size_t)(strrchr(pattern, '/') - pattern));

	return is_noted(note, LIST, dir);
}

/* The first path that LINE, a pattern of the note, hides and the note has not; NULL when there is none. */
static char *find_new(const struct note *note, const char *line)
{
	owned(strv_done) struct strv matches = STRV_INIT;

	list_line(line, &matches, NULL);
	for (size_t i = 0; i < matches.count; i++) {
		if (!is_noted(note, MATCH, matches.items[i]))
			return xstrdup(matches.items[i]);
	}
	return NULL;
}

/* Whether something may have appeared in a directory in which patterns were looked for, or none was noted. */
static bool is_search_needed(const struct note *note)
{
	bool has_note = false;
	struct stat st;

	for (size_t i = 0; i < note->count; i++) {
		const char *line = note->lines[i];

		if (*line != SEARCHED || strlen(line) <= STAMP_SIZE)
			continue;
		has_note = true;
		if (stat(line + 1 + STAMP_SIZE, &st) < 0 || !has_stamp(line, &st))
			return true;
	}
	return !has_note;
}

int sandbox_patterns_compare(int dir_fd, struct sandbox_outdated *ret_outdated, struct error *err)
{
	owned(note_done) struct note note = { .bytes = STR_INIT, .patterns = STRV_INIT };

	*ret_outdated = (struct sandbox_outdated){ 0 };
	if (file_read(dir_fd, NOTE, NOTE_MAX, &note.bytes, err) < 0)
		return err->code != ERROR_NOT_FOUND
			       ? -1
			       : error_advise(err, ERROR_CONFLICT, "stop it first",
					      "the sandbox runs under another version of aisbx");
	note_sort(&note);
	bool is_needed = is_search_needed(&note);

	for (size_t at = 0; at < note.bytes.len; at += strlen(note.bytes.data + at) + 1) {
		const char *line = note.bytes.data + at;

		if (*line == LIST && !ret_outdated->listed && !is_list_same(&note, line))
			ret_outdated->listed = xstrdup(line + 1);
		if (*line == HIDDEN && !ret_outdated->linked)
			ret_outdated->linked = newly_linked(&note, line);
		if ((*line != PATTERN || is_in_list(&note, line + 1)) && *line != WITHIN)
			continue;
		if (is_needed && !ret_outdated->shown)
			ret_outdated->shown = find_new(&note, line);
	}
	ret_outdated->is_outdated =
		ret_outdated->shown || ret_outdated->linked || ret_outdated->listed;
	return 0;
}

void sandbox_outdated_done(struct sandbox_outdated *outdated)
{
	free_ptr(&outdated->shown);
	free_ptr(&outdated->linked);
	free_ptr(&outdated->listed);
}
