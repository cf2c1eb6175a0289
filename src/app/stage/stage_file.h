/* SPDX-License-Identifier: Apache-2.0 */
/* Which pipeline applies, whether the user trusts it, and where its targets are. Private to app. */
#ifndef APP_STAGE_FILE_H
#define APP_STAGE_FILE_H

#include "app/stage/stage_parts.h"

struct stage_file {
	char *path; /* absolute, resolved */
	struct pipeline pipeline;
	char **targets; /* absolute, resolved; by the pipeline's indices; NULL where none is needed */
	bool is_own;	/* lies in the user's own configuration */
};

void stage_file_init(struct stage_file *file);
void stage_file_done(struct stage_file *file);

/* Reads the pipeline from the host; one that lies in WORKSPACE needs the user's trust: else ERROR_CONSENT. */
int stage_file_read(struct stage_file *file, const struct app_stage *wish, const char *workspace,
		    struct error *err);

/* Finds the targets of all stages on the way to TO (NULL: all). */
int stage_file_find_targets(struct stage_file *file, const char *to, const char *workspace,
			    struct error *err);

/* Whether stage INDEX is entered on the way to TO (PIPELINE_NONE: all are). */
bool stage_file_is_wanted(const struct pipeline *pipeline, size_t index, size_t to);

/* A bundle that changes the pipeline, or the workspace's trusted profile, is refused: ERROR_CONSENT. */
int stage_file_check_bundle(const struct stage_file *file, const struct bundle *bundle,
			    const char *workspace, struct error *err);

#endif
