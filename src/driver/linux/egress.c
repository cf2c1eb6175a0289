/* SPDX-License-Identifier: Apache-2.0 */
/* The network gateway's reports on a run of the linux driver. */
#include "driver/linux/egress.h"

#include "base/file/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#define REPORTS_PER_STEP 64
/* It answers at once, where it gets a processor. */
#define LAST_WORDS_MS 5000

void egress_note(struct egress *egress, const struct notify_event *event)
{
	struct egress_caller *caller = &egress->callers[egress->next++ % EGRESS_CALLERS];
	char path[32];
	ssize_t len;

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", event->pid);
	len = file_read_small(AT_FDCWD, path, caller->process, sizeof(caller->process));
	caller->process[len > 0 ? strcspn(caller->process, "\n") : 0] = '\0';
	memcpy(caller->address, event->peer.address, sizeof(caller->address));
	caller->port = event->peer.port;
	if (!egress->has_network)
		egress->unreported = *event;
}

/* The process that asked for a name: the last one that spoke to a name server. NULL when none is known. */
static char *caller_of(struct egress *egress, const struct net_denial *denial)
{
	uint16_t port = denial->port ? denial->port : EGRESS_NAMES_PORT;

	for (size_t i = 1; i <= EGRESS_CALLERS; i++) {
		struct egress_caller *caller =
			&egress->callers[(egress->next - i) % EGRESS_CALLERS];

		if (caller->port == port && caller->process[0] &&
		    (!denial->port || strcmp(caller->address, denial->address) == 0))
			return caller->process;
	}
	return NULL;
}

static char *text_or_null(char *text)
{
	return text[0] ? text : NULL;
}

void egress_send(struct egress *egress, struct net_denial *denial, struct denials *denials)
{
	const struct denial like = {
		.layer = denial->layer,
		.what = denial->what,
		.rule = text_or_null(denial->rule),
		.hint = text_or_null(denial->hint),
		.name = text_or_null(denial->name),
		.address = text_or_null(denial->address),
		.process = caller_of(egress, denial),
		.port = denial->port,
		.time_ms = denial->time_ms,
		.count = 1,
	};

	if (net_denial_settles(denial, egress->unreported.peer.address))
		egress->unreported.kind = NOTIFY_SILENT;
	denials_add_like(denials, &like);
}

/* 1 when it was the counts, 0 for anything else. */
static int take(struct egress *egress, struct net_report *report, struct task *task)
{
	if (report->kind == NET_REPORT_DENIAL)
		egress_send(egress, &report->denial, &task->denials);
	if (report->kind != NET_REPORT_COUNTS)
		return 0;
	if (!egress->has_network)
		return 1;
	task->network = (struct network_use){ .is_known = true,
					      .is_changed = task->network.is_changed,
					      .connections = report->counts.connections,
					      .sent_bytes = report->counts.sent_bytes,
					      .received_bytes = report->counts.received_bytes };
	return 1;
}

int egress_handle(struct egress *egress, int gateway_fd, struct task *task, struct error *err)
{
	struct net_report report;

	for (int i = 0; i < REPORTS_PER_STEP; i++) {
		int got = net_report_receive(gateway_fd, &report);

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (got <= 0)
			return error_set(err, ERROR_HOST, "the network's gateway is gone");
		if (report.kind == NET_REPORT_FAILED) {
			*err = report.error;
			return -1;
		}
		(void)take(egress, &report, task);
	}
	return 0;
}

void egress_refuse_names(struct launch *launch, const struct spec *spec, int epoll_fd)
{
	struct error ignored;

	for (size_t i = 0; i < 2; i++)
		(void)epoll_ctl(epoll_fd, EPOLL_CTL_DEL, launch->names_fds[i], NULL);
	if (launch_refuse_names(launch, spec, &ignored) < 0)
		return;
	(void)fd_watch(epoll_fd, launch->gateway_fd);
}

/* Whether the gateway answered: then all its reports have arrived. */
static bool await_last_words(struct egress *egress, int gateway_fd, struct task *task)
{
	struct net_report report;
	uint64_t asked_ns;

	if (gateway_fd < 0 || net_report_ask(gateway_fd, &asked_ns) < 0)
		return false;
	while (fd_wait(gateway_fd, POLLIN, LAST_WORDS_MS) > 0) {
		if (net_report_receive(gateway_fd, &report) <= 0)
			return false;
		if (take(egress, &report, task) && report.counts.asked_ns == asked_ns)
			return true;
	}
	return false;
}

void egress_finish(struct egress *egress, int gateway_fd, struct task *task)
{
	const struct notify_event *unreported = &egress->unreported;

	if (egress->is_finished)
		return;
	egress->is_finished = true;
	if (!await_last_words(egress, gateway_fd, task) && unreported->kind == NOTIFY_NET)
		denials_add(&task->denials, "net", unreported->what, unreported->rule,
			    unreported->hint);
}
