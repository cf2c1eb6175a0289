/* SPDX-License-Identifier: Apache-2.0 */
/* A directory of the host that is looked at, never written to, here: by descriptors, following no link. */
#ifndef WORKSPACE_TARGET_H
#define WORKSPACE_TARGET_H

#include "base/core/error.h"
#include "workspace/disk/identity.h"

/* Opens directory PATH itself; links in PATH are the caller's own. */
int target_open(const char *path, int *ret_fd, struct error *err);

/* The directory of RELATIVE below ROOT_FD; *ret_name points into RELATIVE. -1 with errno when there is none. */
int target_parent(int root_fd, const char *relative, int *ret_fd, const char **ret_name);

/* What is at RELATIVE; absent when it, or a directory on the way to it, is not there. -1 with errno when that cannot be determined. */
int target_look(int root_fd, const char *relative, struct txn_identity *ret_identity);

/* The same for callers that act upon it: what cannot be determined is an error, and not taken for gone. */
int target_see(int root_fd, const char *relative, struct txn_identity *ret_identity,
	       struct error *err);

/* The regular file at RELATIVE for reading, when it still is IDENTITY; -1 with errno. */
int target_open_file(int root_fd, const char *relative, const struct txn_identity *identity);

/* The target of the link at RELATIVE, or NULL. */
char *target_read_link(int root_fd, const char *relative);

/* Whether two looks saw the same object in the same state. Device numbers do not count: they change with a reboot. */
bool target_is_same(const struct txn_identity *a, const struct txn_identity *b);

/* The same, but for the time of its last change: a rename and another name move that. What was not there is nothing. */
bool target_is_same_object(const struct txn_identity *before, const struct txn_identity *now);

/* f d l p s c b, 0 when absent. */
char target_type(const struct txn_identity *identity);

/* Whether NAME is one under which journals and slots lie beside a target: nothing of it is ever a change. */
bool target_is_own_name(const char *name);

/* PATH below ROOT, without a leading slash ("" for ROOT itself); NULL when it is not below it. */
const char *target_relative(const char *root, const char *path);

#endif
