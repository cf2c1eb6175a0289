/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Model Context Protocol: one server, whatever carries its messages.
 *
 *   bytes ──channel──> session: methods answered at once, or
 *                      call:    a tool in a forked child of the server, its answer through a pipe
 *                              ──channel──> bytes    (some wait for it: front/mcp/spare.h)
 *
 * The server itself has one thread and never blocks: a child performs the operation, so ending the child ends
 * the operation with everything it started, and nothing an operation does to memory, descriptors or signals stays here.
 */
#ifndef FRONT_MCP_SERVER_H
#define FRONT_MCP_SERVER_H

#include "front/mcp/spare.h"
#include "front/rpc/message.h"
#include "ops/tools/tool.h"

#include <poll.h>
#include <signal.h>
#include <sys/types.h>

#define MCP_RUNNING_MAX 32  /* tools at work at a time */
#define MCP_WAITING_MAX 256 /* and that wait for their turn */
/* So many questions wait for a person at a time; what comes beyond stays a request. */
#define MCP_QUESTIONS_MAX 32
/* Descriptors that calls are waited for by. */
#define MCP_POLLS_MAX ((size_t)MCP_RUNNING_MAX * 3 + 1)

enum mcp_version {
	MCP_NONE, /* nothing agreed on yet */
	MCP_2024_11_05,
	MCP_2025_03_26,
	MCP_2025_06_18,
	MCP_2025_11_25,
	MCP_2026_07_28, /* no handshake: every request carries its version */
};

/* Where messages to a client go; what carries it embeds it. */
struct channel {
	/* One message, without a newline; the last one when it is the answer to the request. False: the client is gone. */
	bool (*send)(struct channel *channel, const struct str *message, bool is_last);
};

struct session {
	struct server *server;
	enum mcp_version version; /* of the handshake */
	bool elicits;		  /* the client can ask its user */
	unsigned level;		  /* least severity of log messages; MCP_QUIET: none */
	uint64_t shown;		  /* tools it has asked about: a bit by the place in the table */
};

#define MCP_QUIET 8

/* What becomes of a request to promote. */
enum mcp_policy { MCP_POLICY_ASK, MCP_POLICY_NEVER, MCP_POLICY_GATES };

/* A call of a tool, from its request to its child's end. */
struct call {
	struct call *next;
	struct session *session;
	struct channel *channel; /* NULL: the client no longer waits for the answer */
	struct value *id, *progress_token;
	enum mcp_version version;
	struct tool_call work;
	pid_t pid; /* 0: waits for its turn */
	int pid_fd, report_fd, input_fd;
	int order_fd; /* to a child that may take another call behind this one; else -1 */
	size_t input_at;
	struct str report;  /* frames not complete yet */
	struct str request; /* as it came, where that is all there is to the call; else empty */
	char *resource;	    /* the answer is that resource; NULL: a tool's */
	bool is_waiting, is_answered, is_cancelled, is_ready;
	bool is_refused;	/* the answer says so */
	bool may_ask;		/* the client can put a question to its user */
	unsigned log_level;	/* least severity that is sent; MCP_QUIET: none */
	struct value *question; /* what a person has to decide; NULL: nothing */
	int64_t asked;		/* number of our request that puts it; 0: not put yet */
	enum mcp_said { SAID_NOTHING, SAID_YES, SAID_NO } said;
	uint64_t started_ns, sent_ns; /* sent_ns: when progress was last sent */
	uint64_t kill_ns;	      /* SIGKILL then; 0: never */
};

struct server {
	struct op_ceiling ceiling;
	const char *const *environ;
	pid_t pid;
	sigset_t child_mask; /* signals as the server found them */
	struct call *calls;  /* oldest first */
	unsigned running, waiting;
	enum mcp_policy policy;
	bool shows_all; /* every tool, not the core alone */
	int64_t last_asked;
	struct put_question *questions; /* consent.c's */
	bool is_ending;
	struct zygote_pool zygote_pool; /* zygotes for the runs of its tools */
	struct policy_keeper keeper;	/* an evaluator of policies for its calls */
	struct spares spares;
};

/* What one request is about. */
struct request_view {
	struct session *session;
	struct channel *channel;
	const struct value *id, *params;   /* params may be NULL: none */
	const struct rpc_message *message; /* which these are of */
	enum mcp_version version;
	bool may_ask; /* the client can put a question to its user */
	unsigned log_level;
};

/* One message from a client; answers go to CHANNEL, at once or later. */
void session_receive(struct session *session, struct channel *channel, const char *bytes,
		     size_t len);
/* The message that was too long to be read. */
void session_refuse(struct channel *channel, int code, const char *text);
void session_init(struct session *session, struct server *server);

/* Sends RESULT (owned from here on) as the answer; adds what newer versions want in it. */
void request_answer(const struct request_view *request, struct value *result, bool is_cacheable);
void request_fail(const struct request_view *request, int code, const char *text,
		  const struct value *data);
/* A page of a list: *RET_FROM to *RET_TO of COUNT; false when the cursor is none of ours, and that is answered. */
bool request_page(const struct request_view *request, size_t count, size_t *ret_from,
		  size_t *ret_to, struct value *result);
struct call *call_make(const struct request_view *request, struct tool_call *work);
/* Starts it, now or when it is its turn. */
void call_queue(struct server *server, struct call *call);
struct call *call_find(const struct session *session, const struct value *id);
/* Ends its child; nothing is answered any more. */
void call_cancel(struct call *call);
/* CHANNEL has no reader any more. */
void calls_forget_channel(struct server *server, const struct channel *channel);
/* Adds what has to be waited for to POLLS, at most ROOM of them; returns how many. */
size_t calls_polls(struct server *server, struct pollfd *polls, size_t room);
/* Looks after every call: reports, ends, ticks, the next one in the queue. */
void calls_turn(struct server *server);
/* Milliseconds until a call wants to be looked at without anything happening; -1: never. */
int calls_timeout(const struct server *server);
/* Ends all of them, gently for GRACE_MS, and waits for their ends. */
void calls_end(struct server *server, unsigned grace_ms);

/* Starts the child of a call that is in the list already, now or when it is its turn; what fails is answered. */
void call_take_turn(struct server *server, struct call *call);
/* The answer is ERR. */
void call_refuse(struct call *call, const struct error *err);

/* Ends come as a readable descriptor; a broken pipe is no reason to end. */
int server_watch_signals(struct server *server, int *ret_fd, struct error *err);

#endif
