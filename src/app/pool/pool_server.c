/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's loop. One process, which never waits for a caller: a question is answered with what is there, and what is
 * missing is made when no call waits.
 */
#include "app/pool/pool_server.h"

#include "app/pool/pool_state.h"
#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/text/json_read.h"
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "base/process/process.h"
#include "confine/cgroup.h"
#include "spec/codec.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A caller that is about to do something does it sooner; for that long nothing else is begun, and after that it is hung up. */
#define FRESH_NS (UINT64_C(30) * 1000000)
#define CLIENT_NS (UINT64_C(10) * 1000000000)
#define LOOK_MS 5000
/* As long as a short command takes. */
#define REST_MS 4
#define LOOK_WAITING_MS 1000
#define PLAN_VALUES 20000

static void hang_up(struct server *server, struct client *client)
{
	queue_leave(&server->queue, (size_t)(client - server->clients));
	fd_close(&client->fd);
	client->wanted[0] = '\0';
	client->will_ask = false;
	server->is_full = false;
	while (server->client_end > 0 && server->clients[server->client_end - 1].fd < 0)
		server->client_end--;
}

static void answer(struct server *server, struct client *client, enum pool_kind kind)
{
	const struct pool_answer answer = { .version = POOL_VERSION,
					    .kind = kind,
					    .pid = (uint32_t)getpid(),
					    .running = server->queue.running,
					    .waiting = server->queue.waiting };

	if (send(client->fd, &answer, sizeof(answer), MSG_NOSIGNAL) != (ssize_t)sizeof(answer))
		hang_up(server, client);
}

/* As a message of its own behind the answer. */
static void send_value(const struct client *client, struct value *value)
{
	owned(value_release) struct value *shown = value;
	owned(str_done) struct str text = STR_INIT;

	json_write(&text, shown, 0);
	if (client->fd >= 0)
		(void)send(client->fd, text.data, text.len, MSG_NOSIGNAL);
}

/* Answered at once: a caller that is not served must not keep the pool from being filled. */
static void refuse(struct server *server, struct client *client)
{
	/* What is unread at the end would take our answer with it. */
	(void)shutdown(client->fd, SHUT_RD);
	while (recv(client->fd, server->text, sizeof(server->text), MSG_DONTWAIT) > 0)
		;
	server->cold++;
	answer(server, client, POOL_REFUSED);
	hang_up(server, client);
}

/* Whether it neither runs nor waits, and may be about to ask for either. */
static bool is_silent(const struct server *server, size_t i)
{
	return server->clients[i].fd >= 0 && server->queue.places[i].state == QUEUE_NONE;
}

/* Makes room by the caller that has been silent for longest; whether there was one. */
static bool drop_silent(struct server *server)
{
	struct client *oldest = NULL;

	for (size_t i = 0; i < server->client_end; i++) {
		if (is_silent(server, i) &&
		    (!oldest || server->clients[i].since_ns < oldest->since_ns))
			oldest = &server->clients[i];
	}
	if (oldest)
		hang_up(server, oldest);
	return oldest != NULL;
}

static struct client *free_client(struct server *server)
{
	size_t i = 0;

	while (i < server->client_end && server->clients[i].fd >= 0)
		i++;
	if (i == CLIENTS_MAX)
		return drop_silent(server) ? free_client(server) : NULL;
	server->client_end = i < server->client_end ? server->client_end : i + 1;
	return &server->clients[i];
}

static void accept_client(struct server *server)
{
	owned(fd_close) int fd =
		accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		server->is_full = (errno == EMFILE || errno == ENFILE) && !drop_silent(server);
	struct client *client = fd >= 0 ? free_client(server) : NULL;

	if (!client)
		return;
	*client = (struct client){ .fd = fd_take(&fd), .since_ns = clock_now_ns() };
	if (!pool_peer_is_equal(client->fd, &server->peer))
		refuse(server, client);
	else
		client->pid = server->peer.pid;
	pool_peer_done(&server->peer);
}

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
static void look_at_pressure(struct server *server)
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

/* Calls that waited and may run now; the others hear that we are still there. Returns the milliseconds until there may be more to do. */
static int admit(struct server *server)
{
	uint64_t now_ns = clock_now_ns(), wait_ns;
	int i;

	if (server->queue.waiting == 0)
		return LOOK_MS;
	look_at_pressure(server);
	while ((i = queue_next(&server->queue, now_ns, &wait_ns)) >= 0) {
		server->clients[i].since_ns = now_ns;
		answer(server, &server->clients[i], POOL_RUN);
	}
	if (now_ns - server->told_ns >= POOL_WAIT_MS * UINT64_C(1000000)) {
		server->told_ns = now_ns;
		for (size_t j = 0; j < server->client_end; j++) {
			if (server->queue.places[j].state == QUEUE_WAITS)
				answer(server, &server->clients[j], POOL_WAIT);
		}
	}
	return wait_ns / 1000000 < LOOK_WAITING_MS ? (int)(wait_ns / 1000000) + 1 : LOOK_WAITING_MS;
}

/* A command is held by the groups of its caller, as if that had made it. */
static bool may_have(struct server *server, const struct shelf_item *item)
{
	const struct cgroup *group = item->launch.has_group ? &item->launch.group : NULL;

	return (!group || shelf_has_place(&server->shelf)) &&
	       pool_peer_is_held(&server->peer, &item->plan->spec.groups, group);
}

/* Whether another program is installed in our place by now: it serves its own callers. */
static bool is_replaced(const struct server *server)
{
	struct stat own, now;

	return stat("/proc/self/exe", &own) < 0 || stat(server->program, &now) < 0 ||
	       own.st_dev != now.st_dev || own.st_ino != now.st_ino;
}

static void serve_slot(struct server *server, struct client *client, const struct pool_ask *ask)
{
	static const enum pool_kind kinds[] = {
		[QUEUE_NONE] = POOL_BUSY, [QUEUE_WAITS] = POOL_WAIT, [QUEUE_RUNS] = POOL_RUN
	};
	const struct queue_place call = {
		.pid = client->pid,
		.priority = ask->priority < QUEUE_HIGH ? ask->priority : QUEUE_HIGH,
		.asked_ns = clock_now_ns(),
	};
	pid_t session = getsid(client->pid);

	server->is_ending |= is_replaced(server);
	if (server->is_ending) {
		refuse(server, client);
		return;
	}
	look_at_pressure(server);
	enum queue_state state = queue_enter(&server->queue, (size_t)(client - server->clients),
					     &call, session > 0 ? session : client->pid);

	client->will_ask = ask->will_ask;
	client->since_ns = call.asked_ns;
	answer(server, client, kinds[state]);
	if (state == QUEUE_NONE && client->fd >= 0)
		hang_up(server, client);
}

static void serve_ask(struct server *server, struct client *client, struct pool_ask *ask)
{
	/* Once more: it may have been confined since it connected. */
	bool is_fit = !is_replaced(server) && pool_peer_is_equal(client->fd, &server->peer) &&
		      strcmp(ask->around, server->around) == 0 &&
		      rlimit_may_take(&server->limits, &server->peer.limits);
	struct shelf_plan *plan = is_fit ? shelf_find(&server->shelf, ask->digest) : NULL;
	struct shelf_item *item = plan ? shelf_take(&server->shelf, plan) : NULL;

	if (item && may_have(server, item)) {
		answer(server, client, POOL_GIVEN);
		if (client->fd >= 0 &&
		    shelf_give(&server->shelf, item, client->fd, &server->peer) == 0)
			server->given++;
		server->given_ns = clock_now_ns();
	} else {
		server->cold++;
		if (is_fit && !plan)
			memcpy(client->wanted, ask->digest, sizeof(client->wanted));
		answer(server, client, is_fit && !plan ? POOL_WANTS : POOL_COLD);
	}
	pool_peer_done(&server->peer);
}

/* The plan of a call that went cold. It is believed as far as its digest is that of what the host has now. */
static void take_plan(struct server *server, struct client *client, size_t len)
{
	const struct json_limits limits = { .bytes = POOL_PLAN_MAX, .values = PLAN_VALUES };
	owned(value_release) struct value *value = NULL;
	owned(spec_done) struct spec spec;
	char digest[SHA256_HEX_SIZE];
	struct error ignored;

	spec_init(&spec);
	if (shelf_find(&server->shelf, client->wanted) ||
	    json_read(server->text, len, &limits, &value, &ignored) < 0 ||
	    spec_from_value(value, &spec, &ignored) < 0 || spec_check(&spec, &ignored) < 0 ||
	    !pool_suits(&spec))
		return;
	pool_digest(&spec, digest);
	if (strcmp(digest, client->wanted) == 0)
		shelf_add_plan(&server->shelf, &spec, digest);
}

/* What is asked by `aisbx daemon` and `aisbx queue`. The caller of a stop keeps its connection: that ends with us. */
static void serve_order(struct server *server, struct client *client, enum pool_kind kind)
{
	answer(server, client, kind);
	if (kind == POOL_STATUS)
		send_value(client, pool_status(server));
	if (kind == POOL_QUEUE)
		send_value(client, pool_show_queue(server));
	if (kind == POOL_RELOAD) {
		shelf_renew(&server->shelf);
		helpers_reload(server->helpers);
	}
	server->is_ending |= kind == POOL_STOP;
	if (kind != POOL_STOP && client->fd >= 0)
		hang_up(server, client);
}

/* What comes out of turn, or is none of ours, ends the conversation. */
static void serve_client(struct server *server, struct client *client)
{
	enum queue_state state = server->queue.places[client - server->clients].state;
	ssize_t got = recv(client->fd, server->text, sizeof(server->text), 0);
	struct pool_ask ask = { 0 };

	if (got > 0 && client->wanted[0] && (size_t)got <= POOL_PLAN_MAX) {
		take_plan(server, client, (size_t)got);
		client->wanted[0] = '\0';
		return;
	}
	if (got == (ssize_t)sizeof(ask))
		memcpy(&ask, server->text, sizeof(ask));
	ask.digest[SHA256_HEX_SIZE - 1] = ask.around[SHA256_HEX_SIZE - 1] = '\0';
	if (ask.version == POOL_VERSION && ask.kind == POOL_SLOT && state == QUEUE_NONE) {
		serve_slot(server, client, &ask);
	} else if (ask.version == POOL_VERSION && ask.kind == POOL_ASK && state == QUEUE_RUNS &&
		   client->will_ask) {
		client->will_ask = false;
		serve_ask(server, client, &ask);
	} else if (ask.version == POOL_VERSION && ask.kind >= POOL_STATUS &&
		   ask.kind <= POOL_STOP && state == QUEUE_NONE) {
		serve_order(server, client, (enum pool_kind)ask.kind);
	} else {
		hang_up(server, client);
	}
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
			serve_client(server, client);
		else if (is_silent(server, i) && clock_now_ns() - client->since_ns > CLIENT_NS)
			hang_up(server, client);
	}
	if (polls[1].revents)
		hear_signal(server);
	if (polls[0].revents)
		accept_client(server);
}

/* Whether a caller is about to ask: what is missing is made when it has its answer. One that takes its time is not waited for. */
static bool has_callers(const struct server *server)
{
	uint64_t now_ns = clock_now_ns();

	for (size_t i = 0; i < server->client_end; i++) {
		const struct client *client = &server->clients[i];

		if (now_ns - client->since_ns < FRESH_NS &&
		    (is_silent(server, i) ||
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
	helpers_done(helpers);
	shelf_done(&server->shelf);
	/* The janitor's sign; then that of the caller that waits for our end. */
	fd_close(&server->shelf.janitor_fd);
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		hang_up(server, &server->clients[i]);
	free(server);
	return 0;
}
