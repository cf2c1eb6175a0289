/* SPDX-License-Identifier: Apache-2.0 */
/* multipart/form-data as it comes in pieces: the files in it, each a name and bytes. */
#ifndef ENVD_MULTIPART_H
#define ENVD_MULTIPART_H

#include "base/core/str.h"

#include <stdbool.h>

struct multipart {
	/* A file begins; NAME is its file name, "" for none. False: stop. */
	bool (*begin)(void *cookie, const char *name);
	/* A part of it. False: stop. */
	bool (*part)(void *cookie, const char *bytes, size_t len);
	/* Its end. False: stop. */
	bool (*end)(void *cookie);
	void *cookie;
	char mark[80];	 /* "\r\n--BOUNDARY" */
	struct str left; /* not understood yet */
	enum { MULTIPART_BEFORE, MULTIPART_HEADERS, MULTIPART_CONTENT, MULTIPART_OVER } state;
};

/* Takes the boundary from a Content-Type. False when there is none that is fit. The callbacks are the caller's to set. */
bool multipart_init(struct multipart *form, const char *type);
void multipart_done(struct multipart *form);

/* More bytes. False when they are no such form, or a callback stopped. */
bool multipart_take(struct multipart *form, const char *bytes, size_t len);

#endif
