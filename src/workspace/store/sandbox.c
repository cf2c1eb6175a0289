/* SPDX-License-Identifier: Apache-2.0 */
/* Named sandboxes on disk: made, found, locked. */
#include "workspace/store/sandbox.h"

#include "base/core/clock.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/core/id.h"
#include "base/text/suggest.h"
#include "base/core/own.h"
#include "base/file/tree.h"
#include "workspace/disk/copy_file.h"
#include "workspace/disk/fields.h"
#include "workspace/store/moments.h"
#include "workspace/store/sandbox_record.h"
#include "workspace/store/layer_commit.h"
#include "workspace/store/store_parts.h"
#include "workspace/store/todo.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PLACE_SIZE (sizeof("sbx/") + SANDBOX_NAME_MAX)
#define EXCLUSIVE_FIRST_NS 20000l
#define EXCLUSIVE_MAX_NS 100000000l

bool sandbox_name_is_valid(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
	size_t len = strspn(name, letters);

	return len >= 1 && len <= SANDBOX_NAME_MAX && name[len] == '\0' && !strchr("._-", name[0]);
}

int sandbox_check_name(const char *name, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	if (sandbox_name_is_valid(name))
		return 0;
	return error_set(err, ERROR_USAGE,
			 "'%s' cannot be the name of a sandbox: up to %d of a-z, 0-9, '.', '_', "
			 "'-', beginning with a letter or a digit",
			 str_shown(name, shown), SANDBOX_NAME_MAX);
}

static void place_of(const char *name, char place[static PLACE_SIZE])
{
	(void)snprintf(place, PLACE_SIZE, "sbx/%s", name);
}

bool sandbox_is_there(const struct store *store, const char *name)
{
	char place[PLACE_SIZE];

	place_of(name, place);
	return faccessat(store->fd, place, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool sandbox_is_expired(const struct sandbox *sandbox)
{
	return sandbox->expires_ms && sandbox->expires_ms <= clock_epoch_ms();
}

/* Adds all names of a directory; the names that the nearest is taken from must outlive the search. */
static void list_names(int dir_fd, const char *dir, struct strv *names)
{
	owned(dir_close) DIR *list = dir_open(dir_fd, dir);
	struct dirent *entry;

	while (dir_next(list, &entry) > 0) {
		if (sandbox_name_is_valid(entry->d_name))
			strv_add(names, entry->d_name);
	}
}

int sandbox_not_found(int dir_fd, const char *dir, const char *what, const char *name,
		      struct error *err)
{
	owned(strv_done) struct strv names = STRV_INIT;
	char shown[STR_SHOWN_SIZE];
	struct suggest suggest;

	list_names(dir_fd, dir, &names);
	suggest_init(&suggest, name);
	for (size_t i = 0; i < names.count; i++)
		suggest_try(&suggest, names.items[i]);
	if (suggest.best && strcmp(suggest.best, name) == 0)
		return error_set(err, ERROR_NOT_FOUND,
				 "there is no %s '%s', only something else of that name in the "
				 "store: look at it and remove it by hand",
				 what, str_shown(name, shown));
	if (suggest.best) {
		error_set(err, ERROR_NOT_FOUND, "there is no %s '%s'", what,
			  str_shown(name, shown));
		return error_add_hint(err, "did you mean '%s'?", suggest.best);
	}
	return error_set(err, ERROR_NOT_FOUND, "there is no %s '%s'", what, str_shown(name, shown));
}

static int write_record(int dir_fd, const char *name, const struct str *text, struct error *err)
{
	return store_write(dir_fd, name, text->data, text->len, err);
}

static int copy_file(const struct sandbox *from, const struct sandbox *to, const char *name,
		     struct error *err)
{
	owned(fd_close) int from_fd = file_open(from->dir_fd, name, O_NOFOLLOW, NULL);
	owned(fd_close) int to_fd = -1;

	if (from_fd < 0)
		return errno == ENOENT ? 0 : error_errno(err, ERROR_HOST, "%s", name);
	to_fd = openat(to->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (to_fd < 0 || copy_content(from_fd, to_fd) < 0)
		return error_errno(err, ERROR_HOST, "cannot copy '%s'", name);
	return 0;
}

/* What promotions of the one it is forked from made of the host holds for the fork, too, and so do its steps. */
static int copy_notes(const struct sandbox *from, const struct sandbox *to, struct error *err)
{
	if (copy_file(from, to, "promoted", err) < 0 ||
	    copy_file(from, to, SANDBOX_BLOBS, err) < 0 ||
	    copy_file(from, to, SANDBOX_PROFILE, err) < 0)
		return -1;
	return copy_file(from, to, TODO_FILE, err);
}

/* Writes everything into the draft's directory. */
static int fill_draft(const struct sandbox *sandbox, const struct sandbox_make *make,
		      struct error *err)
{
	owned(str_done) struct str meta = STR_INIT, head = STR_INIT;

	sandbox_meta_format(sandbox, &meta);
	sandbox_head_format(sandbox, &head);
	if (meta.len > FIELDS_BYTES_MAX || sandbox->settings.count > FIELDS_COUNT_MAX / 2)
		return error_set(err, ERROR_USAGE, "these are too many settings to keep");
	if (write_record(sandbox->dir_fd, "meta", &meta, err) < 0 ||
	    write_record(sandbox->dir_fd, "head", &head, err) < 0)
		return -1;
	if (make->profile && *make->profile &&
	    store_write(sandbox->dir_fd, SANDBOX_PROFILE, make->profile, strlen(make->profile),
			err) < 0)
		return -1;
	if (make->like && copy_notes(make->like, sandbox, err) < 0)
		return -1;
	if (!make->fork)
		return 0;
	if (mkdirat(sandbox->dir_fd, "snaps", 0700) < 0)
		return error_errno(err, ERROR_HOST, "cannot make 'snaps'");
	return write_record(sandbox->dir_fd, "snaps/" SANDBOX_FORK_NAME, make->fork, err);
}

static int fill_struct(const struct store *store, const struct sandbox_make *make,
		       struct sandbox *sandbox, struct error *err)
{
	const struct sandbox *like = make->like;

	sandbox->store = store;
	(void)snprintf(sandbox->name, sizeof(sandbox->name), "%s", make->name);
	if (id_run(sandbox->id, err) < 0)
		return -1;
	sandbox->created_ms = clock_epoch_ms();
	sandbox->expires_ms = make->expires_ms;
	sandbox->workspace = xstrdup(make->workspace);
	sandbox->root = xstrdup(make->root);
	sandbox->owner = make->owner ? xstrdup(make->owner) : NULL;
	if (make->settings)
		strv_copy(&sandbox->settings, make->settings);
	(void)snprintf(sandbox->head, sizeof(sandbox->head), "%s", make->head ? make->head : "");
	if (make->fork)
		(void)snprintf(sandbox->at, sizeof(sandbox->at), SANDBOX_FORK_NAME);
	if (!like)
		return sandbox_take_base(sandbox, err);
	sandbox->base_ns = like->base_ns;
	sandbox->clock_offset_ns = like->clock_offset_ns;
	memcpy(sandbox->base_boot_id, like->base_boot_id, sizeof(sandbox->base_boot_id));
	return 0;
}

/* A directory that holds something is never replaced by a rename, so the name is free or this fails. */
static int publish(const struct sandbox *sandbox, const char *draft, struct error *err)
{
	const struct store *store = sandbox->store;
	char place[PLACE_SIZE];

	place_of(sandbox->name, place);
	if (renameat(store->fd, draft, store->fd, place) == 0)
		return 0;
	if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR)
		return error_errno(err, ERROR_HOST, "cannot make the sandbox '%s'", sandbox->name);
	/* An expired one may only be in the way. */
	sandbox_sweep(store, NULL);
	if (renameat(store->fd, draft, store->fd, place) == 0)
		return 0;
	return error_set(err, ERROR_CONFLICT, "there is a sandbox '%s' already", sandbox->name);
}

static int make_in(struct sandbox *sandbox, const struct sandbox_make *make, const char *draft,
		   struct error *err)
{
	const struct store *store = sandbox->store;

	if (mkdirat(store->fd, draft, 0700) < 0)
		return error_errno(err, ERROR_HOST, "cannot make a sandbox");
	sandbox->dir_fd = openat(store->fd, draft, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (sandbox->dir_fd < 0) {
		error_errno(err, ERROR_HOST, "cannot open a new sandbox");
	} else if (fill_draft(sandbox, make, err) == 0 && publish(sandbox, draft, err) == 0) {
		if (!make->like)
			moments_add_place(sandbox);
		return sandbox->expires_ms ? store_note_expiry(store, sandbox->expires_ms, err) : 0;
	}
	(void)tree_remove(store->fd, draft);
	return -1;
}

int sandbox_make(const struct store *store, const struct sandbox_make *make,
		 struct sandbox *ret_sandbox, struct error *err)
{
	struct sandbox sandbox = { .dir_fd = -1, .lock_fd = -1, .freeze_fd = -1 };
	char draft[sizeof("sbx/.new-") + LAYER_ID_SIZE];

	if (sandbox_check_name(make->name, err) < 0)
		return -1;
	if (fill_struct(store, make, &sandbox, err) < 0) {
		sandbox_close(&sandbox);
		return -1;
	}
	(void)snprintf(draft, sizeof(draft), "sbx/.new-%s", sandbox.id);
	if (make_in(&sandbox, make, draft, err) < 0) {
		sandbox_close(&sandbox);
		return -1;
	}
	*ret_sandbox = sandbox;
	return 0;
}

void sandbox_close(struct sandbox *sandbox)
{
	fd_close(&sandbox->freeze_fd);
	fd_close(&sandbox->lock_fd);
	fd_close(&sandbox->dir_fd);
	sandbox_record_done(sandbox);
}

/* Removed while we waited for the lock: what we hold lies in the trash. */
static bool is_still_there(const struct sandbox *sandbox)
{
	char place[PLACE_SIZE];
	struct stat held, named;

	place_of(sandbox->name, place);
	return fstat(sandbox->dir_fd, &held) == 0 &&
	       fstatat(sandbox->store->fd, place, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

/* Another verb is done within milliseconds, and so is a supervisor that ends; a user of the sandbox is not. */
static int lock_exclusive(struct sandbox *sandbox, struct error *err)
{
	struct timespec rest = { .tv_nsec = EXCLUSIVE_FIRST_NS };
	long waited_ns = 0;

	while (store_flock(sandbox->lock_fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return error_errno(err, ERROR_HOST, "cannot lock the sandbox '%s'",
					   sandbox->name);
		if (waited_ns > EXCLUSIVE_MAX_NS)
			return error_set(err, ERROR_CONFLICT, "the sandbox '%s' is in use",
					 sandbox->name);
		(void)nanosleep(&rest, NULL);
		waited_ns += rest.tv_nsec;
		rest.tv_nsec += rest.tv_nsec / 4;
	}
	return 0;
}

/*
 * A seal that is still recorded while we hold a lock was interrupted, because sealing holds the lock exclusively. Other
 * processes that share the lock now are about to finish the seal, too, so the wait is short.
 */
static int lock_shared(struct sandbox *sandbox, struct error *err)
{
	for (;;) {
		if (store_flock(sandbox->lock_fd, LOCK_SH) < 0)
			break;
		if (!layer_commit_is_pending(sandbox))
			return 0;
		if (store_flock(sandbox->lock_fd, LOCK_EX) < 0)
			break;
		if (layer_commit_recover(sandbox, err) < 0)
			return -1;
	}
	return error_errno(err, ERROR_HOST, "cannot lock the sandbox '%s'", sandbox->name);
}

static int lock_as(struct sandbox *sandbox, enum sandbox_lock lock, struct error *err)
{
	if (lock == SANDBOX_SHARED ? lock_shared(sandbox, err) < 0
				   : lock_exclusive(sandbox, err) < 0)
		return -1;
	if (!is_still_there(sandbox))
		return error_set(err, ERROR_NOT_FOUND, "the sandbox '%s' was removed",
				 sandbox->name);
	if (lock == SANDBOX_EXCLUSIVE && layer_commit_is_pending(sandbox) &&
	    layer_commit_recover(sandbox, err) < 0)
		return -1;
	return sandbox_read_head(sandbox, err);
}

int sandbox_relock(struct sandbox *sandbox, enum sandbox_lock lock, struct error *err)
{
	bool was_locked = sandbox->lock_fd >= 0;

	if (lock == SANDBOX_UNLOCKED) {
		fd_close(&sandbox->lock_fd);
		return 0;
	}
	if (!was_locked &&
	    store_open_lock_file(sandbox->dir_fd, "lock", &sandbox->lock_fd, err) < 0)
		return -1;
	if (lock_as(sandbox, lock, err) == 0)
		return 0;
	/* A failed change of lock has lost the old one. */
	if (was_locked)
		(void)store_flock(sandbox->lock_fd, LOCK_SH);
	else
		fd_close(&sandbox->lock_fd);
	return -1;
}

static int read_meta(struct sandbox *sandbox, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;

	if (fields_read_bytes(sandbox->dir_fd, "meta", FIELDS_BYTES_MAX, &text, err) < 0 ||
	    sandbox_meta_parse(str_cstr(&text), text.len, sandbox, err) < 0)
		return sandbox_damaged(sandbox, err);
	return 0;
}

/* Locks as asked for, and reads what may change only then. */
static int enter(struct sandbox *sandbox, enum sandbox_lock lock, struct error *err)
{
	if (read_meta(sandbox, err) < 0)
		return -1;
	if (lock != SANDBOX_UNLOCKED)
		return sandbox_relock(sandbox, lock, err);
	/* Half of a seal shows half of a sandbox: wait for the other half. */
	if (layer_commit_is_pending(sandbox)) {
		if (sandbox_relock(sandbox, SANDBOX_SHARED, err) < 0)
			return -1;
		return sandbox_relock(sandbox, SANDBOX_UNLOCKED, err);
	}
	return sandbox_read_head(sandbox, err);
}

int sandbox_open(const struct store *store, const char *name, enum sandbox_lock lock,
		 struct sandbox *ret_sandbox, struct error *err)
{
	struct sandbox sandbox = { .store = store, .dir_fd = -1, .lock_fd = -1, .freeze_fd = -1 };
	char place[PLACE_SIZE];

	if (sandbox_check_name(name, err) < 0)
		return -1;
	place_of(name, place);
	(void)snprintf(sandbox.name, sizeof(sandbox.name), "%s", name);
	sandbox.dir_fd = openat(store->fd, place, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (sandbox.dir_fd < 0) {
		if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)
			return sandbox_not_found(store->fd, "sbx", "sandbox", name, err);
		return error_errno(err, ERROR_HOST, "cannot open the sandbox '%s'", name);
	}
	if (enter(&sandbox, lock, err) < 0) {
		sandbox_close(&sandbox);
		return -1;
	}
	if (sandbox_is_expired(&sandbox)) {
		sandbox_close(&sandbox);
		return error_set(err, ERROR_NOT_FOUND,
				 "there is no sandbox '%s' any more: its time was over", name);
	}
	*ret_sandbox = sandbox;
	return 0;
}

int sandbox_open_upper(const struct sandbox *sandbox, int *ret_fd, struct error *err)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(sandbox->dir_fd, "upper", flags);

	if (fd < 0 && errno == ENOENT) {
		if (mkdirat(sandbox->dir_fd, "upper", 0700) < 0 && errno != EEXIST)
			return error_errno(err, ERROR_HOST, "cannot make the top of '%s'",
					   sandbox->name);
		fd = openat(sandbox->dir_fd, "upper", flags);
	}
	if (fd < 0)
		return error_errno(err, ERROR_HOST, "cannot open the top of '%s'", sandbox->name);
	*ret_fd = fd;
	return 0;
}
