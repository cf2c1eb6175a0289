/* The last look before the payload is released: is the tree what the plan promised? */
#include "launch/check.h"

#include "base/own.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX (256u << 10)

/* Field N (from 0) of a line, ended by a blank. */
static const char *field(const char *line, unsigned n, size_t *ret_len)
{
	while (n-- > 0 && *line) {
		line += strcspn(line, " \n");
		line += *line == ' ';
	}
	*ret_len = strcspn(line, " \n");
	return line;
}

static bool has_option(const char *options, size_t len, const char *name)
{
	size_t name_len = strlen(name);

	for (size_t at = 0; at < len;) {
		size_t part = strcspn(options + at, ", \n");

		if (part == name_len && memcmp(options + at, name, part) == 0)
			return true;
		at += part + 1;
	}
	return false;
}

/* Device nodes bound by descriptor, and the sandbox's own pseudo terminals. */
static bool may_be_device(const char *point, size_t len)
{
	return len > 5 && memcmp(point, "/dev/", 5) == 0;
}

static bool must_be_readonly(const char *point, size_t len)
{
	static const char *const points[] = { "/proc/sys", "/sys", "/dev", "/proc/sysrq-trigger" };

	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		if (strlen(points[i]) == len && memcmp(points[i], point, len) == 0)
			return true;
	}
	return false;
}

static int check_line(const char *line, struct error *err)
{
	size_t point_len, options_len;
	const char *point = field(line, 4, &point_len);
	const char *options = field(line, 5, &options_len);

	if (!has_option(options, options_len, "nosuid"))
		return error_set(err, ERROR_INTERNAL, "mount %.*s is not nosuid", (int)point_len, point);
	if (!has_option(options, options_len, "nodev") && !may_be_device(point, point_len))
		return error_set(err, ERROR_INTERNAL, "mount %.*s is not nodev", (int)point_len, point);
	if (must_be_readonly(point, point_len) && !has_option(options, options_len, "ro"))
		return error_set(err, ERROR_INTERNAL, "mount %.*s is writable", (int)point_len, point);
	return 0;
}

int check_mount_text(const char *text, struct error *err)
{
	bool has_root = false, has_proc = false;

	for (const char *line = text; *line;) {
		size_t len;
		const char *point = field(line, 4, &len);

		has_root |= len == 1 && point[0] == '/';
		has_proc |= len == 5 && memcmp(point, "/proc", 5) == 0;
		if (check_line(line, err) < 0)
			return -1;
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	if (!has_root || !has_proc)
		return error_set(err, ERROR_INTERNAL, "the new root lacks / or /proc");
	return 0;
}

int check_mounts(struct error *err)
{
	owned(free_ptr) char *text = xmalloc(TEXT_MAX);
	owned(fd_close) int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	size_t used = 0;

	if (fd < 0)
		return error_errno(err, ERROR_HOST, "cannot read the sandbox's mounts");
	for (;;) {
		ssize_t got = read(fd, text + used, TEXT_MAX - 1 - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_errno(err, ERROR_HOST, "cannot read the sandbox's mounts");
		if (got == 0)
			break;
		used += (size_t)got;
		if (used == TEXT_MAX - 1)
			return error_set(err, ERROR_DENIED, "too many mounts to check");
	}
	text[used] = '\0';
	return check_mount_text(text, err);
}
