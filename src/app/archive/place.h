/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where an archive is: a directory, or a bucket of S3. It holds files that are written once and named by what is in them:
 *
 *   objects/SHA256.zst               contents, many to a file
 *   manifests/YYYY-MM-DD/SHA256.json what one of these holds, by the day it was made
 *
 * What has the right name and the right bytes may be there already: several machines, or the same one after a crash, add to one
 * archive without asking each other. Nothing in it is trusted.
 */
#ifndef APP_ARCHIVE_PLACE_H
#define APP_ARCHIVE_PLACE_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "base/hash/sha256.h"

#include <stdbool.h>
#include <stdint.h>

#define ARCHIVE_OBJECTS "objects"
#define ARCHIVE_MANIFESTS "manifests"

struct archive_place;

/* A file on its way there. */
struct archive_draft {
	int fd;
	char *path;
};

struct archive_place_calls {
	/* An empty file of the caller's, where putting it costs least. */
	int (*draft)(struct archive_place *place, struct archive_draft *ret_draft,
		     struct error *err);
	/* Safely there when this returns: on disk and read back, or confirmed by the server. */
	int (*put)(struct archive_place *place, const struct archive_draft *draft, const char *name,
		   const char *sha256, struct error *err);
	/* A file with the bytes, at most MAX; ERROR_NOT_FOUND, ERROR_INPUT when there is more. */
	int (*get)(struct archive_place *place, const char *name, uint64_t max, int *ret_fd,
		   struct error *err);
	/* Names of all manifests below the directory, DAY/SHA256.json. */
	int (*list)(struct archive_place *place, struct strv *ret_names, struct error *err);
	void (*close)(struct archive_place *place);
};

struct archive_place {
	const struct archive_place_calls *calls;
	char *url;
};

struct archive_address {
	const char *url;      /* file:/DIR, or s3://BUCKET/PREFIX */
	const char *drafts;   /* a directory for what is on its way to S3 or from it */
	char *const *environ; /* has the account for S3 */
	bool is_written;      /* a directory is made if only the last part of it is missing */
};

int archive_place_open(const struct archive_address *address, struct archive_place **ret_place,
		       struct error *err);
/* Checks the words alone. */
int archive_place_check(const char *url, struct error *err);
/* Cleanup for owned(archive_place_release) struct archive_place *p. */
void archive_place_release(struct archive_place **slot);
/* Removes the file, unless put has. Cleanup for owned(archive_draft_done) struct archive_draft d. */
void archive_draft_done(struct archive_draft *draft);
/* An empty file below the directory PATH, for its owner alone. */
int archive_draft_make(const char *path, struct archive_draft *ret_draft, struct error *err);

/* Whether NAME is DAY/SHA256.json. */
bool archive_is_manifest_name(const char *name);

int archive_s3_open(const struct archive_address *address, struct archive_place **ret_place,
		    struct error *err);

#endif
