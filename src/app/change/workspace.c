/* SPDX-License-Identifier: Apache-2.0 */
/* Named sandboxes listed, inspected, removed; and what the other workspace verbs share. */
#include "app/sandbox/service_copy.h"
#include "app/sandbox/background.h"
#include "app/record/record.h"
#include "app/change/workspace_parts.h"

#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "workspace/disk/fields.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

/* Counting is a service, not a promise: a list of many sandboxes must not take minutes. */
#define COUNT_NS 2000000000u

void opened_init(struct opened *opened)
{
	memset(opened, 0, sizeof(*opened));
}

void opened_close(struct opened *opened)
{
	if (opened->has_sandbox)
		sandbox_close(&opened->sandbox);
	if (opened->has_store)
		store_close(&opened->store);
	opened_init(opened);
}

int opened_open(struct opened *opened, const char *name, enum sandbox_lock lock, struct error *err)
{
	if (sandbox_check_name(name, err) < 0 || app_store(&opened->store, err) < 0)
		return -1;
	opened->has_store = true;
	if (sandbox_open(&opened->store, name, lock, &opened->sandbox, err) < 0)
		return -1;
	opened->has_sandbox = true;
	return 0;
}

int opened_open_quiesced(struct opened *opened, const char *name, enum quiesce_mode how,
			 bool *ret_frozen, struct error *err)
{
	*ret_frozen = false;
	if (opened_open(opened, name, SANDBOX_UNLOCKED, err) < 0)
		return -1;
	return app_quiesce(&opened->sandbox, how, ret_frozen, err);
}

int app_files_lock(const char *sandbox, int *ret_fd, struct error *err)
{
	owned(opened_close) struct opened opened;

	opened_init(&opened);
	if (opened_open(&opened, sandbox, SANDBOX_UNLOCKED, err) < 0)
		return -1;
	owned(fd_close) int fd =
		openat(opened.sandbox.dir_fd, "files.lock",
		       O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return error_errno(err, ERROR_HOST, "cannot lock the files of '%s'", sandbox);
	*ret_fd = fd_take(&fd);
	return 0;
}

void workspace_split_name(const char *word, char **ret_name, char **ret_snapshot)
{
	const char *at = strchr(word, '@');

	*ret_name = at ? xstrndup(word, (size_t)(at - word)) : xstrdup(word);
	*ret_snapshot = at ? xstrdup(at + 1) : NULL;
}

struct value *workspace_time(uint64_t epoch_ms)
{
	char text[32];

	if (epoch_ms == 0)
		return value_new_null();
	time_format_utc(epoch_ms, text);
	return value_new_text(text);
}

struct value *workspace_counts(uint64_t added, uint64_t modified, uint64_t deleted)
{
	struct value *counts = value_new_map();

	value_add(counts, "added", value_new_int((int64_t)added));
	value_add(counts, "modified", value_new_int((int64_t)modified));
	value_add(counts, "deleted", value_new_int((int64_t)deleted));
	return counts;
}

const char *workspace_relative(const char *path, const char *workspace)
{
	size_t len = workspace ? strlen(workspace) : 0;

	if (len == 0 || strncmp(path, workspace, len) != 0)
		return path;
	if (path[len] == '/')
		return path + len + 1;
	return path[len] ? path : ".";
}

/* What is no character is shown as \\xHH, in a form that is still one line. */
static char *displayed(const char *path)
{
	struct str out = STR_INIT;

	for (; *path; path++) {
		unsigned char c = (unsigned char)*path;

		if (c < ' ' || c >= 0x7f)
			str_addf(&out, "\\x%02x", c);
		else
			str_add_char(&out, *path);
	}
	return str_detach(&out);
}

void workspace_add_path(struct value *map, const char *path)
{
	size_t len = strlen(path);

	if (utf8_valid(path, len)) {
		value_add(map, "path", value_new_text(path));
		value_add(map, "path_b64", value_new_null());
		return;
	}
	owned(free_ptr) char *shown = displayed(path);
	owned(str_done) struct str coded = STR_INIT;

	base64_add(&coded, path, len);
	value_add(map, "path", value_new_text(shown));
	value_add(map, "path_b64", value_new_text(str_cstr(&coded)));
}

struct value *workspace_paths(const struct strv *paths)
{
	struct value *list = value_new_list();

	for (size_t i = 0; i < paths->count; i++) {
		if (utf8_valid(paths->items[i], strlen(paths->items[i])))
			value_append(list, value_new_text(paths->items[i]));
		else
			workspace_add_path(value_append(list, value_new_map()), paths->items[i]);
	}
	return list;
}

/* Counts into *ret_delta; what cannot be counted in time is a lower bound, and marked as one. -1: cannot be looked at. */
static int count_changes(const struct sandbox *sandbox, uint64_t until_ns, struct delta *ret_delta)
{
	struct view_stack stack;
	struct error ignored;

	/* The time is for all sandboxes of a list: even a first look at a large one takes a part of it. */
	ret_delta->is_partial = true;
	if (clock_now_ns() >= until_ns)
		return 0;
	if (app_view(sandbox, NULL, &stack, &ignored) < 0)
		return -1;
	struct delta_options options = { .workspace = sandbox->workspace,
					 .sandbox = sandbox,
					 .old_from = stack.count,
					 .only_workspace = true,
					 .expand = true,
					 .until_ns = until_ns };

	if (delta_read(&stack, &options, ret_delta, &ignored) == 0)
		origin_drop_settled(sandbox, &stack, ret_delta);
	view_close(&stack);
	return 0;
}

static void add_changes(struct value *row, const struct sandbox *sandbox, uint64_t until_ns)
{
	struct delta delta = { .count = 0 };
	bool is_known = count_changes(sandbox, until_ns, &delta) == 0;

	value_add(row, "changes",
		  is_known ? workspace_counts(delta.added, delta.modified, delta.deleted)
			   : value_new_null());
	value_add(row, "partial", value_new_bool(delta.is_partial));
	delta_done(&delta);
}

/* "running" with processes inside, else "idle"; a top cut short by a crash of the machine is "torn". */
static void add_state(struct value *row, const struct sandbox *sandbox,
		      const struct sandbox_processes *processes)
{
	char boot_id[37];
	struct error ignored;
	bool torn = store_boot_id(boot_id, &ignored) == 0 && sandbox_is_torn(sandbox, boot_id);

	value_add(row, "state",
		  value_new_text(torn			? "torn"
				 : processes->count > 0 ? "running"
							: "idle"));
}

static void add_common(struct value *row, const struct sandbox *sandbox,
		       const struct sandbox_processes *processes, uint64_t until_ns)
{
	struct snapshots snapshots = { .count = 0 };
	struct error ignored;

	value_add(row, "name", value_new_text(sandbox->name));
	value_add(row, "base", value_new_text(sandbox->workspace));
	add_state(row, sandbox, processes);
	value_add(row, "created", workspace_time(sandbox->created_ms));
	value_add(row, "expires", workspace_time(sandbox->expires_ms));
	(void)snapshot_list(sandbox, &snapshots, &ignored);
	value_add(row, "snapshots", value_new_int((int64_t)snapshots.count));
	snapshots_done(&snapshots);
	add_changes(row, sandbox, until_ns);
	value_add(row, "disk_bytes", value_new_int((int64_t)sandbox_disk_bytes(sandbox)));
	value_add(row, "owner", value_new_text(sandbox->owner));
}

static void list_one(const struct store *store, const char *name, uint64_t until_ns,
		     struct value *list)
{
	struct sandbox_processes processes = { .count = 0 };
	struct sandbox sandbox;
	struct error ignored;

	/* Removed since its name was read: nothing to list. */
	if (sandbox_open(store, name, SANDBOX_UNLOCKED, &sandbox, &ignored) < 0)
		return;
	(void)app_processes(&sandbox, &processes, &ignored);
	add_common(value_append(list, value_new_map()), &sandbox, &processes, until_ns);
	sandbox_processes_done(&processes);
	sandbox_close(&sandbox);
}

/* How many commands run in the background of each. */
static void count_execs(struct value *list)
{
	owned(value_release) struct value *execs = app_execs(NULL);

	for (size_t i = 0; i < list->many.count; i++) {
		struct value *row = list->many.items[i];
		int64_t count = 0;

		for (size_t e = 0; e < execs->many.count; e++)
			count += strcmp(value_get_text(execs->many.items[e], "sandbox"),
					value_get_text(row, "name")) == 0;
		value_add(row, "execs", value_new_int(count));
	}
}

int app_list(struct value **ret_list, struct error *err)
{
	owned(store_close) struct store store = { .fd = -1, .lock_fd = -1 };
	owned(strv_done) struct strv names = STRV_INIT;
	uint64_t until_ns = clock_now_ns() + COUNT_NS;

	if (app_store(&store, err) < 0 || sandbox_list(&store, &names, err) < 0)
		return -1;
	*ret_list = value_new_list();
	for (size_t i = 0; i < names.count; i++)
		list_one(&store, names.items[i], until_ns, *ret_list);
	count_execs(*ret_list);
	return 0;
}

static struct value *describe_processes(const struct sandbox_processes *processes)
{
	struct value *list = value_new_list();

	for (size_t i = 0; i < processes->count; i++) {
		struct value *one = value_append(list, value_new_map());

		value_add(one, "pid", value_new_int(processes->items[i].pid));
		value_add(one, "command", value_new_text(processes->items[i].command));
	}
	return list;
}

/* The profile it was made with: the file and the digest of all its files; null for a built-in one. */
static void add_profile(struct value *row, const struct sandbox *sandbox)
{
	owned(fields_done) struct fields fields = { 0 };
	struct error ignored;
	bool is_kept = fields_read(sandbox->dir_fd, SANDBOX_PROFILE, SANDBOX_PROFILE_KIND, &fields,
				   &ignored) == 0;

	value_add(row, "profile", value_new_text(is_kept ? fields_get(&fields, "path") : NULL));
	value_add(row, "profile_sha256",
		  value_new_text(is_kept ? fields_get(&fields, "sha256") : NULL));
}

int app_inspect(const char *name, struct value **ret_answer, struct error *err)
{
	owned(opened_close) struct opened opened;
	struct sandbox_processes processes = { .count = 0 };
	struct value *row;

	opened_init(&opened);
	if (opened_open(&opened, name, SANDBOX_UNLOCKED, err) < 0 ||
	    app_processes(&opened.sandbox, &processes, err) < 0)
		return -1;
	row = value_new_map();
	add_common(row, &opened.sandbox, &processes, clock_now_ns() + COUNT_NS);
	value_add(row, "workspace", value_new_text(opened.sandbox.workspace));
	value_add(row, "root", value_new_text(opened.sandbox.root));
	value_add(row, "settings", value_from_strv(&opened.sandbox.settings));
	add_profile(row, &opened.sandbox);
	value_add(row, "base_taken", workspace_time(opened.sandbox.base_ns / 1000000));
	value_add(row, "snapshot", value_new_text(opened.sandbox.at[0] ? opened.sandbox.at : NULL));
	value_add(row, "kept_alive", value_new_bool(processes.has_supervisor));
	value_add(row, "cpu_ms", value_new_int((int64_t)(processes.cpu_us / 1000)));
	value_add(row, "memory_bytes", value_new_int((int64_t)processes.memory_bytes));
	value_add(row, "processes", describe_processes(&processes));
	value_add(row, "execs", app_execs(name));
	sandbox_processes_done(&processes);
	*ret_answer = row;
	return 0;
}

int app_remove(const char *name, struct error *err)
{
	owned(opened_close) struct opened opened;
	owned(strv_done) struct strv copies = STRV_INIT;
	bool frozen;

	opened_init(&opened);
	if (opened_open(&opened, name, SANDBOX_UNLOCKED, err) < 0) {
		/* One whose records are damaged can still be thrown away. */
		if (opened.has_store && err->code == ERROR_INPUT)
			return sandbox_discard(&opened.store, name, err);
		return -1;
	}
	if (app_quiesce(&opened.sandbox, QUIET_KILL, &frozen, err) < 0)
		return -1;
	service_copies_of(&opened.sandbox, &copies);
	if (sandbox_remove(&opened.sandbox, err) < 0)
		return -1;
	if (copies.count > 0)
		service_copies_sweep(&opened.store);
	record_named("remove", name, opened.sandbox.id);
	return 0;
}
