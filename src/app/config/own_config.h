/* SPDX-License-Identifier: Apache-2.0 */
/* ~/.config/aisbx/config.yaml: what the user wants kept, where the record goes, what may be weaker. Only in the program with libraries. */
#ifndef APP_OWN_CONFIG_H
#define APP_OWN_CONFIG_H

#include "base/core/error.h"

#include <stdint.h>

/* What is not in the file is NULL or 0. */
struct own_config {
	char *sync_to;	 /* sync_to: the database's URL */
	int64_t sync_ms; /* sync: how often the daemon sends the record there */
	int64_t runs_ms; /* retain: {runs: how long} */
	int64_t logs_ms; /* retain: {logs: how long} */
	char *weaker; /* allow_weaker: the driver that --driver auto takes where linux cannot run */
};

/* A file that is not there is an empty one; a key that is not known is an error with its place. */
int own_config_read(const char *const *env, struct own_config *ret_config, struct error *err);
/* Cleanup for owned(own_config_done) struct own_config c. */
void own_config_done(struct own_config *config);

#endif
