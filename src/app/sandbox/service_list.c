/* SPDX-License-Identifier: Apache-2.0 */
/* Services listed: those of this machine, and those that a sandbox has. */
#include "app/sandbox/background.h"
#include "app/sandbox/sandbox_parts.h"
#include "app/sandbox/service_parts.h"
#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/walk.h"
#include "host/host.h"
#include "workspace/disk/fields.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEASURE_NS UINT64_C(100000000)

static struct value *describe(const struct service *service)
{
	struct value *row = value_new_map();
	bool is_refused = service->why != NULL;

	value_add(row, "name", value_new_text(service->name));
	value_add(row, "recipe", value_new_text(service->recipe));
	value_add(row, "host", value_new_text(service->host));
	value_add(row, "port", value_new_int(service->port));
	value_add(row, "everywhere", value_new_bool(service->is_everywhere));
	value_add(row, "uid", value_new_int(service->uid));
	value_add(row, "yours", value_new_bool(service->uid == geteuid()));
	value_add(row, "pid", service->pid ? value_new_int(service->pid) : value_new_null());
	value_add(row, "state", value_new_text(service->dir));
	value_add(row, "bytes",
		  service->dir && !is_refused ? value_new_int((int64_t)service->bytes)
					      : value_new_null());
	value_add(row, "level", value_new_text(service->level));
	value_add(row, "takes_ms",
		  is_refused ? value_new_null() : value_new_int((int64_t)service->takes_ms));
	value_add(row, "pause_ms",
		  is_refused ? value_new_null() : value_new_int((int64_t)service->pause_ms));
	value_add(row, "why", value_new_text(service->why));
	value_add(row, "variables", value_from_strv(&service->variables));
	return row;
}

int app_services(struct value **ret_list, struct error *err)
{
	owned(services_done) struct services services = { NULL, 0 };

	if (services_find(&services, err) < 0)
		return -1;
	service_places_keep(&services);
	*ret_list = value_new_list();
	for (size_t i = 0; i < services.count; i++)
		value_append(*ret_list, describe(&services.items[i]));
	return 0;
}

/* Which run the service NAME of the sandbox in DIR_FD is; NULL: it was not started. */
static char *find_run(int dir_fd, const char *name)
{
	owned(fields_done) struct fields fields = { 0 };
	struct error ignored;

	if (fields_read(dir_fd, SERVICES_UP, SERVICES_UP_KIND, &fields, &ignored) < 0)
		return NULL;
	for (size_t i = 0; i + 1 < fields.count; i++) {
		if (strcmp(fields.items[i].key, "service") == 0 &&
		    strcmp(fields.items[i].value, name) == 0)
			return xstrdup(fields.items[i + 1].value);
	}
	return NULL;
}

static const char *state_of(const char *run_id)
{
	const struct app_poll poll = { .exec_id = run_id };
	struct app_polled polled = { 0 };
	struct error ignored;
	bool is_running =
		run_id && app_exec_poll(&poll, &polled, &ignored) == 0 && polled.is_running;

	app_polled_done(&polled);
	return is_running ? "ready" : run_id ? "ended" : "stopped";
}

static int add_bytes(const struct walk_entry *entry, void *cookie)
{
	if (S_ISREG(entry->st->stx_mode))
		*(uint64_t *)cookie += entry->st->stx_blocks * 512;
	return 0;
}

/* What the copy ID takes in the store, as far as counted: sandboxes that have it share it. */
static uint64_t copy_bytes(const struct store *store, const char *id)
{
	owned(free_ptr) char *place = xasprintf(SERVICES_DIR "/%s/data", id);
	owned(fd_close) int fd =
		openat(store->fd, place, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	uint64_t bytes = 0;
	struct walk walk = { .purpose = WALK_MEASURE,
			     .visit = add_bytes,
			     .cookie = &bytes,
			     .until_ns = clock_now_ns() + MEASURE_NS };

	if (fd >= 0)
		(void)walk_tree(&walk, fd, ".");
	return bytes;
}

int app_services_of(const char *sandbox, struct value **ret_list, struct error *err)
{
	owned(sandbox_place_close) struct sandbox_place place = { 0 };
	owned(strv_done) struct strv ids = STRV_INIT;
	owned(value_release) struct value *list = value_new_list();

	if (sandbox_place_open(&place, sandbox, SANDBOX_UNLOCKED, err) < 0)
		return -1;
	service_copies_of(&place.sandbox, &ids);
	for (size_t i = 0; i < ids.count; i++) {
		owned(service_copy_done) struct service_copy copy = { .name = NULL };
		struct value *row;

		if (service_copy_read(&place.store, ids.items[i], &copy, err) < 0)
			return -1;
		owned(free_ptr) char *run_id = find_run(place.sandbox.dir_fd, copy.name);

		row = value_append(list, service_copy_describe(&copy));
		value_add(row, "yours", value_new_bool(copy.uid == geteuid()));
		value_add(row, "age_ms", value_new_int((int64_t)(clock_epoch_ms() - copy.made_ms)));
		value_add(row, "disk_bytes",
			  value_new_int((int64_t)copy_bytes(&place.store, ids.items[i])));
		value_add(row, "status", value_new_text(state_of(run_id)));
		value_add(row, "run_id", value_new_text(run_id));
	}
	*ret_list = ptr_take(&list);
	return 0;
}

int app_service_run(const char *sandbox, const char *service, char **ret_run_id, struct error *err)
{
	owned(sandbox_place_close) struct sandbox_place place = { 0 };
	char *run_id;

	if (sandbox_place_open(&place, sandbox, SANDBOX_UNLOCKED, err) < 0)
		return -1;
	run_id = find_run(place.sandbox.dir_fd, service);
	if (!run_id)
		return error_set(err, ERROR_NOT_FOUND, "no service '%.60s' was started in '%s'",
				 service, sandbox);
	*ret_run_id = run_id;
	return 0;
}
