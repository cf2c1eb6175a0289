/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's conversation with its callers: each message is one that is due, or ends it. */
#include "app/pool/pool_state.h"
#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/process/service_log.h"
#include "base/text/json_read.h"
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "confine/cgroup.h"
#include "spec/codec.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLAN_VALUES 20000

void client_hang_up(struct server *server, struct client *client)
{
	queue_leave(&server->queue, (size_t)(client - server->clients));
	fd_close(&client->fd);
	client->wanted[0] = '\0';
	client->will_ask = false;
	server->is_full = false;
	while (server->client_end > 0 && server->clients[server->client_end - 1].fd < 0)
		server->client_end--;
}

void client_answer(struct server *server, struct client *client, enum pool_kind kind)
{
	const struct pool_answer answer = { .version = POOL_VERSION,
					    .kind = kind,
					    .pid = (uint32_t)getpid(),
					    .running = server->queue.running,
					    .waiting = server->queue.waiting };

	if (send(client->fd, &answer, sizeof(answer), MSG_NOSIGNAL) != (ssize_t)sizeof(answer))
		client_hang_up(server, client);
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
	service_log(SERVICE_DEBUG, "a process that is confined otherwise is not served", NULL);
	client_answer(server, client, POOL_REFUSED);
	client_hang_up(server, client);
}

bool client_is_silent(const struct server *server, size_t i)
{
	return server->clients[i].fd >= 0 && server->queue.places[i].state == QUEUE_NONE;
}

/* Makes room by the caller that has been silent for longest; whether there was one. */
static bool drop_silent(struct server *server)
{
	struct client *oldest = NULL;

	for (size_t i = 0; i < server->client_end; i++) {
		if (client_is_silent(server, i) &&
		    (!oldest || server->clients[i].since_ns < oldest->since_ns))
			oldest = &server->clients[i];
	}
	if (oldest)
		client_hang_up(server, oldest);
	return oldest != NULL;
}

static struct client *free_client(struct server *server)
{
	size_t i = 0;

	while (i < server->client_end && server->clients[i].fd >= 0)
		i++;
	if (i >= server->client_max)
		return drop_silent(server) ? free_client(server) : NULL;
	server->client_end = i < server->client_end ? server->client_end : i + 1;
	return &server->clients[i];
}

void client_accept(struct server *server)
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
		.insists = ask->flags & POOL_INSISTS,
	};
	pid_t session = getsid(client->pid);

	server->is_ending |= is_replaced(server);
	if (server->is_ending) {
		refuse(server, client);
		return;
	}
	server_look_at_pressure(server);
	enum queue_state state = queue_enter(&server->queue, (size_t)(client - server->clients),
					     &call, session > 0 ? session : client->pid);

	client->will_ask = ask->flags & POOL_WILL_ASK;
	client->since_ns = call.asked_ns;
	client_answer(server, client, kinds[state]);
	if (state != QUEUE_NONE)
		return;
	service_log(SERVICE_INFO, "a call is refused: busy",
		    SERVICE_FIELDS(SERVICE_NUMBER("pid", call.pid),
				   SERVICE_NUMBER("running", server->queue.running),
				   SERVICE_NUMBER("waiting", server->queue.waiting)));
	if (client->fd >= 0)
		client_hang_up(server, client);
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
		client_answer(server, client, POOL_GIVEN);
		if (client->fd >= 0 &&
		    shelf_give(&server->shelf, item, client->fd, &server->peer) == 0)
			server->given++;
		server->given_ns = clock_now_ns();
	} else {
		server->cold++;
		if (is_fit && !plan)
			memcpy(client->wanted, ask->digest, sizeof(client->wanted));
		client_answer(server, client, is_fit && !plan ? POOL_WANTS : POOL_COLD);
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
	client_answer(server, client, kind);
	if (kind == POOL_STATUS)
		send_value(client, pool_status(server));
	if (kind == POOL_QUEUE)
		send_value(client, pool_show_queue(server));
	if (kind == POOL_RELOAD) {
		shelf_renew(&server->shelf);
		service_log(SERVICE_INFO, "reloaded: what was ready is made anew", NULL);
	}
	server->is_ending |= kind == POOL_STOP;
	if (kind != POOL_STOP && client->fd >= 0)
		client_hang_up(server, client);
}

void client_serve(struct server *server, struct client *client)
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
		client_hang_up(server, client);
	}
}
