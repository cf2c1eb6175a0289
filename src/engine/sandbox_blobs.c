/* Bases of a sandbox's changes that git has: their names asked for while they are current, their contents when they are needed. */
#include "base/own.h"
#include "engine/git.h"
#include "engine/sandbox_parts.h"
#include "workspace/origin_blob.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NANO 1000000000

/* What `ls-files --debug` tells of a file: the first 32 bits of what is longer. */
struct index_entry {
	char blob[SHA256_HEX_SIZE];
	uint32_t ino, size;
	uint32_t ctime_s, ctime_ns, mtime_s, mtime_ns;
};

/* "100644 BLOB 0\tPATH" and six lines about the file; only what is merged has stage 0. */
static bool read_entry(const char *text, struct index_entry *ret_entry)
{
	unsigned mode, stage;
	int used = 0;

	if (sscanf(text, "%o %64[0-9a-f] %u\t%n", &mode, ret_entry->blob, &stage, &used) != 3 ||
	    used == 0 || stage != 0 || (mode & 0170000) != 0100000)
		return false;
	const char *rest = strstr(text + used, "\n  ctime: ");

	return rest &&
	       sscanf(rest,
		      "\n  ctime: %" SCNu32 ":%" SCNu32 "\n  mtime: %" SCNu32 ":%" SCNu32
		      "\n  dev: %*u\tino: %" SCNu32 "\n  uid: %*u\tgid: %*u\n  size: %" SCNu32,
		      &ret_entry->ctime_s, &ret_entry->ctime_ns, &ret_entry->mtime_s,
		      &ret_entry->mtime_ns, &ret_entry->ino, &ret_entry->size) == 6;
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

/* The name of the blob that RECORD's file was when git last looked at it. */
static void note_one(const struct git *git, const struct sandbox *sandbox,
		     struct origin_record *record)
{
	const char *const words[] = { "--literal-pathspecs", "ls-files", "--stage", "--debug", "--",
				      record->path,	     NULL };
	const struct git_call call = { .words = words, .is_real = true };
	owned(str_done) struct str out = STR_INIT;
	struct index_entry entry;
	struct error ignored = { 0 };

	if (git_run(git, &call, &out, &ignored) < 0 || !read_entry(str_cstr(&out), &entry) ||
	    !is_same(&entry, &record->origin.identity))
		return;
	record->origin.link = xstrdup(entry.blob);
	(void)origin_blobs_add(sandbox, record, &ignored);
}

/* "BLOB blob SIZE" and the bytes; git_run takes newlines off the end, which the size gives back. */
static bool read_blob(struct str *out, uint64_t size)
{
	const char *head = str_cstr(out), *end = strchr(head, '\n');
	uint64_t told;

	if (!end || sscanf(head, "%*64[0-9a-f] blob %" SCNu64, &told) != 1 || told != size)
		return false;
	size_t start = (size_t)(end - head) + 1;

	while (out->len - start < size)
		str_add_char(out, '\n');
	memmove(out->data, out->data + start, size);
	str_truncate(out, size);
	return true;
}

static void fetch_one(const struct git *git, const struct sandbox *sandbox,
		      struct origin_record *record)
{
	static const char *const words[] = { "cat-file", "--batch", NULL };
	owned(free_ptr) char *name = xasprintf("%s\n", record->origin.link);
	const struct git_call call = { .words = words, .input = name, .input_len = strlen(name) };
	owned(str_done) struct str out = STR_INIT;
	struct error ignored = { 0 };

	/* A filter of git's may make a file of another length of it: then it is not what was there. */
	if (git_run(git, &call, &out, &ignored) < 0 ||
	    !read_blob(&out, record->origin.identity.size))
		return;
	if (cas_keep_bytes(sandbox->store, str_cstr(&out), out.len, record->origin.sha256,
			   &ignored) == 0)
		(void)origin_blobs_add(sandbox, record, &ignored);
}

static void ask_git(const struct sandbox *sandbox, struct origin_records *records,
		    void each(const struct git *git, const struct sandbox *sandbox,
			      struct origin_record *record))
{
	struct git git = { 0 };
	struct error ignored = { 0 };

	if (records->count > 0 && git_open(sandbox->workspace, NULL, &git, &ignored) == 0) {
		for (size_t i = 0; i < records->count; i++)
			each(&git, sandbox, &records->items[i]);
	}
	git_close(&git);
}

void sandbox_note_blobs(const struct sandbox *sandbox, const struct view_stack *stack)
{
	owned(origin_records_done) struct origin_records records = { 0 };
	struct error ignored = { 0 };

	if (origin_blobs_unknown(sandbox, stack, &records, &ignored) == 0)
		ask_git(sandbox, &records, note_one);
}

void sandbox_fetch_blobs(const struct sandbox *sandbox, const struct view_stack *stack)
{
	owned(origin_records_done) struct origin_records records = { 0 };
	struct error ignored = { 0 };

	if (faccessat(sandbox->dir_fd, ORIGIN_BLOBS, F_OK, AT_EACCESS) == 0 &&
	    origin_blobs_wanted(sandbox, stack, &records, &ignored) == 0)
		ask_git(sandbox, &records, fetch_one);
}
