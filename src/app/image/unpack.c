/* SPDX-License-Identifier: Apache-2.0 */
/* An archive becomes a layer: both ends of the conversation. */
#include "app/image/unpack.h"

#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/process/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK 262144

/* Between two processes of one program. */
struct answer {
	struct unpack_counts counts;
	struct error err; /* ERROR_NONE: all is there */
};

static int unpack_all(int fd, int dir_fd, bool keeps_owners, struct unpack_counts *counts,
		      struct error *err)
{
	owned(archive_in_close) struct archive_in *in = NULL;

	/* What belongs to the library is loaded, its first bytes are read; nothing of them is looked at yet. */
	if (archive_in_open(fd, ARCHIVE_TAR, &in, err) < 0)
		return -1;
	if (unpack_lockdown(dir_fd) < 0)
		return error_advise(err, ERROR_DENIED, "a kernel with Landlock (5.19) has it",
				    "archives are unpacked by a process that can reach nothing "
				    "else, which this kernel does not allow: %s",
				    error_words(errno));
	return unpack_entries(in, dir_fd, keeps_owners, counts, err);
}

/* The child's life. */
static _Noreturn void serve(int fd, int dir_fd, bool keeps_owners)
{
	struct answer answer = { 0 };
	const int keep[] = { fd, dir_fd };
	char rest[4096];

	(void)prctl(PR_SET_NAME, "aisbx-unpack", 0, 0, 0);
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)umask(0);
	fd_close_others(keep, 2);
	(void)unpack_all(fd, dir_fd, keeps_owners, &answer.counts, &answer.err);
	/* The digest is of the whole file, with what may stand behind the archive. */
	while (answer.err.code == ERROR_NONE && read(fd, rest, sizeof(rest)) > 0)
		;
	(void)fd_write_all(fd, &answer, sizeof(answer));
	_exit(0);
}

/* Hands the archive on, and takes its digest. How the child fared stands in its answer. */
static int feed(int from_fd, int to_fd, char ret_hex[static SHA256_HEX_SIZE], struct error *err)
{
	owned(free_ptr) char *chunk = xmalloc(CHUNK);
	struct sha256 sum;
	off_t at = 0;

	sha256_start(&sum);
	for (;;) {
		ssize_t got = fd_read_at(from_fd, chunk, CHUNK, at);

		if (got < 0)
			return error_errno(err, ERROR_HOST, "the archive cannot be read");
		if (got == 0)
			break;
		sha256_add(&sum, chunk, (size_t)got);
		for (ssize_t done = 0; done < got;) {
			ssize_t put = send(to_fd, chunk + done, (size_t)(got - done), MSG_NOSIGNAL);

			if (put < 0 && errno != EINTR)
				return 0;
			done += put > 0 ? put : 0;
		}
		at += got;
	}
	(void)shutdown(to_fd, SHUT_WR);
	sha256_end(&sum, ret_hex);
	return 0;
}

static int receive_answer(int fd, struct answer *ret_answer)
{
	size_t have = 0;

	while (have < sizeof(*ret_answer)) {
		ssize_t got = recv(fd, (char *)ret_answer + have, sizeof(*ret_answer) - have, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		have += (size_t)got;
	}
	return 0;
}

int image_unpack(int from_fd, int dir_fd, bool keeps_owners, struct unpack_counts *ret_counts,
		 char ret_hex[static SHA256_HEX_SIZE], struct error *err)
{
	owned(fd_close) int fd = -1;
	struct answer answer;
	int status;
	pid_t pid = child_fork(CHILD_STREAMS, SIGKILL, &fd, err);

	if (pid == 0)
		serve(fd, dir_fd, keeps_owners);
	if (pid < 0)
		return -1;
	ret_hex[0] = '\0';
	status = feed(from_fd, fd, ret_hex, err);
	if (status == 0 && (receive_answer(fd, &answer) < 0 ||
			    (answer.err.code != ERROR_NONE && !error_is_sane(&answer.err))))
		status = error_set(err, ERROR_INPUT,
				   "the process that unpacked the archive broke down over it");
	fd_close(&fd);
	child_end(pid);
	if (status < 0)
		return -1;
	if (answer.err.code != ERROR_NONE) {
		*err = answer.err;
		return -1;
	}
	/* A child that says it is done before it has read everything has not. */
	if (!ret_hex[0])
		return error_set(err, ERROR_INPUT, "the archive was not read to its end");
	*ret_counts = answer.counts;
	return 0;
}
