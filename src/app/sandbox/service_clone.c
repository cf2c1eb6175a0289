/* SPDX-License-Identifier: Apache-2.0 */
/* Services cloned for a sandbox to come: found, agreed to, copied. */
#include "app/record/record.h"
#include "app/sandbox/sandbox.h"
#include "app/sandbox/service_parts.h"
#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

void service_set_done(struct service_set *set)
{
	strv_done(&set->ids);
	for (size_t i = 0; i < set->lock_count; i++)
		fd_close(&set->lock_fds[i]);
	free_ptr(&set->lock_fds);
	set->lock_count = 0;
}

static void set_add(struct service_set *set, const char *id, int lock_fd)
{
	strv_add(&set->ids, id);
	set->lock_fds = xrealloc(set->lock_fds, set->lock_count + 1, sizeof(*set->lock_fds));
	set->lock_fds[set->lock_count++] = lock_fd;
}

/* Makes services/ID, locked, with an empty directory of the service's user in it. */
static int make_place(const struct store *store, const struct service *service, const char *id,
		      int *ret_fd, int *ret_data_fd, struct error *err)
{
	owned(free_ptr) char *place = xasprintf(SERVICES_DIR "/%s", id);
	owned(fd_close) int dir_fd = -1, fd = -1, data_fd = -1;

	if (mkdirat(store->fd, SERVICES_DIR, 0700) == 0 || errno == EEXIST)
		dir_fd = openat(store->fd, SERVICES_DIR,
				O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* A sweep must not take what is made, but not held yet, for one that nothing names. */
	if (dir_fd < 0 || flock(dir_fd, LOCK_SH) < 0 || mkdirat(dir_fd, id, 0700) < 0)
		return error_errno(err, ERROR_HOST, "%s/%s", store->path, place);
	fd = openat(dir_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_SH) < 0 || mkdirat(fd, "data", 0700) < 0)
		return error_errno(err, ERROR_HOST, "%s/%s", store->path, place);
	data_fd = openat(fd, "data", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (data_fd < 0 || (geteuid() == 0 && fchown(data_fd, service->uid, service->gid) < 0))
		return error_errno(err, ERROR_HOST, "%s/%s/data", store->path, place);
	*ret_fd = fd_take(&fd);
	*ret_data_fd = fd_take(&data_fd);
	return 0;
}

static void describe(const struct request *request, const struct service *service,
		     const struct service_clone *clone, struct service_copy *copy)
{
	copy->name = xstrdup(service->name);
	copy->level = xstrdup(clone->level);
	copy->target = xstrdup(service->place);
	copy->port = service->port;
	copy->uid = service->uid;
	copy->gid = service->gid;
	copy->took_ms = clock_epoch_ms() - copy->made_ms;
	copy->kept_until_ms =
		request->services_max_age_ms ? copy->made_ms + request->services_max_age_ms : 0;
	copy->pause_us = clone->pause_us;
	copy->ready_ms = clone->ready_ms;
	copy->stop_signal = (uint64_t)clone->stop_signal;
	strv_copy(&copy->start, &clone->start);
	strv_copy(&copy->ready, &clone->ready);
	strv_copy(&copy->run_dirs, &clone->run_dirs);
}

/* Copies being made: of one service, or of several as of one instant. */
struct making {
	size_t count;
	struct service_task *tasks;
	struct service_clone *clones;
	struct service_copy *copies;
	int *fds; /* their places in the store */
};

static void making_done(struct making *making)
{
	for (size_t i = 0; i < making->count; i++) {
		service_clone_done(&making->clones[i]);
		service_copy_done(&making->copies[i]);
		fd_close(&making->tasks[i].dir_fd);
		fd_close(&making->fds[i]);
	}
	free(making->tasks);
	free(making->clones);
	free(making->copies);
	free(making->fds);
}

static int begin_making(const struct store *store, struct service *const *services, size_t count,
			struct making *making, struct error *err)
{
	*making = (struct making){ .tasks = xcalloc(count, sizeof(*making->tasks)),
				   .clones = xcalloc(count, sizeof(*making->clones)),
				   .copies = xcalloc(count, sizeof(*making->copies)),
				   .fds = xcalloc(count, sizeof(*making->fds)) };
	for (size_t i = 0; i < count; i++) {
		making->tasks[i] = (struct service_task){ services[i], -1 };
		making->fds[i] = -1;
		making->count++;
		making->copies[i].made_ms = clock_epoch_ms();
		if (id_run(making->copies[i].id, err) < 0 ||
		    make_place(store, services[i], making->copies[i].id, &making->fds[i],
			       &making->tasks[i].dir_fd, err) < 0)
			return -1;
	}
	return 0;
}

/* What came of them has a lock until a sandbox names it; what is given up here goes with the next sweep. */
static int copy_some(const struct request *request, const struct store *store,
		     struct service *const *services, size_t count, struct service_set *set,
		     struct error *err)
{
	owned(making_done) struct making making;

	if (begin_making(store, services, count, &making, err) < 0 ||
	    (request->services_schema_only ? service_copy_schema(making.tasks, making.clones, err)
	     : count == 1		   ? service_copy(making.tasks, making.clones, err)
			  : service_copy_together(making.tasks, count, making.clones, err)) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		describe(request, services[i], &making.clones[i], &making.copies[i]);
		if (service_copy_write(making.fds[i], &making.copies[i], err) < 0)
			return -1;
		set_add(set, making.copies[i].id, fd_take(&making.fds[i]));
	}
	return 0;
}

/* A copy of the same service that is young enough. */
static bool find_kept(const struct request *request, const struct store *store,
		      const struct service *service, struct service_set *set)
{
	owned(fd_close) int dir_fd =
		openat(store->fd, SERVICES_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	owned(dir_close) DIR *dir = dir_fd < 0 ? NULL : dir_open(dir_fd, ".");
	uint64_t now_ms = clock_epoch_ms();
	struct dirent *entry;

	while (request->services_max_age_ms && dir && dir_next(dir, &entry) > 0) {
		owned(service_copy_done) struct service_copy copy = { .name = NULL };
		owned(fd_close) int fd = openat(dir_fd, entry->d_name,
						O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		struct error ignored;

		if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) < 0 ||
		    service_copy_read(store, entry->d_name, &copy, &ignored) < 0 ||
		    strcmp(copy.target, service->place) != 0 || copy.port != service->port ||
		    copy.uid != service->uid ||
		    request->services_schema_only != (strcmp(copy.level, SERVICE_SCHEMA) == 0) ||
		    copy.made_ms + request->services_max_age_ms < now_ms)
			continue;
		set_add(set, copy.id, fd_take(&fd));
		return true;
	}
	return false;
}

/* A service of another id than the caller's is started under its own. */
static int check_id(const struct spec *spec, const struct service *service, struct error *err)
{
	if (service->uid == geteuid() || spec_may_change_ids(spec))
		return 0;
	return error_advise(
		err, ERROR_DENIED, "leave out the filter (--seccomp, syscalls)",
		"%s cannot be cloned: it runs under uid %u, and behind a system call filter "
		"of yours a sandbox has its own user only",
		service->name, service->uid);
}

static int check_place(const struct service *service, struct error *err)
{
	static const char *const fresh[] = { "/run", "/dev", "/proc", "/sys" };

	if (service->why)
		return error_set(err, ERROR_DENIED, "%s cannot be cloned: %s", service->name,
				 service->why);
	for (size_t i = 0; i < sizeof(fresh) / sizeof(fresh[0]); i++) {
		if (str_starts(service->place, fresh[i]))
			return error_set(err, ERROR_DENIED,
					 "%s cannot be cloned: its state lies in %s", service->name,
					 service->dir);
	}
	return 0;
}

/* The names of all --with-services, each of which may have several. */
static void split_names(const struct strv *given, struct strv *ret_names)
{
	for (size_t i = 0; i < given->count; i++) {
		owned(free_ptr) char *list = xstrdup(given->items[i]);
		char *rest = list;

		for (char *one; (one = strsep(&rest, ","));) {
			if (*one && !strv_has(ret_names, one))
				strv_add(ret_names, one);
		}
	}
}

/* All are agreed to before one is touched. */
static int pick_all(const struct request *request, const struct spec *spec,
		    const struct services *services, const struct strv *names,
		    struct service **picked, struct error *err)
{
	for (size_t i = 0; i < names->count; i++) {
		if (services_pick(services, names->items[i], &picked[i], err) < 0 ||
		    check_place(picked[i], err) < 0 || check_id(spec, picked[i], err) < 0 ||
		    service_check_consent(request, spec, picked[i], err) < 0)
			return -1;
	}
	return 0;
}

static int make_all(const struct request *request, const struct spec *spec,
		    const struct store *store, struct service_set *set, struct error *err)
{
	owned(strv_done) struct strv names = STRV_INIT;
	owned(services_done) struct services services = { NULL, 0 };

	split_names(&request->services, &names);
	if (services_find(&services, err) < 0)
		return -1;
	service_places_keep(&services);
	owned(free_ptr) struct service **picked = xcalloc(names.count, sizeof(struct service *));

	if (pick_all(request, spec, &services, &names, picked, err) < 0)
		return -1;
	/* Copies that are kept are each of an instant of its own. */
	if (request->services_together && !request->services_schema_only && names.count > 1)
		return copy_some(request, store, picked, names.count, set, err);
	for (size_t i = 0; i < names.count; i++) {
		if (!find_kept(request, store, picked[i], set) &&
		    copy_some(request, store, &picked[i], 1, set, err) < 0)
			return -1;
	}
	return 0;
}

int service_set_make(const struct request *request, const struct spec *spec,
		     struct service_set *ret_set, struct error *err)
{
	owned(store_close) struct store store = { .fd = -1, .lock_fd = -1 };
	struct service_set set = { .lock_fds = NULL };

	if (app_store(&store, err) < 0)
		return -1;
	if (make_all(request, spec, &store, &set, err) < 0) {
		service_set_done(&set);
		service_copies_sweep(&store);
		return -1;
	}
	*ret_set = set;
	return 0;
}
