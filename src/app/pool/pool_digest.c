/* SPDX-License-Identifier: Apache-2.0 */
/* What must be the same so that a ready sandbox is the one that a call would get by itself. */
#include "app/pool/pool.h"
#include "base/file/dir.h"
#include "base/core/own.h"
#include "spec/digest.h"

#include <fcntl.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

bool pool_suits(const struct spec *spec)
{
	return strcmp(spec->driver, "linux") == 0 && spec->net == NET_NONE &&
	       spec->publish.count == 0 && spec->gpu.count == 0 && spec->secrets.count == 0 &&
	       spec->secret_header.count == 0 && !spec->seccomp && spec->syscalls.count == 0 &&
	       !spec->scan && !spec->signed_only && !spec->upper_dir && spec->layers.count == 0 &&
	       !spec->resident && !spec->image && !spec->cache && spec->bind_count == 0 &&
	       spec->ids.count == 1;
}

/* What a mask is made of; with CHANGES whatever becomes of it later, too. */
static void add_file(struct sha256 *sum, int dir_fd, const char *path, bool changes)
{
	uint64_t facts[8] = { 0 };
	struct stat st;

	if (fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		facts[0] = 1;
		facts[1] = st.st_dev;
		facts[2] = st.st_ino;
		facts[3] = st.st_mode;
		facts[4] = st.st_uid;
		facts[5] = st.st_gid;
	}
	if (facts[0] && changes) {
		facts[6] = (uint64_t)st.st_ctim.tv_sec;
		facts[7] = (uint64_t)st.st_ctim.tv_nsec;
	}
	sha256_add(sum, facts, sizeof(facts));
}

/* In the order of the directory, which is the same as long as it is not changed. */
static void add_entries(struct sha256 *sum, const char *path)
{
	owned(dir_close) DIR *dir = dir_open(AT_FDCWD, path);
	struct dirent *entry;

	while (dir && dir_next(dir, &entry) > 0) {
		sha256_add(sum, entry->d_name, strlen(entry->d_name) + 1);
		add_file(sum, dirfd(dir), entry->d_name, true);
	}
}

/* Masks are sorted, and neighbours share their directory: it is looked at once. */
static bool is_beside(const char *before, size_t parent_len, const char *path)
{
	return before && strncmp(before, path, parent_len + 1) == 0 &&
	       !strchr(before + parent_len + 1, '/');
}

static void add_mask(struct sha256 *sum, const struct spec_mask *mask, const char *before)
{
	size_t len = (size_t)(strrchr(mask->path, '/') - mask->path);
	owned(free_ptr) char *parent = xstrndup(mask->path, len ? len : 1);

	if (!is_beside(before, len, mask->path))
		add_file(sum, AT_FDCWD, parent, false);
	if (mask->kind == MASK_GLOB)
		add_entries(sum, parent);
	else
		add_file(sum, AT_FDCWD, mask->path, false);
	if (mask->kind == MASK_LIST)
		add_entries(sum, mask->path);
}

void pool_digest(const struct spec *spec, char ret_hex[static SHA256_HEX_SIZE])
{
	struct sha256 sum;

	sha256_start(&sum);
	spec_digest_add(&sum, spec);
	add_file(&sum, AT_FDCWD, spec->workspace, false);
	for (size_t i = 0; i < spec->mask_count; i++)
		add_mask(&sum, &spec->masks[i], i > 0 ? spec->masks[i - 1].path : NULL);
	sha256_end(&sum, ret_hex);
}

void pool_around(char ret_hex[static SHA256_HEX_SIZE])
{
	struct sha256 sum;
	const int64_t facts[] = { personality(0xffffffff), prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) };

	sha256_start(&sum);
	sha256_add(&sum, AISBX_VERSION, sizeof(AISBX_VERSION));
	sha256_add(&sum, facts, sizeof(facts));
	sha256_end(&sum, ret_hex);
}
