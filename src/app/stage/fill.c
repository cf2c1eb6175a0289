/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bundle put into a sandbox.
 *
 * It goes in by a tar archive that is unpacked inside, by the sandbox's own tar: whatever a path or a link of the bundle
 * leads to, it leads to it in the sandbox. The host is looked at before, to decide, and again after: what moved in
 * between was decided from what is no more.
 */
#include "app/stage/fill.h"

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
	const struct fill *how;
	struct opened opened; /* the sandbox, and what it shows, where that decides */
	struct view_stack stack;
	bool has_stack;
	int target_fd;
	struct txn_identity *looks; /* one per change */
	bool *gives_way; /* one per change: what is there goes before the archive is unpacked */
	int archive_fd;
	struct str gone; /* paths, each with its NUL, in the bundle's order */
	size_t files;	 /* in the archive */
};

static void filling_done(struct filling *fill)
{
	free(fill->looks);
	free(fill->gives_way);
	str_done(&fill->gone);
	fd_close(&fill->target_fd);
	fd_close(&fill->archive_fd);
	if (fill->has_stack)
		view_close(&fill->stack);
	opened_close(&fill->opened);
}

static int conflict(const struct filling *fill, const struct bundle_change *change,
		    const char *what, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	return error_advise(err, ERROR_CONFLICT, "bring it in line, or give the stage a strategy",
			    "%s: '%s' %s", fill->how->target, str_shown(change->path, shown), what);
}

/* What is hidden from the sandbox may be there, and be anything: it is not written over. */
static int look_inside(const struct filling *fill, const struct bundle_change *change,
		       struct bundle_side *ret_now, int *ret_fd, struct error *err)
{
	owned(free_ptr) char *path =
		xasprintf("%s/%s", fill->opened.sandbox.workspace, change->path);
	const struct view_stack *stack = &fill->stack;
	char shown[STR_SHOWN_SIZE];
	enum view_kind kind;

	*ret_fd = -1;
	if (stack->shows && !stack->shows(path, stack->cookie))
		return error_set(err, ERROR_DENIED, "'%s' is hidden from sandboxes here",
				 str_shown(change->path, shown));
	return fill_look(stack, path, &kind, ret_now, ret_fd, err);
}

static int look_outside(const struct filling *fill, const struct bundle_change *change,
			const struct txn_identity *look, struct bundle_side *ret_now, int *ret_fd,
			struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	*ret_fd = -1;
	ret_now->type = target_type(look);
	ret_now->mtime_s = look->mtime_ns > 0 ? (uint64_t)look->mtime_ns / 1000000000 : 0;
	if (ret_now->type == 'l') {
		ret_now->link = target_read_link(fill->target_fd, change->path);
		return 0;
	}
	ret_now->mode = look->mode & 07777;
	if (ret_now->type != 'f')
		return 0;
	*ret_fd = target_open_file(fill->target_fd, change->path, look);
	if (*ret_fd < 0 || digest_fd(*ret_fd, ret_now->sha256) < 0)
		return error_errno(err, ERROR_HOST, "%s/%s", fill->how->target,
				   str_shown(change->path, shown));
	return 0;
}

static int look(struct filling *fill, const struct bundle_change *change,
		struct txn_identity *ret_look, struct bundle_side *ret_now, int *ret_fd,
		struct error *err)
{
	if (target_see(fill->target_fd, change->path, ret_look, err) < 0)
		return -1;
	if (!fill->how->by_view)
		return look_outside(fill, change, ret_look, ret_now, ret_fd, err);
	const struct fill_parents parents = { .stack = &fill->stack,
					      .workspace = fill->opened.sandbox.workspace,
					      .bundle = fill->how->bundle,
					      .gives_way = fill->gives_way };

	return fill_check_parents(&parents, change->path, err) < 0
		       ? -1
		       : look_inside(fill, change, ret_now, ret_fd, err);
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
		   const char *sha256, struct error *err)
{
	owned(fd_close) int fd = -1;
	struct stat st = { .st_size = 0 };
	off_t left;

	if (change->new.type != 'f')
		return put_header(fill, change, mode, 0, err);
	if (cas_open(fill->how->store, sha256, &fd, err) < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return error_errno(err, ERROR_HOST, "the content %.12s", sha256);
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

	if (cas_open(fill->how->store, sha256, &fd, err) < 0)
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

/* The three texts; NULL when they are there, else what keeps them from being merged. */
static const char *read_texts(const struct filling *fill, const struct bundle_change *change,
			      int now_fd, struct str ret_texts[static 3])
{
	struct error ignored;

	if (read_content(fill, change->old.sha256, &ret_texts[0], &ignored) < 0)
		return ignored.code == ERROR_NOT_FOUND
			       ? "was changed there, too, and what it was before is not known"
			       : "cannot be read for a merge";
	if (now_fd < 0 || lseek(now_fd, 0, SEEK_SET) < 0 ||
	    fd_read_all(now_fd, MERGE_BYTES, &ret_texts[1]) < 0 ||
	    read_content(fill, change->new.sha256, &ret_texts[2], &ignored) < 0)
		return "cannot be read for a merge";
	for (size_t i = 0; i < 3; i++)
		if (text_is_binary(str_cstr(&ret_texts[i]), ret_texts[i].len))
			return "is no text and was changed there, too";
	return NULL;
}

/* *ret_why: NULL when it was merged, else why a person has to decide. */
static int put_merged(struct filling *fill, const struct bundle_change *change, int now_fd,
		      unsigned mode, const char **ret_why, struct error *err)
{
	struct str texts[3] = { STR_INIT, STR_INIT, STR_INIT };
	struct merge_result result = { .conflict_count = 0 };
	enum merge_favour favour = favour_of(fill->how->strategy);
	int status = 0;

	*ret_why = read_texts(fill, change, now_fd, texts);
	if (!*ret_why) {
		const struct merge_input input = { .base = str_cstr(&texts[0]),
						   .ours = str_cstr(&texts[1]),
						   .theirs = str_cstr(&texts[2]),
						   .base_len = texts[0].len,
						   .ours_len = texts[1].len,
						   .theirs_len = texts[2].len,
						   .favour = favour };

		merge_text(&input, &result);
		if (result.conflict_count > 0 && favour == MERGE_MARK)
			*ret_why = "was changed in the same lines there";
	}
	if (!*ret_why)
		status = put_header(fill, change, mode, result.text.len, err);
	if (!*ret_why && status == 0 &&
	    fd_write_all(fill->archive_fd, str_cstr(&result.text), result.text.len) < 0)
		status = error_errno(err, ERROR_HOST, "cannot write the bundle's archive");
	if (!*ret_why && status == 0)
		status = put_padding(fill, result.text.len, err);
	merge_result_done(&result);
	for (size_t i = 0; i < 3; i++)
		str_done(&texts[i]);
	return status;
}

static int put_side(struct filling *fill, const struct bundle_change *change,
		    const struct bundle_side *now, const char *sha256, struct error *err)
{
	if (now->type && now->type != change->new.type)
		str_add_bytes(&fill->gone, change->path, strlen(change->path) + 1);
	return change->new.type ? put_new(fill, change, bundle_mode(change, now), sha256, err) : 0;
}

/* As the caller answers, where it takes questions. */
static int put_settled(struct filling *fill, const struct bundle_change *change,
		       const struct bundle_side *now, int now_fd, const char *what,
		       struct error *err)
{
	struct fill_conflict question = {
		.change = change, .now = now, .now_fd = now_fd, .what = what, .take = BUNDLE_KEEP
	};
	/* A content that a person gave, whatever the sides were. */
	struct bundle_change given = *change;

	if (!fill->how->settle)
		return conflict(fill, change, what, err);
	if (fill->how->settle(&question, fill->how->cookie, err) < 0)
		return -1;
	if (question.take == BUNDLE_KEEP)
		return 0;
	if (question.take == BUNDLE_NEW)
		return put_side(fill, change, now, change->new.sha256, err);
	if (given.new.type != 'f')
		given.new = (struct bundle_side){ .type = 'f', .mode = 0644 };
	return put_side(fill, &given, now, question.sha256, err);
}

static bool is_of_git(const char *path)
{
	return strcmp(path, ".git") == 0 || str_starts(path, ".git/");
}

static int put_change(struct filling *fill, const struct bundle_change *change,
		      struct txn_identity *ret_look, struct error *err)
{
	owned(bundle_side_done) struct bundle_side now = { .type = '\0' };
	owned(fd_close) int now_fd = -1;
	const char *why = NULL;

	if (look(fill, change, ret_look, &now, &now_fd, err) < 0)
		return -1;
	switch (bundle_decide(change, &now, fill->how->strategy)) {
	case BUNDLE_NOTHING:
	case BUNDLE_KEEP:
		return 0;
	case BUNDLE_CONFLICT:
		why = now.type ? "is not what the change was made from" : "is not there";
		break;
	case BUNDLE_MERGE:
		/* Texts of git's, too, mean something only as a whole. */
		if (is_of_git(change->path) || strstr(change->path, "/.git/")) {
			why = "is git's own and was changed there, too";
			break;
		}
		if (put_merged(fill, change, now_fd, bundle_mode(change, &now), &why, err) < 0)
			return -1;
		if (!why)
			return 0;
		break;
	case BUNDLE_NEW:
		break;
	}
	return why ? put_settled(fill, change, &now, now_fd, why, err)
		   : put_side(fill, change, &now, change->new.sha256, err);
}

/* Runs SCRIPT in the clone with FILE of the bundle's place as its standard input. */
static int feed(const struct filling *fill, const char *script, const char *file, struct error *err)
{
	const struct app_run_options options = { .capture = true };
	owned(fd_close) int saved = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	owned(fd_close) int fd = file_open(fill->how->dir_fd, file, O_NOFOLLOW, NULL);
	owned(run_result_done) struct run_result result;
	owned(request_done) struct request request;
	int status;

	run_result_init(&result);
	request_init(&request);
	strv_add_script(&request.command, script);
	strv_add(&request.command, "sh");
	strv_add(&request.command, fill->how->target);
	request.environ = fill->how->environ;
	request.owner = fill->how->owner;
	request.owner_bytes = fill->how->owner_bytes;
	if (fd < 0 || dup2(fd, STDIN_FILENO) < 0)
		return error_errno(err, ERROR_HOST, "cannot open the bundle's archive");
	status = app_run_in(fill->how->sandbox, &request, &options, &result, err);
	if (saved >= 0)
		(void)dup2(saved, STDIN_FILENO);
	else
		(void)close(STDIN_FILENO);
	if (status < 0)
		return error_context(err, "clone of %s", fill->how->target);
	if (result.status != RUN_SUCCESS)
		return error_set(err, ERROR_HOST,
				 "the bundle cannot be put into a clone of %s: see aisbx logs %s",
				 fill->how->target, result.run_id);
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

static int unpack(struct filling *fill, struct error *err)
{
	int dir_fd = fill->how->dir_fd;
	owned(str_done) struct str end = STR_INIT;

	tar_add_end(&end);
	if (fd_write_all(fill->archive_fd, end.data, end.len) < 0)
		return error_errno(err, ERROR_HOST, "cannot write the bundle's archive");
	reverse_paths(&fill->gone);
	if (fill->gone.len > 0 &&
	    (store_replace(dir_fd, GONE, fill->gone.data, fill->gone.len, false, err) < 0 ||
	     feed(fill, REMOVE_SCRIPT, GONE, err) < 0))
		return -1;
	return fill->files > 0 ? feed(fill, UNPACK_SCRIPT, ARCHIVE, err) : 0;
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

/* Every change decided, and what it comes to in the archive. */
static int put_changes(struct filling *fill, struct error *err)
{
	const struct bundle *bundle = fill->how->bundle;
	int status = 0;

	for (size_t i = 0; i < bundle->count && status == 0; i++) {
		const char *path = bundle->items[i].path;
		bool is_left = fill->how->leaves_git && is_of_git(path);
		size_t gone = fill->gone.len;

		status = is_left ? target_see(fill->target_fd, path, &fill->looks[i], err)
				 : put_change(fill, &bundle->items[i], &fill->looks[i], err);
		fill->gives_way[i] = fill->gone.len > gone;
	}
	if (status == 0 && fill->how->settle)
		status = fill->how->settle(NULL, fill->how->cookie, err);
	return status;
}

static int open_places(struct filling *fill, struct error *err)
{
	const struct fill *how = fill->how;

	if (target_open(how->target, &fill->target_fd, err) < 0)
		return -1;
	if (how->by_view) {
		if (opened_open(&fill->opened, how->sandbox, SANDBOX_UNLOCKED, err) < 0 ||
		    app_view(&fill->opened.sandbox, NULL, &fill->stack, err) < 0)
			return -1;
		fill->has_stack = true;
		/* It may not have been entered yet. */
		view_cover(&fill->stack, fill->opened.sandbox.workspace);
	}
	fill->archive_fd =
		openat(how->dir_fd, ARCHIVE,
		       O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	return fill->archive_fd < 0
		       ? error_errno(err, ERROR_HOST, "cannot write the bundle's archive")
		       : 0;
}

int bundle_fill(const struct fill *how, struct error *err)
{
	owned(filling_done) struct filling fill = { .how = how, .target_fd = -1, .archive_fd = -1 };
	int status;

	opened_init(&fill.opened);
	status = open_places(&fill, err);
	fill.looks = xcalloc(how->bundle->count + 1, sizeof(fill.looks[0]));
	fill.gives_way = xcalloc(how->bundle->count + 1, sizeof(bool));
	if (status == 0)
		status = put_changes(&fill, err);
	if (status == 0)
		status = unpack(&fill, err);
	if (status == 0)
		status = look_again(&fill, how->bundle, err);
	(void)unlinkat(how->dir_fd, ARCHIVE, 0);
	(void)unlinkat(how->dir_fd, GONE, 0);
	return status;
}
