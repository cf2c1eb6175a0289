/* SPDX-License-Identifier: Apache-2.0 */
/* Journals that somebody else put where recovery looks: nothing is removed, moved or written at their word. */
#include "base/core/own.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"
#include "workspace/txn/journal.h"
#include "workspace/txn/txn_parts.h"
#include "workspace/txn/txn_trust.h"

#include <fcntl.h>
#include <sys/stat.h>

#define ID "01forged"

static struct scratch scratch;

/* What a forged journal is about. */
struct forgery {
	const char *id, *place, *beside;
	mode_t dir_mode, base_mode, file_mode;
	bool is_linked;
	enum journal_type last;
};

static char *path_of(const char *name)
{
	return xasprintf("%s/%s", scratch.dir, name);
}

static void write_journal(const struct forgery *forgery, int dir_fd)
{
	owned(free_ptr) char *root = path_of("ws");
	owned(str_done) struct str body = STR_INIT;
	struct txn txn;
	struct stat st;

	txn_init(&txn);
	if (journal_create(dir_fd, &txn.journal) < 0 || stat(root, &st) < 0)
		tap_bail("cannot forge");
	txn.id = xstrdup(forgery->id);
	txn.digest = xstrdup("");
	txn.owner = xstrdup("");
	txn.root = xstrdup(root);
	txn.root_ino = st.st_ino;
	txn_log_begin(&txn);
	if (forgery->place) {
		struct txn_place place = { .fd = -1 };

		memcpy(&place.path, &forgery->place, sizeof(place.path));
		txn_log_place(&txn, &place);
	}
	if (forgery->beside) {
		body_add_text(&body, forgery->beside);
		journal_add(&txn.journal, JOURNAL_BESIDE, &body);
	}
	if (journal_write(&txn.journal, false) < 0 ||
	    (forgery->last && txn_log_end(&txn, forgery->last) < 0))
		tap_bail("cannot forge");
	txn_done(&txn);
}

/* Makes the forgery in a staging directory beside the target; its path. The caller frees it. */
static char *forge(const struct forgery *forgery)
{
	owned(free_ptr) char *base = path_of(".aisbx-txn"), *victim = path_of("victim"),
			     *keep = path_of("ws/keep"), *link = path_of("journal-of-others");
	char *directory = path_of(".aisbx-txn/" ID);
	owned(free_ptr) char *file = xasprintf("%s/journal", directory),
			     *treasure = xasprintf("%s/treasure", victim);

	(void)mkdir(base, 0700);
	(void)mkdir(directory, 0700);
	(void)mkdir(victim, 0700);
	(void)close(open(treasure, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	(void)close(open(keep, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	owned(fd_close) int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	write_journal(forgery, fd);
	if (chmod(file, forgery->file_mode) < 0 || chmod(directory, forgery->dir_mode) < 0 ||
	    chmod(base, forgery->base_mode) < 0 ||
	    (forgery->is_linked && linkat(AT_FDCWD, file, AT_FDCWD, link, 0) < 0))
		tap_bail("cannot forge");
	return directory;
}

static bool exists(const char *name)
{
	owned(free_ptr) char *path = path_of(name);

	return access(path, F_OK) == 0;
}

static void clear(void)
{
	owned(free_ptr) char *command = xasprintf("rm -rf '%s/.aisbx-txn' '%s/journal-of-others'",
						  scratch.dir, scratch.dir);

	if (system(command) != 0)
		tap_bail("cannot clear");
}

static void refuses(const char *what, struct forgery forgery)
{
	owned(free_ptr) char *directory = NULL;
	enum txn_state state;
	struct error err = { 0 };

	forgery.id = forgery.id ? forgery.id : ID;
	forgery.dir_mode = forgery.dir_mode ? forgery.dir_mode : 0700;
	forgery.base_mode = forgery.base_mode ? forgery.base_mode : 0700;
	forgery.file_mode = forgery.file_mode ? forgery.file_mode : 0600;
	directory = forge(&forgery);
	tap_ok(txn_recover(directory, &state, &err) < 0 && err.code == ERROR_DENIED,
	       "%s: not recovered: %s", what, err.text);
	tap_ok(txn_forget(directory, &err) < 0, "nor forgotten");
	tap_ok(exists("victim/treasure") && exists("ws/keep") &&
		       exists(".aisbx-txn/" ID "/journal"),
	       "and everything is where it was");
	clear();
}

static int stage_nothing(const struct txn_op *op, struct txn_stage *slot, void *cookie,
			 struct error *err)
{
	owned(fd_close) int fd = openat(slot->fd, slot->name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	(void)op;
	(void)cookie;
	return fd < 0 ? error_errno(err, ERROR_HOST, "stage") : 0;
}

static int knows_none(const char *directory, void *cookie, struct error *err)
{
	(void)directory;
	(void)cookie;
	(void)err;
	return 0;
}

/* A whole journal of the right owner that the store never heard of: a repository may bring one. */
static void test_unknown(void)
{
	owned(free_ptr) char *slot = path_of(".aisbx-txn/" ID "/slot"), *root = path_of("ws");
	struct forgery forgery = { .id = ID,
				   .place = slot,
				   .beside = ".aisbx-" ID "-0",
				   .dir_mode = 0700,
				   .base_mode = 0700,
				   .file_mode = 0600 };
	char *directory = forge(&forgery);
	owned(free_ptr) char *beside = path_of("ws/.aisbx-" ID "-0");
	char added[] = "added";
	struct txn_op op = { .kind = TXN_ADD, .path = added };
	struct txn_plan plan = { .target = { .root = root },
				 .id = "01mine",
				 .ops = &op,
				 .count = 1,
				 .stage = stage_nothing,
				 .is_known = knows_none };
	struct txn_result result = { 0 };
	struct error err = { 0 };

	free(directory);
	(void)close(open(beside, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	tap_ok(txn_run(&plan, &result, &err) == 0 && exists("ws/added"),
	       "a promotion goes on beside it %s", err.text);
	tap_ok(exists(".aisbx-txn/" ID "/journal") && access(beside, F_OK) == 0,
	       "and leaves one alone that is not known");
	tap_ok(txn_forget(result.directory, &err) == 0, "its own place is cleaned up");
	txn_result_done(&result);
	plan.is_known = NULL;
	char second[] = "second";

	plan.id = "02mine";
	op.path = second;
	tap_ok(txn_run(&plan, &result, &err) == 0 && access(beside, F_OK) < 0,
	       "one that is known would be cleaned up %s", err.text);
	tap_ok(txn_forget(result.directory, &err) == 0, "and so is the place of that");
	txn_result_done(&result);
	clear();
}

static void test_match(void)
{
	owned(free_ptr) char *slot = path_of(".aisbx-txn/" ID "/slot"), *other = path_of("victim"),
			     *root = path_of("ws");
	struct forgery forgery = {
		.id = ID, .place = slot, .dir_mode = 0700, .base_mode = 0700, .file_mode = 0600
	};
	owned(free_ptr) char *directory = forge(&forgery);
	struct txn_result result = { 0 };
	struct error err = { 0 };

	tap_ok(txn_match(directory, root, false, &err) == 0, "the target that was recorded");
	tap_ok(txn_match(directory, other, false, &err) < 0 && err.code == ERROR_DENIED,
	       "another one: %s", err.text);
	tap_ok(txn_match(directory, root, true, &err) < 0 && err.code == ERROR_DENIED,
	       "cut short after it was done: %s", err.text);
	tap_ok(txn_undo(directory, NULL, &result, &err) < 0 && exists(".aisbx-txn/" ID "/journal"),
	       "an undo does not remove it: %s", err.text);
	txn_result_done(&result);
	clear();
}

int main(void)
{
	scratch_open(&scratch);
	owned(free_ptr) char *victim = path_of("victim"), *root = path_of("ws");
	owned(free_ptr) char *victim_slot = path_of("victim/.aisbx/../../victim");

	(void)mkdir(root, 0700);
	refuses("others may write to the directory", (struct forgery){ .dir_mode = 0770 });
	refuses("others may write to the one above", (struct forgery){ .base_mode = 0777 });
	refuses("others may write to the journal", (struct forgery){ .file_mode = 0606 });
	refuses("the journal has a second name", (struct forgery){ .is_linked = true });
	refuses("the journal of another one", (struct forgery){ .id = "01other" });
	refuses("a place that is not its own", (struct forgery){ .place = victim });
	refuses("one that only ends like it", (struct forgery){ .place = victim_slot });
	refuses("a slot that is none", (struct forgery){ .beside = "keep" });
	test_unknown();
	test_match();
	scratch_close(&scratch);
	return tap_done();
}
