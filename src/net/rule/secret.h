/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers with secrets, added outside the sandbox to plain requests for one host: HOST:NAME=FILE. Name and value are not
 * visible inside, and no record holds the value.
 */
#ifndef NET_SECRET_H
#define NET_SECRET_H

#include "base/core/error.h"
#include "net/rule/policy.h"

struct secret {
	char host[NET_NAME_SIZE]; /* canonical */
	char *name;
	const char *file; /* absolute; in the text it was parsed from */
	char *value;	  /* NULL until it was read */
};

/* Whether it is one, and POLICY lets plain requests to that host pass. */
int secret_parse(const char *text, const struct net_policy *policy, struct secret *ret_secret,
		 struct error *err);

/*
 * Reads the file: small, one line, of no other name. Its path must be the real one, as that is what was hidden from the
 * sandbox.
 */
int secret_read(struct secret *secret, struct error *err);

void secret_done(struct secret *secret);

#endif
