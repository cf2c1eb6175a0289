/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An artifact written to the host: laid out in the store, held to its digests, and promoted from there, so that what is
 * asked about, refused, journalled and undone is the same as for everything else that comes out of a sandbox.
 */
#include "app/vet/rego.h"
#include "app/change/artifact_parts.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/file/real_path.h"
#include "base/hash/sha256.h"
#include "base/file/tree.h"
#include "app/record/record.h"
#include "app/sandbox/sandbox.h"
#include "app/change/workspace_parts.h"
#include "workspace/store/cas.h"
#include "workspace/disk/copy_file.h"
#include "workspace/disk/digest.h"
#include "workspace/promote/promote.h"
#include "workspace/disk/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where an artifact is laid out; one at a time, and what a killed process left goes with the next. */
#define DRAFT ".get"

struct getting {
	struct store store;
	int dir_fd; /* of all artifacts */
	struct value *record;
	bool has_draft;
};

static void getting_done(struct getting *get)
{
	if (get->has_draft)
		(void)tree_remove(get->dir_fd, DRAFT);
	value_free(get->record);
	fd_close(&get->dir_fd);
	store_close(&get->store);
}

/* Large contents are known by the digest of their parts; what an earlier version saved, by that of the whole. */
static int write_content(const struct getting *get, const struct value *row, int fd, unsigned mode,
			 struct error *err)
{
	const char *sha256 = value_get_text(row, "sha256");
	bool is_parts = value_get_text(row, "sha256_of") != NULL;
	owned(fd_close) int from = -1;
	char found[SHA256_HEX_SIZE];

	if (!sha256)
		return error_set(err, ERROR_INPUT, "its record has no sha256");
	if (cas_open(&get->store, sha256, &from, err) < 0)
		return -1;
	if (copy_content(from, fd) < 0 || fchmod(fd, mode) < 0 ||
	    (is_parts ? digest_fd(fd, found) : sha256_fd(fd, found)) < 0)
		return error_errno(err, ERROR_HOST, "cannot write it");
	if (strcmp(found, sha256) != 0)
		return error_set(err, ERROR_INPUT,
				 "what is kept is not what was saved (not sha256 %.12s)", sha256);
	return 0;
}

/* One file or link as NAME in DIR_FD. */
static int put_row(const struct getting *get, const struct value *row, int dir_fd, const char *name,
		   struct error *err)
{
	const char *link = value_get_text(row, "link");
	owned(fd_close) int fd = -1;
	int64_t mode = 0644;

	if (link)
		return symlinkat(link, dir_fd, name) == 0
			       ? 0
			       : error_errno(err, ERROR_HOST, "artifact: %s", name);
	(void)value_get_int(row, "mode", &mode);
	fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_errno(err, ERROR_HOST, "artifact: %s", name);
	return write_content(get, row, fd, (unsigned)mode & 0777, err) < 0
		       ? error_context(err, "artifact")
		       : 0;
}

/* Every directory on the way to RELATIVE, none of them a link. */
static int make_parents(int root_fd, const char *relative, struct error *err)
{
	owned(free_ptr) char *path = xstrdup(relative);

	for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		owned(fd_close) int fd = -1;
		const char *name;

		*slash = '\0';
		if (target_parent(root_fd, path, &fd, &name) < 0 ||
		    (mkdirat(fd, name, 0755) < 0 && errno != EEXIST))
			return error_errno(err, ERROR_HOST, "%s", path);
		*slash = '/';
	}
	return 0;
}

static int put_entry(const struct getting *get, const struct value *row, int root_fd,
		     struct error *err)
{
	owned(free_ptr) char *path = artifact_path(row);
	owned(fd_close) int fd = -1;
	const char *name;

	if (!path || make_parents(root_fd, path, err) < 0)
		return path ? -1 : error_set(err, ERROR_INPUT, "damaged artifact");
	if (target_parent(root_fd, path, &fd, &name) < 0)
		return error_errno(err, ERROR_HOST, "%s", path);
	return put_row(get, row, fd, name, err);
}

static int put_directory(const struct getting *get, int dir_fd, const char *name, struct error *err)
{
	const struct value *entries = value_get(get->record, "entries");
	owned(fd_close) int root_fd = -1;

	if (!entries || entries->kind != VALUE_LIST)
		return error_set(err, ERROR_INPUT, "damaged artifact");
	if (mkdirat(dir_fd, name, 0755) < 0)
		return error_errno(err, ERROR_HOST, "%s", name);
	root_fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (root_fd < 0)
		return error_errno(err, ERROR_HOST, "%s", name);
	for (size_t i = 0; i < entries->many.count; i++)
		if (put_entry(get, entries->many.items[i], root_fd, err) < 0)
			return -1;
	return 0;
}

/* Where the last name of a path begins; *ret_len is its length, without slashes behind it. */
static const char *last_name(const char *path, size_t *ret_len)
{
	size_t len = strlen(path);
	const char *slash;

	while (len > 1 && path[len - 1] == '/')
		len--;
	slash = memrchr(path, '/', len);
	*ret_len = slash ? (size_t)(path + len - (slash + 1)) : len;
	return slash ? slash + 1 : path;
}

/* Where DST is, absolute and without links above its last name; a directory takes the artifact under its own name. */
static int find_place(const struct getting *get, const char *dst, char **ret_goal, char **ret_name,
		      struct error *err)
{
	owned(free_ptr) char *own = artifact_path(get->record), *parent = NULL, *real = NULL;
	const char *start;
	struct stat st;
	size_t len;

	if (stat(dst, &st) == 0 && S_ISDIR(st.st_mode)) {
		start = last_name(own ? own : "", &len);
		parent = xstrdup(dst);
	} else {
		start = last_name(dst, &len);
		parent = start > dst ? xstrndup(dst, (size_t)(start - dst)) : xstrdup(".");
	}
	*ret_name = xstrndup(start, len);
	real = path_real(parent);
	if (!real)
		return error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_HOST, "%s", dst);
	if (!**ret_name || strcmp(*ret_name, ".") == 0 || strcmp(*ret_name, "..") == 0 ||
	    strchr(*ret_name, '/'))
		return error_set(err, ERROR_USAGE, "'%s' is no name for a file", dst);
	*ret_goal = xasprintf("%s/%s", strcmp(real, "/") == 0 ? "" : real, *ret_name);
	return 0;
}

/* The artifact as NAME in the draft; *ret_path is where it lies, owned. */
static int lay_out(struct getting *get, const char *name, char **ret_path, struct error *err)
{
	const char *kind = value_get_text(get->record, "kind");
	owned(fd_close) int fd = -1;

	if (flock(get->dir_fd, LOCK_EX) < 0)
		return error_errno(err, ERROR_HOST, "artifacts");
	(void)tree_remove(get->dir_fd, DRAFT);
	if (mkdirat(get->dir_fd, DRAFT, 0700) < 0)
		return error_errno(err, ERROR_HOST, "artifacts/" DRAFT);
	get->has_draft = true;
	fd = openat(get->dir_fd, DRAFT, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return error_errno(err, ERROR_HOST, "artifacts/" DRAFT);
	*ret_path = xasprintf("%s/artifacts/" DRAFT "/%s", get->store.path, name);
	return kind && strcmp(kind, "directory") == 0 ? put_directory(get, fd, name, err)
						      : put_row(get, get->record, fd, name, err);
}

/* A promotion needs the sandbox that it comes from; this one has no layers and no workspace, whatever became of the real one. */
static void stand_in(struct getting *get, struct sandbox *ret_sandbox)
{
	const char *name = value_get_text(get->record, "sandbox");

	*ret_sandbox = (struct sandbox){ .store = &get->store,
					 .dir_fd = -1,
					 .lock_fd = -1,
					 .freeze_fd = -1,
					 .workspace = xstrdup("/dev/null") };
	(void)snprintf(ret_sandbox->name, sizeof(ret_sandbox->name), "%s", name ? name : "");
}

static int apply_draft(struct getting *get, struct promote_request *request,
		       struct value **ret_answer, struct error *err)
{
	struct promotion promotion = { .id = "" };
	struct sandbox sandbox;
	struct view_stack stack;
	int status;

	if (view_open(&get->store, "", -1, &stack, err) < 0)
		return -1;
	stand_in(get, &sandbox);
	request->sandbox_name = sandbox.name;
	status = promote_run(&sandbox, &stack, request, &promotion, err);
	if (status == 0 || err->code == ERROR_CONSENT)
		*ret_answer = workspace_promotion_value(&promotion, request, &sandbox);
	promotion_done(&promotion);
	view_close(&stack);
	free(sandbox.workspace);
	return status;
}

/* What would be written, and all that it needs consent for, whatever was consented to. */
static int try_draft(struct getting *get, const struct promote_request *request,
		     struct value **ret_answer, struct error *err)
{
	struct promote_request trial = *request; /* borrows everything */
	owned(value_release) struct value *refused = NULL;

	trial.dry_run = true;
	trial.allow_all = trial.allow_privilege = trial.allow_special = false;
	trial.allow_paths = (struct strv)STRV_INIT;
	if (apply_draft(get, &trial, &refused, err) == 0) {
		*ret_answer = ptr_take(&refused);
		return 0;
	}
	if (err->code != ERROR_CONSENT)
		return -1;
	*err = (struct error){ 0 };
	trial.allow_all = true;
	if (apply_draft(get, &trial, ret_answer, err) < 0)
		return -1;
	value_set(*ret_answer, "consent", value_take(refused, "consent"));
	return 0;
}

/* A policy about promotions holds for these as well: the same rules decide, of what a trial says. */
static int promote_draft(struct getting *get, struct promote_request *request,
			 struct value **ret_answer, struct error *err)
{
	owned(value_release) struct value *seen = NULL;
	struct value *input;

	if (!request->dry_run && policy_may_exist()) {
		if (try_draft(get, request, &seen, err) < 0)
			return -1;
		input = value_new_map();
		value_add(input, "change", policy_change(seen));
		value_add(input, "gates", value_new_list());
		value_add(input, "approvals", value_new_list());
		value_add(input, "stage", value_new_text(""));
		if (policy_call("promote", input, 0, err) < 0)
			return -1;
		request->digest = value_get_text(seen, "bundle");
	}
	return apply_draft(get, request, ret_answer, err);
}

int app_artifact_get(const struct app_artifact_get *wish, struct value **ret_answer,
		     struct error *err)
{
	owned(getting_done) struct getting get = { .store = { .fd = -1, .lock_fd = -1 },
						   .dir_fd = -1 };
	owned(strv_done) struct strv own_folders = STRV_INIT;
	owned(free_ptr) char *name = NULL, *goal = NULL, *source = NULL;
	struct promote_request request = {
		.own_folders = &own_folders,
		.allow_privilege = wish->allow_privilege,
		.allow_special = wish->allow_special,
		.keeps_existing = !wish->force,
	};
	int status;

	if (app_store(&get.store, err) < 0 ||
	    artifact_directory(&get.store, &get.dir_fd, err) < 0 ||
	    artifact_find(get.dir_fd, wish->id, &get.record, err) < 0 ||
	    find_place(&get, wish->dst, &goal, &name, err) < 0 ||
	    app_own_folders(&own_folders, err) < 0 || lay_out(&get, name, &source, err) < 0)
		return -1;
	request.artifact = source;
	request.to = goal;
	if (wish->allow_paths)
		request.allow_paths = *wish->allow_paths;
	status = promote_draft(&get, &request, ret_answer, err);
	if (!*ret_answer)
		return -1;
	value_add(*ret_answer, "artifact_id",
		  value_new_text(value_get_text(get.record, "artifact_id")));
	value_add(*ret_answer, "path", value_new_text(wish->dst));
	value_add(*ret_answer, "sha256", value_new_text(value_get_text(get.record, "sha256")));
	if (status == 0)
		record_named("promote", value_get_text(get.record, "sandbox"),
			     value_get_text(*ret_answer, "promotion_id"));
	return status;
}

/* The entry of a directory that PATH names, or the record of a file itself; NULL with ERR. */
static const struct value *find_row(const struct value *record, const char *path, struct error *err)
{
	const struct value *entries = value_get(record, "entries");
	char shown[STR_SHOWN_SIZE];

	if (!path)
		return record;
	for (size_t i = 0; entries && entries->kind == VALUE_LIST && i < entries->many.count; i++) {
		owned(free_ptr) char *raw = artifact_path(entries->many.items[i]);

		if (raw && strcmp(raw, path) == 0)
			return entries->many.items[i];
	}
	error_set(err, ERROR_NOT_FOUND, "the artifact has no file '%s'", str_shown(path, shown));
	return NULL;
}

static int read_content(const struct store *store, const char *sha256, size_t max,
			struct str *ret_bytes, struct error *err)
{
	owned(fd_close) int fd = -1;
	char found[SHA256_HEX_SIZE];
	struct stat st;

	if (cas_open(store, sha256, &fd, err) < 0)
		return -1;
	if (fstat(fd, &st) == 0 && (uint64_t)st.st_size > max)
		return error_set(err, ERROR_DENIED,
				 "it has %lld bytes, and at most %zu are shown: aisbx artifact get "
				 "writes it to a file",
				 (long long)st.st_size, max);
	if (fd_read_all(fd, max, ret_bytes) < 0)
		return error_errno(err, ERROR_HOST, "cannot read it");
	sha256_hex(str_cstr(ret_bytes), ret_bytes->len, found);
	return strcmp(found, sha256) == 0
		       ? 0
		       : error_set(err, ERROR_INPUT, "what is kept is not what was saved");
}

int app_artifact_read(const char *id, const char *path, size_t max, struct value **ret_record,
		      struct str *ret_bytes, struct error *err)
{
	owned(getting_done) struct getting get = { .store = { .fd = -1, .lock_fd = -1 },
						   .dir_fd = -1 };
	const struct value *row;
	const char *kind, *sha256;

	if (app_store(&get.store, err) < 0 ||
	    artifact_directory(&get.store, &get.dir_fd, err) < 0 ||
	    artifact_find(get.dir_fd, id, &get.record, err) < 0)
		return -1;
	row = find_row(get.record, path, err);
	kind = value_get_text(get.record, "kind");
	if (!row)
		return -1;
	sha256 = value_get_text(row, "sha256");
	/* Of a directory there is a list, of a link where it leads. */
	if (value_get_text(row, "link"))
		value_set(get.record, "link", value_new_text(value_get_text(row, "link")));
	else if ((path || !kind || strcmp(kind, "directory") != 0) &&
		 read_content(&get.store, sha256 ? sha256 : "", max, ret_bytes, err) < 0)
		return -1;
	*ret_record = ptr_take(&get.record);
	return 0;
}
