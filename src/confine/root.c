/* The root of the clone: attaching its parts and moving into it. */
#include "confine/root.h"

#include "base/own.h"
#include "confine/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

int root_attach(const struct root_parts *parts, int *ret_root_fd, struct error *err)
{
	owned(fd_close) int root_fd = -1;

	if (parts->count == 0)
		return error_set(err, ERROR_INTERNAL, "the new root has no parts");
	if (mount_park(parts->items[0].mount_fd, err) < 0)
		return -1;
	root_fd = openat(parts->items[0].mount_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return error_errno(err, ERROR_HOST, "cannot open the new root");
	for (size_t i = 1; i < parts->count; i++) {
		if (mount_attach(parts->items[i].mount_fd, root_fd, parts->items[i].target, err) <
		    0)
			return -1;
	}
	*ret_root_fd = fd_take(&root_fd);
	return 0;
}

int root_pivot(int root_fd, struct error *err)
{
	if (fchdir(root_fd) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return error_errno(err, ERROR_HOST, "cannot change to the new root");
	/* The old root is now stacked on the new one; everything of the host goes with it. */
	if (umount2(".", MNT_DETACH) < 0)
		return error_errno(err, ERROR_HOST, "cannot let go of the host's root");
	if (chdir("/") < 0)
		return error_errno(err, ERROR_HOST, "cannot enter the new root");
	return 0;
}
