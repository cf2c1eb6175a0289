/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about this kernel, this user and this machine, read once and by trying, never by version. */
#ifndef HOST_HOST_H
#define HOST_HOST_H

#include "base/core/error.h"
#include "base/core/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum mount_class {
	MOUNT_REAL,   /* files kept on this machine */
	MOUNT_KERNEL, /* proc, sysfs and their like: made afresh in a sandbox, never shown */
	MOUNT_REMOTE, /* network and user-space filesystems: looking at one can hang */
};

struct host_mount {
	int id, parent;
	unsigned major, minor;
	char *root;  /* path of the mount's root in its filesystem */
	char *point; /* where it is mounted, unescaped */
	char *fstype;
	enum mount_class class;
	char *source;
	char *super_options; /* of the filesystem: names a v1 hierarchy's controllers */
	bool readonly;	     /* the mount or its superblock */
	bool is_directory;   /* of a mount never looked at: assumed */
	bool is_regular;     /* a single file mounted over another */
	uint64_t dev, ino;   /* of the mount's root; 0 when it was not looked at */
};

enum cgroup_kind { CGROUP_NONE, CGROUP_V1, CGROUP_V2 };

/* The caller's own place in the cgroup tree, below which groups can be made. */
struct host_cgroup {
	enum cgroup_kind kind;
	char *v2_path;	   /* absolute directory, NULL unless kind is V2 */
	char *memory_path; /* v1: absolute directory of each hierarchy, NULL where absent */
	char *pids_path;
	char *cpu_path;
	char *cpuacct_path; /* NULL also when it is the same hierarchy as cpu */
	bool v2_is_own;	    /*
	 * v2_path is the caller's own group and holds no other process: the supervisor has to move to a leaf below it
	 * before controllers can be switched on
	 */
};

struct host {
	uid_t uid;
	gid_t gid;
	bool privileged; /* root with CAP_SYS_ADMIN and CAP_SETUID in the initial user namespace */
	bool in_initial_userns; /* not in a container with ids of its own; looked at for root only */
	bool is_host_root;	/* uid is the machine's root, seen from a user namespace inside */
	char *user;
	char *home; /* resolved, absolute */
	char *cwd;  /* "" when it was removed */
	uint64_t memory_bytes;
	unsigned cores;
	uint64_t open_files; /* how many this process may have; 0 when unknown */
	uid_t id_base;	     /* first host id of a root caller's map; 0 for plain users */
	uint32_t id_count;
	struct host_mount *mounts; /* in mountinfo's order */
	size_t mount_count;
	bool borrows_mounts; /* they are a memory's */
	struct host_cgroup cgroup;
	bool root_idmappable; /* assumed for the filesystem type of /; launch still tries */
	char *data_dir, *state_dir, *cache_dir, *config_dir, *runtime_dir; /* ours, per rules 1 */
};

/* The last five of these; NULL where host_read_caller() leaves one out. */
#define HOST_OWN_DIRS 5
void host_own_dirs(const struct host *host, const char *ret_dirs[static HOST_OWN_DIRS]);

/* Reads what a launch needs; cheap (one pass over mountinfo, no forks). */
int host_read(struct host *ret_host, struct error *err);

/* HOST's runtime directory, made where it is missing, as a descriptor; -1 with the error set. */
int host_open_runtime(const struct host *host, struct error *err);

/*
 * The mounts as they were last read, for a process that reads its facts again and again. They are read again when the
 * kernel reports a change, and after a second: renames of directories on the way to a mount are not reported.
 */
struct host_memory {
	struct host_mount *mounts;
	size_t count;
	int fd;		  /* of mountinfo; -1: nothing is remembered */
	uint64_t read_ns; /* CLOCK_MONOTONIC */
};

#define HOST_MEMORY_INIT       \
	{                      \
		NULL, 0, -1, 0 \
	}

/*
 * host_read in its two halves: who the caller is and where it stands, then the machine around it. The mounts are in MEMORY
 * unless that is NULL; it must outlive HOST and is not to be used before that is done.
 */
int host_read_self(struct host *ret_host, struct error *err);
int host_read_rest(struct host_memory *memory, struct host *host, struct error *err);
void host_memory_done(struct host_memory *memory);

/* Only the mounts, and the place for groups of the process whose /proc/PID/cgroup has TEXT. */
int host_read_groups_of(const char *text, struct host *ret_host, struct error *err);

/* Only who the caller is, where it stands, and its store and records, for verbs that start nothing. */
int host_read_caller(struct host *ret_host, struct error *err);

void host_done(struct host *host);

/* Home directories of all accounts in the file PASSWD. */
void host_read_homes(const char *passwd, struct strv *ret_homes);

/* Parses mountinfo text; exposed for tests and fuzzing. */
int host_parse_mountinfo(const char *text, size_t len, struct host_mount **ret_mounts,
			 size_t *ret_count, struct error *err);
void host_mounts_free(struct host_mount *mounts, size_t count);

enum mount_class host_mount_class(const char *fstype);

/* Whether a path lookup can still reach this mount: nothing was mounted over it later. */
bool host_mount_is_visible(const struct host *host, const struct host_mount *mount);

#endif
