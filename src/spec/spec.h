/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan: everything a launch needs to know, as plain data.
 *
 * plan/ makes a spec out of a request, a profile and the facts about this host; launch reads it and nothing
 * else. No descriptors, no pointers to live things: it can be printed (`aisbx plan`), stored, compared and
 * read back (codec.h).
 */
#ifndef SPEC_SPEC_H
#define SPEC_SPEC_H

#include "base/core/str.h"
#include "spec/settings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Layers by their names in `layers` and `degraded`; the order is that of the result object. */
enum layer {
	LAYER_USER,
	LAYER_MOUNT,
	LAYER_PID,
	LAYER_NET,
	LAYER_IPC,
	LAYER_UTS,
	LAYER_CGROUP,
	LAYER_SECCOMP,
	LAYER_LANDLOCK,
	LAYER_OVERLAY,
	LAYER_MASKS,
	LAYER_LIMITS,
	LAYER_DISK,
	LAYER_COUNT
};

/* "user", "mount", ... */
const char *layer_name(enum layer layer);
/* Returns the layer of that name, or LAYER_COUNT. */
enum layer layer_find(const char *name);
/* Without one of these a run is refused; the others may be absent and are named as degraded. */
bool layer_is_mandatory(enum layer layer);
/* Of those, the ones that nothing else is built on: a caller may do without where the kernel has none. */
bool layer_is_waivable(enum layer layer);

enum root_mode {
	ROOT_IDMAPPED, /* root caller: overlays over idmapped clones of the host's mounts */
	ROOT_FOREST,   /* plain user: one overlay per top-level directory */
	ROOT_PROJECT,  /* workspace copy-on-write, system directories read-only, nothing else */
	ROOT_PROJECT_IDMAPPED, /* root caller: the same over idmapped clones */
};

/* Whether the supervisor assembles it of clones that show the sandbox's ids; else init does, of the host's own mounts. */
bool root_is_idmapped(enum root_mode root);
bool root_is_project(enum root_mode root);

/* What happens to one mount (or, in a forest, one directory) of the host. */
enum spec_tree_kind {
	TREE_OVERLAY,  /* copy-on-write clone of `path` at the same place */
	TREE_READONLY, /* read-only bind: the filesystem itself is read-only */
	TREE_HIDDEN,   /* not shown; listed for `plan` */
};

struct spec_tree {
	enum spec_tree_kind kind;
	char *path;	   /* on the host and inside */
	uint64_t dev, ino; /* identity seen by plan; launch compares. 0: do not compare */
	char *why;	   /* for hidden ones: "fuse", "network filesystem" */
};

enum mask_kind {
	MASK_HIDE, /* a file disappears; a directory becomes an empty one of the same owner and mode */
	MASK_EMPTY, /* a directory that must appear empty (home, tmp); as MASK_HIDE but always opaque */
	MASK_KEEP, /* a directory below a hidden one that stays visible */
	MASK_GLOB, /* hides the entries of a directory that match a pattern: "*_key" in /etc/ssh */
	MASK_FILE, /* a file with our own content stands at the path (synthesised .gitconfig) */
	MASK_LIST, /* a directory shown as the list of its entries at the start: later ones do not appear */
	MASK_GONE, /* a file or directory disappears, so that the sandbox can make its own there */
};

/* Whether such a mask covers a whole directory. */
bool mask_is_of_directory(enum mask_kind kind);

/* Whether a directory with such a mask shows what it holds. */
bool mask_kind_shows(enum mask_kind kind);

struct spec_mask {
	enum mask_kind kind;
	char *path;
	char *content; /* MASK_FILE only */
};

struct spec_bind {
	char *source;
	char *target;
	bool writable; /* copy-on-write unless through */
	bool through;
	bool stored; /* the copy of a service, which the store keeps: as nothing else of it may be shown */
	uint64_t dev, ino;
};

struct spec_ids {
	uid_t uid, gid;		  /* as seen inside */
	uid_t host_uid, host_gid; /* first host id of the map */
	uint32_t count;		  /* length of the map: 1 for plain users */
	bool nested; /* the caller is in a user namespace already: its 0 is not the machine's */
};

/* Limits in force; 0 means "none". */
struct spec_limits {
	uint64_t cpu_milli; /* 0: all cores at low weight */
	uint64_t mem_bytes;
	uint64_t pids;
	uint64_t disk_bytes, inodes;
	uint64_t tmp_bytes, shm_bytes;
	uint64_t time_ms, cpu_time_ms;
	uint64_t grace_ms;	/* between a signal and the kill; 0: killed at once */
	uint64_t time_grace_ms; /* the same when the time is over */
	uint64_t fsize_bytes, memlock_bytes;
	uint64_t nofile, nofile_soft; /* hard and soft */
	uint64_t output_bytes;	      /* kept per stream in the result */
	uint64_t log_bytes;	      /* kept per run on disk */
	uint64_t fuel;		      /* instructions of WebAssembly; 0 where nothing counts them */
};

/* Groups around those of one owner's sandboxes are called so. */
#define SPEC_OWNER_PREFIX "aisbx-owner-"

/* Where control groups can be made: the caller's own place, so that the caller's limits keep holding. */
struct spec_groups {
	bool unified;  /* cgroup v2; else v1, or none when no path is set */
	char *v2_path; /* NULL where absent */
	char *memory_path, *pids_path, *cpu_path, *cpuacct_path;
	/* The group around those of all sandboxes of one owner, by name, and what they may use together; NULL: no owner. */
	char *owner;
	uint64_t owner_bytes;
};

/* Of one image. */
#define SPEC_IMAGE_LAYERS_MAX 127
/* Chains of layers are flattened before they get longer. */
#define SPEC_LAYERS_MAX 64

enum net_mode { NET_NONE, NET_ALLOW };

/* The directory of the nodes that stand for parts of a GPU. */
#define SPEC_GPU_PARTS "nvidia-caps"
#define SPEC_GPU_NAME_MAX 40u

struct spec {
	char *run_id;
	char *sandbox;
	char *trace_id; /* NULL when none was given */
	char *driver;

	struct strv command;
	struct strv env;
	char *workspace; /* absolute; counted in `changes` */
	char *cwd;	 /* absolute, inside */
	char *home;	 /* absolute */
	char *hostname;

	bool aliases_cut; /* hidden files may have other names that are seen: not all were looked for */
	bool workspace_made; /* the workspace is not the host's: launch makes it, empty */
	enum root_mode
		root; /* of an image: a project's, whose layers take the place of the system directories */
	char *image;		  /* by name; NULL: none */
	struct strv image_layers; /* directories, topmost first */
	struct strv image_env;	  /* what it wants every command to have */
	struct spec_tree *trees;  /* sorted by path */
	size_t tree_count;
	struct spec_mask *masks; /* sorted by path */
	size_t mask_count;
	struct spec_bind *binds; /* in the order given */
	size_t bind_count;
	/* What a named sandbox keeps: sealed layers, newest first, all in one directory; and its writable top. */
	struct strv layers;
	char *cache;	 /* which warm caches it has (plan/cache.h); NULL: none */
	char *upper_dir; /* NULL: what is written is thrown away */
	char *copy_dir;	 /* a private copy of the workspace, for drivers that need one; else NULL */
	bool resident;	 /* no command of its own: init stays and starts what it is asked to */

	struct spec_ids ids;
	struct spec_limits limits;
	struct spec_groups groups;
	enum net_mode net;
	struct strv allow, deny; /* network rules */
	struct strv publish;	 /* HOSTPORT:PORT */
	struct strv
		secret_header; /* HOST:NAME=FILE, absolute; what is in the file is nowhere here */
	struct strv
		secrets; /* NAME=FILE, absolute; of stored ones NAME, $VARIABLE=NAME; never a value */
	char *seccomp;	 /* extra OCI filter, or NULL */
	struct strv syscalls; /* of what the filter built in permits, only these; none: all */
	char *scan;	      /* how the code is vetted before it runs: warn, enforce; NULL: not */
	struct strv gpu;      /* names of device nodes below /dev */
	struct strv
		run_dirs; /* made in /run for services: "UID GID MODE NAME", as spec_run_dir_read() has it */
	bool splice;	  /* splice(2) and tee(2) allowed */
	bool signed_only; /* only files with a signature that holds */
	char *state_dir, *store_dir, *cache_dir,
		*config_dir; /* where things are kept on the host */

	uint32_t require;	 /* bit per layer */
	uint32_t allow_degraded; /* bit per layer */
	struct strv notes;	 /* one line each, for stderr: what was ignored and why */
};

/* A directory in /run with an owner of its own. */
struct spec_run_dir {
	uid_t uid;
	gid_t gid;
	mode_t mode;
	char name[65];
};

/* Whether WORD is one: no name that leads elsewhere, or that the sandbox has a use for. */
bool spec_run_dir_read(const char *word, struct spec_run_dir *ret_dir);

/*
 * Whether commands of a sandbox that stays may run under another id than its user's: a root caller's sandbox has a range of them. Not
 * behind a filter of the user's own: it holds for init, too, and may refuse what a change of ids takes.
 */
bool spec_may_change_ids(const struct spec *spec);

void spec_init(struct spec *spec);
void spec_done(struct spec *spec);

/* Appends; the path is copied. */
struct spec_tree *spec_add_tree(struct spec *spec, enum spec_tree_kind kind, const char *path);
struct spec_mask *spec_add_mask(struct spec *spec, enum mask_kind kind, const char *path);
/* Adds one to a finished plan, in which masks are sorted by path. */
struct spec_mask *spec_insert_mask(struct spec *spec, enum mask_kind kind, const char *path);
struct spec_bind *spec_add_bind(struct spec *spec, const char *source, const char *target);

/*
 * Rules across fields (absolute clean paths, sane limits, ids that never reach host root, masks present).
 * Reports every violation, one per line, not the first only. Returns 0 when there is none.
 */
int spec_check(const struct spec *spec, struct error *err);

#endif
