/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Approvals of a stage, by as many accounts as its pipeline wants.
 *
 * A store belongs to one account: its own word lies there. The others leave theirs in a directory that all may write to:
 * the owner of a file is its author. The file repeats what it is about, so that another file of the same owner under that
 * name has no effect.
 */
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "app/stage/stage_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLACE "/var/tmp/aisbx-approvals"
/* A test must not ask for other people's word. */
#define PLACE_VARIABLE "AISBX_APPROVALS"
#define WORDS_MAX 512
#define FILES_MAX 4096

static const char *place(void)
{
	const char *given = getenv(PLACE_VARIABLE);

	return given && given[0] == '/' ? given : PLACE;
}

static char *words_of(const char *bundle, const char *stage)
{
	return xasprintf("aisbx approval\nbundle %s\nstage %s\n", bundle, stage);
}

/* Whether the file belongs to that account, and has just that content. */
static bool says(int dir_fd, const char *name, const char *words, uid_t *ret_uid)
{
	owned(fd_close) int fd =
		openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	char text[WORDS_MAX];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1 ||
	    (st.st_mode & 022))
		return false;
	ssize_t got = read(fd, text, sizeof(text));

	*ret_uid = st.st_uid;
	return got == (ssize_t)strlen(words) && memcmp(text, words, (size_t)got) == 0;
}

static void add_uid(struct stage_approvals *approvals, uid_t uid)
{
	for (size_t i = 0; i < approvals->count; i++) {
		if (approvals->uids[i] == uid)
			return;
	}
	if (approvals->count < STAGE_APPROVALS_MAX)
		approvals->uids[approvals->count++] = uid;
}

void stage_approvals_left(const char *bundle, const char *stage, struct stage_approvals *approvals)
{
	owned(free_ptr) char *words = words_of(bundle, stage);
	owned(free_ptr) char *start = xasprintf("%s-%s-", bundle, stage);
	owned(fd_close) int fd = open(place(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	owned(dir_close) DIR *dir = fd >= 0 ? dir_open(fd, ".") : NULL;
	struct dirent *entry;
	uid_t uid;

	for (unsigned i = 0; i < FILES_MAX && dir_next(dir, &entry) > 0; i++) {
		/* Ids without an account can belong to any user with a range of them. */
		if (str_starts(entry->d_name, start) && says(fd, entry->d_name, words, &uid) &&
		    getpwuid(uid))
			add_uid(approvals, uid);
	}
}

void stage_approvals_read(const struct stage_place *place_of_bundle, const char *stage,
			  struct stage_approvals *ret_approvals)
{
	*ret_approvals = (struct stage_approvals){ 0 };
	if (stage_place_is_approved(place_of_bundle, stage))
		add_uid(ret_approvals, geteuid());
	stage_approvals_left(place_of_bundle->record.bundle, stage, ret_approvals);
}

struct value *stage_approvals_rows(const struct stage_approvals *approvals)
{
	struct value *list = value_new_list();

	for (size_t i = 0; i < approvals->count; i++) {
		struct value *row = value_append(list, value_new_map());
		const struct passwd *account = getpwuid(approvals->uids[i]);

		value_add(row, "uid", value_new_int(approvals->uids[i]));
		value_add(row, "user", value_new_text(account ? account->pw_name : ""));
	}
	return list;
}

/* The directory, made when it is missing; sticky, so that no account can remove or replace another's file. */
static int open_place(int *ret_fd, struct error *err)
{
	struct stat st;

	if (mkdir(place(), 0700) == 0 && chmod(place(), 01777) < 0)
		return error_errno(err, ERROR_HOST, "%s", place());
	owned(fd_close) int fd = open(place(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, ERROR_HOST, "%s", place());
	if ((st.st_mode & 01777) != 01777)
		return error_set(err, ERROR_DENIED,
				 "%s must have mode 1777: ask its owner, or root, to remove it",
				 place());
	*ret_fd = fd_take(&fd);
	return 0;
}

int stage_approval_leave(const char *bundle, const char *stage, struct error *err)
{
	owned(free_ptr) char *words = words_of(bundle, stage);
	owned(free_ptr) char *name = xasprintf("%s-%s-%u", bundle, stage, (unsigned)geteuid());
	owned(fd_close) int dir_fd = -1, fd = -1;

	if (!sha256_is_hex(bundle) || strlen(words) > WORDS_MAX || strchr(stage, '/') || !*stage)
		return error_advise(err, ERROR_NOT_FOUND,
				    "to approve another user's, give all 64 digits of its name",
				    "no bundle '%.70s' of yours", bundle);
	if (open_place(&dir_fd, err) < 0)
		return -1;
	(void)unlinkat(dir_fd, name, 0);
	fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0 || fchmod(fd, 0644) < 0 || fd_write_all(fd, words, strlen(words)) < 0)
		return error_errno(err, ERROR_HOST, "%s/%s", place(), name);
	return 0;
}
