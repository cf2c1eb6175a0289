/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Named sandboxes on disk: identity, the layer they stand on, their writable top.
 *
 *   sbx/NAME/meta     what does not change: id, when made, owner, workspace, root mode, settings
 *   sbx/NAME/head     the layer it stands on, "" for the base; with when and in which boot the base was taken, and
 *                     when it ends, if ever
 *   sbx/NAME/upper/   its writable top, shaped as a layer
 *   sbx/NAME/profile  a copy of the profile it was made with, unless that is a built-in one; what starts read
 *   sbx/NAME/touched  base identities of what the top touched (origin.h)
 *   sbx/NAME/moments  when it began to look at the host's files anew (moments.h)
 *   sbx/NAME/todo     steps of the work in it (todo.h)
 *   sbx/NAME/promoted what promotions made of the host, from then on the base (origin_record.h)
 *   sbx/NAME/losers   digests of contents that lost a conflict; a reference, so that they stay
 *   sbx/NAME/snaps/S  one file per snapshot (snapshot.h)
 *   sbx/NAME/pending  the intent of a seal under way; finished or dropped by the next process that locks the sandbox
 *   sbx/NAME/socket   of its supervisor while one lives
 *   sbx/NAME/lock     flock: exclusive to change the above, shared while processes may write to the top
 */
#ifndef WORKSPACE_SANDBOX_H
#define WORKSPACE_SANDBOX_H

#include "base/core/str.h"
#include "workspace/store/layer.h"

/* In its directory: the names of bases that git has (workspace/base/origin_blob.h). */
#define SANDBOX_BLOBS "blobs"

#define SANDBOX_NAME_MAX 63
#define SANDBOX_PROFILE "profile"
#define SANDBOX_PROFILE_KIND "aisbx-profile 1"

struct sandbox {
	const struct store *store; /* borrowed */
	char name[SANDBOX_NAME_MAX + 1];
	int dir_fd;    /* sbx/NAME */
	int lock_fd;   /* -1 while not locked */
	int freeze_fd; /* writers to the top are stopped while this is open; -1: none are */

	char id[LAYER_ID_SIZE]; /* distinguishes it from an earlier one of the same name */
	uint64_t created_ms;
	uint64_t expires_ms; /* 0: never */
	char *workspace;     /* absolute */
	char *root;	     /* how its layers were made: sandbox_root_name */
	char *owner;	     /* of an MCP server's sandboxes; NULL for people's */
	struct strv
		settings; /* words as on the command line: "--mem", "512m"; what it was made with */

	char head[LAYER_ID_SIZE];      /* "" for the base */
	char at[SANDBOX_NAME_MAX + 1]; /* the snapshot it was last at; "" for none */
	uint64_t last_snap, last_auto; /* numbers of the last sN and autoN */
	uint64_t base_ns;	 /* T_clone: realtime, from a file of the target's filesystem */
	int64_t clock_offset_ns; /* realtime minus boottime then: a stepped clock shows */
	char base_boot_id[37];
	char upper_boot_id[37]; /* boot in which the top was last mounted; "" for never */
};

/* [a-z0-9][a-z0-9._-]{0,62}; ERROR_USAGE with words otherwise. */
int sandbox_check_name(const char *name, struct error *err);

struct sandbox_make {
	const char *name, *workspace, *root, *owner;
	const struct strv *settings;
	const char *
		profile; /* a copy of the profile's files (SANDBOX_PROFILE); NULL or "": a built-in one */
	uint64_t expires_ms;
	const char *head;	    /* "" or the layer to start from */
	const struct sandbox *like; /* with a head: whose base it shares; else NULL */
	const struct str
		*fork; /* with a head: the record of its first snapshot, "fork"; else NULL */
};

/* Makes it; the name must be free. It appears whole or not at all. */
int sandbox_make(const struct store *store, const struct sandbox_make *make,
		 struct sandbox *ret_sandbox, struct error *err);

enum sandbox_lock { SANDBOX_UNLOCKED, SANDBOX_SHARED, SANDBOX_EXCLUSIVE };

/*
 * Opens by name; ERROR_NOT_FOUND suggests the nearest name. An expired one is not found. With a lock, a seal that was
 * interrupted is finished first. SANDBOX_EXCLUSIVE fails at once with ERROR_CONFLICT when it is in use.
 */
int sandbox_open(const struct store *store, const char *name, enum sandbox_lock lock,
		 struct sandbox *ret_sandbox, struct error *err);
void sandbox_close(struct sandbox *sandbox);

/* Changes the lock; SANDBOX_EXCLUSIVE as above. */
int sandbox_relock(struct sandbox *sandbox, enum sandbox_lock lock, struct error *err);

/* Writes head, base and expiry back; atomically. */
int sandbox_save(struct sandbox *sandbox, struct error *err);

/* The top holds something a crash of the machine may have cut short: to be read, never promoted. */
bool sandbox_is_torn(const struct sandbox *sandbox, const char *boot_id);

/* Names of those that are not expired, sorted. */
int sandbox_list(const struct store *store, struct strv *ret_names, struct error *err);

/* Moves it to the trash; its processes must have been stopped before. */
int sandbox_remove(struct sandbox *sandbox, struct error *err);

/* The same by name, for one whose files are damaged so that it cannot be opened. */
int sandbox_discard(const struct store *store, const char *name, struct error *err);

/* Moves expired ones that are not in use to the trash; adds their names. Cheap when there is none. */
void sandbox_sweep(const struct store *store, struct strv *removed);

/* Opens (making it where absent) the writable top. */
int sandbox_open_upper(const struct sandbox *sandbox, int *ret_fd, struct error *err);

/* Bytes on disk of the top and of the layers it wrote itself; bounded walk. */
uint64_t sandbox_disk_bytes(const struct sandbox *sandbox);

#endif
