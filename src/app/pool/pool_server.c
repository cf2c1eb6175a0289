/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's loop. One process, which never waits for a caller: a question is answered with what is there, and what is
 * missing is made when no call waits.
 */
#include "app/pool/pool_server.h"

#include "app/pool/pool_state.h"
#include "app/pool/page_door.h"
#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/process/process.h"
#include "base/process/service_log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* A caller that is about to do something does it sooner; for that long nothing else is begun, and after that it is hung up. */
#define FRESH_NS (UINT64_C(30) * 1000000)
#define CLIENT_NS (UINT64_C(10) * 1000000000)
#define LOOK_MS 5000
/* As long as a short command takes. */
#define REST_MS 4
#define LOOK_WAITING_MS 1000
#define GROUP_LOOK_MS 20

/* The percentage of the last ten seconds in which something waited; -1: this kernel does not count that. */
static int read_pressure(const char *path)
{
	char text[256];
	const char *at = file_read_small(AT_FDCWD, path, text, sizeof(text)) > 0
				 ? strstr(text, "some avg10=")
				 : NULL;

	return at ? (int)strtol(at + strlen("some avg10="), NULL, 10) : -1;
}

/* With fewer running than there are cores the machine's pressure is not of our making, and no limit would apply. */
void server_look_at_pressure(struct server *server)
{
	uint64_t now_ns = clock_now_ns();

	if (server->queue.running < server->cores ||
	    now_ns - server->looked_ns < LOOK_WAITING_MS * UINT64_C(1000000))
		return;
	server->looked_ns = now_ns;
	server->queue.limits.running = queue_under_pressure(server->max_running, server->cores,
							    read_pressure("/proc/pressure/cpu"),
							    read_pressure("/proc/pressure/memory"));
}

/* Calls that waited and may run now; the others are sent WAIT. Returns the milliseconds until there may be more to do. */
static int admit(struct server *server)
{
	uint64_t now_ns = clock_now_ns(), wait_ns;
	int i;

	if (server->queue.waiting == 0)
		return LOOK_MS;
	server_look_at_pressure(server);
	while ((i = queue_next(&server->queue, now_ns, &wait_ns)) >= 0) {
		server->clients[i].since_ns = now_ns;
		client_answer(server, &server->clients[i], POOL_RUN);
	}
	if (now_ns - server->sent_ns >= POOL_WAIT_MS * UINT64_C(1000000)) {
		server->sent_ns = now_ns;
		for (size_t j = 0; j < server->client_end; j++) {
			if (server->queue.places[j].state == QUEUE_WAITS)
				client_answer(server, &server->clients[j], POOL_WAIT);
		}
	}
	return wait_ns / 1000000 < LOOK_WAITING_MS ? (int)(wait_ns / 1000000) + 1 : LOOK_WAITING_MS;
}

static void handle_signal(struct server *server)
{
	struct signalfd_siginfo info;
	pid_t pid;

	while (read(server->signal_fd, &info, sizeof(info)) > 0)
		server->is_ending |= info.ssi_signo != SIGCHLD;
	/* Sandboxes that were given away are still our children when they end. */
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		helpers_ended(server->helpers, pid, server->is_ending);
}

/* What is waited for, by number: places of the shelf, callers, helpers, then these two. Only what is open: poll(2) takes no more than RLIMIT_NOFILE. */
enum {
	WATCH_ITEM = SHELF_GIVEN_MAX,
	WATCH_CLIENT = WATCH_ITEM + SHELF_MAX,
	WATCH_HELPER = WATCH_CLIENT + CLIENTS_MAX,
	WATCH_SIGNAL = WATCH_HELPER + HELPERS_MAX,
	WATCH_LISTEN,
	WATCH_MAX
};

struct watch {
	struct pollfd polls[WATCH_MAX];
	unsigned numbers[WATCH_MAX];
	size_t count;
};

static void watch_add(struct watch *watch, unsigned number, int fd)
{
	if (fd < 0)
		return;
	watch->numbers[watch->count] = number;
	watch->polls[watch->count++] = (struct pollfd){ .fd = fd, .events = POLLIN };
}

static void watch_all(const struct server *server, struct watch *ret_watch)
{
	ret_watch->count = 0;
	for (unsigned i = 0; i < SHELF_GIVEN_MAX; i++)
		watch_add(ret_watch, i, shelf_given_fd(&server->shelf.given[i]));
	for (unsigned i = 0; i < SHELF_MAX; i++) {
		const struct shelf_item *item = &server->shelf.items[i];

		watch_add(ret_watch, WATCH_ITEM + i, item->plan ? item->launch.control_fd : -1);
	}
	for (unsigned i = 0; i < server->client_end; i++)
		watch_add(ret_watch, WATCH_CLIENT + i, server->clients[i].fd);
	for (unsigned i = 0; i < server->helpers->count; i++)
		watch_add(ret_watch, WATCH_HELPER + i, helper_errors_fd(&server->helpers->rows[i]));
	watch_add(ret_watch, WATCH_SIGNAL, server->signal_fd);
	watch_add(ret_watch, WATCH_LISTEN, server->is_full ? -1 : server->listen_fd);
}

/* Something before it may have closed what is readable. */
static void handle_ready(struct server *server, unsigned number)
{
	if (number < WATCH_ITEM) {
		shelf_tidy(&server->shelf.given[number]);
	} else if (number < WATCH_CLIENT) {
		if (server->shelf.items[number - WATCH_ITEM].plan)
			shelf_handle(&server->shelf, &server->shelf.items[number - WATCH_ITEM]);
	} else if (number < WATCH_HELPER) {
		if (server->clients[number - WATCH_CLIENT].fd >= 0)
			client_serve(server, &server->clients[number - WATCH_CLIENT]);
	} else if (number < WATCH_SIGNAL) {
		helper_log_errors(&server->helpers->rows[number - WATCH_HELPER]);
	} else if (number == WATCH_SIGNAL) {
		handle_signal(server);
	} else {
		client_accept(server);
	}
}

static void hang_up_silent(struct server *server)
{
	uint64_t now_ns = clock_now_ns();

	for (size_t i = 0; i < server->client_end; i++) {
		if (client_is_silent(server, i) && now_ns > server->clients[i].since_ns &&
		    now_ns - server->clients[i].since_ns > CLIENT_NS)
			client_hang_up(server, &server->clients[i]);
	}
}

static void turn(struct server *server, int wait_ms)
{
	struct watch watch;

	watch_all(server, &watch);
	if (poll(watch.polls, watch.count, wait_ms) < 0) {
		/* Its limit of descriptors was lowered: it can serve no more. Where memory is short, only signals are waited for. */
		server->is_ending |= errno == EINVAL;
		if (errno == ENOMEM)
			(void)fd_wait(server->signal_fd, POLLIN, LOOK_WAITING_MS);
		handle_signal(server);
		return;
	}
	/* A caller to which an answer came too late keeps all others away, until we are back here. */
	(void)unlinkat(server->dir_fd, POOL_STAMP, 0);
	for (size_t i = 0; i < watch.count; i++) {
		if (watch.polls[i].revents)
			handle_ready(server, watch.numbers[i]);
	}
	hang_up_silent(server);
}

/* Whether a caller is about to ask: what is missing is made when it has its answer. One that takes its time is not waited for. */
static bool has_callers(const struct server *server)
{
	uint64_t now_ns = clock_now_ns();

	for (size_t i = 0; i < server->client_end; i++) {
		const struct client *client = &server->clients[i];

		if (now_ns - client->since_ns < FRESH_NS &&
		    (client_is_silent(server, i) ||
		     (client->will_ask && server->queue.places[i].state == QUEUE_RUNS)))
			return true;
	}
	return false;
}

static int set_up(struct server *server, struct error *err)
{
	sigset_t mask;

	for (size_t i = 0; i < CLIENTS_MAX; i++)
		server->clients[i].fd = -1;
	shelf_init(&server->shelf);
	server->peer.pidfd = -1;
	server->began_ns = clock_now_ns();
	pool_around(server->around);
	/* One for each caller. */
	rlimit_raise_descriptors();
	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGHUP);
	if (readlink("/proc/self/exe", server->program, sizeof(server->program) - 1) < 0 ||
	    rlimit_read(0, &server->limits) < 0 ||
	    pool_janitor_start(&server->shelf.janitor_fd, err) < 0)
		return error_errno(err, ERROR_HOST, "daemon");
	(void)sigprocmask(SIG_BLOCK, &mask, NULL);
	server->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	server->shelf.null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (server->signal_fd < 0 || server->shelf.null_fd < 0)
		return error_errno(err, ERROR_HOST, "daemon");
	return 0;
}

/* Of the descriptors half are for calls, so that those that run and wait never leave none for sandboxes and for a look at the next caller. */
static void fit_limits(struct server *server)
{
	uint64_t soft = server->limits.soft[RLIMIT_NOFILE], room = soft > 4 ? soft / 2 : 2;
	struct queue_limits *limits = &server->queue.limits;

	server->client_max = room < CLIENTS_MAX ? (size_t)room : CLIENTS_MAX;
	if (limits->running > room - 1)
		limits->running = (unsigned)room - 1;
	if (limits->waiting > room - limits->running)
		limits->waiting = (unsigned)(room - limits->running);
	server->max_running = limits->running;
}

/* The first plan is the one of a run from where the daemon was started. */
static void add_own_plan(struct server *server, struct spec *spec)
{
	char digest[SHA256_HEX_SIZE];

	if (!spec->driver || !pool_suits(spec))
		return;
	pool_digest(spec, digest);
	shelf_add_plan(&server->shelf, spec, digest);
}

/* A command that was just given a sandbox has the processors first: making the next one takes both of a small machine. */
static int rest_ms(const struct server *server)
{
	uint64_t since_ms = (clock_now_ns() - server->given_ns) / 1000000;

	return server->given && since_ms < REST_MS ? (int)(REST_MS - since_ms) : 0;
}

int pool_serve(int dir_fd, int listen_fd, struct daemon_request *request, struct error *err)
{
	struct server *server = xcalloc(1, sizeof(*server));
	struct helpers *helpers = &request->helpers;

	server->dir_fd = dir_fd;
	server->listen_fd = listen_fd;
	server->helpers = helpers;
	server->shelf.size = request->pool < SHELF_MAX ? request->pool : SHELF_MAX;
	server->queue.limits = request->limits;
	server->cores = request->cores;
	if (set_up(server, err) < 0) {
		free(server);
		return -1;
	}
	fit_limits(server);
	add_own_plan(server, &request->plan);
	service_log(SERVICE_INFO, "the daemon serves",
		    SERVICE_FIELDS(SERVICE_NUMBER("pid", getpid()),
				   SERVICE_NUMBER("pool", server->shelf.size),
				   SERVICE_NUMBER("max_running", server->max_running)));
	for (bool has_more = true; !server->is_ending;) {
		int due_ms = helpers_tend(helpers), wait_ms = admit(server);

		wait_ms = due_ms >= 0 && due_ms < wait_ms ? due_ms : wait_ms;
		if (has_more)
			wait_ms = has_callers(server) ? (int)(FRESH_NS / 1000000) : rest_ms(server);
		if (shelf_remove_groups(&server->shelf) && wait_ms > GROUP_LOOK_MS)
			wait_ms = GROUP_LOOK_MS;
		turn(server, wait_ms);
		if (!has_callers(server))
			has_more = rest_ms(server) > 0 || shelf_tend(&server->shelf);
	}
	/* While it is still ours: once its socket is closed, the next daemon may have made its own. */
	if (request->has_page)
		page_door_close();
	helpers_done(helpers);
	shelf_done(&server->shelf);
	service_log(SERVICE_INFO, "the daemon ends",
		    SERVICE_FIELDS(SERVICE_NUMBER("given", server->given),
				   SERVICE_NUMBER("cold", server->cold),
				   SERVICE_NUMBER("refused", server->queue.refused)));
	/* The janitor's sign. Connections stay open until this process exits, by which the caller of a stop sees that another may start. */
	fd_close(&server->shelf.janitor_fd);
	free(server);
	return 0;
}
