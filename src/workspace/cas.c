/* Contents by their sha256: written as a draft, named by what they turned out to be. */
#include "workspace/cas.h"

#include "base/fd.h"
#include "base/own.h"
#include "workspace/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLACE_SIZE (sizeof("cas/xx/") + SHA256_HEX_SIZE)

static bool is_digest(const char *hex)
{
	return strlen(hex) == SHA256_HEX_SIZE - 1 &&
	       strspn(hex, "0123456789abcdef") == SHA256_HEX_SIZE - 1;
}

static void place_of(const char *hex, char place[static PLACE_SIZE])
{
	(void)snprintf(place, PLACE_SIZE, "cas/%.2s/%s", hex, hex + 2);
}

/* An unnamed file where that works: a killed process leaves nothing. */
static int open_draft(const struct store *store, struct error *err)
{
	int fd = openat(store->fd, "cas", O_TMPFILE | O_RDWR | O_CLOEXEC, 0400);

	return fd >= 0 ? fd : error_errno(err, ERROR_HOST, "cannot keep a content");
}

/* Names the draft; that the content is there already is as good. */
static int publish(const struct store *store, int fd, const char *hex, struct error *err)
{
	char place[PLACE_SIZE], self[32], dir[sizeof("cas/xx")];

	place_of(hex, place);
	(void)snprintf(dir, sizeof(dir), "cas/%.2s", hex);
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	for (unsigned i = 0; i < 2; i++) {
		if (linkat(AT_FDCWD, self, store->fd, place, AT_SYMLINK_FOLLOW) == 0 ||
		    errno == EEXIST)
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
	owned(fd_close) int draft = open_draft(store, err);

	if (draft < 0)
		return -1;
	/* The digest is the copy's: the original may change while it is read. */
	if (copy_content(fd, draft) < 0 || sha256_fd(draft, ret_hex) < 0)
		return error_errno(err, ERROR_HOST, "cannot keep a content");
	return publish(store, draft, ret_hex, err);
}

int cas_keep_bytes(const struct store *store, const void *bytes, size_t len,
		   char ret_hex[static SHA256_HEX_SIZE], struct error *err)
{
	owned(fd_close) int draft = -1;
	char place[PLACE_SIZE];

	sha256_hex(bytes, len, ret_hex);
	place_of(ret_hex, place);
	if (faccessat(store->fd, place, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	draft = open_draft(store, err);
	if (draft < 0)
		return -1;
	if (fd_write_all(draft, bytes, len) < 0)
		return error_errno(err, ERROR_HOST, "cannot keep a content");
	return publish(store, draft, ret_hex, err);
}

int cas_open(const struct store *store, const char *hex, int *ret_fd, struct error *err)
{
	owned(fd_close) int fd = -1;
	char place[PLACE_SIZE], shown[STR_SHOWN_SIZE];
	struct stat st;

	if (!is_digest(hex))
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
