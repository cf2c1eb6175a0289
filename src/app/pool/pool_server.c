/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's loop. One process, which never waits for a caller: a question is answered with what is there, and what is
 * missing is made when no call waits.
 */
#include "app/pool/pool_server.h"

#include "app/pool/pool_shelf.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/fd.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/own.h"
#include "base/process.h"
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

#define CLIENTS_MAX 256
/* A caller that has made its plan asks sooner. */
#define CLIENT_NS (UINT64_C(10) * 1000000000)
#define LOOK_MS 5000
/* As long as a short command takes. */
#define REST_MS 4
#define SWEEP_PAUSE_MS 10
#define SWEEP_MS 10000
#define PLAN_VALUES 20000

struct client {
	int fd; /* -1: a free place */
	uint64_t since_ns;
	char wanted[SHA256_HEX_SIZE]; /* the digest of the plan it was asked for; else empty */
};

struct server {
	struct shelf shelf;
	struct helpers *helpers;
	struct client clients[CLIENTS_MAX];
	int listen_fd, signal_fd;
	bool is_ending;
	char around[SHA256_HEX_SIZE];
	struct rlimit_all limits;
	struct pool_peer peer; /* the one that asks */
	char program[PATH_MAX];
	uint64_t given, cold, began_ns, given_ns;
	char text[POOL_PLAN_MAX + 1]; /* a message */
};

/* Whether there are groups of that name; those of runs under way stay, and are their callers'. */
static bool has_some(const char *place, const char *prefix)
{
	owned(dir_close) DIR *dir = dir_open(AT_FDCWD, place);
	struct dirent *entry;
	bool is_there = false;

	while (dir && !is_there && dir_next(dir, &entry) > 0)
		is_there = str_starts(entry->d_name, prefix);
	return is_there;
}

/* Waits for the daemon's end; what it made then ends by itself, and leaves its groups. */
static _Noreturn void janitor_main(int fd, const char *prefix)
{
	owned(strv_done) struct strv places = STRV_INIT;
	char path[4096];
	ssize_t got;

	fd_close_others(&fd, 1);
	(void)setsid();
	(void)prctl(PR_SET_NAME, "aisbx-janitor", 0, 0, 0);
	while ((got = recv(fd, path, sizeof(path), 0)) > 0 || (got < 0 && errno == EINTR)) {
		if (got > 0 && path[got - 1] == '\0' && !strv_has(&places, path))
			strv_add(&places, path);
	}
	for (unsigned waited = 0; waited < SWEEP_MS; waited += SWEEP_PAUSE_MS) {
		struct timespec pause = { .tv_nsec = SWEEP_PAUSE_MS * 1000000 };
		bool is_ending = false;

		for (size_t i = 0; i < places.count; i++) {
			(void)cgroup_sweep_place(places.items[i], NULL);
			is_ending |= has_some(places.items[i], prefix);
		}
		if (!is_ending)
			break;
		(void)nanosleep(&pause, NULL);
	}
	_exit(0);
}

static int start_janitor(struct server *server, struct error *err)
{
	char prefix[OWNER_NAME_SIZE];
	int ends[2];
	pid_t pid;

	owner_name("", prefix);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_errno(err, ERROR_HOST, "socket");
	pid = fork();
	if (pid == 0)
		janitor_main(ends[0], prefix);
	close(ends[0]);
	server->shelf.janitor_fd = ends[1];
	return pid < 0 ? error_errno(err, ERROR_HOST, PROCESS_REFUSED) : 0;
}

static void hang_up(struct client *client)
{
	fd_close(&client->fd);
	client->wanted[0] = '\0';
}

static void answer(struct client *client, enum pool_kind kind)
{
	const struct pool_answer answer = { .version = POOL_VERSION,
					    .kind = kind,
					    .pid = (uint32_t)getpid() };

	if (send(client->fd, &answer, sizeof(answer), MSG_NOSIGNAL) != (ssize_t)sizeof(answer))
		hang_up(client);
}

static void add_count(struct value *map, const char *key, uint64_t count)
{
	value_add(map, key, value_new_int((int64_t)count));
}

static struct value *show_helpers(const struct helpers *helpers)
{
	struct value *list = value_new_list();

	for (size_t i = 0; i < helpers->count; i++) {
		const struct helper *row = &helpers->rows[i];
		struct value *map = value_new_map();

		value_add(map, "name", value_new_text(row->name));
		add_count(map, "pid", (uint64_t)row->pid);
		add_count(map, "starts", row->starts);
		value_append(list, map);
	}
	return list;
}

/* What `daemon status` shows, as a message of its own behind the answer. */
static void send_status(struct server *server, struct client *client)
{
	const struct shelf *shelf = &server->shelf;
	owned(value_release) struct value *map = value_new_map();
	owned(str_done) struct str text = STR_INIT;
	unsigned plans = 0;

	for (size_t i = 0; i < SHELF_PLANS; i++)
		plans += shelf->plans[i].spec.driver != NULL;
	value_add(map, "running", value_new_bool(true));
	add_count(map, "pid", (uint64_t)getpid());
	add_count(map, "pool", shelf->size);
	add_count(map, "ready", shelf_count(shelf, true));
	add_count(map, "plans", plans);
	add_count(map, "given", server->given);
	add_count(map, "cold", server->cold);
	add_count(map, "made", shelf->made);
	add_count(map, "failed", shelf->failed);
	add_count(map, "uptime_ms", (clock_now_ns() - server->began_ns) / 1000000);
	value_add(map, "helpers", show_helpers(server->helpers));
	json_write(&text, map, 0);
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
	answer(client, POOL_REFUSED);
	hang_up(client);
}

static void accept_client(struct server *server)
{
	owned(fd_close) int fd =
		accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	for (size_t i = 0; fd >= 0 && i < CLIENTS_MAX; i++) {
		struct client *client = &server->clients[i];

		if (client->fd >= 0)
			continue;
		*client = (struct client){ .fd = fd_take(&fd), .since_ns = clock_now_ns() };
		if (!pool_peer_is_equal(client->fd, &server->peer))
			refuse(server, client);
		pool_peer_done(&server->peer);
		return;
	}
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

static void serve_ask(struct server *server, struct client *client, struct pool_ask *ask)
{
	server->is_ending |= is_replaced(server);
	/* Once more: it may have been confined since it connected. */
	bool is_fit = !server->is_ending && pool_peer_is_equal(client->fd, &server->peer) &&
		      strcmp(ask->around, server->around) == 0 &&
		      rlimit_may_take(&server->limits, &server->peer.limits);
	struct shelf_plan *plan = is_fit ? shelf_find(&server->shelf, ask->digest) : NULL;
	struct shelf_item *item = plan ? shelf_take(&server->shelf, plan) : NULL;

	if (item && may_have(server, item)) {
		answer(client, POOL_GIVEN);
		if (client->fd >= 0 &&
		    shelf_give(&server->shelf, item, client->fd, &server->peer) == 0)
			server->given++;
		server->given_ns = clock_now_ns();
		hang_up(client);
	} else {
		server->cold++;
		if (is_fit && !plan)
			memcpy(client->wanted, ask->digest, sizeof(client->wanted));
		answer(client, is_fit && !plan ? POOL_WANTS : POOL_COLD);
		if (!client->wanted[0])
			hang_up(client);
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

/* What is asked by `aisbx daemon`. The caller of a stop keeps its connection: that ends with us. */
static void serve_order(struct server *server, struct client *client, enum pool_kind kind)
{
	answer(client, kind);
	if (kind == POOL_STATUS)
		send_status(server, client);
	if (kind == POOL_RELOAD) {
		shelf_renew(&server->shelf);
		helpers_reload(server->helpers);
	}
	server->is_ending |= kind == POOL_STOP;
}

static void serve_client(struct server *server, struct client *client)
{
	ssize_t got = recv(client->fd, server->text, sizeof(server->text), 0);
	struct pool_ask ask;

	if (got > 0 && client->wanted[0] && (size_t)got <= POOL_PLAN_MAX)
		take_plan(server, client, (size_t)got);
	if (got != (ssize_t)sizeof(ask) || client->wanted[0]) {
		hang_up(client);
		return;
	}
	memcpy(&ask, server->text, sizeof(ask));
	ask.digest[SHA256_HEX_SIZE - 1] = ask.around[SHA256_HEX_SIZE - 1] = '\0';
	if (ask.version == POOL_VERSION && ask.kind == POOL_ASK) {
		serve_ask(server, client, &ask);
		return;
	}
	if (ask.version == POOL_VERSION && ask.kind >= POOL_STATUS && ask.kind <= POOL_STOP)
		serve_order(server, client, (enum pool_kind)ask.kind);
	if (!server->is_ending)
		hang_up(client);
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
	struct pollfd polls[2 + CLIENTS_MAX + SHELF_MAX + SHELF_GIVEN_MAX];
	size_t count = 2;

	polls[0] = (struct pollfd){ .fd = server->listen_fd, .events = POLLIN };
	polls[1] = (struct pollfd){ .fd = server->signal_fd, .events = POLLIN };
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		polls[count++] = (struct pollfd){ .fd = server->clients[i].fd, .events = POLLIN };
	for (size_t i = 0; i < SHELF_MAX; i++) {
		const struct shelf_item *item = &server->shelf.items[i];

		polls[count++] = (struct pollfd){ .fd = item->plan ? item->launch.control_fd : -1,
						  .events = POLLIN };
	}
	for (size_t i = 0; i < SHELF_GIVEN_MAX; i++)
		polls[count++] = (struct pollfd){ .fd = shelf_given_fd(&server->shelf.given[i]),
						  .events = POLLIN };
	if (poll(polls, count, wait_ms) < 0)
		return;
	for (size_t i = 0; i < SHELF_GIVEN_MAX; i++) {
		if (polls[2 + CLIENTS_MAX + SHELF_MAX + i].revents)
			shelf_tidy(&server->shelf.given[i]);
	}
	for (size_t i = 0; i < SHELF_MAX; i++) {
		struct shelf_item *item = &server->shelf.items[i];

		if (polls[2 + CLIENTS_MAX + i].revents && item->plan)
			shelf_hear(&server->shelf, item);
	}
	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		struct client *client = &server->clients[i];

		if (client->fd >= 0 && polls[2 + i].revents)
			serve_client(server, client);
		else if (client->fd >= 0 && clock_now_ns() - client->since_ns > CLIENT_NS)
			hang_up(client);
	}
	if (polls[1].revents)
		hear_signal(server);
	if (polls[0].revents)
		accept_client(server);
}

/* Whether a caller is about to ask: what is missing is made when it has its answer. */
static bool has_callers(const struct server *server)
{
	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		if (server->clients[i].fd >= 0)
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
	    rlimit_read(0, &server->limits) < 0 || start_janitor(server, err) < 0)
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
	if (set_up(server, err) < 0) {
		free(server);
		return -1;
	}
	add_own_plan(server, &request->plan);
	for (bool has_more = false; !server->is_ending;) {
		int due_ms = helpers_tend(helpers);
		int wait_ms = due_ms >= 0 && due_ms < LOOK_MS ? due_ms : LOOK_MS;

		if (has_more && !has_callers(server))
			wait_ms = rest_ms(server);
		turn(server, wait_ms);
		if (!has_callers(server))
			has_more = rest_ms(server) > 0 || shelf_tend(&server->shelf);
	}
	helpers_done(helpers);
	shelf_done(&server->shelf);
	/* The janitor's sign; then that of the caller that waits for our end. */
	fd_close(&server->shelf.janitor_fd);
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		hang_up(&server->clients[i]);
	free(server);
	return 0;
}
