/* SPDX-License-Identifier: Apache-2.0 */
/* The client of a denial: each gets what its own command tried. */
#include "base/file/fd.h"
#include "supervise/sandbox/parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANCESTORS_MAX 64

/* The last number of a line of /proc/PID/status: as the innermost namespace counts. 0 when it is not there. */
static pid_t last_number(const char *status, const char *key)
{
	const char *line = strstr(status, key);
	const char *at;

	if (!line)
		return 0;
	line += strlen(key);
	at = line + strcspn(line, "\n");
	while (at > line && at[-1] >= '0' && at[-1] <= '9')
		at--;
	return (pid_t)strtol(at, NULL, 10);
}

static bool read_status(pid_t pid, char *text, size_t size)
{
	char path[40];

	(void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return file_read_small(AT_FDCWD, path, text, size) > 0;
}

static struct client *client_of_pid(struct supervisor *supervisor, pid_t inside)
{
	for (size_t i = 0; inside > 1 && i < supervisor->client_count; i++) {
		if (supervisor->clients[i].pid == inside && supervisor->clients[i].is_active)
			return &supervisor->clients[i];
	}
	return NULL;
}

struct client *client_newest(struct supervisor *supervisor)
{
	struct client *newest = NULL;

	for (size_t i = 0; i < supervisor->client_count; i++) {
		struct client *client = &supervisor->clients[i];

		if (client->is_active && (!newest || client->id > newest->id))
			newest = client;
	}
	return newest;
}

/* By session, else by the starting process, else the newest command. */
static struct client *find_client(struct supervisor *supervisor, pid_t pid)
{
	char status[4096];

	for (int i = 0; i < ANCESTORS_MAX && pid > 1 && pid != supervisor->launch.init_pid; i++) {
		if (!read_status(pid, status, sizeof(status)))
			break;
		struct client *client = client_of_pid(supervisor, last_number(status, "\nNSsid:"));

		if (!client)
			client = client_of_pid(supervisor, last_number(status, "\nNStgid:"));
		if (client)
			return client;
		pid = last_number(status, "\nPPid:");
	}
	return client_newest(supervisor);
}

static void fill(const struct notify_event *event, struct attach_denied *denied)
{
	*denied = (struct attach_denied){ 0 };
	(void)snprintf(denied->layer, sizeof(denied->layer), "%s",
		       event->kind == NOTIFY_NET ? "net" : "seccomp");
	(void)snprintf(denied->what, sizeof(denied->what), "%s", event->what);
	(void)snprintf(denied->rule, sizeof(denied->rule), "%s", event->rule ? event->rule : "");
	(void)snprintf(denied->hint, sizeof(denied->hint), "%s", event->hint);
}

void denials_report(struct supervisor *supervisor, const struct notify_event *event)
{
	struct client *client = find_client(supervisor, event->pid);
	struct attach_denied denied;

	if (!client)
		return;
	fill(event, &denied);
	client_deny(client, &denied);
}

void denials_leave(struct supervisor *supervisor, const struct notify_event *event)
{
	struct client *client = find_client(supervisor, event->pid);

	if (!client)
		return;
	client_ask_to_look(client);
	fill(event, &client->unreported);
	(void)snprintf(client->unreported_address, sizeof(client->unreported_address), "%s",
		       event->peer.address);
}
