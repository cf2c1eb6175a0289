/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clone of a target with a bundle on top: what the target would be.
 *
 * The bundle goes in by a tar archive that is unpacked inside, by the clone's own tar: whatever a path or a link of the
 * bundle leads to, it leads to it in the clone. The host is looked at before, to decide, and again after: what moved in
 * between was decided from what is no more.
 */
#include "app/stage/stage_parts.h"

#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "app/trial/trial.h"
#include "app/change/workspace_parts.h"
#include "decide/stage/tar.h"
#include "workspace/store/cas.h"
#include "workspace/text/merge.h"
#include "workspace/disk/digest.h"
#include "workspace/disk/target.h"
#include "workspace/text/textdiff.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define CLONE_TTL_MS (UINT64_C(2) * 3600 * 1000)
#define MERGE_BYTES ((size_t)64 << 20)
#define ARCHIVE "archive"
#define GONE "gone"

/* What is in the way goes first, deepest first; a directory that holds something else stays. */
#define REMOVE_SCRIPT                                                                    \
	"cd -- \"$1\" && exec xargs -0 sh -c 'for p; do rm -f -- \"$p\" 2>/dev/null || " \
	"rmdir --ignore-fail-on-non-empty -- \"$p\" || exit 1; done' sh"
/* Root keeps the owners of files by writing into them; a plain user's files are the user's anyway. */
#define UNPACK_SCRIPT                                                                              \
	"cd -- \"$1\" && if [ \"$(id -u)\" = 0 ]; then how=--overwrite; else how=--unlink-first; " \
	"fi && "                                                                                   \
	"exec tar --no-same-owner -p $how -xf -"

struct filling {
	const struct stage_run *run;
	const char *target, *strategy;
	int target_fd;
	struct txn_identity *looks; /* one per change */
	int archive_fd;
	struct str gone; /* paths, each with its NUL, in the bundle's order */
	size_t files;	 /* in the archive */
};

static void filling_done(struct filling *fill)
{
	free(fill->looks);
	str_done(&fill->gone);
	fd_close(&fill->target_fd);
	fd_close(&fill->archive_fd);
}

int stage_clone(const struct stage_run *run, const char *name, const char *target,
		struct error *err)
{
	const struct app_create create = { .name = name, .ttl_ms = CLONE_TTL_MS };
	owned(opened_close) struct opened opened;
	owned(request_done) struct request request;

	opened_init(&opened);
	request_init(&request);
	if (opened_open(&opened, run->place->record.sandbox, SANDBOX_UNLOCKED, err) < 0 ||
	    app_sandbox_request(&opened.sandbox, &request, err) < 0)
		return -1;
	free(request.workspace);
	request.workspace = xstrdup(target);
	request.environ = run->wish->environ;
	return app_create(&request, &create, err);
}

static int conflict(const struct filling *fill, const struct bundle_change *change,
		    const char *what, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	return error_advise(err, ERROR_CONFLICT, "bring it in line, or give the stage a strategy",
			    "%s: '%s' %s", fill->target, str_shown(change->path, shown), what);
}

static int look(struct filling *fill, const struct bundle_change *change,
		struct txn_identity *ret_look, struct bundle_side *ret_now, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	if (target_see(fill->target_fd, change->path, ret_look, err) < 0)
		return -1;
	ret_now->type = target_type(ret_look);
	ret_now->mtime_s = ret_look->mtime_ns > 0 ? (uint64_t)ret_look->mtime_ns / 1000000000 : 0;
	if (ret_now->type == 'l') {
		ret_now->link = target_read_link(fill->target_fd, change->path);
		return 0;
	}
	ret_now->mode = ret_look->mode & 07777;
	if (ret_now->type != 'f')
		return 0;
	owned(fd_close) int fd = target_open_file(fill->target_fd, change->path, ret_look);

	if (fd < 0 || digest_fd(fd, ret_now->sha256) < 0)
		return error_errno(err, ERROR_HOST, "%s/%s", fill->target,
				   str_shown(change->path, shown));
	return 0;
}

static int put_header(struct filling *fill, const struct bundle_change *change, unsigned mode,
		      uint64_t size, struct error *err)
{
	const struct tar_entry entry = { .path = change->path,
					 .type = change->new.type,
					 .mode = mode,
					 .size = size,
					 .mtime_s = change->new.type == 'd'
							    ? clock_epoch_ms() / 1000
							    : change->new.mtime_s,
					 .link = change->new.link };
	owned(str_done) struct str block = STR_INIT;

	tar_add_header(&block, &entry);
	fill->files++;
	if (fd_write_all(fill->archive_fd, block.data, block.len) < 0)
		return error_errno(err, ERROR_HOST, "cannot write the bundle's archive");
	return 0;
}

static int put_padding(struct filling *fill, uint64_t size, struct error *err)
{
	static const char zeros[TAR_BLOCK];

	if (fd_write_all(fill->archive_fd, zeros, (size_t)tar_padding(size)) < 0)
		return error_errno(err, ERROR_HOST, "cannot write the bundle's archive");
	return 0;
}

static int put_new(struct filling *fill, const struct bundle_change *change, unsigned mode,
		   struct error *err)
{
	owned(fd_close) int fd = -1;
	struct stat st = { .st_size = 0 };
	off_t left;

	if (change->new.type != 'f')
		return put_header(fill, change, mode, 0, err);
	if (cas_open(&fill->run->place->store, change->new.sha256, &fd, err) < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return error_errno(err, ERROR_HOST, "the content %.12s", change->new.sha256);
	if (put_header(fill, change, mode, (uint64_t)st.st_size, err) < 0)
		return -1;
	for (left = st.st_size; left > 0;) {
		ssize_t sent = sendfile(fill->archive_fd, fd, NULL, (size_t)left);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return error_errno(err, ERROR_HOST, "cannot write the bundle's archive");
		left -= sent;
	}
	return put_padding(fill, (uint64_t)st.st_size, err);
}

static int read_content(const struct filling *fill, const char *sha256, struct str *ret_text,
			struct error *err)
{
	owned(fd_close) int fd = -1;

	if (cas_open(&fill->run->place->store, sha256, &fd, err) < 0)
		return -1;
	return fd_read_all(fd, MERGE_BYTES, ret_text) == 0
		       ? 0
		       : error_errno(err, ERROR_HOST, "the content %.12s", sha256);
}

static enum merge_favour favour_of(const char *strategy)
{
	if (strcmp(strategy, "merge+ours") == 0)
		return MERGE_OURS;
	return strcmp(strategy, "merge+theirs") == 0 ? MERGE_THEIRS : MERGE_MARK;
}

static bool is_binary(const struct str *text)
{
	return text_is_binary(str_cstr(text), text->len);
}

static int put_merged(struct filling *fill, const struct bundle_change *change,
		      const struct txn_identity *now, unsigned mode, struct error *err)
{
	owned(str_done) struct str base = STR_INIT, ours = STR_INIT, theirs = STR_INIT;
	owned(fd_close) int fd = target_open_file(fill->target_fd, change->path, now);
	struct merge_result result = { .conflict_count = 0 };
	int status = 0;

	if (fd < 0 || fd_read_all(fd, MERGE_BYTES, &ours) < 0)
		return conflict(fill, change, "cannot be read for a merge", err);
	if (read_content(fill, change->old.sha256, &base, err) < 0 ||
	    read_content(fill, change->new.sha256, &theirs, err) < 0)
		return -1;
	if (is_binary(&base) || is_binary(&ours) || is_binary(&theirs))
		return conflict(fill, change, "is no text and was changed there, too", err);
	const struct merge_input input = { .base = str_cstr(&base),
					   .ours = str_cstr(&ours),
					   .theirs = str_cstr(&theirs),
					   .base_len = base.len,
					   .ours_len = ours.len,
					   .theirs_len = theirs.len,
					   .favour = favour_of(fill->strategy) };

	merge_text(&input, &result);
	if (result.conflict_count > 0 && input.favour == MERGE_MARK)
		status = conflict(fill, change, "was changed in the same lines there", err);
	if (status == 0)
		status = put_header(fill, change, mode, result.text.len, err);
	if (status == 0 &&
	    fd_write_all(fill->archive_fd, str_cstr(&result.text), result.text.len) < 0)
		status = error_errno(err, ERROR_HOST, "cannot write the bundle's archive");
	if (status == 0)
		status = put_padding(fill, result.text.len, err);
	merge_result_done(&result);
	return status;
}

static int put_change(struct filling *fill, const struct bundle_change *change,
		      struct txn_identity *ret_look, struct error *err)
{
	owned(bundle_side_done) struct bundle_side now = { .type = '\0' };
	unsigned mode;

	if (look(fill, change, ret_look, &now, err) < 0)
		return -1;
	mode = bundle_mode(change, &now);
	switch (bundle_decide(change, &now, fill->strategy)) {
	case BUNDLE_NOTHING:
	case BUNDLE_KEEP:
		return 0;
	case BUNDLE_CONFLICT:
		return conflict(fill, change,
				now.type ? "is not what the change was made from" : "is not there",
				err);
	case BUNDLE_MERGE:
		return put_merged(fill, change, ret_look, mode, err);
	case BUNDLE_NEW:
		break;
	}
	if (now.type && now.type != change->new.type)
		str_add_bytes(&fill->gone, change->path, strlen(change->path) + 1);
	return change->new.type ? put_new(fill, change, mode, err) : 0;
}

/* Where commits go as such, git's own data are not carried as files. */
static bool is_left_out(const struct stage_run *run, const struct bundle_change *change)
{
	return run->wish->commits &&
	       (strcmp(change->path, ".git") == 0 || str_starts(change->path, ".git/"));
}

/* Runs SCRIPT in the clone with FILE of the bundle's place as its standard input. */
static int feed(const struct filling *fill, const char *clone, const char *script, const char *file,
		struct error *err)
{
	const struct app_run_options options = { .capture = true };
	owned(fd_close) int saved = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	owned(fd_close) int fd = file_open(fill->run->place->dir_fd, file, O_NOFOLLOW, NULL);
	owned(run_result_done) struct run_result result;
	owned(request_done) struct request request;
	int status;

	run_result_init(&result);
	request_init(&request);
	strv_add_script(&request.command, script);
	strv_add(&request.command, "sh");
	strv_add(&request.command, fill->target);
	request.environ = fill->run->wish->environ;
	request.owner = fill->run->wish->owner;
	request.owner_bytes = fill->run->wish->owner_bytes;
	if (fd < 0 || dup2(fd, STDIN_FILENO) < 0)
		return error_errno(err, ERROR_HOST, "cannot open the bundle's archive");
	status = app_run_in(clone, &request, &options, &result, err);
	if (saved >= 0)
		(void)dup2(saved, STDIN_FILENO);
	else
		(void)close(STDIN_FILENO);
	if (status < 0)
		return error_context(err, "clone of %s", fill->target);
	if (result.status != RUN_SUCCESS)
		return error_set(err, ERROR_HOST,
				 "the bundle cannot be put into a clone of %s: see aisbx logs %s",
				 fill->target, result.run_id);
	return 0;
}

/* From the last to the first: what is in a directory comes before it. */
static void reverse_paths(struct str *paths)
{
	owned(str_done) struct str turned = STR_INIT;

	for (size_t end = paths->len; end > 0;) {
		size_t start = end - 1;

		while (start > 0 && paths->data[start - 1])
			start--;
		str_add_bytes(&turned, paths->data + start, end - start);
		end = start;
	}
	str_clear(paths);
	str_add_bytes(paths, str_cstr(&turned), turned.len);
}

static int unpack(struct filling *fill, const char *clone, struct error *err)
{
	int dir_fd = fill->run->place->dir_fd;
	owned(str_done) struct str end = STR_INIT;

	tar_add_end(&end);
	if (fd_write_all(fill->archive_fd, end.data, end.len) < 0)
		return error_errno(err, ERROR_HOST, "cannot write the bundle's archive");
	reverse_paths(&fill->gone);
	if (fill->gone.len > 0 &&
	    (store_replace(dir_fd, GONE, fill->gone.data, fill->gone.len, false, err) < 0 ||
	     feed(fill, clone, REMOVE_SCRIPT, GONE, err) < 0))
		return -1;
	return fill->files > 0 ? feed(fill, clone, UNPACK_SCRIPT, ARCHIVE, err) : 0;
}

/* What was decided from is still there; from here on the promotion itself sees what moves. */
static int look_again(const struct filling *fill, const struct bundle *bundle, struct error *err)
{
	for (size_t i = 0; i < bundle->count; i++) {
		struct txn_identity now;

		if (target_see(fill->target_fd, bundle->items[i].path, &now, err) < 0)
			return -1;
		if (target_type(&now) != 'd' && !target_is_same(&fill->looks[i], &now))
			return conflict(fill, &bundle->items[i], "moved while it was looked at",
					err);
	}
	return 0;
}

int stage_clone_fill(const struct stage_run *run, const char *clone, const char *target,
		     const char *strategy, struct error *err)
{
	const struct bundle *bundle = &run->place->bundle;
	owned(filling_done) struct filling fill = { .run = run,
						    .target = target,
						    .strategy = strategy,
						    .target_fd = -1,
						    .archive_fd = -1 };
	int status = target_open(target, &fill.target_fd, err);

	if (status < 0)
		return -1;
	fill.looks = xcalloc(bundle->count + 1, sizeof(fill.looks[0]));
	fill.archive_fd =
		openat(run->place->dir_fd, ARCHIVE,
		       O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fill.archive_fd < 0)
		return error_errno(err, ERROR_HOST, "cannot write the bundle's archive");
	for (size_t i = 0; i < bundle->count && status == 0; i++)
		status = is_left_out(run, &bundle->items[i])
				 ? target_see(fill.target_fd, bundle->items[i].path, &fill.looks[i],
					      err)
				 : put_change(&fill, &bundle->items[i], &fill.looks[i], err);
	if (status == 0)
		status = unpack(&fill, clone, err);
	if (status == 0)
		status = look_again(&fill, bundle, err);
	(void)unlinkat(run->place->dir_fd, ARCHIVE, 0);
	(void)unlinkat(run->place->dir_fd, GONE, 0);
	return status;
}
