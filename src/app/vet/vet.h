/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vetting: what a command would run is read, scanned and its signature checked before it starts.
 *
 *   command ──code──> script or text ──open as the sandbox sees it──> bytes ──scan, signature──> refuse | note
 *                          ^                                            │└──> scripts that a shell's text runs
 *                          └────────────────────────────────────────────┼─────────┘
 *                                                                       └──> laid over the script in the clone
 *
 * The bytes that were looked at are the bytes that run: a private copy of them is mounted over the script, so that a process
 * that can write to the file changes nothing in between. A sandbox that lives already cannot be given a mount; there, its own
 * processes could change the file, as they could run anything themselves.
 */
#ifndef APP_VET_H
#define APP_VET_H

#include "base/core/error.h"
#include "observe/result.h"
#include "spec/spec.h"

struct vetting_copy {
	char *path; /* of a script, while it is laid over */
	int fd;	    /* holds the lock that says it is in use */
};

struct vetting {
	struct vetting_copy *copies;
	size_t count;
};

/* Whether this process image can vet (aisbx-full can). */
extern const bool app_can_vet;

/*
 * Refuses (ERROR_DENIED), adds to the result's notes, and to the spec's binds. SET: the command enters a sandbox that
 * is there already, with these variables set for it; else NULL. *ret_vetting is the caller's until the run has ended.
 */
int app_vet(struct spec *spec, const struct strv *set, struct run_result *result,
	    struct vetting *ret_vetting, struct error *err);
void vetting_done(struct vetting *vetting);

#endif
