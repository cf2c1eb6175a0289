/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of host_read, shared by the files of this folder only. */
#ifndef HOST_PARTS_H
#define HOST_PARTS_H

#include "host/host.h"

/* Files plan looks things up in; paths, so that tests can put others in their place. */
struct host_id_files {
	const char *passwd, *subuid, *subgid;
};

/* Fills mounts of HOST and looks at the local ones. */
int host_read_mounts(struct host *host, struct error *err);

/* The same from MEMORY, where that still holds. */
int host_recall_mounts(struct host_memory *memory, struct host *host, struct error *err);

/* Fills uid, gid, privileged, in_initial_userns, is_host_root and the id range. */
int host_read_ids(struct host *host, const struct host_id_files *files, struct error *err);

/* First id of the range for a root caller; 0 when every range is taken. */
uid_t host_pick_id_base(const struct host_id_files *files, unsigned choice);

/* User name and home directory of UID from passwd; NULL where it has no entry. */
void host_read_passwd(const char *passwd, uid_t uid, char **ret_user, char **ret_home);

/* Fills user, home, cwd and our own directories from ENVIRON and passwd. */
int host_read_dirs(struct host *host, const char *passwd, struct error *err);

/* Only where the caller stands, and its store and records: a command in a sandbox that runs already needs no more. */
int host_read_places(struct host *host, const char *passwd, struct error *err);

/* Fills cgroup; TEXT is the content of /proc/self/cgroup. Needs the mounts. */
void host_find_cgroup(struct host *host, const char *text);
void host_cgroup_done(struct host_cgroup *cgroup);

#endif
