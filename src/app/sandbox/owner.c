/* SPDX-License-Identifier: Apache-2.0 */
/* The owner of a sandbox. */
#include "app/sandbox/owner.h"

#include "supervise/background/place.h"
#include "base/core/own.h"
#include "app/sandbox/sandbox.h"
#include "host/host.h"

#include <errno.h>
#include <string.h>

bool owner_has(const struct sandbox *sandbox, const char *owner)
{
	return !owner || (sandbox->owner && strcmp(sandbox->owner, owner) == 0);
}

int owner_refuse(const char *name, struct error *err)
{
	return error_advise(err, ERROR_NOT_FOUND,
			    "sandbox_list lists them, sandbox_create makes one",
			    "no sandbox '%s' here", name);
}

/* SINCE_MS: and was there then, so that it is not another of the same name. */
static bool is_owned(const struct store *store, const char *name, const char *owner,
		     uint64_t since_ms)
{
	struct sandbox sandbox;
	struct error ignored;
	bool same;

	if (sandbox_open(store, name, SANDBOX_UNLOCKED, &sandbox, &ignored) < 0)
		return false;
	same = owner_has(&sandbox, owner) && sandbox.created_ms <= since_ms;
	sandbox_close(&sandbox);
	return same;
}

int owner_has_room(const struct store *store, const char *owner, unsigned most, struct error *err)
{
	owned(strv_done) struct strv names = STRV_INIT;
	unsigned count = 0;

	most = most ? most : OWNED_MAX;
	if (!owner)
		return 0;
	if (sandbox_list(store, &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.count && count < most; i++)
		count += is_owned(store, names.items[i], owner, UINT64_MAX);
	if (count < most)
		return 0;
	error_advise(err, ERROR_DENIED, "remove one first",
		     "there are %u sandboxes of this owner already", most);
	err->errnum = EDQUOT;
	return -1;
}

int app_owner_has_room(const char *owner, struct error *err)
{
	owned(store_close) struct store store = { .fd = -1, .lock_fd = -1 };

	return app_store(&store, err) < 0 ? -1 : owner_has_room(&store, owner, 0, err);
}

static int owns_since(const char *name, const char *owner, uint64_t since_ms, struct error *err)
{
	owned(store_close) struct store store = { .fd = -1, .lock_fd = -1 };

	if (sandbox_check_name(name, err) < 0 || app_store(&store, err) < 0)
		return -1;
	return is_owned(&store, name, owner, since_ms) ? 0 : owner_refuse(name, err);
}

int app_owns_exec(const char *exec_id, const char *owner, char **ret_sandbox, struct error *err)
{
	owned(exec_record_done) struct exec_record record = { 0 };
	owned(host_done) struct host host = { 0 };
	owned(fd_close) int dir_fd = -1;
	char shown[STR_SHOWN_SIZE];

	if (!exec_is_id(exec_id))
		return error_set(err, ERROR_USAGE, "'%s' is no id that sandbox_exec_start gave",
				 str_shown(exec_id, shown));
	if (host_read_caller(&host, err) < 0 ||
	    execs_open(host.state_dir, false, &dir_fd, err) < 0 ||
	    exec_record_read(dir_fd, exec_id, &record, err) < 0 ||
	    owns_since(record.sandbox, owner, record.started_ms, err) < 0)
		return error_advise(err, ERROR_NOT_FOUND, "sandbox_exec_start gives the id",
				    "no command '%s' here", str_shown(exec_id, shown));
	*ret_sandbox = ptr_take(&record.sandbox);
	return 0;
}
