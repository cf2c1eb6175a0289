/* SPDX-License-Identifier: Apache-2.0 */
/* What a sandbox, and the store as a whole, has seen of a remote. */
#include "app/travel/travel_parts.h"

#include "base/core/own.h"
#include "base/file/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_NAME "travel"
#define FILE_MAX ((size_t)256 << 10)
#define SEEN "remotes"
#define ANCESTORS_MAX 10000u

/* "REMOTE NAME SEQUENCE ID certain|tried SNAPSHOT LAYER". */
struct line {
	const char *remote, *layer;
	struct known known;
};

static bool parse(char *text, struct line *ret)
{
	char *rest = NULL, *fields[7];

	for (size_t i = 0; i < 7; i++) {
		fields[i] = strtok_r(i ? NULL : text, " ", &rest);
		if (!fields[i])
			return false;
	}
	*ret = (struct line){ .remote = fields[0], .layer = fields[6] };
	ret->known.sequence = strtoull(fields[2], NULL, 10);
	ret->known.is_certain = strcmp(fields[4], "certain") == 0;
	(void)snprintf(ret->known.name, sizeof(ret->known.name), "%s", fields[1]);
	(void)snprintf(ret->known.id, sizeof(ret->known.id), "%s", fields[3]);
	(void)snprintf(ret->known.snapshot, sizeof(ret->known.snapshot), "%s", fields[5]);
	return ret->known.sequence > 0 && sha256_is_hex(fields[3]);
}

static int read_lines(const struct sandbox *sandbox, struct str *ret_text, struct error *err)
{
	if (faccessat(sandbox->dir_fd, FILE_NAME, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
		return 0;
	return file_read(sandbox->dir_fd, FILE_NAME, FILE_MAX, ret_text, err);
}

/* 1: the remote has it. 0: it never had. Refused where it had it and has it no more. */
static int is_there(struct remote *remote, const struct known *known, struct error *err)
{
	struct head head;
	int status = head_read(remote, known->name, known->sequence, false, &head, err);

	if (status < 0 && err->code != ERROR_NOT_FOUND)
		return -1;
	if (status == 0 && strcmp(head.id, known->id) == 0)
		return 1;
	return known->is_certain ? head_refuse(known->name, err) : 0;
}

/* The last line about this snapshot that holds: 1, 0 or -1. */
static int find_at(const char *text, const struct snapshot *at, struct remote *remote,
		   const char *name, struct known *ret_known, struct error *err)
{
	owned(strv_done) struct strv lines = STRV_INIT;
	int found = 0;

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
		strv_take(&lines, xstrndup(line, strcspn(line, "\n")));
	for (size_t i = lines.count; i-- > 0 && found == 0;) {
		struct line line;

		if (!parse(lines.items[i], &line) || strcmp(line.remote, remote->id) != 0 ||
		    (name && strcmp(line.known.name, name) != 0) ||
		    strcmp(line.known.snapshot, at->name) != 0 ||
		    strcmp(line.layer, at->layer[0] ? at->layer : "-") != 0)
			continue;
		found = is_there(remote, &line.known, err);
		*ret_known = line.known;
	}
	return found;
}

int known_find(const struct sandbox *sandbox, const char *snapshot, struct remote *remote,
	       const char *name, struct known *ret_known, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	char at[SNAPSHOT_NAME_MAX + 1];
	int found = 0;

	if (read_lines(sandbox, &text, err) < 0)
		return -1;
	(void)snprintf(at, sizeof(at), "%s", snapshot);
	for (unsigned i = 0; text.len && at[0] && found == 0 && i < ANCESTORS_MAX; i++) {
		owned(snapshot_done) struct snapshot one = { 0 };

		if (snapshot_find(sandbox, at, &one, err) < 0)
			return err->code == ERROR_NOT_FOUND ? 0 : -1;
		found = find_at(str_cstr(&text), &one, remote, name, ret_known, err);
		memcpy(at, one.parent, sizeof(at));
	}
	return found;
}

int known_add(const struct sandbox *sandbox, const struct remote *remote, const struct known *known,
	      struct error *err)
{
	owned(snapshot_done) struct snapshot at = { 0 };
	owned(str_done) struct str text = STR_INIT;
	const char *from;

	if (snapshot_find(sandbox, known->snapshot, &at, err) < 0 ||
	    read_lines(sandbox, &text, err) < 0)
		return -1;
	str_addf(&text, "%s %s %" PRIu64 " %s %s %s %s\n", remote->id, known->name, known->sequence,
		 known->id, known->is_certain ? "certain" : "tried", known->snapshot,
		 at.layer[0] ? at.layer : "-");
	/* What is forgotten has to be pulled again; the oldest go first. */
	from = str_cstr(&text);
	while (strlen(from) > FILE_MAX / 2)
		from += strcspn(from, "\n") + 1;
	return store_replace(sandbox->dir_fd, FILE_NAME, from, strlen(from), true, err);
}

static int open_seen(const struct store *store, struct error *err)
{
	int fd;

	if (mkdirat(store->fd, SEEN, 0700) < 0 && errno != EEXIST)
		return error_errno(err, ERROR_HOST, "cannot make '" SEEN "' in the store");
	fd = openat(store->fd, SEEN, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 ? fd : error_errno(err, ERROR_HOST, "cannot open '" SEEN "' in the store");
}

int seen_check(const struct store *store, struct remote *remote, const char *name,
	       const struct head *head, struct error *err)
{
	owned(free_ptr) char *file = xasprintf("%s.%s", remote->id, name);
	owned(str_done) struct str text = STR_INIT;
	owned(fd_close) int fd = open_seen(store, err);
	const char *id;

	if (fd < 0)
		return -1;
	if (faccessat(fd, file, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
		return 0;
	if (file_read(fd, file, 256, &text, err) < 0)
		return -1;
	id = strchr(str_cstr(&text), ' ');
	return head_descends(remote, name, head, strtoull(str_cstr(&text), NULL, 10),
			     id ? id + 1 : "", err);
}

int seen_note(const struct store *store, const struct remote *remote, const char *name,
	      const struct head *head, struct error *err)
{
	owned(free_ptr) char *file = xasprintf("%s.%s", remote->id, name);
	owned(free_ptr) char *text = xasprintf("%" PRIu64 " %s", head->sequence, head->id);
	owned(fd_close) int fd = open_seen(store, err);

	return fd < 0 ? -1 : store_replace(fd, file, text, strlen(text), true, err);
}
