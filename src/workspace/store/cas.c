/* SPDX-License-Identifier: Apache-2.0 */
/* Contents by their digest: written as a draft, named by what they turned out to be. */
#include "workspace/store/cas.h"

#include "base/file/fd.h"
#include "base/core/id.h"
#include "base/core/own.h"
#include "workspace/disk/copy_file.h"
#include "workspace/disk/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLACE_SIZE (sizeof("cas/xx/") + SHA256_HEX_SIZE)

static void place_of(const char *hex, char place[static PLACE_SIZE])
{
	(void)snprintf(place, PLACE_SIZE, "cas/%.2s/%s", hex, hex + 2);
}

/* A content that has no name yet. */
struct draft {
	int fd;
	char name[sizeof("cas/.new-") + ID_RUN_SIZE]; /* "" where files without a name can be had */
};

static void draft_done(const struct store *store, struct draft *draft)
{
	if (draft->fd >= 0 && draft->name[0])
		(void)unlinkat(store->fd, draft->name, 0);
	fd_close(&draft->fd);
}

/* An unnamed file where that works: a killed process leaves nothing. */
static int draft_open(const struct store *store, struct draft *ret_draft, struct error *err)
{
	char id[ID_RUN_SIZE];

	ret_draft->name[0] = '\0';
	ret_draft->fd = openat(store->fd, "cas", O_TMPFILE | O_RDWR | O_CLOEXEC, 0400);
	if (ret_draft->fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
		if (id_run(id, err) < 0)
			return -1;
		(void)snprintf(ret_draft->name, sizeof(ret_draft->name), "cas/.new-%s", id);
		ret_draft->fd = openat(store->fd, ret_draft->name,
				       O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0400);
	}
	return ret_draft->fd < 0 ? error_errno(err, ERROR_HOST, "cannot keep a content") : 0;
}

static int link_draft(const struct store *store, const struct draft *draft, const char *place)
{
	char self[32];

	if (draft->name[0])
		return linkat(store->fd, draft->name, store->fd, place, 0);
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", draft->fd);
	return linkat(AT_FDCWD, self, store->fd, place, AT_SYMLINK_FOLLOW);
}

/* Names the draft; that the content is there already is as good. */
static int publish(const struct store *store, const struct draft *draft, const char *hex,
		   struct error *err)
{
	char place[PLACE_SIZE], dir[sizeof("cas/xx")];

	place_of(hex, place);
	(void)snprintf(dir, sizeof(dir), "cas/%.2s", hex);
	for (unsigned i = 0; i < 2; i++) {
		if (link_draft(store, draft, place) == 0 || errno == EEXIST)
			return 0;
		if (errno != ENOENT)
			break;
		if (mkdirat(store->fd, dir, 0700) < 0 && errno != EEXIST)
			break;
	}
	return error_errno(err, ERROR_HOST, "cannot keep a content");
}

int cas_keep_fd(const struct store *store, int fd, char ret_hex[static SHA256_HEX_SIZE],
		struct error *err)
{
	struct draft draft;
	int result;

	if (draft_open(store, &draft, err) < 0)
		return -1;
	/* The digest is the copy's: the original may change while it is read. */
	if (copy_content(fd, draft.fd) < 0 || digest_fd(draft.fd, ret_hex) < 0)
		result = error_errno(err, ERROR_HOST, "cannot keep a content");
	else
		result = publish(store, &draft, ret_hex, err);
	draft_done(store, &draft);
	return result;
}

int cas_keep_bytes(const struct store *store, const void *bytes, size_t len,
		   char ret_hex[static SHA256_HEX_SIZE], struct error *err)
{
	struct draft draft;
	char place[PLACE_SIZE];
	int result;

	sha256_hex(bytes, len, ret_hex);
	place_of(ret_hex, place);
	if (faccessat(store->fd, place, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	if (draft_open(store, &draft, err) < 0)
		return -1;
	if (fd_write_all(draft.fd, bytes, len) < 0)
		result = error_errno(err, ERROR_HOST, "cannot keep a content");
	else
		result = publish(store, &draft, ret_hex, err);
	draft_done(store, &draft);
	return result;
}

int cas_open(const struct store *store, const char *hex, int *ret_fd, struct error *err)
{
	owned(fd_close) int fd = -1;
	char place[PLACE_SIZE], shown[STR_SHOWN_SIZE];
	struct stat st;

	if (!sha256_is_hex(hex))
		return error_set(err, ERROR_INPUT, "'%s' is not a sha256", str_shown(hex, shown));
	place_of(hex, place);
	fd = openat(store->fd, place, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && errno == ENOENT)
		return error_set(err, ERROR_NOT_FOUND, "the content %.12s is not kept", hex);
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, ERROR_HOST, "cannot open the content %.12s", hex);
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERROR_INPUT, "the content %.12s is not a regular file", hex);
	*ret_fd = fd_take(&fd);
	return 0;
}
