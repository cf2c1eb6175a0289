/* SPDX-License-Identifier: Apache-2.0 */
/* The filters that a spec asks for beside the one built in. */
#include "launch/setup/filters.h"

#include "confine/seccomp/seccomp_file.h"

int launch_filters_make(const struct spec *spec, struct seccomp_set *seen,
			struct launch_filters *filters, struct launch_io *io, struct error *err)
{
	/* A program of ours is left to itself: it gives up what it can do without. */
	bool has_calls = (spec->syscalls.count > 0 || seen) && !io->passed_fds;

	if (has_calls) {
		if (seccomp_names_compile(&spec->syscalls, spec->resident, &filters->permitted,
					  &filters->calls, err) < 0)
			return -1;
		io->calls = &filters->calls;
		io->observes = seen != NULL;
		filters->listening.seen = seen;
		filters->listening.permitted = seen ? NULL : &filters->permitted;
	}
	if (!spec->seccomp)
		return 0;
	if (seccomp_file_compile(spec->seccomp, &filters->file, err) < 0)
		return -1;
	io->extra_filter = &filters->file;
	return 0;
}

void launch_filters_done(struct launch_filters *filters)
{
	free(filters->file.filter);
	free(filters->calls.filter);
}
