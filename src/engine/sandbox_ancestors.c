/*
 * Bases that nobody kept, by approximation: what the workspace's branch had in git when the sandbox was made. The file
 * the sandbox took descends from that, but may have been edited since; so it is told as `approx`, and used only by order.
 */
#include "base/fd.h"
#include "base/own.h"
#include "engine/git.h"
#include "engine/sandbox_parts.h"
#include "workspace/origin_blob.h"
#include "workspace/promote.h"
#include "workspace/target.h"

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

/* The name and mode of what COMMIT has at PATH (below the top of the work tree); only files. */
static bool find_blob(const struct git *git, const char *commit, const char *path,
		      struct origin_record *record)
{
	const char *const words[] = { "--literal-pathspecs", "ls-tree", commit, "--", path, NULL };
	const struct git_call call = { .words = words };
	owned(str_done) struct str out = STR_INIT;
	char blob[SHA256_HEX_SIZE];
	struct error ignored = { 0 };
	unsigned mode;

	if (git_run(git, &call, &out, &ignored) < 0 ||
	    sscanf(str_cstr(&out), "%o blob %64[0-9a-f]", &mode, blob) != 2 || !S_ISREG(mode))
		return false;
	record->origin.identity.mode = mode;
	record->origin.link = xstrdup(blob);
	return true;
}

static bool keep_blob(const struct git *git, const struct sandbox *sandbox,
		      struct origin_record *record)
{
	owned(str_done) struct str bytes = STR_INIT;
	struct error ignored = { 0 };

	if (!git_read_blob(git, record->origin.link, &bytes))
		return false;
	record->origin.identity.size = bytes.len;
	return cas_keep_bytes(sandbox->store, str_cstr(&bytes), bytes.len, record->origin.sha256,
			      &ignored) == 0;
}

static bool fetch(const struct git *git, const struct sandbox *sandbox, const char *commit,
		  const struct conflict *conflict)
{
	owned(origin_record_done) struct origin_record record = {
		.path = xasprintf("%s/%s", sandbox->workspace, conflict->path),
		.origin = { .quality = ORIGIN_APPROX, .identity = { .exists = true } },
	};
	const char *path = target_relative(git->top, record.path);
	struct error ignored = { 0 };

	return path && find_blob(git, commit, path, &record) && keep_blob(git, sandbox, &record) &&
	       origin_blobs_add(sandbox, &record, &ignored) == 0;
}

static bool is_wanted(const struct conflict *conflict)
{
	return strcmp(conflict->kind, "base-lost") == 0 && conflict->base_quality == ORIGIN_LOST &&
	       conflict->ours.type == 'f' && conflict->theirs.type == 'f';
}

bool sandbox_fetch_ancestors(const struct sandbox *sandbox, const struct promotion *promotion)
{
	char commit[SHA256_HEX_SIZE] = "";
	struct git git = { 0 };
	struct error ignored = { 0 };
	bool has_git = false, is_news = false;

	for (size_t i = 0; i < promotion->conflict_count; i++) {
		if (!is_wanted(&promotion->conflicts[i]))
			continue;
		if (!has_git && (git_open(sandbox->workspace, NULL, &git, &ignored) < 0 ||
				 !find_commit(&git, sandbox->base_ns, commit)))
			break;
		has_git = true;
		is_news |= fetch(&git, sandbox, commit, &promotion->conflicts[i]);
	}
	git_close(&git);
	return is_news;
}
