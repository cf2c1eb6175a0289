/* SPDX-License-Identifier: Apache-2.0 */
/* A connection through the gateway, and what moves its bytes. Private to net. */
#ifndef NET_CONNECTION_H
#define NET_CONNECTION_H

#include "net/gateway/gateway_parts.h"

/* One direction. */
struct flow {
	struct source *from, *to;
	struct pipe_ends pipe;
	bool has_pipe, has_ended, is_shut;
	bool is_ready;	 /* epoll reported data that was not read yet */
	size_t held;	 /* bytes in the pipe */
	uint64_t *limit; /* how many more may be taken, or NULL: any number */
	uint64_t *counter;
};

/* What must be looked at before bytes of the client go on. */
enum gate {
	GATE_OPEN, /* nothing */
	GATE_TLS,  /* its first bytes: a ClientHello, or a request, must be for the right name */
	GATE_ANSWER, /* nothing behind that hello, until the server has answered whether it wants another */
	GATE_AGAIN,	  /* the other one, which must ask for the same name */
	GATE_LINE,	  /* the rest of an unfinished first line: it must not become a request's */
	GATE_HTTP,	  /* all of it: each request is judged */
	GATE_TLS_GATEWAY, /* nothing goes on: it is handed over as soon as it is connected */
};

enum request_step {
	STEP_HEAD,	/* a request's head comes next */
	STEP_CHUNK,	/* the size of a chunk */
	STEP_CHUNK_END, /* the end of line behind a chunk */
	STEP_BODY_END,	/* the empty line behind the last chunk */
};

/* Where in its requests a client is. */
struct requests {
	enum request_step step;
	uint64_t left; /* bytes of a body, or of a ClientHello, that go on as they are */
	uint64_t count;
	char *pending; /* of a head, what the server did not take yet; NULL: nothing */
	size_t pending_len, pending_at;
};

struct connection {
	struct source inner, outer; /* of the client, and of the server */
	struct connection *next, *previous;
	struct flow up, down;
	struct net_address address;
	struct net_port port;
	char *name;	     /* what permits it: a name, or NULL: its address */
	bool is_name_said;   /* by the client itself, in TLS or in a request */
	bool is_tls;	     /* it has sent a ClientHello, and that was right */
	bool is_by_address;  /* and its address alone permits it, whatever name it has said */
	bool must_say_name;  /* if it speaks TLS or HTTP */
	bool is_plain;	     /* with GATE_TLS: what has come is the beginning of another protocol */
	struct proxy *proxy; /* the way to the server, or NULL: directly */
	struct tunnel tunnel;
	bool is_connected;
	enum gate gate;
	struct requests requests;
	bool is_published;
	bool is_closing; /* what the client still sends is thrown away */
	bool has_left;	 /* and it has sent its last */
	bool is_dead;
	uint64_t deadline_ns; /* to be connected, or closed, by; 0: none */
	uint64_t hello_ns;    /* deadline for a whole ClientHello or head; 0: none was begun */
	uint64_t active_ns;
	bool awaits_answer;	/* all of the first bytes of a server */
	size_t awaited;		/* so many bytes of a head or hello wake us */
	uint64_t line_bytes;	/* with GATE_LINE: of the first line */
	unsigned version_bytes; /* and how much of a request's version it ends in */
};

/* connection.c: ends it; with RESET both peers see that something broke. */
void connection_end(struct gateway *gateway, struct connection *connection, bool reset);

/* Dials; what goes wrong is reported and ends it. */
void connection_dial(struct gateway *gateway, struct connection *connection,
		     const struct net_address *address, uint16_t port);

/* stream.c: moves what can be moved. 0, or -1 on a reset. */
int stream_pump(struct gateway *gateway, struct connection *connection, struct flow *flow);
/* Gives its pipe back. */
void stream_stop(struct gateway *gateway, struct flow *flow);

/* gate.c: looks at the first bytes without taking them. Nothing of them goes out before that. */
void gate_inspect(struct gateway *gateway, struct connection *connection, uint32_t events);
/* Nothing of it is looked at any more. */
void gate_let_through(struct connection *connection);
/* From here on bytes of the client go on only as far as GATE permits. */
void gate_limit(struct connection *connection, enum gate gate);
/* What the server answers to a ClientHello; nothing of it goes in before that. */
void gate_handle(struct connection *connection);
/* Passes on a second ClientHello and what may stand in front of it. 0, or -1 on a reset. */
int gate_again(struct gateway *gateway, struct connection *connection, uint32_t events);
/* How many bytes must have come before it is woken again. */
void gate_wait_for(struct connection *connection, size_t bytes);
/* Whether it was woken, and GOT is less: bytes behind an urgent one, which cannot be looked at. */
bool gate_is_barred(const struct connection *connection, uint32_t events, ssize_t got);

/* The client has named its server. */
void connection_is_for(struct connection *connection, const char *name);

/* hand_over.c */
int hand_over_open(struct gateway *gateway, struct error *err);
/* What aisbx-gateway has counted, and a rule for it. */
void hand_over_read(struct gateway *gateway);
void hand_over_rule(struct gateway *gateway, const struct rule_change *change);
/* Whether aisbx-gateway ends TLS to NAME, which may be NULL; whether it adds a secret to requests to it. */
bool hand_over_is_due(const struct gateway *gateway, const char *name, struct net_port port);
bool hand_over_adds_secret(const struct gateway *gateway, const char *name, struct net_port port);
/* Whether plain requests to NAME, for which it is due, are handed over as well. */
bool hand_over_takes_plain(const struct gateway *gateway, const char *name, struct net_port port);
/* Whether it has a host on that port. */
bool hand_over_knows_port(const struct gateway *gateway, struct net_port port);
/* Whether the connection leads to an address of such a name. */
bool hand_over_may_be_due(const struct gateway *gateway, const struct connection *connection);
/* It is for NAME, and for aisbx-gateway. */
void hand_over_mark(struct connection *connection, const char *name, bool is_tls);
/* Sends both of its sockets there, and ends it here. */
void hand_over(struct gateway *gateway, struct connection *connection);

/* gate_line.c: the first bytes of a connection that is not TLS; GOT of them were looked at. */
void gate_inspect_line(struct gateway *gateway, struct connection *connection, const uint8_t *bytes,
		       size_t got, uint32_t events);
/* Passes on what has come of it. 0, or -1 on a reset. */
int gate_line(struct gateway *gateway, struct connection *connection);

/* gate_http.c: which gate a permitted connection gets. */
void gate_choose(struct gateway *gateway, struct connection *connection);
/* Whether plain connections on that port are looked at, whomever they are for. */
bool gate_judges_port(const struct gateway *gateway, struct net_port port);
/* Whether rules or secrets are about requests to NAME, or with NULL to the address itself. */
bool gate_judges_name(const struct gateway *gateway, const struct connection *connection,
		      const char *name);
/* Whether rules are about the address, or about a name it is known to be an answer to. */
bool gate_is_restricted(const struct gateway *gateway, const struct connection *connection);
/* aisbx-gateway has certificates for the hosts that it was started with. */
#define GATE_LATE_RULE \
	"it is TLS, in which a new rule about requests is judged from the next start on"
/* Judges and passes on what has come. 0, or -1 when it must be ended with a reset. */
int gate_requests(struct gateway *gateway, struct connection *connection, uint32_t events);
/* Throws away what a client sends that was refused. Whether it has ended. */
bool gate_discard(struct connection *connection);
/* A client whose head did not come in time. */
void gate_too_slow(struct gateway *gateway, struct connection *connection);
void gate_requests_done(struct requests *requests);

#endif
