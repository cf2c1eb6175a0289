/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The root of an image: one overlay of its layers, with the skeleton as the uppermost of them. What is mounted on therefore
 * exists and is a directory, whatever the image has there: a link, a file or nothing.
 */
#include "confine/root/root_skeleton.h"

#include <sys/stat.h>

static int add_points(struct forest *forest, struct error *err)
{
	/* Where fresh.c attaches what it makes. */
	static const char *const fresh[] = { "/proc", "/sys", "/dev", "/run", "/tmp", "/var/tmp" };
	const struct spec *spec = forest->builder.spec;

	for (size_t i = 0; i < sizeof(fresh) / sizeof(fresh[0]); i++) {
		if (skeleton_make_path(forest, fresh[i], err) < 0)
			return -1;
	}
	for (size_t i = 0; i < spec->bind_count; i++) {
		struct stat st;

		if (stat(spec->binds[i].source, &st) == 0 &&
		    skeleton_add_point(forest, spec->binds[i].target, S_ISDIR(st.st_mode), err) < 0)
			return -1;
	}
	/* Some daemons live in "/". */
	return spec->home[1] ? skeleton_make_path(forest, spec->home, err) : 0;
}

int root_image_build(struct forest *forest, struct error *err)
{
	const struct spec *spec = forest->builder.spec;

	if (skeleton_open(forest, err) < 0 || add_points(forest, err) < 0 ||
	    skeleton_add_masked(forest, spec->home, err) < 0 ||
	    skeleton_add_workspace(forest, err) < 0 || unit_add_binds(&forest->builder, err) < 0)
		return -1;
	return skeleton_keep(forest, err);
}
