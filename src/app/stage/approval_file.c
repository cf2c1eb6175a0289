/* SPDX-License-Identifier: Apache-2.0 */
/* Questions that wait for a person, and those that were decided: one file each. */
#include "app/stage/ask_parts.h"

#include "base/core/clock.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/core/id.h"
#include "base/text/json_read.h"
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "app/change/workspace_parts.h"
#include "host/host.h"
#include "workspace/store/store.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of one owner: so many wait for a person, and so many that were decided are kept. */
#define PENDING_MAX 50
#define DECIDED_MAX 200
#define ASK_BYTES ((size_t)4 << 20)
#define KEPT_MS (UINT64_C(7) * 24 * 3600 * 1000)

/* Below the state's directory. */
int approval_files_open(int *ret_fd, struct error *err)
{
	owned(host_done) struct host host = { 0 };
	owned(free_ptr) char *path = NULL;

	if (host_read_caller(&host, err) < 0)
		return -1;
	path = xasprintf("%s/asks", host.state_dir);
	if (dir_make_all(path) < 0)
		return error_errno(err, ERROR_HOST, "%s", path);
	owned(fd_close) int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return error_errno(err, ERROR_HOST, "%s", path);
	*ret_fd = fd_take(&fd);
	return 0;
}

/* Ids are ours, and never part of a path otherwise. */
static bool is_id(const char *text)
{
	return id_run_epoch_ms(text) > 0;
}

int approval_read(int dir_fd, const char *id, struct value **ret_ask, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	char shown[STR_SHOWN_SIZE];

	if (!is_id(id) || faccessat(dir_fd, id, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return error_advise(err, ERROR_NOT_FOUND, "aisbx promotions lists them",
				    "no request for a promotion '%s'", str_shown(id, shown));
	owned(fd_close) int fd = file_open(dir_fd, id, O_NOFOLLOW, NULL);

	if (fd < 0 || fd_read_all(fd, ASK_BYTES, &text) < 0)
		return error_errno(err, ERROR_HOST, "the request %s", id);
	if (json_read(str_cstr(&text), text.len, NULL, ret_ask, err) < 0)
		return error_context(err, "the request %s", id);
	return 0;
}

int approval_write(int dir_fd, const struct value *ask, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;

	json_write(&text, ask, 0);
	return store_replace(dir_fd, value_get_text(ask, "request_id"), text.data, text.len, true,
			     err);
}

static void collect_names(int dir_fd, struct strv *ret_names)
{
	owned(dir_close) DIR *dir = dir_open(dir_fd, ".");
	struct dirent *entry;

	while (dir_next(dir, &entry) > 0) {
		if (is_id(entry->d_name))
			strv_add(ret_names, entry->d_name);
	}
	strv_sort(ret_names);
}

bool approval_is_pending(const struct value *ask)
{
	const char *state = value_get_text(ask, "state");

	return state && strcmp(state, "pending") == 0;
}

bool approval_is_shared(int dir_fd, const struct value *ask)
{
	const char *id = value_get_text(ask, "request_id");
	const char *bundle = value_get_text(ask, "bundle");
	owned(strv_done) struct strv names = STRV_INIT;
	struct error ignored;

	collect_names(dir_fd, &names);
	for (size_t i = 0; bundle && i < names.count; i++) {
		owned(value_release) struct value *other = NULL;

		if (!str_same(names.items[i], id) &&
		    approval_read(dir_fd, names.items[i], &other, &ignored) == 0 &&
		    approval_is_pending(other) && str_same(value_get_text(other, "bundle"), bundle))
			return true;
	}
	return false;
}

char *approval_sandbox_id(const char *word, struct error *err)
{
	owned(free_ptr) char *name = NULL, *snapshot = NULL;
	owned(opened_close) struct opened opened;

	opened_init(&opened);
	workspace_split_name(word, &name, &snapshot);
	return opened_open(&opened, name, SANDBOX_UNLOCKED, err) < 0 ? NULL
								     : xstrdup(opened.sandbox.id);
}

/* A question about a sandbox that is gone can only be answered with no. */
static bool is_moot(const struct value *ask)
{
	const char *sandbox = value_get_text(ask, "sandbox");
	const char *wanted = value_get_text(ask, "sandbox_id");
	struct error ignored;

	if (!approval_is_pending(ask))
		return false;
	owned(free_ptr) char *found = sandbox ? approval_sandbox_id(sandbox, &ignored) : NULL;

	return !found || !wanted || strcmp(found, wanted) != 0;
}

static bool is_of(const struct value *ask, const char *owner)
{
	return str_same(value_get_text(ask, "owner"), owner);
}

int approval_files_make_room(int dir_fd, const char *owner, struct error *err)
{
	owned(strv_done) struct strv names = STRV_INIT;
	size_t pending = 0, decided = 0;
	struct error ignored;

	collect_names(dir_fd, &names);
	for (size_t i = names.count; i-- > 0;) {
		owned(value_release) struct value *ask = NULL;

		if (approval_read(dir_fd, names.items[i], &ask, &ignored) < 0 || !is_of(ask, owner))
			continue;
		if (is_moot(ask) || (!approval_is_pending(ask) && ++decided > DECIDED_MAX))
			(void)unlinkat(dir_fd, names.items[i], 0);
		else
			pending += approval_is_pending(ask);
	}
	if (pending < PENDING_MAX)
		return 0;
	return error_advise(err, ERROR_DENIED,
			    "a person decides: aisbx promotions, aisbx promotions reject --all",
			    "%d requests of this owner wait for a person already", PENDING_MAX);
}

/* Decided a week ago: no longer of interest. */
static bool is_stale(int dir_fd, const char *id, const struct value *ask)
{
	struct stat st;

	return !approval_is_pending(ask) && fstatat(dir_fd, id, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (uint64_t)st.st_mtim.tv_sec * 1000 + KEPT_MS < clock_epoch_ms();
}

int approval_list(const char *owner, struct value **ret_list, struct error *err)
{
	owned(strv_done) struct strv names = STRV_INIT;
	owned(fd_close) int dir_fd = -1;
	struct error ignored;

	if (approval_files_open(&dir_fd, err) < 0)
		return -1;
	collect_names(dir_fd, &names);
	*ret_list = value_new_list();
	for (size_t i = names.count; i-- > 0;) {
		struct value *ask = NULL;

		/* A damaged one is no request. */
		if (approval_read(dir_fd, names.items[i], &ask, &ignored) < 0)
			continue;
		if (is_moot(ask))
			value_set(ask, "state", value_new_text("ended"));
		if (is_stale(dir_fd, names.items[i], ask))
			(void)unlinkat(dir_fd, names.items[i], 0);
		if (!owner || is_of(ask, owner))
			value_append(*ret_list, ask);
		else
			value_free(ask);
	}
	return 0;
}
