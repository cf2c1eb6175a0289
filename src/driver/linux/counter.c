/* SPDX-License-Identifier: Apache-2.0 */
/* Where others of the same user reach a run while it lives. */
#include "driver/linux/counter.h"

#include "base/fd.h"
#include "base/local_socket.h"
#include "base/own.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define ANSWER_MS 2000
#define DENIED_TOLD 32

/* Under a short name first: an address has no room for a long one. */
static int open_socket(const struct counter *counter)
{
	owned(fd_close) int fd = -1;
	char brief[64];

	(void)snprintf(brief, sizeof(brief), ".%.60s", counter->run.spec->run_id);
	fd = local_socket_listen(counter->dir_fd, brief, COUNTER_CLIENTS);
	if (fd >= 0 && renameat(counter->dir_fd, brief, counter->dir_fd, counter->name) == 0)
		return fd_take(&fd);
	(void)unlinkat(counter->dir_fd, brief, 0);
	return -1;
}

struct counter *counter_open(const struct counter_run *run, int dir_fd, int epoll_fd)
{
	struct counter *counter = xcalloc(1, sizeof(*counter));

	counter->run = *run;
	counter->epoll_fd = epoll_fd;
	counter->listen_fd = -1;
	counter->dir_fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
	counter->name = xasprintf(".%s.%s", run->spec->sandbox, run->spec->run_id);
	if (counter->dir_fd >= 0)
		counter->listen_fd = open_socket(counter);
	if (counter->listen_fd >= 0 && fd_watch(epoll_fd, counter->listen_fd) == 0)
		return counter;
	counter_close(counter);
	return NULL;
}

static void welcome(struct counter *counter)
{
	/* A slow peer cannot make the run wait for long. */
	const struct timeval patience = { .tv_sec = ANSWER_MS / 1000 };
	owned(fd_close) int fd = local_socket_accept(counter->listen_fd, 0);

	if (fd < 0 || counter->count == COUNTER_CLIENTS ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0 ||
	    fd_watch(counter->epoll_fd, fd) < 0)
		return;
	counter->clients[counter->count++] = fd_take(&fd);
}

static void take(struct net_denial *denial, void *cookie)
{
	const struct counter *counter = cookie;

	egress_tell(counter->run.egress, denial, &counter->run.task->denials);
}

static void tell_denials(const struct counter *counter, int fd)
{
	const struct denials *denials = &counter->run.task->denials;
	size_t first = denials->count > DENIED_TOLD ? denials->count - DENIED_TOLD : 0;
	struct attach_message message = { .kind = ATTACH_DENIED };
	struct attach_denied *denied = &message.denied;

	for (size_t i = first; i < denials->count && !counter->run.has_secrets; i++) {
		const struct denial *item = &denials->items[i];

		if (strcmp(item->layer, NET_LAYER) != 0 &&
		    strcmp(item->layer, NET_LAYER_UPSTREAM) != 0)
			continue;
		denied->time_ms = item->time_ms;
		(void)snprintf(denied->layer, sizeof(denied->layer), "%s", item->layer);
		(void)snprintf(denied->what, sizeof(denied->what), "%.90s", item->what);
		(void)snprintf(denied->rule, sizeof(denied->rule), "%.90s",
			       item->rule ? item->rule : "");
		(void)snprintf(denied->hint, sizeof(denied->hint), "%.90s",
			       item->hint ? item->hint : "");
		if (attach_send(fd, &message, NULL, 0) < 0)
			return;
	}
}

static void tell_network(struct counter *counter, int fd)
{
	struct attach_message message = { .kind = ATTACH_NETWORK };
	struct net_counts counts = { 0 };

	(void)launch_rules_await(counter->run.launch, ANSWER_MS, take, counter, &counts);
	if (launch_rules_tell(&counter->rules, counter->run.spec, fd, 0) < 0)
		return;
	tell_denials(counter, fd);
	message.network = (struct attach_network){ .has_gateway = true,
						   .connections = counts.connections,
						   .sent_bytes = counts.sent_bytes,
						   .received_bytes = counts.received_bytes };
	(void)attach_send(fd, &message, NULL, 0);
}

/* Rules that the run was started with are not the verbs' to take back. */
static int check(const struct counter *counter, const struct attach_rule *rule, struct error *err)
{
	const struct strv *given =
		rule->is_deny ? &counter->run.spec->deny : &counter->run.spec->allow;

	if (!memchr(rule->text, '\0', sizeof(rule->text)))
		return error_set(err, ERROR_INTERNAL, "a rule without an end");
	if (rule->is_removal && rule_find(given, rule->text) < given->count)
		return error_advise(err, ERROR_NOT_FOUND, "deny what it allows",
				    "the run was started with that rule");
	return 0;
}

static void change(struct counter *counter, int fd, const struct attach_rule *rule)
{
	struct attach_message message = { .kind = ATTACH_DONE };
	struct net_counts ignored;
	struct error err;
	int status = check(counter, rule, &err);

	if (status == 0)
		status = launch_rules_change(&counter->rules, counter->run.launch,
					     counter->run.spec, rule, &err);
	/* Its answer comes behind the change. */
	if (status == 0 &&
	    !launch_rules_await(counter->run.launch, ANSWER_MS, take, counter, &ignored))
		status = error_set(&err, ERROR_HOST, "the network's gateway does not answer");
	if (status < 0) {
		message.kind = ATTACH_FAILED;
		message.error = err;
	}
	(void)attach_send(fd, &message, NULL, 0);
}

static void see_off(struct counter *counter, size_t at)
{
	(void)epoll_ctl(counter->epoll_fd, EPOLL_CTL_DEL, counter->clients[at], NULL);
	close(counter->clients[at]);
	counter->clients[at] = counter->clients[--counter->count];
}

static void serve(struct counter *counter, size_t at)
{
	owned(free_ptr) struct attach_packet *packet = xcalloc(1, sizeof(*packet));
	int fd = counter->clients[at];

	if (attach_receive(fd, packet) <= 0) {
		see_off(counter, at);
		return;
	}
	attach_close(packet);
	if (packet->message.kind == ATTACH_NETWORK)
		tell_network(counter, fd);
	else if (packet->message.kind == ATTACH_RULE)
		change(counter, fd, &packet->message.rule);
	else
		see_off(counter, at);
}

void counter_step(struct counter *counter, int fd)
{
	if (!counter)
		return;
	if (fd == counter->listen_fd)
		welcome(counter);
	for (size_t i = 0; i < counter->count; i++) {
		if (counter->clients[i] == fd) {
			serve(counter, i);
			return;
		}
	}
}

void counter_close(struct counter *counter)
{
	if (!counter)
		return;
	while (counter->count > 0)
		see_off(counter, counter->count - 1);
	if (counter->listen_fd >= 0)
		(void)unlinkat(counter->dir_fd, counter->name, 0);
	fd_close(&counter->listen_fd);
	fd_close(&counter->dir_fd);
	launch_rules_done(&counter->rules);
	free(counter->name);
	free(counter);
}
