/* SPDX-License-Identifier: Apache-2.0 */
/* What a repository's refs name before and after a promotion, and what of its history would be lost. */
#include "workspace/promote/promote_refs.h"
#include "workspace/promote/promote_commits.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "workspace/consent/name_fold.h"
#include "workspace/disk/path_set.h"
#include "workspace/disk/target.h"

#include <string.h>
#include <sys/stat.h>

#define PACKED_SIZE_MAX ((size_t)16 << 20)
#define LOG_CHUNK 4096
#define SHA1_LEN 40
#define SYMREF_DEPTH 5

char *promote_refs_path(const struct promote_refs *refs, const char *name)
{
	return xasprintf("%s%s%s", refs->directory, *refs->directory ? "/" : "", name);
}

bool promote_is_applied(const struct item *item)
{
	return item->is_selected && item->fate != FATE_LEFT;
}

/* A small regular file of the host's; "" when there is none. -1, with "", when what is there cannot be read. */
static int read_host(const struct promote *promote, const char *path, size_t max,
		     struct str *ret_text)
{
	struct txn_identity now;
	owned(fd_close) int fd = -1;

	str_clear(ret_text);
	if (target_look(promote->target_fd, path, &now) < 0)
		return -1;
	if (target_type(&now) != 'f')
		return 0;
	fd = target_open_file(promote->target_fd, path, &now);
	if (fd >= 0 && fd_read_all(fd, max, ret_text) == 0)
		return 0;
	str_clear(ret_text);
	return -1;
}

int promote_read_item(const struct promote *promote, const struct item *item, size_t max,
		      struct str *ret_text)
{
	struct error ignored = { 0 };
	owned(fd_close) int fd = -1;

	str_clear(ret_text);
	if (item->content == CONTENT_MERGED) {
		str_add_bytes(ret_text, str_cstr(&item->merged), item->merged.len);
		return 0;
	}
	fd = promote_open_theirs(promote, item, &ignored);
	return fd < 0 ? -1 : fd_read_all(fd, max, ret_text);
}

static void read_after(const struct promote *promote, const char *path, size_t max,
		       struct str *ret_text)
{
	size_t at = promote_find(promote, path);
	const struct item *item = at == NO_ITEM ? NULL : &promote->items[at];

	if (!item || !promote_is_applied(item) || item->content == CONTENT_OURS)
		(void)read_host(promote, path, max, ret_text);
	else if (item->type != 'f' || promote_read_item(promote, item, max, ret_text) < 0)
		str_clear(ret_text);
}

size_t promote_refs_id_len(const char *text, size_t len)
{
	size_t count = 0;

	while (count < len && count <= SHA256_LEN &&
	       ((text[count] >= '0' && text[count] <= '9') ||
		(text[count] >= 'a' && text[count] <= 'f')))
		count++;
	return count == SHA1_LEN || count == SHA256_LEN ? count : 0;
}

static char *find_packed(const struct str *packed, const char *name)
{
	const char *line = str_cstr(packed);

	while (*line) {
		size_t len = strcspn(line, "\n"), id = promote_refs_id_len(line, len);

		if (id > 0 && line[id] == ' ' && strlen(name) == len - id - 1 &&
		    strncmp(line + id + 1, name, len - id - 1) == 0)
			return xstrndup(line, id);
		line += len + (line[len] == '\n');
	}
	return xstrdup("");
}

static char *resolve(const struct promote_refs *refs, const char *file, const char *name,
		     bool is_after, unsigned depth)
{
	owned(str_done) struct str text = STR_INIT;

	if (is_after)
		read_after(refs->promote, file, REF_SIZE_MAX, &text);
	else
		(void)read_host(refs->promote, file, REF_SIZE_MAX, &text);
	if (text.len == 0)
		return find_packed(is_after ? &refs->packed_new : &refs->packed_old, name);
	if (strncmp(text.data, SYMREF, strlen(SYMREF)) == 0 && depth > 0) {
		owned(free_ptr) char *target = xstrndup(
			text.data + strlen(SYMREF), strcspn(text.data + strlen(SYMREF), "\r\n"));
		owned(free_ptr) char *target_file = promote_refs_path(refs, target);

		return resolve(refs, target_file, target, is_after, depth - 1);
	}
	return xstrndup(text.data, promote_refs_id_len(text.data, text.len));
}

char *promote_refs_resolve(const struct promote_refs *refs, const char *file, const char *name,
			   bool is_after)
{
	return resolve(refs, file, name, is_after, SYMREF_DEPTH);
}

/*
 * Whether the host's log of the ref goes on with a line that leaves OLD, as git writes it. A log that the sandbox made is
 * none of the host's.
 */
static bool is_logged(const struct promote_refs *refs, const char *file, const char *name,
		      const char *old)
{
	owned(free_ptr) char *log =
		xasprintf("%.*slogs/%s", (int)(strlen(file) - strlen(name)), file, name);
	size_t at = promote_find(refs->promote, log);
	const struct item *item = at == NO_ITEM ? NULL : &refs->promote->items[at];
	size_t len = strlen(old);
	char line[SHA256_LEN + 1];
	struct error ignored = { 0 };
	owned(fd_close) int fd = -1;

	if (!item || !promote_is_applied(item) || item->type != 'f' ||
	    item->content != CONTENT_THEIRS || target_type(&item->now) != 'f' ||
	    item->now.size == 0)
		return false;
	fd = promote_open_theirs(refs->promote, item, &ignored);
	return fd >= 0 &&
	       fd_read_at(fd, line, len + 1, (off_t)item->now.size) == (ssize_t)(len + 1) &&
	       memcmp(line, old, len) == 0 && line[len] == ' ';
}

bool promote_refs_leaves(const struct promote_refs *refs, const char *file, const char *name,
			 char **ret_old, char **ret_new)
{
	/* A symbolic ref has nothing of its own to lose: what it names is another ref. */
	*ret_old = resolve(refs, file, name, false, 0);
	*ret_new = promote_refs_resolve(refs, file, name, true);
	return **ret_old && strcmp(*ret_old, *ret_new) != 0 &&
	       !is_logged(refs, file, name, *ret_old);
}

void promote_refs_init(struct promote_refs *refs, const struct promote *promote,
		       const char *directory)
{
	*refs = (struct promote_refs){ .promote = promote, .directory = xstrdup(directory) };
	owned(free_ptr) char *packed = promote_refs_path(refs, "packed-refs");

	refs->is_unread = read_host(promote, packed, PACKED_SIZE_MAX, &refs->packed_old) < 0;
	read_after(promote, packed, PACKED_SIZE_MAX, &refs->packed_new);
}

void promote_refs_done(struct promote_refs *refs)
{
	free_ptr(&refs->directory);
	str_done(&refs->packed_old);
	str_done(&refs->packed_new);
}

/* The names in a file of packed refs. */
static void list_packed(const struct str *packed, struct path_set *ret_names)
{
	for (const char *line = str_cstr(packed); *line;) {
		size_t len = strcspn(line, "\n"), id = promote_refs_id_len(line, len);

		if (id > 0 && line[id] == ' ') {
			owned(free_ptr) char *name = xstrndup(line + id + 1, len - id - 1);

			(void)path_set_add(ret_names, name);
		}
		line += len + (line[len] == '\n');
	}
}

/* Whether one of the packed refs is neither packed nor a file of its own any more; of unknown ones, one is. */
static bool loses_packed(const struct promote_refs *refs)
{
	owned(path_set_done) struct path_set old = { 0 }, new = { 0 };

	if (refs->is_unread)
		return true;
	list_packed(&refs->packed_old, &old);
	list_packed(&refs->packed_new, &new);
	for (size_t i = 0; i < old.size; i++) {
		const char *name = old.slots[i];

		if (!name || path_set_has(&new, name))
			continue;
		owned(free_ptr) char *file = promote_refs_path(refs, name);
		owned(free_ptr) char *id = promote_refs_resolve(refs, file, name, true);

		if (!*id)
			return true;
	}
	return false;
}

/* Whether the ref names nothing any more, or what the host packed once, before it moved on. */
static bool loses_ref(const struct promote_refs *refs, const struct item *item, const char *name)
{
	owned(free_ptr) char *before = promote_refs_resolve(refs, item->path, name, false);
	owned(free_ptr) char *after = promote_refs_resolve(refs, item->path, name, true);
	owned(free_ptr) char *packed = find_packed(&refs->packed_old, name);

	return !*after ||
	       (item->type == 0 && strcmp(before, after) != 0 && strcmp(packed, after) == 0);
}

/* Whether the host cannot use what it has there any more: it goes, is of another kind, or is shut to its owner. */
static bool is_taken(const struct item *item)
{
	mode_t lost = item->now.mode & ~item->meta.mode;

	if (item->type != target_type(&item->now))
		return true;
	return item->content == CONTENT_THEIRS && (lost & (item->type == 'd' ? S_IRWXU : S_IRUSR));
}

/* What git cannot do without, beside refs and objects. */
static bool is_needed(const char *folded)
{
	static const char *const names[] = { "head",	"index",  "packed-refs",
					     "shallow", "gitdir", "commondir",
					     "objects", "refs",	  "objects/info/alternates" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], folded) == 0)
			return true;
	return false;
}

/* Folders whose files are history, each one of them. */
static bool is_history(const char *folded)
{
	static const char *const folders[] = { "objects/", "refs/", "logs/", "reftable/",
					       "lfs/objects/" };

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (str_starts(folded, folders[i]))
			return !str_starts(folded, "objects/info/");
	return false;
}

/*
 * Whether the log does not begin with what the host has of it: git only ever adds lines, and the host's name its commits.
 * A branch that --commits moves forward has those in it, and its log may have forked from the host's.
 */
static bool loses_log(const struct promote *promote, const struct item *item)
{
	char old[LOG_CHUNK], new[LOG_CHUNK];
	struct error ignored = { 0 };
	uint64_t len = promote->move && promote->move->is_forward ? 0 : item->now.size;
	owned(fd_close) int old_fd = promote_open_ours(promote, item, &ignored);
	owned(fd_close) int new_fd =
		item->content == CONTENT_THEIRS ? promote_open_theirs(promote, item, &ignored) : -1;

	if (old_fd < 0 || new_fd < 0)
		return true;
	for (uint64_t at = 0; at < len; at += LOG_CHUNK) {
		size_t part = len - at < LOG_CHUNK ? (size_t)(len - at) : LOG_CHUNK;

		if (fd_read_at(old_fd, old, part, (off_t)at) != (ssize_t)part ||
		    fd_read_at(new_fd, new, part, (off_t)at) != (ssize_t)part ||
		    memcmp(old, new, part) != 0)
			return true;
	}
	return false;
}

static bool is_lost(const struct promote_refs *refs, const struct item *item, const char *rest,
		    const char *folded)
{
	bool is_new = item->type == 'f' && item->content != CONTENT_OURS;
	uint64_t size = (uint64_t)item->entry.new.st.st_size;

	/* A file that goes may be packed, or unpacked; one that stays has to be of use. */
	if (strcmp(folded, "packed-refs") == 0)
		return (item->type && is_taken(item)) || loses_packed(refs);
	if (str_starts(folded, "refs/") && target_type(&item->now) == 'f')
		return (item->type && is_taken(item)) || loses_ref(refs, item, rest);
	if (is_new && str_starts(folded, "logs/") && target_type(&item->now) == 'f' &&
	    (size < item->now.size || loses_log(refs->promote, item)))
		return true;
	if (is_new && strcmp(folded, "head") == 0 && size == 0)
		return true;
	return (is_needed(folded) || is_history(folded)) && is_taken(item);
}

/* The item, or the uppermost of the directories above it in its git directory that are none any more. */
static const char *uppermost(const struct promote *promote, const struct item *item, size_t depth)
{
	while (item->parent != NO_ITEM) {
		const struct item *above = &promote->items[item->parent];

		if (strlen(above->path) <= depth || target_type(&above->now) != 'd' ||
		    above->type == 'd' || !promote_is_applied(above))
			break;
		item = above;
	}
	return item->path;
}

bool promote_refs_is_open(const struct promote *promote, const struct item *item)
{
	const struct promotion *promotion = promote->promotion;

	for (size_t i = 0; item->verdict.kind && i < promotion->conflict_count; i++) {
		if (!promotion->conflicts[i].resolution &&
		    strcmp(promotion->conflicts[i].path, item->path) == 0)
			return true;
	}
	return false;
}

const char *promote_refs_lost(const struct promote_refs *refs, const struct item *item,
			      const char *rest)
{
	owned(str_done) struct str folded = STR_INIT;

	/* A directory is asked about by what is in it, unless it goes elsewhere with all of that. */
	if (!item->now.exists || promote_refs_is_open(refs->promote, item) ||
	    (target_type(&item->now) == 'd' && item->type == 0 && item->twin == NO_ITEM))
		return NULL;
	name_fold_path(rest, &folded);
	if (target_type(&item->now) == 'd')
		str_add(&folded, "/");
	return is_lost(refs, item, rest, str_cstr(&folded))
		       ? uppermost(refs->promote, item, (size_t)(rest - item->path))
		       : NULL;
}
