/* SPDX-License-Identifier: Apache-2.0 */
/* What a state directory knows of its archive: its own name there, what it wrote last, what must stay here. */
#include "app/archive/pack.h"

#include "base/core/own.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "workspace/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define PINS_MAX ((size_t)64 << 20)
#define LOCK_TRIES 200u /* of 50 ms: a list is read for a moment, a gc may take hours */

void archive_self_done(struct archive_self *self)
{
	free_ptr(&self->dir);
	free_ptr(&self->drafts);
	fd_close(&self->lock_fd);
}

static int replace(const struct archive_self *self, const char *name, const char *text, size_t len,
		   struct error *err)
{
	owned(fd_close) int fd = open(self->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return error_errno(err, ERROR_HOST, "%s", self->dir);
	return store_replace(fd, name, text, len, true, err);
}

int archive_self_write(const struct archive_self *self, struct error *err)
{
	owned(free_ptr) char *text = xasprintf("%s %s\n", self->machine, self->last);

	return replace(self, "last", text, strlen(text), err);
}

static int make_machine(struct archive_self *self, struct error *err)
{
	unsigned char random[32];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return error_errno(err, ERROR_HOST, "getrandom");
	sha256_hex(random, sizeof(random), self->machine);
	return archive_self_write(self, err);
}

static int read_last(struct archive_self *self, struct error *err)
{
	owned(free_ptr) char *path = xasprintf("%s/last", self->dir);
	char text[2 * SHA256_HEX_SIZE + 2];
	ssize_t len = file_read_small(AT_FDCWD, path, text, sizeof(text));

	if (len < 0 && errno == ENOENT)
		return make_machine(self, err);
	if (len < 0)
		return error_errno(err, ERROR_HOST, "%s", path);
	if (sscanf(text, "%64[0-9a-f] %64[0-9a-f]", self->machine, self->last) >= 1 &&
	    strlen(self->machine) == SHA256_HEX_SIZE - 1 &&
	    (!*self->last || strlen(self->last) == SHA256_HEX_SIZE - 1))
		return 0;
	return error_advise(err, ERROR_INPUT, "remove it: archiving goes on under another name",
			    "%s is damaged", path);
}

/* What a killed process left: the caller holds the lock. */
static void sweep_drafts(const char *path)
{
	owned(fd_close) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	owned(dir_close) DIR *dir = fd < 0 ? NULL : dir_open(fd, ".");
	struct dirent *entry;

	while (dir && dir_next(dir, &entry) > 0)
		(void)unlinkat(fd, entry->d_name, 0);
}

int archive_self_open(const char *state_dir, struct archive_self *ret_self, struct error *err)
{
	owned(archive_self_done) struct archive_self self = {
		.dir = xasprintf("%s/archive", state_dir),
		.drafts = xasprintf("%s/archive/drafts", state_dir),
		.lock_fd = -1,
	};
	owned(free_ptr) char *path = xasprintf("%s/lock", self.dir);
	const struct timespec rest = { .tv_nsec = 50000000 };

	*ret_self = (struct archive_self){ .lock_fd = -1 };
	if (dir_make_all(self.drafts) < 0)
		return error_errno(err, ERROR_HOST, "cannot make '%s'", self.drafts);
	self.lock_fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (self.lock_fd < 0)
		return error_errno(err, ERROR_HOST, "cannot open '%s'", path);
	for (unsigned i = 0; flock(self.lock_fd, LOCK_EX | LOCK_NB) < 0; i++) {
		if (errno != EWOULDBLOCK)
			return error_errno(err, ERROR_HOST, "cannot lock '%s'", path);
		if (i == LOCK_TRIES)
			return error_advise(err, ERROR_BUSY, "try again when it is done",
					    "another aisbx is at work on the archive");
		(void)nanosleep(&rest, NULL);
	}
	sweep_drafts(self.drafts);
	if (read_last(&self, err) < 0)
		return -1;
	*ret_self = self;
	self = (struct archive_self){ .lock_fd = -1 };
	return 0;
}

int archive_pins_read(const char *state_dir, struct strv *ret_pins, struct error *err)
{
	owned(free_ptr) char *path = xasprintf("%s/archive/pins", state_dir);
	owned(str_done) struct str text = STR_INIT;
	char *line, *next;

	if (access(path, F_OK) < 0 && errno == ENOENT)
		return 0;
	if (file_read(AT_FDCWD, path, PINS_MAX, &text, err) < 0)
		return -1;
	for (line = text.data; line && *line; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		if (*line)
			strv_add(ret_pins, line);
	}
	strv_sort(ret_pins);
	return 0;
}

int archive_pins_write(const struct archive_self *self, struct strv *pins, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;

	strv_sort(pins);
	for (size_t i = 0; i < pins->count; i++)
		if (i == 0 || strcmp(pins->items[i], pins->items[i - 1]) != 0)
			str_addf(&text, "%s\n", pins->items[i]);
	return replace(self, "pins", str_cstr(&text), text.len, err);
}
