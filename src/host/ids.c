/* SPDX-License-Identifier: Apache-2.0 */
/* The caller: ids, privileges, and the range of host ids a root caller's sandbox is mapped to. */
#include "base/file/fd.h"
#include "base/core/own.h"
#include "host/parts.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PASSWD_MAX ((size_t)16 << 20)
#define INITIAL_USERNS_INO 0xeffffffdU
#define OVERFLOW_UID 65534
#define RANGE_COUNT 65536U
#define RANGE_FIRST 0x70000000U
#define RANGE_LAST 0x7ffe0000U
#define RANGES ((RANGE_LAST - RANGE_FIRST) / RANGE_COUNT)

/* The libc's own look-ups load plug-ins at run time; the hot program is static and reads the files itself. */
static bool read_text(const char *path, struct str *ret_text)
{
	struct error ignored;

	return file_read(AT_FDCWD, path, PASSWD_MAX, ret_text, &ignored) == 0;
}

/* Field INDEX of a colon-separated line that ends at END. */
static bool line_field(const char *line, const char *end, unsigned index, const char **ret_at,
		       size_t *ret_len)
{
	for (;; index--) {
		const char *colon = memchr(line, ':', (size_t)(end - line));

		if (index == 0) {
			*ret_at = line;
			*ret_len = (size_t)((colon ? colon : end) - line);
			return true;
		}
		if (!colon)
			return false;
		line = colon + 1;
	}
}

static bool field_number(const char *line, const char *end, unsigned index, uint64_t *ret_number)
{
	const char *at;
	size_t len;
	uint64_t number = 0;

	if (!line_field(line, end, index, &at, &len) || len == 0 || len > 10)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (at[i] < '0' || at[i] > '9')
			return false;
		number = number * 10 + (uint64_t)(at[i] - '0');
	}
	*ret_number = number;
	return true;
}

static const char *line_end(const char *line)
{
	return strchrnul(line, '\n');
}

static const char *line_after(const char *end)
{
	return *end ? end + 1 : end;
}

/* Last id a line of FIELDS takes: passwd has one id (field 2), sub*id a start and a count. */
static bool line_range(const char *line, const char *end, bool is_passwd, uint64_t *ret_first,
		       uint64_t *ret_count)
{
	if (is_passwd) {
		*ret_count = 1;
		return field_number(line, end, 2, ret_first);
	}
	return field_number(line, end, 1, ret_first) && field_number(line, end, 2, ret_count);
}

/* First base at or after BASE whose range meets no line of TEXT. */
static uint64_t base_after(const char *text, bool is_passwd, uint64_t base)
{
	for (const char *line = text; *line;) {
		const char *end = line_end(line);
		uint64_t first, count;

		if (line_range(line, end, is_passwd, &first, &count) &&
		    first < base + RANGE_COUNT && base < first + count) {
			/* Stepping in whole ranges and starting over: an earlier line may meet the new one. */
			base += RANGE_COUNT;
			if (base > RANGE_LAST)
				return base;
			line = text;
			continue;
		}
		line = line_after(end);
	}
	return base;
}

/* Start of root's own entry with enough ids; 0 when there is none. */
static uint64_t root_entry(const char *text)
{
	for (const char *line = text; *line; line = line_after(line_end(line))) {
		const char *end = line_end(line), *at;
		uint64_t first, count;
		size_t len;

		if (!line_field(line, end, 0, &at, &len))
			continue;
		if (!(len == 4 && memcmp(at, "root", 4) == 0) && !(len == 1 && at[0] == '0'))
			continue;
		if (line_range(line, end, false, &first, &count) && count >= RANGE_COUNT &&
		    first >= RANGE_COUNT && first <= UINT32_MAX - RANGE_COUNT)
			return first;
	}
	return 0;
}

/* First free range at or behind BASE; 0 when there is none. */
static uint64_t free_range(const struct str *subuid, const struct str *subgid,
			   const struct str *passwd, uint64_t base)
{
	uint64_t before;

	do {
		before = base;
		base = base_after(str_cstr(subuid), false, base);
		base = base_after(str_cstr(subgid), false, base);
		base = base_after(str_cstr(passwd), true, base);
	} while (base != before && base <= RANGE_LAST);
	return base > RANGE_LAST ? 0 : base;
}

uid_t host_pick_id_base(const struct host_id_files *files, unsigned choice)
{
	owned(str_done) struct str passwd = STR_INIT, subuid = STR_INIT, subgid = STR_INIT;
	uint64_t base;

	(void)read_text(files->subuid, &subuid);
	(void)read_text(files->subgid, &subgid);
	base = root_entry(str_cstr(&subuid));
	/* One base serves both kinds of id: root's entry counts when both files agree on it. */
	if (base && base == root_entry(str_cstr(&subgid)))
		return (uid_t)base;
	(void)read_text(files->passwd, &passwd);
	base = free_range(&subuid, &subgid, &passwd,
			  RANGE_FIRST + (uint64_t)(choice % RANGES) * RANGE_COUNT);
	return (uid_t)(base ? base : free_range(&subuid, &subgid, &passwd, RANGE_FIRST));
}

void host_read_passwd(const char *passwd, uid_t uid, char **ret_user, char **ret_home)
{
	owned(str_done) struct str text = STR_INIT;

	*ret_user = NULL;
	*ret_home = NULL;
	(void)read_text(passwd, &text);
	for (const char *line = str_cstr(&text); *line; line = line_after(line_end(line))) {
		const char *end = line_end(line), *at;
		uint64_t number;
		size_t len;

		if (!field_number(line, end, 2, &number) || number != uid)
			continue;
		if (line_field(line, end, 0, &at, &len))
			*ret_user = xstrndup(at, len);
		if (line_field(line, end, 5, &at, &len) && len && at[0] == '/')
			*ret_home = xstrndup(at, len);
		return;
	}
}

void host_read_homes(const char *passwd, struct strv *ret_homes)
{
	owned(str_done) struct str text = STR_INIT;

	(void)read_text(passwd, &text);
	for (const char *line = str_cstr(&text); *line; line = line_after(line_end(line))) {
		const char *at;
		size_t len;

		if (line_field(line, line_end(line), 5, &at, &len) && len > 1 && at[0] == '/')
			strv_take(ret_homes, xstrndup(at, len));
	}
}

static uint64_t effective_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };

	if (syscall(SYS_capget, &head, data) < 0)
		return 0;
	return (uint64_t)data[1].effective << 32 | data[0].effective;
}

/*
 * The first user namespace has a fixed inode number. Its map would not tell it from a container's that maps every
 * id to itself.
 */
static bool is_initial_userns(void)
{
	struct stat st;

	return stat("/proc/self/ns/user", &st) == 0 && st.st_ino == INITIAL_USERNS_INO;
}

/*
 * Whether UID of this user namespace is the machine's root. Maps name ids of the next namespace out only, so a file is
 * asked that the machine's root owns everywhere. An id without a name here shows as the overflow id, which proves nothing.
 */
static bool is_root_of_machine(uid_t uid)
{
	struct stat st;

	return uid != OVERFLOW_UID && stat("/proc/sys/kernel/ostype", &st) == 0 && st.st_uid == uid;
}

int host_read_ids(struct host *host, const struct host_id_files *files, struct error *err)
{
	const uint64_t needed = 1ULL << CAP_SYS_ADMIN | 1ULL << CAP_SETUID | 1ULL << CAP_SETGID;

	host->uid = getuid();
	host->gid = getgid();
	/* A setuid copy would lend its owner's rights to every caller. */
	if (geteuid() != host->uid || getegid() != host->gid)
		return error_set(err, ERROR_DENIED,
				 "started with borrowed rights (real uid %u, effective uid %u): "
				 "aisbx must not be setuid or setgid",
				 (unsigned)host->uid, (unsigned)geteuid());
	host->in_initial_userns = host->uid == 0 && is_initial_userns();
	host->is_host_root = !host->in_initial_userns && is_root_of_machine(host->uid);
	if (!host->in_initial_userns || (effective_capabilities() & needed) != needed)
		return 0;
	/* Kernel quotas count per user: sandboxes that run side by side should not share ids. */
	host->id_base = host_pick_id_base(files, (unsigned)getpid());
	if (!host->id_base)
		return error_set(err, ERROR_HOST,
				 "no free range of %u ids between %u and %u: give root one of its "
				 "own in %s and %s (root:START:%u)",
				 RANGE_COUNT, RANGE_FIRST, RANGE_LAST, files->subuid, files->subgid,
				 RANGE_COUNT);
	host->id_count = RANGE_COUNT;
	host->privileged = true;
	return 0;
}
