/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors: whole reads and writes, and passing them between processes. */
#ifndef BASE_FD_H
#define BASE_FD_H

#include "base/core/error.h"
#include "base/core/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Writes all bytes, over short writes and EINTR. 0, or -1 with errno. */
int fd_write_all(int fd, const void *bytes, size_t len);

/* Reads SIZE bytes from AT on, over short reads and EINTR; fewer only where the file ends. Length, or -1 with errno. */
ssize_t fd_read_at(int fd, void *buffer, size_t size, off_t at);

/* Reads the whole file into ret_text, refusing more than LIMIT bytes (EFBIG). 0, or -1 with errno. */
int fd_read_all(int fd, size_t limit, struct str *ret_text);

/* poll(2) of one descriptor: what is ready, 0 after MS (-1: never), or -1 with errno, EINTR too. Nothing is of a negative one. */
int fd_wait(int fd, short events, int ms);
/* Likewise up to a time of clock_now_ns(), and through interruptions. */
int fd_wait_until(int fd, short events, uint64_t until_ns);

/*
 * Opens for reading a file that others may have put there. The one door for that: it never waits, as a fifo or a file with a
 * lease would make open() do, and it never opens a device, because for some of them opening is an action. FLAGS: O_NOFOLLOW, or 0.
 * The descriptor of a regular file, or -1 with errno: EISDIR for a directory, and for anything else ENXIO, which is what the kernel
 * answers for a socket. RET_ST may be NULL. No heap.
 */
int file_open(int dir_fd, const char *path, int flags, struct stat *ret_st);

/* Whether file_open() failed because of what kind of file is there. */
bool file_is_other_kind(int errnum);

/* Opens PATH relative to DIR_FD and reads it whole, if it is a regular file. ERR names the path. */
int file_read(int dir_fd, const char *path, size_t limit, struct str *ret_text, struct error *err);

/* Reads the beginning of a regular file, or a small kernel file (proc, cgroup) whole, into BUFFER, NUL-terminated. Length, or -1 with errno. No heap. */
ssize_t file_read_small(int dir_fd, const char *path, char *buffer, size_t size);

/* Writes TEXT to an existing kernel file with one write(2). 0, or -1 with errno. No heap. */
int file_write_small(int dir_fd, const char *path, const char *text);

/* Sends LEN bytes and COUNT descriptors (at most 16) in one message. 0, or -1 with errno. No heap. */
int fd_send(int socket_fd, const void *bytes, size_t len, const int *fds, size_t count);

/*
 * Receives one message; descriptors are close-on-exec and owned by the caller, *ret_count of them (at most MAX;
 * surplus ones are closed). Length, 0 at end, or -1 with errno; EMFILE when this process may not have as many as came, and then
 * it has none of them, but the bytes. No heap.
 */
ssize_t fd_receive(int socket_fd, void *buffer, size_t size, int *ret_fds, size_t max,
		   size_t *ret_count);

/* Has EPOLL_FD report when FD can be read, by its number. 0, or -1 with errno. No heap. */
int fd_watch(int epoll_fd, int fd);

/* Closes every descriptor but those listed (negative ones are ignored). No heap. */
void fd_close_others(const int *keep, size_t count);

#endif
