/* SPDX-License-Identifier: Apache-2.0 */
/* What is made anew in a sandbox: made by init or the payload, attached by init. */
#include "launch/setup/populate.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "launch/setup/egress.h"
#include "launch/setup/policy.h"
#include "launch/setup/secret_files.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* The gift, and all of struct fresh that is of use when it is made. */
enum { NETWORK, OWN_PROC, GIFTS, TMPFS = GIFTS, PROC, SYS, DEV, QUOTA, FD_COUNT };

bool populate_by_payload(const struct spec *spec)
{
	return !root_is_idmapped(spec->root);
}

/* Programs inside can read what they may do. */
static int write_policy(const struct start *start, const struct fresh *fresh, struct error *err)
{
	owned(fd_close) int fd = openat(fresh->tmpfs_fd, "run/aisbx/policy.json",
					O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	owned(str_done) struct str text = STR_INIT;
	struct spec shown = *start->spec; /* borrows everything */

	/* It is made before the run that it will be used for. */
	if (start->io->waits)
		shown.run_id = NULL;
	policy_write(&shown, &text);
	if (fd < 0 || fd_write_all(fd, text.data, text.len) < 0)
		return error_errno(err, ERROR_HOST, "cannot write the policy file");
	return 0;
}

static int write_secrets(const struct start *start, const struct fresh *fresh, struct error *err)
{
	owned(fd_close) int fd = -1;

	if (!start->io->secrets)
		return 0;
	fd = openat(fresh->tmpfs_fd, "run/secrets", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return error_errno(err, ERROR_HOST, "fresh run/secrets");
	return secret_files_put(fd, start->io->secrets, err);
}

static int write_trust(const struct fresh *fresh, const char *path, const struct str *text,
		       struct error *err)
{
	owned(fd_close) int fd =
		openat(fresh->tmpfs_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);

	if (fd < 0 || fd_write_all(fd, text->data, text->len) < 0)
		return error_errno(err, ERROR_HOST, "cannot write the certificates");
	return 0;
}

/* The host's certificates and that of aisbx-gateway, where it stands between. */
static int write_bundle(const struct start *start, const struct fresh *fresh, struct error *err)
{
	owned(str_done) struct str settings = STR_INIT;

	if (!start->bundle)
		return 0;
	str_add(&settings, "ca_certificate = /" EGRESS_BUNDLE "\n");
	if (write_trust(fresh, EGRESS_BUNDLE, start->bundle, err) < 0 ||
	    write_trust(fresh, EGRESS_WGETRC, &settings, err) < 0)
		return -1;
	return write_trust(fresh, EGRESS_JAVA_STORE, start->java_store, err);
}

int populate_make(const struct start *start, struct fresh *fresh, struct error *err)
{
	if (fresh_prepare(start->spec, fresh, err) < 0)
		return -1;
	if (write_secrets(start, fresh, err) < 0 || write_bundle(start, fresh, err) < 0)
		return -1;
	return write_policy(start, fresh, err);
}

static size_t count_of(const struct start *start)
{
	return populate_by_payload(start->spec) ? FD_COUNT : GIFTS;
}

int populate_send(const struct start *start, int socket_fd, const struct populate_gift *gift,
		  const struct fresh *fresh, struct error *err)
{
	const int fds[FD_COUNT] = {
		[NETWORK] = gift->network_fd, [OWN_PROC] = gift->proc_fd, [TMPFS] = fresh->tmpfs_fd,
		[PROC] = fresh->proc_fd,      [SYS] = fresh->sys_fd,	  [DEV] = fresh->dev_fd,
		[QUOTA] = fresh->quota_fd,
	};

	if (fd_send(socket_fd, "", 1, fds, count_of(start)) == 0)
		return 0;
	/* Init is gone, and has reported why; a report of ours would come before that. */
	if (errno == EPIPE)
		_exit(125);
	return error_errno(err, ERROR_HOST, "start: cannot send the network");
}

int populate_receive(const struct start *start, int socket_fd, struct populate_gift *ret_gift,
		     struct fresh *ret_fresh, struct error *err)
{
	int fds[FD_COUNT];
	size_t count = 0;
	char byte;
	ssize_t got = fd_receive(socket_fd, &byte, 1, fds, FD_COUNT, &count);

	if (got == 0)
		return 0;
	if (got > 0 && count != count_of(start)) {
		while (count > 0)
			close(fds[--count]);
		errno = EBADMSG;
		got = -1;
	}
	if (got < 0)
		return error_errno(err, ERROR_HOST, "start: cannot receive the network");
	*ret_gift = (struct populate_gift){ fds[NETWORK], fds[OWN_PROC] };
	if (count == FD_COUNT) {
		ret_fresh->tmpfs_fd = fds[TMPFS];
		ret_fresh->proc_fd = fds[PROC];
		ret_fresh->sys_fd = fds[SYS];
		ret_fresh->dev_fd = fds[DEV];
		ret_fresh->quota_fd = fds[QUOTA];
	}
	return 1;
}
