/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aisbx-envd: what E2B's clients talk to inside a sandbox. It starts commands and reads and writes files there with the rights
 * of any command, and speaks with the server outside through its standard input and output (envd/link.h).
 */
#include "base/core/own.h"
#include "envd/call.h"
#include "envd/note.h"
#include "envd/place.h"
#include "envd/process.h"
#include "envd/routes.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#define PROCESS "/process.Process/"
#define FILES "/filesystem.Filesystem/"
#define INTERPRETER \
	ROUTE_PLAIN, interpreter_open, interpreter_body, interpreter_more, interpreter_left

const struct route routes[] = {
	{ "POST", PROCESS "Start", ROUTE_STREAM, process_start, NULL, process_more, process_left },
	{ "POST", PROCESS "Connect", ROUTE_STREAM, process_connect, NULL, process_more,
	  process_left },
	{ "POST", PROCESS "List", ROUTE_UNARY, process_list, NULL, NULL, NULL },
	{ "POST", PROCESS "SendSignal", ROUTE_UNARY, process_send_signal, NULL, NULL, NULL },
	{ "POST", PROCESS "SendInput", ROUTE_UNARY, process_send_input, NULL, NULL, NULL },
	{ "POST", PROCESS "StreamInput", ROUTE_FEED, process_stream_input, process_stream_input_end,
	  NULL, NULL },
	{ "POST", PROCESS "CloseStdin", ROUTE_UNARY, process_close_stdin, NULL, NULL, NULL },
	{ "POST", PROCESS "Update", ROUTE_UNARY, process_update, NULL, NULL, NULL },
	{ "POST", FILES "ListDir", ROUTE_UNARY, entries_list, NULL, NULL, NULL },
	{ "POST", FILES "Stat", ROUTE_UNARY, entries_stat, NULL, NULL, NULL },
	{ "POST", FILES "MakeDir", ROUTE_UNARY, entries_make, NULL, NULL, NULL },
	{ "POST", FILES "Move", ROUTE_UNARY, entries_move, NULL, NULL, NULL },
	{ "POST", FILES "Remove", ROUTE_UNARY, entries_remove, NULL, NULL, NULL },
	{ "POST", FILES "WatchDir", ROUTE_STREAM, watch_stream, NULL, NULL, watch_left },
	{ "POST", FILES "CreateWatcher", ROUTE_UNARY, watch_create, NULL, NULL, NULL },
	{ "POST", FILES "GetWatcherEvents", ROUTE_UNARY, watch_events, NULL, NULL, NULL },
	{ "POST", FILES "RemoveWatcher", ROUTE_UNARY, watch_remove, NULL, NULL, NULL },
	{ "GET", "/files", ROUTE_PLAIN, transfer_download, NULL, transfer_more, transfer_left },
	{ "POST", "/files", ROUTE_PLAIN, transfer_upload, transfer_part, NULL, transfer_left },
	{ "POST", "/execute", INTERPRETER },
	{ "GET", "/contexts", INTERPRETER },
	{ "POST", "/contexts", INTERPRETER },
	{ "POST", "/contexts/", INTERPRETER },
	{ "DELETE", "/contexts/", INTERPRETER },
	{ .method = NULL },
};

/* Without the server there is nothing to do; what was started here ends with this process. */
static void take(struct source *source, uint32_t events)
{
	struct agent *agent = SOURCE_OF(agent, in, source);
	struct link_frame frame;
	int more;

	(void)events;
	agent->is_over |= link_read(&agent->link) < 0;
	while ((more = link_next(&agent->link, &frame)) > 0)
		calls_frame(agent, &frame);
	agent->is_over |= more < 0;
}

static void give(struct source *source, uint32_t events)
{
	struct agent *agent = SOURCE_OF(agent, out, source);

	(void)events;
	agent->is_over |= link_write(&agent->link) < 0;
}

void agent_note(struct agent *agent, uint32_t channel, const struct note *note)
{
	owned(str_done) struct str bytes = STR_INIT;

	note_write(note, &bytes);
	link_add(&agent->link, LINK_RUN, channel, bytes.data, bytes.len);
}

/* The link's own numbers, so that a command can have the standard ones. */
static int move_fd(int fd, int flags)
{
	int moved = fcntl(fd, F_DUPFD_CLOEXEC, 3), null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (moved < 0 || null_fd < 0 || dup2(null_fd, fd) < 0 || fcntl(moved, F_SETFL, flags) < 0)
		return -1;
	close(null_fd);
	return moved;
}

int main(void)
{
	struct agent agent = { .link = LINK_INIT, .loop_fd = loop_open() };

	/* Commands have the same account: no memory of ours, nor a descriptor, is theirs to reach. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return 1;
	(void)signal(SIGPIPE, SIG_IGN);
	place_settle();
	agent.link.in_fd = move_fd(STDIN_FILENO, O_RDONLY | O_NONBLOCK);
	agent.link.out_fd = move_fd(STDOUT_FILENO, O_WRONLY | O_NONBLOCK);
	if (agent.link.in_fd < 0 || agent.link.out_fd < 0 || agent.loop_fd < 0)
		return 1;
	agent.in =
		(struct source){ .loop_fd = agent.loop_fd, .fd = agent.link.in_fd, .ready = take };
	agent.out =
		(struct source){ .loop_fd = agent.loop_fd, .fd = agent.link.out_fd, .ready = give };
	loop_watch(&agent.in, EPOLLIN);
	while (!agent.is_over) {
		int ms = processes_turn(&agent), calls_ms = calls_turn(&agent);

		ms = ms < 0 || (calls_ms >= 0 && calls_ms < ms) ? calls_ms : ms;
		give(&agent.out, 0);
		loop_watch(&agent.out, link_waiting(&agent.link) ? EPOLLOUT : 0);
		if (!agent.is_over)
			loop_wait(agent.loop_fd, ms);
	}
	return 0;
}
