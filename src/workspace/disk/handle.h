/* SPDX-License-Identifier: Apache-2.0 */
/* What a filesystem calls a file by, and the note of it that the kernel leaves on a file it copied up. */
#ifndef WORKSPACE_HANDLE_H
#define WORKSPACE_HANDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HANDLE_MAX 128
#define HANDLE_UUID 16
/* The attributes that hold the note. */
#define DELTA_ORIGIN "trusted.overlay.origin"
#define DELTA_USER_ORIGIN "user.overlay.origin"

struct handle {
	unsigned type;
	size_t len;
	unsigned char bytes[HANDLE_MAX];
	unsigned char uuid[HANDLE_UUID]; /* of its filesystem; zeros: unknown */
};

/* Of the object NAME in DIR_FD. */
bool handle_read(int dir_fd, const char *name, struct handle *ret_handle);

/*
 * The file of HANDLE for reading; NEAR_FD, no mere place, should lie on its filesystem: ESTALE when it is known not to.
 * -1 with errno. Root only.
 */
int handle_open(int near_fd, const struct handle *handle);

/* Of what the open FD was copied up from. IS_USER: its layer's notes are attributes of users. */
bool handle_read_note(int fd, bool is_user, struct handle *ret_handle);

/* The number of its inode, or 0 where it does not show. */
uint64_t handle_inode(const struct handle *handle);

/* By what they are within a filesystem. */
int handle_compare(const struct handle *one, const struct handle *other);
/* Whether both may be of one filesystem: names of files in two may be alike. */
bool handle_is_near(const struct handle *one, const struct handle *other);

#endif
