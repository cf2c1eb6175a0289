/* SPDX-License-Identifier: Apache-2.0 */
/* Which layers a run's changes are counted in. */
#include "app/run/change_scans.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "spec/mask.h"
#include "workspace/store/layer.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Each is a letter, a tab and a path. A path stands at most twice: deleted, and made anew as another kind. */
int change_compare(const void *left, const void *right)
{
	const char *const *a = left, *const *b = right;
	int order = strcmp(*a + 2, *b + 2);

	return order ? order : strcmp(*b, *a);
}

static bool shows_path(const void *spec, const char *path)
{
	return mask_shows(spec, path);
}

void change_scan_masks(struct change_scan *scan, const struct spec *spec)
{
	scan->shows = shows_path;
	scan->cookie = spec;
}

static void scan_layer(struct change_scan *scan, int dir_fd, const char *name, const char *lower)
{
	owned(fd_close) int layer =
		openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	scan->lower = lower;
	if (layer >= 0)
		change_scan_layer(scan, layer);
}

/* The layers of a run: numbered, in a place of their own. */
void change_scan_run(struct change_scan *scan, const struct task *task)
{
	for (size_t i = 0; task->upper_fd >= 0 && i < task->upper_paths.count; i++) {
		char name[24];

		if (!task->upper_paths.items[i][0])
			continue;
		(void)snprintf(name, sizeof(name), "u%zu", i);
		scan_layer(scan, task->upper_fd, name, task->upper_paths.items[i]);
	}
}

/*
 * Whether nothing was written to a unit since it was mounted first, which is when it was noted: whatever is changed in it
 * the first time makes an entry in its top directory, and its time cannot be set back.
 */
static bool is_untouched(int upper_fd, const char *name, uint64_t noted_ns)
{
	struct stat st;

	return fstatat(upper_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       clock_ns_of(&st.st_ctim) < noted_ns;
}

/* The top of a named sandbox, which lists its units itself. */
void change_scan_top(struct change_scan *scan, int upper_fd)
{
	struct layer_units units;
	struct error ignored;
	struct stat st;

	if (fstatat(upper_fd, "units", &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    layer_units_read(upper_fd, &units, &ignored) < 0)
		return;
	for (size_t i = 0; i < units.count; i++) {
		const struct layer_unit *unit = &units.items[i];

		if (!is_untouched(upper_fd, unit->name, clock_ns_of(&st.st_mtim)))
			scan_layer(scan, upper_fd, unit->name, unit->path);
	}
	layer_units_done(&units);
}
