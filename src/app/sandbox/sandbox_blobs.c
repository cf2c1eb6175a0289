/* SPDX-License-Identifier: Apache-2.0 */
/* Bases of a sandbox's changes that git has: their names asked for while they are current, their contents when they are needed. */
#include "base/core/own.h"
#include "app/git/git.h"
#include "app/sandbox/sandbox_parts.h"
#include "workspace/base/origin_blob.h"
#include "workspace/disk/target.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NANO 1000000000
/* Of paths in one call: any machine takes that much. */
#define CALL_BYTES ((size_t)64 << 10)

/* The data of `ls-files --debug` about a file: the first 32 bits of what is longer. */
struct index_entry {
	char blob[SHA256_HEX_SIZE];
	uint32_t ino, size;
	uint32_t ctime_s, ctime_ns, mtime_s, mtime_ns;
};

/*
 * "100644 BLOB 0\tPATH", a NUL, and five lines about the file. Returns what is behind it, NULL when it is no such entry;
 * the path is "" where git has no file of its own: only what is merged has stage 0.
 */
static const char *read_entry(const char *text, const char *end, const char **ret_path,
			      struct index_entry *ret_entry)
{
	const char *path_end = memchr(text, '\0', (size_t)(end - text));
	unsigned mode, stage;
	int used = 0, more = 0;

	if (!path_end ||
	    sscanf(text, "%o %64[0-9a-f] %u%n", &mode, ret_entry->blob, &stage, &used) != 3 ||
	    text[used] != '\t')
		return NULL;
	*ret_path = stage == 0 && (mode & 0170000) == 0100000 ? text + used + 1 : "";
	if (sscanf(path_end + 1,
		   "  ctime: %" SCNu32 ":%" SCNu32 "\n  mtime: %" SCNu32 ":%" SCNu32
		   "\n  dev: %*u\tino: %" SCNu32 "\n  uid: %*u\tgid: %*u\n  size: %" SCNu32
		   "\tflags: %*x%n",
		   &ret_entry->ctime_s, &ret_entry->ctime_ns, &ret_entry->mtime_s,
		   &ret_entry->mtime_ns, &ret_entry->ino, &ret_entry->size, &more) != 6 ||
	    more == 0)
		return NULL;
	const char *next = path_end + 1 + more;

	return next + (*next == '\n');
}

/* Exactly that file, to the nanosecond: what git read then is what it was. */
static bool is_same(const struct index_entry *entry, const struct txn_identity *base)
{
	return entry->ino == (uint32_t)base->ino && entry->size == (uint32_t)base->size &&
	       entry->size != 0 && entry->ctime_s == (uint32_t)(base->ctime_ns / NANO) &&
	       entry->ctime_ns == (uint32_t)(base->ctime_ns % NANO) &&
	       entry->mtime_s == (uint32_t)(base->mtime_ns / NANO) &&
	       entry->mtime_ns == (uint32_t)(base->mtime_ns % NANO);
}

static void note_entry(const struct git *git, const struct sandbox *sandbox,
		       struct origin_records *records, const char *path,
		       const struct index_entry *entry)
{
	owned(free_ptr) char *whole =
		xasprintf("%s/%s", strcmp(git->top, "/") == 0 ? "" : git->top, path);
	const struct origin_record *found = origin_records_find(records, whole, false);
	struct error ignored = { 0 };

	if (!found || !is_same(entry, &found->origin.identity))
		return;
	struct origin_record *record = &records->items[found - records->items];

	free(record->origin.link);
	record->origin.link = xstrdup(entry->blob);
	(void)origin_blobs_add(sandbox, record, &ignored);
}

size_t sandbox_put_paths(const struct git *git, const struct origin_records *records, size_t from,
			 struct strv *words)
{
	size_t bytes = 0;

	while (from < records->count && bytes < CALL_BYTES) {
		const char *path = target_relative(git->top, records->items[from++].path);

		if (!path || !*path)
			continue;
		strv_add(words, path);
		bytes += strlen(path) + 1;
	}
	return from;
}

/* The names of the blobs that the records' files were when git last looked at them. */
static void note_all(const struct git *git, const struct sandbox *sandbox,
		     struct origin_records *records)
{
	static const char *const asked[] = {
		"--literal-pathspecs", "ls-files", "-z", "--stage", "--debug", "--"
	};

	origin_records_sort(records);
	for (size_t from = 0; from < records->count;) {
		owned(strv_done) struct strv words = STRV_INIT;
		owned(str_done) struct str out = STR_INIT;
		struct index_entry entry;
		struct error ignored = { 0 };
		const char *path;

		for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
			strv_add(&words, asked[i]);
		from = sandbox_put_paths(git, records, from, &words);
		const struct git_call call = { .words = (const char *const *)words.items,
					       .is_real = true };

		/* Without a path it would list all that there is. */
		if (words.count == sizeof(asked) / sizeof(asked[0]) ||
		    git_run(git, &call, &out, &ignored) < 0)
			continue;
		const char *at = str_cstr(&out), *end = at + out.len;

		while (at < end && (at = read_entry(at, end, &path, &entry)))
			note_entry(git, sandbox, records, path, &entry);
	}
}

struct fetching {
	const struct sandbox *sandbox;
	struct origin_records *records;
};

static void take_blob(void *cookie, size_t index, const char *bytes, size_t len)
{
	const struct fetching *fetching = cookie;
	struct origin_record *record = &fetching->records->items[index];
	struct error ignored = { 0 };

	/* A filter of git's may make a file of another length of it: then it is not what was there. */
	if (len == record->origin.identity.size &&
	    cas_keep_bytes(fetching->sandbox->store, bytes, len, record->origin.sha256, &ignored) ==
		    0)
		(void)origin_blobs_add(fetching->sandbox, record, &ignored);
}

static void fetch_all(const struct git *git, const struct sandbox *sandbox,
		      struct origin_records *records)
{
	struct fetching fetching = { .sandbox = sandbox, .records = records };
	owned(strv_done) struct strv names = STRV_INIT;

	for (size_t i = 0; i < records->count; i++)
		strv_add(&names, records->items[i].origin.link);
	git_read_blobs(git, &names, take_blob, &fetching);
}

static void ask_git(const struct sandbox *sandbox, struct origin_records *records,
		    void ask(const struct git *git, const struct sandbox *sandbox,
			     struct origin_records *records))
{
	struct git git = { 0 };
	struct error ignored = { 0 };

	if (records->count > 0 && git_open(sandbox->workspace, NULL, &git, &ignored) == 0)
		ask(&git, sandbox, records);
	git_close(&git);
}

void sandbox_note_blobs(const struct sandbox *sandbox, struct origin_records *unkept)
{
	ask_git(sandbox, unkept, note_all);
}

void sandbox_fetch_blobs(const struct sandbox *sandbox, const struct view_stack *stack)
{
	owned(origin_records_done) struct origin_records records = { 0 };
	struct error ignored = { 0 };

	if (faccessat(sandbox->dir_fd, SANDBOX_BLOBS, F_OK, AT_EACCESS) == 0 &&
	    origin_blobs_wanted(sandbox, stack, &records, &ignored) == 0)
		ask_git(sandbox, &records, fetch_all);
}
