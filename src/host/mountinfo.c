/* SPDX-License-Identifier: Apache-2.0 */
/* The mounts of this machine: reading /proc/self/mountinfo, and what each filesystem type means. */
#include "base/file/fd.h"
#include "base/core/own.h"
#include "host/parts.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define MOUNTINFO_MAX ((size_t)64 << 20)

/* One line, cut into words as it is read. */
struct line {
	const char *at, *end;
};

struct word {
	const char *bytes;
	size_t len;
};

static bool next_word(struct line *line, struct word *ret_word)
{
	const char *space;

	if (line->at > line->end)
		return false;
	space = memchr(line->at, ' ', (size_t)(line->end - line->at));
	if (!space)
		space = line->end;
	ret_word->bytes = line->at;
	ret_word->len = (size_t)(space - line->at);
	line->at = space + 1;
	return true;
}

static bool word_is(const struct word *word, const char *text)
{
	return word->len == strlen(text) && memcmp(word->bytes, text, word->len) == 0;
}

/* Whether a comma list holds NAME. */
static bool word_has_option(const struct word *word, const char *name)
{
	size_t len = strlen(name);
	const char *at = word->bytes, *end = word->bytes + word->len;

	while (at < end) {
		const char *comma = memchr(at, ',', (size_t)(end - at));

		if (!comma)
			comma = end;
		if ((size_t)(comma - at) == len && memcmp(at, name, len) == 0)
			return true;
		at = comma + 1;
	}
	return false;
}

/* The kernel writes space, tab, newline, backslash and # as a backslash and three octal digits. */
static char *unescape(const struct word *word)
{
	char *out = xmalloc(word->len + 1);
	size_t used = 0;

	for (size_t i = 0; i < word->len; i++) {
		const char *at = word->bytes + i;

		if (*at == '\\' && i + 3 < word->len && at[1] >= '0' && at[1] <= '3' &&
		    at[2] >= '0' && at[2] <= '7' && at[3] >= '0' && at[3] <= '7') {
			out[used++] =
				(char)((at[1] - '0') * 64 + (at[2] - '0') * 8 + (at[3] - '0'));
			i += 3;
			continue;
		}
		out[used++] = *at;
	}
	out[used] = '\0';
	return out;
}

static bool parse_number(const struct word *word, char stop, size_t *at, unsigned *ret_number)
{
	unsigned long number = 0;
	size_t start = *at;

	while (*at < word->len && word->bytes[*at] != stop) {
		char c = word->bytes[*at];

		if (c < '0' || c > '9')
			return false;
		number = number * 10 + (unsigned long)(c - '0');
		if (number > INT_MAX)
			return false;
		(*at)++;
	}
	*ret_number = (unsigned)number;
	return *at > start;
}

static bool parse_id(struct line *line, int *ret_id)
{
	struct word word;
	unsigned number;
	size_t at = 0;

	if (!next_word(line, &word) || !parse_number(&word, ' ', &at, &number))
		return false;
	*ret_id = (int)number;
	return true;
}

static bool parse_device(struct line *line, struct host_mount *mount)
{
	struct word word;
	size_t at = 0;

	if (!next_word(line, &word) || !parse_number(&word, ':', &at, &mount->major))
		return false;
	if (at >= word.len)
		return false;
	at++;
	return parse_number(&word, ' ', &at, &mount->minor);
}

static int compare_names(const void *key, const void *row)
{
	return strcmp(key, *(const char *const *)row);
}

#define IS_LISTED(table, name)                                                        \
	(bsearch(name, table, sizeof(table) / sizeof((table)[0]), sizeof((table)[0]), \
		 compare_names) != NULL)

/* Both sorted by strcmp: they are searched for every mount of the machine. */
static const char *const kernel_types[] = {
	"bdev",	     "binfmt_misc", "bpf",     "cgroup",   "cgroup2",	 "configfs",
	"cpuset",    "debugfs",	    "devpts",  "devtmpfs", "efivarfs",	 "functionfs",
	"fusectl",   "hugetlbfs",   "mqueue",  "nfsd",	   "nsfs",	 "pipefs",
	"proc",	     "pstore",	    "ramoops", "resctrl",  "rpc_pipefs", "securityfs",
	"selinuxfs", "smackfs",	    "sockfs",  "sysfs",	   "tracefs"
};
static const char *const remote_types[] = { "9p",	 "afs",	     "autofs", "beegfs",  "ceph",
					    "cifs",	 "coda",     "fuse",   "fuseblk", "gfs2",
					    "glusterfs", "gpfs",     "lustre", "nfs",	  "nfs4",
					    "ocfs2",	 "orangefs", "prl_fs", "smb3",	  "smbfs",
					    "vboxsf",	 "virtiofs", "vmhgfs" };

enum mount_class host_mount_class(const char *fstype)
{
	if (IS_LISTED(kernel_types, fstype))
		return MOUNT_KERNEL;
	if (IS_LISTED(remote_types, fstype) || strncmp(fstype, "fuse.", 5) == 0)
		return MOUNT_REMOTE;
	return MOUNT_REAL;
}

/* Fills MOUNT; what was filled before a failure is freed by the caller. */
static bool parse_line(struct line *line, struct host_mount *mount)
{
	struct word root, point, options, word, source, super;

	if (!parse_id(line, &mount->id) || !parse_id(line, &mount->parent) ||
	    !parse_device(line, mount))
		return false;
	if (!next_word(line, &root) || !next_word(line, &point) || !next_word(line, &options))
		return false;
	/* Optional fields (shared:1, master:2) come until a lone dash. */
	do {
		if (!next_word(line, &word))
			return false;
	} while (!word_is(&word, "-"));
	if (!next_word(line, &word) || !next_word(line, &source) || !next_word(line, &super))
		return false;
	mount->root = unescape(&root);
	mount->point = unescape(&point);
	mount->fstype = unescape(&word);
	mount->source = unescape(&source);
	mount->super_options = unescape(&super);
	mount->class = host_mount_class(mount->fstype);
	mount->readonly = word_has_option(&options, "ro") || word_has_option(&super, "ro");
	/* Only a bind of something below a filesystem's root can be a file. */
	mount->is_directory = strcmp(mount->root, "/") == 0;
	return mount->point[0] == '/';
}

static void mount_done(struct host_mount *mount)
{
	free(mount->root);
	free(mount->point);
	free(mount->fstype);
	free(mount->source);
	free(mount->super_options);
}

void host_mounts_free(struct host_mount *mounts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		mount_done(&mounts[i]);
	free(mounts);
}

int host_parse_mountinfo(const char *text, size_t len, struct host_mount **ret_mounts,
			 size_t *ret_count, struct error *err)
{
	struct host_mount *mounts = NULL;
	size_t count = 0, room = 0;
	const char *end = text + len;
	unsigned number = 0;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		struct line line = { .at = text, .end = newline ? newline : end };

		number++;
		if (count == room) {
			room = room ? room * 2 : 32;
			mounts = xrealloc(mounts, room, sizeof(*mounts));
		}
		mounts[count] = (struct host_mount){ .id = -1 };
		if (memchr(text, '\0', (size_t)(line.end - text)) ||
		    !parse_line(&line, &mounts[count])) {
			host_mounts_free(mounts, count + 1);
			return error_set(err, ERROR_INPUT, "mountinfo line %u is malformed",
					 number);
		}
		count++;
		text = line.end + 1;
	}
	*ret_mounts = mounts;
	*ret_count = count;
	return 0;
}

/* PATH is PARENT or lies below it. */
static bool covers(const char *parent, const char *path)
{
	size_t len = strlen(parent);

	if (len == 1)
		return true;
	return strncmp(path, parent, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

static const struct host_mount *find_id(const struct host *host, int id)
{
	for (size_t i = 0; i < host->mount_count; i++) {
		if (host->mounts[i].id == id)
			return &host->mounts[i];
	}
	return NULL;
}

static bool is_ancestor(const struct host *host, const struct host_mount *above,
			const struct host_mount *mount)
{
	/* The count bounds the walk: mountinfo given by a test or a fuzzer may hold a loop. */
	for (size_t left = host->mount_count; mount && left > 0; left--) {
		if (mount->parent == mount->id)
			return false;
		if (mount->parent == above->id)
			return true;
		mount = find_id(host, mount->parent);
	}
	return false;
}

bool host_mount_is_visible(const struct host *host, const struct host_mount *mount)
{
	for (size_t i = 0; i < host->mount_count; i++) {
		const struct host_mount *other = &host->mounts[i];

		if (other != mount && covers(other->point, mount->point) &&
		    !is_ancestor(host, other, mount))
			return false;
	}
	return true;
}

/* Below these everything is made afresh in a sandbox, so nothing there has to be looked at. */
static bool is_below_kernel_dirs(const char *point)
{
	return covers("/proc", point) || covers("/sys", point) || covers("/dev", point);
}

static void look_at(struct host_mount *mount)
{
	struct stat st;

	if (mount->class == MOUNT_REMOTE) {
		mount->is_directory = true;
		return;
	}
	if (mount->class == MOUNT_KERNEL || is_below_kernel_dirs(mount->point))
		return;
	/* A mount that cannot be looked at (no search permission on the way) is not visible inside either. */
	if (fstatat(AT_FDCWD, mount->point, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
		return;
	mount->is_directory = S_ISDIR(st.st_mode);
	mount->is_regular = S_ISREG(st.st_mode);
	mount->dev = st.st_dev;
	mount->ino = st.st_ino;
}

int host_read_mounts(struct host *host, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	owned(fd_close) int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fd_read_all(fd, MOUNTINFO_MAX, &text) < 0)
		return error_errno(err, ERROR_HOST, "/proc/self/mountinfo");
	if (host_parse_mountinfo(str_cstr(&text), text.len, &host->mounts, &host->mount_count,
				 err) < 0)
		return -1;
	for (size_t i = 0; i < host->mount_count; i++)
		look_at(&host->mounts[i]);
	return 0;
}
