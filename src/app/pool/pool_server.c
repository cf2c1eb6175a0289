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

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
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
	if (now_ns - server->told_ns >= POOL_WAIT_MS * UINT64_C(1000000)) {
		server->told_ns = now_ns;
		for (size_t j = 0; j < server->client_end; j++) {
			if (server->queue.places[j].state == QUEUE_WAITS)
				client_answer(server, &server->clients[j], POOL_WAIT);
		}
	}
	return wait_ns / 1000000 < LOOK_WAITING_MS ? (int)(wait_ns / 1000000) + 1 : LOOK_WAITING_MS;
}

static void hear_signal(struct server *server)
{
	struct signalfd_siginfo info;
	pid_t pid;

	while (read(server->signal_fd, &info, sizeof(info)) > 0)
		server->is_ending |= info.ssi_signo != SIGCHLD;
	/* Sandboxes that were given away are still our children when they end. */
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		helpers_ended(server->helpers, pid);
}

static void turn(struct server *server, int wait_ms)
{
	struct pollfd polls[2 + SHELF_MAX + SHELF_GIVEN_MAX + CLIENTS_MAX];
	size_t count = 2, client_end = server->client_end;

	polls[0] =
		(struct pollfd){ .fd = server->is_full ? -1 : server->listen_fd, .events = POLLIN };
	polls[1] = (struct pollfd){ .fd = server->signal_fd, .events = POLLIN };
	for (size_t i = 0; i < SHELF_MAX; i++) {
		const struct shelf_item *item = &server->shelf.items[i];

		polls[count++] = (struct pollfd){ .fd = item->plan ? item->launch.control_fd : -1,
						  .events = POLLIN };
	}
	for (size_t i = 0; i < SHELF_GIVEN_MAX; i++)
		polls[count++] = (struct pollfd){ .fd = shelf_given_fd(&server->shelf.given[i]),
						  .events = POLLIN };
	for (size_t i = 0; i < client_end; i++)
		polls[count++] = (struct pollfd){ .fd = server->clients[i].fd, .events = POLLIN };
	if (poll(polls, count, wait_ms) < 0)
		return;
	for (size_t i = 0; i < SHELF_GIVEN_MAX; i++) {
		if (polls[2 + SHELF_MAX + i].revents)
			shelf_tidy(&server->shelf.given[i]);
	}
	for (size_t i = 0; i < SHELF_MAX; i++) {
		struct shelf_item *item = &server->shelf.items[i];

		if (polls[2 + i].revents && item->plan)
			shelf_hear(&server->shelf, item);
	}
	for (size_t i = 0; i < client_end; i++) {
		struct client *client = &server->clients[i];

		if (client->fd >= 0 && polls[2 + SHELF_MAX + SHELF_GIVEN_MAX + i].revents)
			client_serve(server, client);
		else if (client_is_silent(server, i) &&
			 clock_now_ns() - client->since_ns > CLIENT_NS)
			client_hang_up(server, client);
	}
	if (polls[1].revents)
		hear_signal(server);
	if (polls[0].revents)
		client_accept(server);
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

int pool_serve(int listen_fd, struct daemon_request *request, struct error *err)
{
	struct server *server = xcalloc(1, sizeof(*server));
	struct helpers *helpers = &request->helpers;

	server->listen_fd = listen_fd;
	server->helpers = helpers;
	server->shelf.size = request->pool < SHELF_MAX ? request->pool : SHELF_MAX;
	server->queue.limits = request->limits;
	server->max_running = request->limits.running;
	server->cores = request->cores;
	if (set_up(server, err) < 0) {
		free(server);
		return -1;
	}
	add_own_plan(server, &request->plan);
	for (bool has_more = false; !server->is_ending;) {
		int due_ms = helpers_tend(helpers), wait_ms = admit(server);

		wait_ms = due_ms >= 0 && due_ms < wait_ms ? due_ms : wait_ms;
		if (has_more)
			wait_ms = has_callers(server) ? (int)(FRESH_NS / 1000000) : rest_ms(server);
		turn(server, wait_ms);
		if (!has_callers(server))
			has_more = rest_ms(server) > 0 || shelf_tend(&server->shelf);
	}
	/* While it is still ours: once its socket is closed, the next daemon may have made its own. */
	if (request->has_page)
		page_door_close();
	helpers_done(helpers);
	shelf_done(&server->shelf);
	/* The janitor's sign; then that of the caller that waits for our end. */
	fd_close(&server->shelf.janitor_fd);
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		client_hang_up(server, &server->clients[i]);
	free(server);
	return 0;
}
