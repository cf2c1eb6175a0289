/* What the masks of a living sandbox hide by pattern: noted at its start, compared before each command. */
#include "app/sandbox/sandbox_patterns.h"

#include "base/dir.h"
#include "base/fd.h"
#include "base/own.h"
#include "spec/mask.h"
#include "workspace/store/store.h"

#include <string.h>

#define NOTE "patterns"
#define NOTE_MAX ((size_t)16 << 20)

/* What stands before each path of the note; a NUL stands behind it. */
#define PATTERN 'p'
#define MATCH 'm'

static void list_matches(const char *pattern, struct strv *ret_paths)
{
	size_t dir_len = (size_t)(strrchr(pattern, '/') - pattern);
	owned(free_ptr) char *dir_path = xstrndup(pattern, dir_len);
	owned(dir_close) DIR *dir = opendir(dir_len ? dir_path : "/");
	struct dirent *entry;

	while (dir_next(dir, &entry) > 0) {
		owned(free_ptr) char *path = xasprintf("%s/%s", dir_path, entry->d_name);

		if (mask_pattern_match(pattern, path))
			strv_take(ret_paths, ptr_take(&path));
	}
}

static void add_line(struct str *bytes, char kind, const char *path)
{
	str_add_char(bytes, kind);
	str_add_bytes(bytes, path, strlen(path) + 1);
}

int sandbox_patterns_note(int dir_fd, const struct spec *spec, struct error *err)
{
	owned(str_done) struct str bytes = STR_INIT;

	for (size_t i = 0; i < spec->mask_count; i++) {
		owned(strv_done) struct strv matches = STRV_INIT;
		const char *pattern = spec->masks[i].path;

		if (spec->masks[i].kind != MASK_GLOB || !mask_parent_shows(spec, pattern))
			continue;
		add_line(&bytes, PATTERN, pattern);
		list_matches(pattern, &matches);
		for (size_t m = 0; m < matches.count; m++)
			add_line(&bytes, MATCH, matches.items[m]);
	}
	if (bytes.len > NOTE_MAX)
		return error_set(err, ERROR_DENIED,
				 "the patterns of what is hidden match too many files: hide the "
				 "directory instead");
	return store_replace(dir_fd, NOTE, str_cstr(&bytes), bytes.len, false, err);
}

static bool is_noted(const struct str *note, const char *path)
{
	const char *at = note->data, *end = note->data + note->len;

	for (; at < end; at += strlen(at) + 1) {
		if (*at == MATCH && strcmp(at + 1, path) == 0)
			return true;
	}
	return false;
}

int sandbox_patterns_compare(int dir_fd, char **ret_path, struct error *err)
{
	owned(str_done) struct str note = STR_INIT;

	*ret_path = NULL;
	if (file_read(dir_fd, NOTE, NOTE_MAX, &note, err) < 0)
		return err->code != ERROR_NOT_FOUND
			       ? -1
			       : error_set(
					 err, ERROR_CONFLICT,
					 "the sandbox runs under another version of aisbx; stop it "
					 "first");
	for (size_t at = 0; at < note.len; at += strlen(note.data + at) + 1) {
		owned(strv_done) struct strv matches = STRV_INIT;

		if (note.data[at] != PATTERN)
			continue;
		list_matches(note.data + at + 1, &matches);
		for (size_t i = 0; i < matches.count; i++) {
			if (is_noted(&note, matches.items[i]))
				continue;
			*ret_path = xstrdup(matches.items[i]);
			return 0;
		}
	}
	return 0;
}
