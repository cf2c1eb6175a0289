/* SPDX-License-Identifier: Apache-2.0 */
/* Save, list, rewind, branch, refresh: the snapshots of a sandbox, without concurrent writers. */
#include "app/sandbox/given_secrets.h"
#include "app/sandbox/owner.h"
#include "app/record/record.h"
#include "app/config/rule_list.h"
#include "app/run/warm_cache.h"
#include "app/sandbox/service_copy.h"
#include "app/change/workspace_parts.h"

#include "base/core/clock.h"
#include "base/core/own.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static struct value *describe(const struct snapshot *snapshot)
{
	struct value *row = value_new_map();

	value_add(row, "name", value_new_text(snapshot->name));
	value_add(row, "parent", value_new_text(snapshot->parent[0] ? snapshot->parent : NULL));
	value_add(row, "message", value_new_text(snapshot->message));
	value_add(row, "made", workspace_time(snapshot->made_ms));
	value_add(row, "auto", value_new_bool(snapshot->is_auto));
	value_add(row, "current", value_new_bool(snapshot->is_current));
	value_add(row, "torn", value_new_bool(snapshot->is_torn));
	return row;
}

/* Where no process has to end, the refusal is precise about it. */
static int mention_freeze(enum quiesce_mode how, struct error *err)
{
	size_t len = strlen(err->text);

	if (how == QUIET_PAUSE && strstr(err->text, "--kill"))
		(void)snprintf(err->text + len, sizeof(err->text) - len,
			       ", --freeze halts them meanwhile");
	return -1;
}

/* Frozen processes run again, whatever came of the work; of two failures the first is reported. */
static int thaw(struct opened *opened, bool frozen, int status, struct error *err)
{
	struct error later;

	if (!frozen)
		return status;
	return app_thaw(&opened->sandbox, status < 0 ? &later : err) < 0 ? -1 : status;
}

int app_snap(const struct app_snap *snap, struct value **ret_answer, struct error *err)
{
	owned(opened_close) struct opened opened;
	struct snapshot_request request = { .name = snap->name,
					    .message = snap->message,
					    .durable = snap->durable };
	struct snapshot made = { .name = "" };
	int status;

	opened_init(&opened);
	enum quiesce_mode how = workspace_pause(snap->how);

	if (opened_open_quiesced(&opened, snap->sandbox, how, &request.is_live, err) < 0)
		return mention_freeze(how, err);
	status = snapshot_take(&opened.sandbox, &request, &made, err);
	if (thaw(&opened, request.is_live, status, err) < 0) {
		snapshot_done(&made);
		return -1;
	}
	*ret_answer = describe(&made);
	value_add(*ret_answer, "sandbox", value_new_text(opened.sandbox.name));
	/* Its note is what a search looks for. */
	record_event(&(struct record_event){ .kind = "snapshot",
					     .sandbox = opened.sandbox.name,
					     .id = made.name,
					     .body = snap->message ? *ret_answer : NULL });
	snapshot_done(&made);
	return 0;
}

int app_snap_drop(const char *sandbox, const char *snapshot, struct error *err)
{
	owned(opened_close) struct opened opened;
	bool frozen = false;

	opened_init(&opened);
	if (opened_open_quiesced(&opened, sandbox, QUIET_FREEZE, &frozen, err) < 0)
		return -1;
	return thaw(&opened, frozen, snapshot_drop(&opened.sandbox, snapshot, err), err);
}

int app_snaps(const char *sandbox, struct value **ret_list, struct error *err)
{
	owned(opened_close) struct opened opened;
	struct snapshots snapshots;

	opened_init(&opened);
	if (opened_open(&opened, sandbox, SANDBOX_UNLOCKED, err) < 0 ||
	    snapshot_list(&opened.sandbox, &snapshots, err) < 0)
		return -1;
	*ret_list = value_new_list();
	for (size_t i = 0; i < snapshots.count; i++)
		value_append(*ret_list, describe(&snapshots.items[i]));
	snapshots_done(&snapshots);
	return 0;
}

int app_rollback(const char *sandbox, const char *snapshot, enum quiesce_mode how,
		 struct value **ret_answer, struct error *err)
{
	owned(opened_close) struct opened opened;
	char saved[SNAPSHOT_NAME_MAX + 1] = "";
	bool frozen;

	opened_init(&opened);
	if (opened_open_quiesced(&opened, sandbox, how, &frozen, err) < 0 ||
	    snapshot_rollback(&opened.sandbox, snapshot, saved, err) < 0)
		return -1;
	*ret_answer = value_new_map();
	value_add(*ret_answer, "sandbox", value_new_text(opened.sandbox.name));
	value_add(*ret_answer, "snapshot",
		  value_new_text(opened.sandbox.at[0] ? opened.sandbox.at : NULL));
	value_add(*ret_answer, "saved", value_new_text(saved[0] ? saved : NULL));
	record_named("rollback", opened.sandbox.name, opened.sandbox.at);
	return 0;
}

/* From the present of a sandbox in which processes are frozen: a live snapshot is taken, and forked from. */
static int fork_frozen(struct sandbox *sandbox, const char *new_name, uint64_t expires_ms,
		       struct error *err)
{
	struct snapshot_request request = { .is_auto = true, .is_live = true };
	struct snapshot made = { .name = "" };
	int status = snapshot_take(sandbox, &request, &made, err);

	if (status == 0)
		status = snapshot_fork(sandbox, made.name, new_name, expires_ms, err);
	snapshot_done(&made);
	return status;
}

static int fork_opened(struct opened *opened, const char *snapshot, const struct app_fork *fork,
		       struct error *err)
{
	uint64_t lives_ms = fork->ttl_ms ? fork->ttl_ms : opened->sandbox.owner ? OWNED_TTL_MS : 0;
	uint64_t expires_ms = lives_ms ? clock_epoch_ms() + lives_ms : 0;
	enum quiesce_mode how = workspace_pause(fork->how);
	bool frozen = false;
	int status;

	/* A snapshot does not change any more: commands on the present may go on. */
	if (!snapshot && app_quiesce(&opened->sandbox, how, &frozen, err) < 0)
		return mention_freeze(how, err);
	if (frozen)
		status = fork_frozen(&opened->sandbox, fork->new_name, expires_ms, err);
	else
		status = snapshot_fork(&opened->sandbox, snapshot, fork->new_name, expires_ms, err);
	return thaw(opened, frozen, status, err);
}

/*
 * An owner removes what it owns: the new one is the caller's, whatever it was made from.
 * Rules to deny become settings of the new one and are there when it appears; rules to allow follow. A kill between both
 * leaves one that may do less.
 */
static int fork_with_rules(struct opened *opened, const char *snapshot, const struct app_fork *fork,
			   struct error *err)
{
	owned(strv_done) struct strv allow = STRV_INIT, deny = STRV_INIT, given = STRV_INIT;
	owned(free_ptr) char *path = xasprintf("%s/sbx/%s", opened->store.path, fork->new_name);
	owned(fd_close) int dir_fd = -1;

	if (rule_list_read(opened->sandbox.dir_fd, NULL, &allow, &deny, err) < 0 ||
	    given_secrets_list(opened->sandbox.dir_fd, &given, err) < 0)
		return -1;
	if (!fork->keeps_owner) {
		free(opened->sandbox.owner);
		opened->sandbox.owner = fork->owner ? xstrdup(fork->owner) : NULL;
	}
	for (size_t i = 0; i < deny.count; i++) {
		strv_add(&opened->sandbox.settings, "--deny");
		strv_add(&opened->sandbox.settings, deny.items[i]);
	}
	if (service_may_leave(&opened->sandbox)) {
		strv_add(&opened->sandbox.settings, SERVICE_NETWORK_WORD);
		strv_add(&opened->sandbox.settings, "yes");
	}
	if (warm_cache_is_tainted(opened->sandbox.dir_fd)) {
		strv_add(&opened->sandbox.settings, "--cache");
		strv_add(&opened->sandbox.settings, "false");
	}
	if (fork_opened(opened, snapshot, fork, err) < 0)
		return -1;
	if (allow.count + given.count == 0 && !cache_is_laid(opened->sandbox.dir_fd))
		return 0;
	dir_fd = open(path, O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (warm_cache_fork(opened->sandbox.dir_fd, dir_fd, err) < 0 ||
	    (given.count > 0 && given_secrets_note(dir_fd, &given, err) < 0))
		return -1;
	for (size_t i = 0; i < allow.count; i++) {
		const struct rule_change change = { .rule = allow.items[i] };

		if (rule_list_change(dir_fd, NULL, &change, err) < 0)
			return -1;
	}
	return 0;
}

int app_fork(const struct app_fork *fork, struct value **ret_answer, struct error *err)
{
	owned(opened_close) struct opened opened;
	owned(free_ptr) char *name = NULL;
	owned(free_ptr) char *snapshot = NULL;

	opened_init(&opened);
	workspace_split_name(fork->from, &name, &snapshot);
	if (sandbox_check_name(fork->new_name, err) < 0 ||
	    opened_open(&opened, name, snapshot ? SANDBOX_SHARED : SANDBOX_UNLOCKED, err) < 0 ||
	    fork_with_rules(&opened, snapshot, fork, err) < 0)
		return -1;
	*ret_answer = value_new_map();
	value_add(*ret_answer, "name", value_new_text(fork->new_name));
	value_add(*ret_answer, "from", value_new_text(name));
	value_add(*ret_answer, "snapshot", value_new_text(snapshot));
	record_named("fork", name, fork->new_name);
	return 0;
}

int app_refresh(const char *sandbox, enum quiesce_mode how, struct value **ret_answer,
		struct error *err)
{
	owned(opened_close) struct opened opened;
	bool frozen;

	opened_init(&opened);
	if (opened_open_quiesced(&opened, sandbox, how, &frozen, err) < 0 ||
	    snapshot_refresh(&opened.sandbox, err) < 0)
		return -1;
	*ret_answer = value_new_map();
	value_add(*ret_answer, "sandbox", value_new_text(opened.sandbox.name));
	value_add(*ret_answer, "base_taken", workspace_time(opened.sandbox.base_ns / 1000000));
	return 0;
}
