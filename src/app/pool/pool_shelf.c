/* SPDX-License-Identifier: Apache-2.0 */
/* Ready sandboxes: made, kept for a while, given away or ended. */
#include "app/pool/pool_shelf.h"

#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/process/service_log.h"
#include "launch/ready.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A plan that is not used, and a sandbox that waits, for longer than that are not kept. */
#define AGE_NS (UINT64_C(300) * 1000000000)
#define FAILED_MAX 3
#define REST_NS (UINT64_C(10) * 1000000000)
/* A group that is not empty by then is left to the next start beside it. */
#define GROUP_END_NS (UINT64_C(30) * 1000000000)

static bool is_free(const struct shelf_plan *plan)
{
	return !plan->spec.driver;
}

/* Whether nothing is made of it, now or at all. */
static bool is_resting(const struct shelf_plan *plan)
{
	return is_free(plan) || plan->is_unfit ||
	       (plan->failed >= FAILED_MAX && clock_now_ns() - plan->failed_ns < REST_NS);
}

static void note_failure(struct shelf *shelf, struct shelf_plan *plan)
{
	plan->failed++;
	plan->failed_ns = clock_now_ns();
	shelf->failed++;
	service_log(plan->failed == FAILED_MAX ? SERVICE_WARNING : SERVICE_DEBUG,
		    "a ready sandbox could not be made: runs of its kind start cold",
		    SERVICE_FIELDS(SERVICE_NUMBER("failed", plan->failed)));
}

static unsigned count_of(const struct shelf *shelf, const struct shelf_plan *plan)
{
	unsigned count = 0;

	for (size_t i = 0; i < SHELF_MAX; i++)
		count += plan ? shelf->items[i].plan == plan : shelf->items[i].plan != NULL;
	return count;
}

unsigned shelf_count(const struct shelf *shelf, bool only_ready)
{
	unsigned count = 0;

	for (size_t i = 0; i < SHELF_MAX; i++)
		count += shelf->items[i].plan && (!only_ready || shelf->items[i].is_ready);
	return count;
}

static void end_item(struct shelf_item *item)
{
	launch_done(&item->launch, true);
	item->plan = NULL;
}

static void drop_plan(struct shelf *shelf, struct shelf_plan *plan)
{
	for (size_t i = 0; i < SHELF_MAX; i++) {
		if (shelf->items[i].plan == plan)
			end_item(&shelf->items[i]);
	}
	spec_done(&plan->spec);
	spec_init(&plan->spec);
}

struct shelf_plan *shelf_find(struct shelf *shelf, const char *digest)
{
	for (size_t i = 0; i < SHELF_PLANS; i++) {
		struct shelf_plan *plan = &shelf->plans[i];

		if (is_free(plan) || strcmp(plan->digest, digest) != 0)
			continue;
		plan->used_ns = clock_now_ns();
		return plan;
	}
	return NULL;
}

/* The janitor ends with us when it cannot be reached; then nothing is removed should we be killed. */
static void report_places(const struct shelf *shelf, const struct spec_groups *groups)
{
	const char *const paths[] = { groups->v2_path, groups->memory_path, groups->pids_path,
				      groups->cpu_path, groups->cpuacct_path };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if (paths[i])
			(void)send(shelf->janitor_fd, paths[i], strlen(paths[i]) + 1, MSG_NOSIGNAL);
	}
}

void shelf_add_plan(struct shelf *shelf, struct spec *spec, const char *digest)
{
	struct shelf_plan *place = &shelf->plans[0];

	for (size_t i = 0; i < SHELF_PLANS; i++) {
		struct shelf_plan *plan = &shelf->plans[i];

		if (!is_free(place) && (is_free(plan) || plan->used_ns < place->used_ns))
			place = plan;
	}
	if (!is_free(place))
		drop_plan(shelf, place);
	place->spec = *spec;
	spec_init(spec);
	memcpy(place->digest, digest, sizeof(place->digest));
	place->used_ns = clock_now_ns();
	place->failed = 0;
	place->is_unfit = false;
	report_places(shelf, &place->spec.groups);
}

struct shelf_item *shelf_take(struct shelf *shelf, const struct shelf_plan *plan)
{
	for (size_t i = 0; i < SHELF_MAX; i++) {
		if (shelf->items[i].plan == plan && shelf->items[i].is_ready)
			return &shelf->items[i];
	}
	return NULL;
}

static struct shelf_given *free_place(struct shelf *shelf)
{
	for (size_t i = 0; i < SHELF_GIVEN_MAX; i++) {
		if (shelf->given[i].init_fd < 0)
			return &shelf->given[i];
	}
	return NULL;
}

bool shelf_has_place(struct shelf *shelf)
{
	return free_place(shelf) != NULL;
}

int shelf_give(struct shelf *shelf, struct shelf_item *item, int socket_fd, struct pool_peer *user)
{
	struct shelf_given *given = item->launch.has_group ? free_place(shelf) : NULL;
	owned(fd_close) int init_fd = fcntl(item->launch.init_fd, F_DUPFD_CLOEXEC, 0);
	struct spec spec = item->plan->spec; /* borrows everything */
	struct cgroup group;

	spec.sandbox = item->sandbox;
	item->plan = NULL;
	cgroup_init(&group);
	int status = ready_give(socket_fd, &item->launch, &spec, &user->limits, &group);

	if (status == 0 && given && init_fd >= 0)
		*given = (struct shelf_given){ fd_take(&user->pidfd), fd_take(&init_fd), group, 0 };
	else
		cgroup_done(&group);
	return status;
}

int shelf_given_fd(const struct shelf_given *given)
{
	if (given->ended_ns)
		return -1;
	return given->user_fd >= 0 ? given->user_fd : given->init_fd;
}

void shelf_tidy(struct shelf_given *given)
{
	/* The user reads figures of the group behind the sandbox's end, and removes it then. */
	if (given->init_fd < 0 || (given->user_fd >= 0 && fd_wait(given->user_fd, POLLIN, 0) <= 0))
		return;
	fd_close(&given->user_fd);
	if (fd_wait(given->init_fd, POLLIN, 0) <= 0)
		return;
	given->ended_ns = clock_now_ns();
}

bool shelf_remove_groups(struct shelf *shelf)
{
	bool has_more = false;

	for (size_t i = 0; i < SHELF_GIVEN_MAX; i++) {
		struct shelf_given *given = &shelf->given[i];

		if (!given->ended_ns)
			continue;
		if (cgroup_remove(&given->group, 0) < 0 &&
		    clock_now_ns() - given->ended_ns < GROUP_END_NS) {
			has_more = true;
			continue;
		}
		fd_close(&given->init_fd);
		cgroup_done(&given->group);
		given->ended_ns = 0;
	}
	return has_more;
}

/* The host is still as it was when the plan was made; it is asked before a sandbox is made of it, and once more behind that. */
static bool is_current(const struct shelf_plan *plan)
{
	char digest[SHA256_HEX_SIZE];

	pool_digest(&plan->spec, digest);
	return strcmp(digest, plan->digest) == 0;
}

void shelf_handle(struct shelf *shelf, struct shelf_item *item)
{
	struct shelf_plan *plan = item->plan;
	struct launch_report report;

	launch_step(&item->launch, item->launch.control_fd, &report);
	fd_close(&report.fd);
	if (report.event == LAUNCH_NOTHING)
		return;
	if (report.event == LAUNCH_READY && !is_current(plan)) {
		drop_plan(shelf, plan);
	} else if (report.event == LAUNCH_READY && !item->is_ready) {
		item->is_ready = true;
		plan->failed = 0;
		shelf->made++;
	} else {
		end_item(item);
		note_failure(shelf, plan);
	}
}

static int name_item(struct shelf_item *item, struct spec *spec, struct error *err)
{
	if (id_run(spec->run_id, err) < 0 || id_short("s", item->sandbox, err) < 0)
		return -1;
	spec->sandbox = spec->hostname = item->sandbox;
	return 0;
}

static void make_one(struct shelf *shelf, struct shelf_plan *plan)
{
	const struct launch_io io = { .fds = { shelf->null_fd, shelf->null_fd, shelf->null_fd },
				      .lock_fds = { -1, -1 },
				      .waits = true };
	struct spec spec = plan->spec; /* borrows everything */
	struct shelf_item *item = shelf->items;
	char run_id[ID_RUN_SIZE];
	struct error ignored;

	while (item->plan)
		item++;
	spec.run_id = run_id;
	if (name_item(item, &spec, &ignored) < 0 ||
	    launch_start(&spec, &io, &item->launch, &ignored) < 0) {
		note_failure(shelf, plan);
		return;
	}
	item->plan = plan;
	item->is_ready = false;
	item->made_ns = clock_now_ns();
	/* The overlays keep what they need of them. */
	root_held_done(&item->launch.held);
	/* Layers on a disk are one run's, by their name. */
	if (item->launch.storage) {
		end_item(item);
		plan->is_unfit = true;
	}
}

static void forget_old(struct shelf *shelf)
{
	uint64_t now = clock_now_ns();

	for (size_t i = 0; i < SHELF_PLANS; i++) {
		if (!is_free(&shelf->plans[i]) && now - shelf->plans[i].used_ns > AGE_NS)
			drop_plan(shelf, &shelf->plans[i]);
	}
	for (size_t i = 0; i < SHELF_MAX; i++) {
		if (shelf->items[i].plan && now - shelf->items[i].made_ns > AGE_NS)
			end_item(&shelf->items[i]);
	}
}

/* Of the plans that lack some the one used last; each has the same share. NULL: none does. */
static struct shelf_plan *neediest(struct shelf *shelf, unsigned share)
{
	struct shelf_plan *best = NULL;

	for (size_t i = 0; i < SHELF_PLANS; i++) {
		struct shelf_plan *plan = &shelf->plans[i];

		if (!is_resting(plan) && count_of(shelf, plan) < share &&
		    (!best || plan->used_ns > best->used_ns))
			best = plan;
	}
	return best;
}

/* One of a plan that has more than its share, now that there is another plan. */
static void make_room(struct shelf *shelf, unsigned share)
{
	for (size_t i = 0; i < SHELF_MAX; i++) {
		struct shelf_item *item = &shelf->items[i];

		if (!item->plan || count_of(shelf, item->plan) <= share)
			continue;
		end_item(item);
		return;
	}
}

bool shelf_tend(struct shelf *shelf)
{
	unsigned plans = 0;

	forget_old(shelf);
	for (size_t i = 0; i < SHELF_PLANS; i++)
		plans += !is_resting(&shelf->plans[i]);
	if (!plans)
		return false;
	unsigned share = shelf->size / plans ? shelf->size / plans : 1;
	struct shelf_plan *plan = neediest(shelf, share);

	if (!plan)
		return false;
	if (count_of(shelf, NULL) >= shelf->size)
		make_room(shelf, share);
	if (count_of(shelf, NULL) >= shelf->size)
		return false;
	if (is_current(plan))
		make_one(shelf, plan);
	else
		drop_plan(shelf, plan);
	return neediest(shelf, share) != NULL;
}

void shelf_renew(struct shelf *shelf)
{
	for (size_t i = 0; i < SHELF_MAX; i++) {
		if (shelf->items[i].plan)
			end_item(&shelf->items[i]);
	}
	for (size_t i = 0; i < SHELF_PLANS; i++)
		shelf->plans[i].failed = 0;
}

void shelf_init(struct shelf *shelf)
{
	for (size_t i = 0; i < SHELF_PLANS; i++)
		spec_init(&shelf->plans[i].spec);
	for (size_t i = 0; i < SHELF_GIVEN_MAX; i++)
		shelf->given[i] = (struct shelf_given){ .user_fd = -1, .init_fd = -1 };
}

void shelf_done(struct shelf *shelf)
{
	for (size_t i = 0; i < SHELF_PLANS; i++) {
		if (!is_free(&shelf->plans[i]))
			drop_plan(shelf, &shelf->plans[i]);
	}
}
