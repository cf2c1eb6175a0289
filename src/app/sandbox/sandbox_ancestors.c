/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bases that were not kept, by approximation: what the workspace's branch had in git when the sandbox was made. The file
 * the sandbox took descends from that, but may have been edited since; so it is reported as `approx`, and used only on
 * request.
 */
#include "base/file/fd.h"
#include "base/core/own.h"
#include "app/git/git.h"
#include "app/sandbox/sandbox_parts.h"
#include "workspace/base/origin_blob.h"
#include "workspace/promote/promote.h"
#include "workspace/disk/target.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LOG_MAX ((size_t)16 << 20)
#define NANO 1000000000

/* "OLD NEW NAME <MAIL> SECONDS ZONE\tTEXT": where HEAD went, and when. */
static bool read_move(const char *line, size_t len, char ret_commit[static SHA256_HEX_SIZE],
		      uint64_t *ret_seconds)
{
	const char *tab = memchr(line, '\t', len);
	owned(free_ptr) char *move = xstrndup(line, tab ? (size_t)(tab - line) : len);
	const char *mail_end = strrchr(move, '>');

	return mail_end && sscanf(move, "%*64[0-9a-f] %64[0-9a-f] ", ret_commit) == 1 &&
	       sscanf(mail_end + 1, " %" SCNu64 " ", ret_seconds) == 1;
}

/* The commit HEAD was at when the sandbox took its base; the log is read here, since no git of today need agree with it. */
static bool find_commit(const struct git *git, uint64_t base_ns,
			char ret_commit[static SHA256_HEX_SIZE])
{
	owned(free_ptr) char *path = xasprintf("%s/logs/HEAD", git->directory);
	owned(str_done) struct str log = STR_INIT;
	char commit[SHA256_HEX_SIZE];
	struct error ignored = { 0 };
	uint64_t seconds;
	bool is_found = false;

	if (file_read(AT_FDCWD, path, LOG_MAX, &log, &ignored) < 0)
		return false;
	for (const char *line = str_cstr(&log); *line;) {
		size_t len = strcspn(line, "\n");

		if (read_move(line, len, commit, &seconds) && seconds < base_ns / NANO) {
			memcpy(ret_commit, commit, sizeof(commit));
			is_found = true;
		}
		line += len + (line[len] == '\n');
	}
	return is_found;
}

static bool is_wanted(const struct conflict *conflict)
{
	return strcmp(conflict->kind, "base-lost") == 0 && conflict->base_quality == ORIGIN_LOST &&
	       conflict->ours.type == 'f' && conflict->theirs.type == 'f';
}

/* The files that are to be asked for, sorted. */
static void list_wanted(const struct sandbox *sandbox, const struct promotion *promotion,
			struct origin_records *ret_records)
{
	ret_records->items = xcalloc(promotion->conflict_count + 1, sizeof(*ret_records->items));
	for (size_t i = 0; i < promotion->conflict_count; i++) {
		const struct conflict *conflict = &promotion->conflicts[i];

		if (is_wanted(conflict))
			ret_records->items[ret_records->count++] = (struct origin_record){
				.path = xasprintf("%s/%s", sandbox->workspace, conflict->path),
				.origin = { .quality = ORIGIN_APPROX,
					    .identity = { .exists = true } },
			};
	}
	origin_records_sort(ret_records);
}

/* "MODE blob NAME\tPATH": the name and mode of a file. */
static void note_blob(const struct git *git, const char *entry, struct origin_records *records)
{
	const char *path = strchr(entry, '\t');
	owned(free_ptr) char *whole = NULL;
	const struct origin_record *found;
	char blob[SHA256_HEX_SIZE];
	unsigned mode;

	if (!path || sscanf(entry, "%o blob %64[0-9a-f]", &mode, blob) != 2 || !S_ISREG(mode))
		return;
	whole = xasprintf("%s/%s", strcmp(git->top, "/") == 0 ? "" : git->top, path + 1);
	found = origin_records_find(records, whole, false);
	if (!found || found->origin.link)
		return;
	struct origin_record *record = &records->items[found - records->items];

	record->origin.identity.mode = mode;
	record->origin.link = xstrdup(blob);
}

/* What COMMIT has at the records' paths. */
static void find_blobs(const struct git *git, const char *commit, struct origin_records *records)
{
	for (size_t from = 0; from < records->count;) {
		owned(strv_done) struct strv words = STRV_INIT;
		owned(str_done) struct str out = STR_INIT;
		struct error ignored = { 0 };
		size_t asked;

		strv_add(&words, "--literal-pathspecs");
		strv_add(&words, "ls-tree");
		strv_add(&words, "-z");
		strv_add(&words, commit);
		strv_add(&words, "--");
		asked = words.count;
		from = sandbox_put_paths(git, records, from, &words);
		const struct git_call call = { .words = (const char *const *)words.items };

		/* Without a path it would list all that there is. */
		if (words.count == asked || git_run(git, &call, &out, &ignored) < 0)
			continue;
		const char *at = str_cstr(&out), *end = at + out.len;

		for (; at < end; at += strlen(at) + 1)
			note_blob(git, at, records);
	}
}

struct fetching {
	const struct sandbox *sandbox;
	struct origin_record **records; /* by the index of their names */
	bool is_news;
};

static void take_blob(void *cookie, size_t index, const char *bytes, size_t len)
{
	struct fetching *fetching = cookie;
	struct origin_record *record = fetching->records[index];
	struct error ignored = { 0 };

	record->origin.identity.size = len;
	if (cas_keep_bytes(fetching->sandbox->store, bytes, len, record->origin.sha256, &ignored) ==
		    0 &&
	    origin_blobs_add(fetching->sandbox, record, &ignored) == 0)
		fetching->is_news = true;
}

/* Keeps those that git has; whether there were any. */
static bool fetch(const struct git *git, const struct sandbox *sandbox,
		  struct origin_records *records)
{
	struct fetching fetching = { .sandbox = sandbox };
	owned(strv_done) struct strv names = STRV_INIT;

	fetching.records = xcalloc(records->count + 1, sizeof(struct origin_record *));
	for (size_t i = 0; i < records->count; i++) {
		if (!records->items[i].origin.link)
			continue;
		fetching.records[names.count] = &records->items[i];
		strv_add(&names, records->items[i].origin.link);
	}
	git_read_blobs(git, &names, take_blob, &fetching);
	free(fetching.records);
	return fetching.is_news;
}

bool sandbox_fetch_ancestors(const struct sandbox *sandbox, const struct promotion *promotion)
{
	owned(origin_records_done) struct origin_records records = { 0 };
	char commit[SHA256_HEX_SIZE] = "";
	struct git git = { 0 };
	struct error ignored = { 0 };
	bool is_news = false;

	list_wanted(sandbox, promotion, &records);
	if (records.count > 0 && git_open(sandbox->workspace, NULL, &git, &ignored) == 0 &&
	    find_commit(&git, sandbox->base_ns, commit)) {
		find_blobs(&git, commit, &records);
		is_news = fetch(&git, sandbox, &records);
	}
	git_close(&git);
	return is_news;
}
