/* SPDX-License-Identifier: Apache-2.0 */
/* Where others of the same user reach a run while it lives. */
#include "driver/linux/rules_socket.h"

#include "base/file/fd.h"
#include "base/process/local_socket.h"
#include "base/core/own.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define ANSWER_MS 10000
#define DENIED_TOLD 32

/* Under a short name first: an address has no room for a long one. */
static int open_socket(const struct rules_socket *rules_socket)
{
	owned(fd_close) int fd = -1;
	char brief[64];

	(void)snprintf(brief, sizeof(brief), ".%.60s", rules_socket->run.spec->run_id);
	fd = local_socket_listen(rules_socket->dir_fd, brief, RULES_SOCKET_CLIENTS);
	if (fd >= 0 &&
	    renameat(rules_socket->dir_fd, brief, rules_socket->dir_fd, rules_socket->name) == 0)
		return fd_take(&fd);
	(void)unlinkat(rules_socket->dir_fd, brief, 0);
	return -1;
}

struct rules_socket *rules_socket_open(const struct rules_socket_run *run, int dir_fd, int epoll_fd)
{
	struct rules_socket *rules_socket = xcalloc(1, sizeof(*rules_socket));

	rules_socket->run = *run;
	rules_socket->epoll_fd = epoll_fd;
	rules_socket->listen_fd = -1;
	rules_socket->dir_fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
	rules_socket->name = xasprintf(".%s.%s", run->spec->sandbox, run->spec->run_id);
	if (rules_socket->dir_fd >= 0)
		rules_socket->listen_fd = open_socket(rules_socket);
	if (rules_socket->listen_fd >= 0 && fd_watch(epoll_fd, rules_socket->listen_fd) == 0)
		return rules_socket;
	rules_socket_close(rules_socket);
	return NULL;
}

static void welcome(struct rules_socket *rules_socket)
{
	/* A slow peer cannot make the run wait for long. */
	const struct timeval patience = { .tv_sec = ANSWER_MS / 1000 };
	owned(fd_close) int fd = local_socket_accept(rules_socket->listen_fd, 0);

	if (fd < 0 || rules_socket->count == RULES_SOCKET_CLIENTS ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0 ||
	    fd_watch(rules_socket->epoll_fd, fd) < 0)
		return;
	rules_socket->clients[rules_socket->count++] = fd_take(&fd);
}

static void take(struct net_denial *denial, void *cookie)
{
	const struct rules_socket *rules_socket = cookie;

	egress_send(rules_socket->run.egress, denial, &rules_socket->run.task->denials);
}

static void report_denials(const struct rules_socket *rules_socket, int fd)
{
	const struct denials *denials = &rules_socket->run.task->denials;
	size_t first = denials->count > DENIED_TOLD ? denials->count - DENIED_TOLD : 0;
	struct attach_message message = { .kind = ATTACH_DENIED };
	struct attach_denied *denied = &message.denied;

	for (size_t i = first; i < denials->count && !rules_socket->run.has_secrets; i++) {
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

static void report_network(struct rules_socket *rules_socket, int fd)
{
	struct attach_message message = { .kind = ATTACH_NETWORK };
	struct net_counts counts = { 0 };

	(void)launch_rules_await(rules_socket->run.launch, ANSWER_MS, take, rules_socket, &counts);
	if (launch_rules_send(&rules_socket->rules, rules_socket->run.spec, fd, 0) < 0)
		return;
	report_denials(rules_socket, fd);
	message.network = (struct attach_network){ .has_gateway = true,
						   .connections = counts.connections,
						   .sent_bytes = counts.sent_bytes,
						   .received_bytes = counts.received_bytes };
	(void)attach_send(fd, &message, NULL, 0);
}

/* Rules that the run was started with are not the verbs' to take back. */
static int check(const struct rules_socket *rules_socket, const struct attach_rule *rule,
		 struct error *err)
{
	const struct strv *given =
		rule->is_deny ? &rules_socket->run.spec->deny : &rules_socket->run.spec->allow;

	if (!memchr(rule->text, '\0', sizeof(rule->text)))
		return error_set(err, ERROR_INTERNAL, "a rule without an end");
	if (rule->is_removal && rule_find(given, rule->text) < given->count)
		return error_advise(err, ERROR_NOT_FOUND, "deny what it allows",
				    "the run was started with that rule");
	return 0;
}

static void change(struct rules_socket *rules_socket, int fd, const struct attach_rule *rule)
{
	struct attach_message message = { .kind = ATTACH_DONE };
	struct net_counts ignored;
	struct error err;
	int status = check(rules_socket, rule, &err);

	rules_socket->run.task->network.is_changed |= status == 0;
	if (status == 0)
		status = launch_rules_change(&rules_socket->rules, rules_socket->run.launch,
					     rules_socket->run.spec, rule, &err);
	/* Its answer comes behind the change. */
	if (status == 0 &&
	    !launch_rules_await(rules_socket->run.launch, ANSWER_MS, take, rules_socket, &ignored))
		status = error_set(&err, ERROR_HOST, "the network's gateway does not answer");
	if (status < 0) {
		message.kind = ATTACH_FAILED;
		message.error = err;
	}
	(void)attach_send(fd, &message, NULL, 0);
}

static void see_off(struct rules_socket *rules_socket, size_t at)
{
	(void)epoll_ctl(rules_socket->epoll_fd, EPOLL_CTL_DEL, rules_socket->clients[at], NULL);
	close(rules_socket->clients[at]);
	rules_socket->clients[at] = rules_socket->clients[--rules_socket->count];
}

static void serve(struct rules_socket *rules_socket, size_t at)
{
	owned(free_ptr) struct attach_packet *packet = xcalloc(1, sizeof(*packet));
	int fd = rules_socket->clients[at];

	if (attach_receive(fd, packet) <= 0) {
		see_off(rules_socket, at);
		return;
	}
	attach_close(packet);
	if (packet->message.kind == ATTACH_NETWORK)
		report_network(rules_socket, fd);
	else if (packet->message.kind == ATTACH_RULE)
		change(rules_socket, fd, &packet->message.rule);
	else
		see_off(rules_socket, at);
}

void rules_socket_step(struct rules_socket *rules_socket, int fd)
{
	if (!rules_socket)
		return;
	if (fd == rules_socket->listen_fd)
		welcome(rules_socket);
	for (size_t i = 0; i < rules_socket->count; i++) {
		if (rules_socket->clients[i] == fd) {
			serve(rules_socket, i);
			return;
		}
	}
}

void rules_socket_close(struct rules_socket *rules_socket)
{
	if (!rules_socket)
		return;
	while (rules_socket->count > 0)
		see_off(rules_socket, rules_socket->count - 1);
	if (rules_socket->listen_fd >= 0)
		(void)unlinkat(rules_socket->dir_fd, rules_socket->name, 0);
	fd_close(&rules_socket->listen_fd);
	fd_close(&rules_socket->dir_fd);
	launch_rules_done(&rules_socket->rules);
	free(rules_socket->name);
	free(rules_socket);
}
