/* SPDX-License-Identifier: Apache-2.0 */
/* ~/.config/aisbx/config.yaml: what the user wants kept, where the record goes, what may be weaker. Only in the program with libraries. */
#ifndef APP_OWN_CONFIG_H
#define APP_OWN_CONFIG_H

#include "base/core/error.h"

#include <stddef.h>
#include <stdint.h>

/* How long something is kept, and how much of it. */
struct own_kept {
	int64_t ms, bytes;
};

/* In and below a directory other ages hold. */
struct own_kept_below {
	char *path;
	struct own_kept runs, logs;
};

/* What is not in the file is NULL or 0. */
struct own_config {
	char *sync_to;		      /* sync_to: the database's URL */
	int64_t sync_ms;	      /* sync: how often the daemon sends the record there */
	struct own_kept runs, logs;   /* retain: {runs: 90d, logs: [14d, 5g]} */
	struct own_kept_below *below; /* retain: {workspaces: {/DIR: {runs: 7d, logs: 1d}}} */
	size_t below_count;
	char *archive; /* archive: file:/DIR or s3://BUCKET/PREFIX, for what is kept no longer */
	char *weaker; /* allow_weaker: the driver that --driver auto takes where linux cannot run */
};

/* A file that is not there is an empty one; a key that is not known is an error with its place. */
int own_config_read(const char *const *env, struct own_config *ret_config, struct error *err);
/* Cleanup for owned(own_config_done) struct own_config c. */
void own_config_done(struct own_config *config);

#endif
