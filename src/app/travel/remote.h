/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remotes: places where pushed changes lie, as files that are written once.
 *
 *   aisbx-remote       "aisbx-remote 1 ID": what it is, and which one
 *   objects/xx/HEX     contents by digest (workspace/disk/digest.h)
 *   bundles/HEX        lists of changes by the sha256 of their text (decide/stage/bundle.h)
 *   names/NAME/SEQ     the pushes of NAME, signed, from 1 on. The first to put a number has it: that is the order
 *
 * All of it is hostile to the reader: signatures and digests decide, never where something lay.
 */
#ifndef APP_REMOTE_H
#define APP_REMOTE_H

#include "base/core/error.h"
#include "base/core/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define REMOTE_ID_SIZE 27

struct remote {
	char id[REMOTE_ID_SIZE];
	int fd;		   /* of the directory; -1: it is behind ssh */
	pid_t ssh;	   /* 0: none */
	int in_fd, out_fd; /* to and from the serving side of ssh */
	struct str seen;   /* read from there, and not used yet */
};

/*
 * Opens file:/DIR (or /DIR) or ssh://[USER@]HOST[:PORT]/DIR. MAKES: one that is not there yet, or an empty directory, becomes a
 * remote.
 */
int remote_open(const char *url, bool makes, struct remote *ret_remote, struct error *err);
void remote_close(struct remote *remote);

/*
 * Keeps what FD holds as NAME, whole or not at all. *ret_is_new: false when NAME was there, which stays as it is. Of names/,
 * whatever was put before is on disk first.
 */
int remote_put(struct remote *remote, const char *name, int fd, bool *ret_is_new,
	       struct error *err);
/* The same for bytes. */
int remote_put_bytes(struct remote *remote, const char *name, const struct str *bytes,
		     bool *ret_is_new, struct error *err);
/* Writes what NAME holds to the empty file TO_FD; ERROR_NOT_FOUND, ERROR_DENIED beyond MAX bytes. */
int remote_get(struct remote *remote, const char *name, uint64_t max, int to_fd, struct error *err);
int remote_get_bytes(struct remote *remote, const char *name, size_t max, struct str *ret_bytes,
		     struct error *err);
/* Entries of a directory, sorted; none where there is no such directory. */
int remote_list(struct remote *remote, const char *directory, struct strv *ret_names,
		struct error *err);
/* Serves the directory PATH over standard input and output, until that ends: these calls and no others. */
int remote_serve(const char *path, struct error *err);

/* Writes a line of that exchange to FD, from either side. 0, or -1 with errno. */
__attribute__((format(printf, 2, 3))) int remote_write(int fd, const char *format, ...);

/* The calls above for a directory of this machine. */
int remote_dir_open(const char *path, bool makes, struct remote *ret_remote, struct error *err);
int remote_dir_put(int root_fd, const char *name, int fd, bool *ret_is_new, struct error *err);
int remote_dir_open_file(int root_fd, const char *name, int *ret_fd, struct error *err);
int remote_dir_list(int root_fd, const char *directory, struct strv *ret_names, struct error *err);
/* A file without a name for what comes and goes. */
int remote_draft(struct error *err);

#endif
