/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Build outputs that are kept: contents in the store by their digest, one record each with where they came from. Only in
 * the program with libraries.
 *
 * A record is {artifact_id, path, kind, size, mode, sha256, sandbox, owner, run_id, time, entries}; kind is file or directory.
 * Of a directory, entries are the files and links the sandbox made in it, and sha256 covers all of them.
 */
#ifndef APP_ARTIFACT_H
#define APP_ARTIFACT_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "base/core/value.h"

#include <stdbool.h>
#include <stdint.h>

#define ARTIFACT_BYTES_MAX (UINT64_C(10) << 30)

/*
 * Keeps each of PATHS (relative to the workspace, or absolute) as the sandbox has it now: a list of records. Up to 4,096
 * artifacts and BYTES_MAX of the sandbox's owner, programs and people apart; beyond, ERROR_DENIED.
 */
int app_artifact_save(const char *sandbox, const struct strv *paths, uint64_t bytes_max,
		      struct value **ret_list, struct error *err);

/* All records, newest first, without their entries. */
int app_artifact_list(struct value **ret_list, struct error *err);

struct app_artifact_get {
	const char *id;			/* or the beginning of one */
	const char *dst;		/* a directory that is there takes it under its own name */
	bool force;			/* replace what is there already */
	const struct strv *allow_paths; /* as for a promotion */
	bool allow_privilege, allow_special;
};

/*
 * Writes an artifact to the host, as a promotion: {artifact_id, path, sha256} and what app_promote answers. Contents
 * are held to their digests. The answer is also there with ERROR_CONSENT.
 */
int app_artifact_get(const struct app_artifact_get *wish, struct value **ret_answer,
		     struct error *err);

/*
 * The record itself, with the entries of a directory; the bytes of a file (of an entry of that directory, by its PATH; NULL:
 * the artifact itself) are added to *ret_bytes. ERROR_DENIED beyond MAX bytes. Held to its digest.
 */
int app_artifact_read(const char *id, const char *path, size_t max, struct value **ret_record,
		      struct str *ret_bytes, struct error *err);

/* Forgets it: {artifact_id, path}. Its contents go with the next gc. */
int app_artifact_remove(const char *id, struct value **ret_answer, struct error *err);

#endif
