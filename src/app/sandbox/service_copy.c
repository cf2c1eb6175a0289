/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of services in the store: written, read, shown in a sandbox, removed. */
#include "app/sandbox/service_copy.h"

#include "app/sandbox/service_parts.h"
#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/dir.h"
#include "workspace/disk/fields.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define META "meta"
#define META_KIND "aisbx-service 1"
/* In a sandbox's directory, beside its rules: not among its settings, which are written under a lock. */
#define MAY_LEAVE "services-with-network"

static const struct {
	const char *key;
	size_t offset;
} numbers[] = {
	{ "port", offsetof(struct service_copy, port) },
	{ "uid", offsetof(struct service_copy, uid) },
	{ "gid", offsetof(struct service_copy, gid) },
	{ "made_ms", offsetof(struct service_copy, made_ms) },
	{ "kept_until_ms", offsetof(struct service_copy, kept_until_ms) },
	{ "took_ms", offsetof(struct service_copy, took_ms) },
	{ "pause_us", offsetof(struct service_copy, pause_us) },
	{ "ready_ms", offsetof(struct service_copy, ready_ms) },
	{ "stop_signal", offsetof(struct service_copy, stop_signal) },
};

#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

void service_copy_done(struct service_copy *copy)
{
	free_ptr(&copy->name);
	free_ptr(&copy->level);
	free_ptr(&copy->target);
	strv_done(&copy->start);
	strv_done(&copy->ready);
	strv_done(&copy->run_dirs);
}

static void put_list(struct str *text, const char *key, const struct strv *values)
{
	for (size_t i = 0; i < values->count; i++)
		fields_put(text, key, values->items[i]);
}

int service_copy_write(int dir_fd, const struct service_copy *copy, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;

	fields_begin(&text, META_KIND);
	fields_put(&text, "name", copy->name);
	fields_put(&text, "level", copy->level);
	fields_put(&text, "target", copy->target);
	for (size_t i = 0; i < NUMBERS; i++)
		fields_put_number(
			&text, numbers[i].key,
			*(const uint64_t *)(const void *)((const char *)copy + numbers[i].offset));
	put_list(&text, "start", &copy->start);
	put_list(&text, "ready", &copy->ready);
	put_list(&text, "run_dir", &copy->run_dirs);
	fields_end(&text);
	return store_replace(dir_fd, META, text.data, text.len, false, err);
}

static void read_fields(const struct fields *fields, struct service_copy *copy)
{
	copy->name = xstrdup(fields_get(fields, "name"));
	copy->level = xstrdup(fields_get(fields, "level"));
	copy->target = xstrdup(fields_get(fields, "target"));
	for (size_t i = 0; i < NUMBERS; i++)
		*(uint64_t *)(void *)((char *)copy + numbers[i].offset) =
			fields_number(fields, numbers[i].key);
	for (size_t i = 0; i < fields->count; i++) {
		if (strcmp(fields->items[i].key, "start") == 0)
			strv_add(&copy->start, fields->items[i].value);
		if (strcmp(fields->items[i].key, "ready") == 0)
			strv_add(&copy->ready, fields->items[i].value);
		if (strcmp(fields->items[i].key, "run_dir") == 0)
			strv_add(&copy->run_dirs, fields->items[i].value);
	}
}

int service_copy_read(const struct store *store, const char *id, struct service_copy *ret_copy,
		      struct error *err)
{
	owned(free_ptr) char *place = xasprintf(SERVICES_DIR "/%s", id);
	owned(fd_close) int dir_fd =
		openat(store->fd, place, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	owned(fields_done) struct fields fields = { 0 };
	struct service_copy copy = { .name = NULL };

	if (strlen(id) >= sizeof(copy.id) || strchr(id, '/') || dir_fd < 0)
		return error_set(err, ERROR_NOT_FOUND, "the copy %.30s of a service is gone", id);
	if (fields_read(dir_fd, META, META_KIND, &fields, err) < 0)
		return error_context(err, "the copy %s of a service", id);
	read_fields(&fields, &copy);
	memcpy(copy.id, id, strlen(id) + 1);
	*ret_copy = copy;
	return 0;
}

struct value *service_copy_describe(const struct service_copy *copy)
{
	struct value *row = value_new_map();
	char made[32];

	time_format_utc(copy->made_ms, made);
	value_add(row, "name", value_new_text(copy->name));
	value_add(row, "level", value_new_text(copy->level));
	value_add(row, "port", value_new_int((int64_t)copy->port));
	value_add(row, "uid", value_new_int((int64_t)copy->uid));
	value_add(row, "state", value_new_text(copy->target));
	value_add(row, "made", value_new_text(made));
	value_add(row, "took_ms", value_new_int((int64_t)copy->took_ms));
	value_add(row, "pause_ms", value_new_real((double)copy->pause_us / 1000));
	return row;
}

void service_copies_of(const struct sandbox *sandbox, struct strv *ret_ids)
{
	const struct strv *words = &sandbox->settings;

	for (size_t i = 0; i + 1 < words->count; i += 2) {
		if (strcmp(words->items[i], SERVICE_COPY_WORD) == 0)
			strv_add(ret_ids, words->items[i + 1]);
	}
}

bool service_may_leave(const struct sandbox *sandbox)
{
	const struct strv *words = &sandbox->settings;

	for (size_t i = 0; i + 1 < words->count; i += 2) {
		if (strcmp(words->items[i], SERVICE_NETWORK_WORD) == 0)
			return true;
	}
	return faccessat(sandbox->dir_fd, MAY_LEAVE, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int service_let_leave(int dir_fd, struct error *err)
{
	return store_replace(dir_fd, MAY_LEAVE, "", 0, false, err);
}

int service_check_network(const struct sandbox *sandbox, const struct spec *spec, struct error *err)
{
	owned(strv_done) struct strv ids = STRV_INIT;

	service_copies_of(sandbox, &ids);
	if (ids.count == 0 || spec->net == NET_NONE || service_may_leave(sandbox))
		return 0;
	error_set(
		err, ERROR_CONSENT,
		"'%s' has copies of services: with a network, their data could leave this machine",
		sandbox->name);
	return error_add_hint(err, "if that is wanted: aisbx allow %s RULE --services-with-network",
			      sandbox->name);
}

/*
 * In a plain user's sandbox the service is its user, who makes what it likes. Without a directory that has a name of another kind it may
 * still answer on its port.
 */
static void add_run_dirs(const struct service_copy *copy, struct spec *spec)
{
	for (size_t i = 0; spec_may_change_ids(spec) && i < copy->run_dirs.count; i++) {
		owned(free_ptr) char *word =
			xasprintf("%u %u %s", (unsigned)copy->uid, (unsigned)copy->gid,
				  copy->run_dirs.items[i]);
		struct spec_run_dir dir;

		if (spec_run_dir_read(word, &dir))
			strv_add(&spec->run_dirs, word);
	}
}

int service_copies_lay(const struct sandbox *sandbox, struct spec *spec, struct error *err)
{
	owned(strv_done) struct strv ids = STRV_INIT;

	if (service_check_network(sandbox, spec, err) < 0)
		return -1;
	service_copies_of(sandbox, &ids);
	for (size_t i = 0; i < ids.count; i++) {
		owned(service_copy_done) struct service_copy copy = { .name = NULL };
		owned(free_ptr) char *source = xasprintf("%s/" SERVICES_DIR "/%s/data",
							 sandbox->store->path, ids.items[i]);

		if (service_copy_read(sandbox->store, ids.items[i], &copy, err) < 0)
			return -1;
		struct spec_bind *bind = spec_add_bind(spec, source, copy.target);

		bind->writable = bind->stored = true;
		add_run_dirs(&copy, spec);
	}
	return 0;
}

/* One that cannot be read claims everything it might have. */
static bool find_used(const struct store *store, struct strv *ret_ids)
{
	owned(strv_done) struct strv names = STRV_INIT;
	struct error ignored;

	if (sandbox_list(store, &names, &ignored) < 0)
		return false;
	for (size_t i = 0; i < names.count; i++) {
		struct sandbox sandbox;

		if (sandbox_open(store, names.items[i], SANDBOX_UNLOCKED, &sandbox, &ignored) < 0) {
			if (ignored.code == ERROR_NOT_FOUND)
				continue;
			return false;
		}
		service_copies_of(&sandbox, ret_ids);
		sandbox_close(&sandbox);
	}
	return true;
}

static void sweep_one(const struct store *store, int dir_fd, const char *id)
{
	owned(fd_close) int fd =
		openat(dir_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	owned(service_copy_done) struct service_copy copy = { .name = NULL };
	struct error ignored;

	/* Its maker holds a lock until a sandbox names it. */
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return;
	if (service_copy_read(store, id, &copy, &ignored) == 0 &&
	    copy.kept_until_ms > clock_epoch_ms())
		return;
	(void)store_trash(store, dir_fd, id, &ignored);
}

void service_copies_sweep(const struct store *store)
{
	owned(fd_close) int fd =
		openat(store->fd, SERVICES_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	owned(dir_close) DIR *dir = fd < 0 ? NULL : dir_open(fd, ".");
	owned(strv_done) struct strv ids = STRV_INIT, used = STRV_INIT;
	struct dirent *entry;

	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return;
	/* Those there are first: one that is made meanwhile is not among them. */
	while (dir && dir_next(dir, &entry) > 0)
		strv_add(&ids, entry->d_name);
	if (ids.count == 0 || !find_used(store, &used))
		return;
	for (size_t i = 0; i < ids.count; i++) {
		if (!strv_has(&used, ids.items[i]))
			sweep_one(store, fd, ids.items[i]);
	}
}
