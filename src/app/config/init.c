/* SPDX-License-Identifier: Apache-2.0 */
/* A profile for a workspace to begin with. */
#include "app/config/init.h"

#include "base/core/own.h"
#include "base/file/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define FILE_NAME ".aisbx.yaml"

static const char text[] = "# How aisbx runs commands in this workspace. It can only narrow what "
			   "is allowed anyway, until\n"
			   "# `aisbx profile trust .aisbx.yaml` lets it say all. `aisbx profile "
			   "check .aisbx.yaml` reads it.\n"
			   "name: project\n"
			   "# time: 300s\n"
			   "# mem: 2g\n"
			   "# hide: [private]\n"
			   "# tests: [make test]\n"
			   "# allow: [\"@pypi\"]\n";

int app_init(struct value **ret_answer, struct error *err)
{
	owned(fd_close) int fd = openat(AT_FDCWD, FILE_NAME,
					O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0 && errno == EEXIST)
		return error_advise(err, ERROR_CONFLICT,
				    "aisbx profile check " FILE_NAME " reads it",
				    "there is a " FILE_NAME " here already");
	if (fd < 0 || fd_write_all(fd, text, strlen(text)) < 0)
		return error_errno(err, ERROR_HOST, "cannot write " FILE_NAME);
	*ret_answer = value_new_map();
	value_add(*ret_answer, "path", value_new_text(FILE_NAME));
	return 0;
}
