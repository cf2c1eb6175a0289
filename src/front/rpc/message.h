/* SPDX-License-Identifier: Apache-2.0 */
/* JSON-RPC 2.0: messages in, checked and bounded; responses, errors and notifications out. */
#ifndef FRONT_RPC_MESSAGE_H
#define FRONT_RPC_MESSAGE_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "base/core/value.h"

/* A message may be so large, so deep and hold so many values; beyond that it is answered with an error. */
#define RPC_MESSAGE_MAX ((size_t)4 << 20)
#define RPC_DEPTH_MAX 64
#define RPC_VALUES_MAX 100000

enum rpc_code {
	RPC_PARSE_ERROR = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_METHOD_NOT_FOUND = -32601,
	RPC_INVALID_PARAMS = -32602,
	RPC_INTERNAL_ERROR = -32603,
};

enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESPONSE };

struct rpc_message {
	enum rpc_kind kind;
	struct value *tree;	    /* owns all below */
	const struct value *id;	    /* string or integer; NULL in notifications */
	const char *method;	    /* NULL in responses */
	const struct value *params; /* NULL where absent */
	const char *bytes;	    /* what was read; the caller's */
	size_t len;
};

/* What is wrong with a message, and the id to answer. */
struct rpc_fault {
	int code;
	char text[ERROR_TEXT_SIZE];
	struct value *id; /* owned; NULL: it could not be read */
};

/* One message. On failure nothing is kept but the fault, which the caller releases. */
int rpc_read(const char *bytes, size_t len, struct rpc_message *ret_message,
	     struct rpc_fault *ret_fault);
void rpc_message_done(struct rpc_message *message);
void rpc_fault_done(struct rpc_fault *fault);

/* Whether two ids are the same one. */
bool rpc_same_id(const struct value *one, const struct value *other);
struct value *rpc_copy_id(const struct value *id);

/* RESULT is JSON already. */
void rpc_add_result(struct str *out, const struct value *id, const char *result, size_t len);
/* DATA may be NULL. */
void rpc_add_error(struct str *out, const struct value *id, int code, const char *text,
		   const struct value *data);
/* A request of ours, or (ID NULL) a notification. */
void rpc_add_call(struct str *out, const struct value *id, const char *method,
		  const struct value *params);

#endif
