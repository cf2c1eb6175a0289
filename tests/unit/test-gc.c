/* SPDX-License-Identifier: Apache-2.0 */
/* Housekeeping: layers of dead runs go, those somebody holds stay, and each removal is told. */
#include "app/run/run_request.h"

#include "base/core/own.h"
#include "launch/setup/storage.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

#include <sys/file.h>
#include <sys/wait.h>

static struct scratch scratch;

static bool exists(const char *name)
{
	owned(free_ptr) char *path = xasprintf("%s/%s", scratch.dir, name);

	return access(path, F_OK) == 0;
}

static void make_layers(void)
{
	owned(free_ptr) char *closed = NULL;

	free(scratch_write(&scratch, "state/aisbx/layers/DEAD/u0/deep/er/file", "x"));
	free(scratch_write(&scratch, "state/aisbx/layers/DEAD/w0/work", "x"));
	free(scratch_write(&scratch, "state/aisbx/layers/HELD/u0/file", "x"));
	free(scratch_write(&scratch, "state/aisbx/spool", "x"));
	/* A payload can take the permission from its directories. */
	closed = scratch_path(&scratch, "state/aisbx/layers/DEAD/u0/deep");
	if (chmod(closed, 0) < 0)
		tap_bail("cannot close a directory");
}

/* Of the kind gc reports layers under; groups of others may be swept on the same occasion. */
static size_t count_layers(const struct value *answer, const char *ending)
{
	size_t count = 0;

	for (size_t i = 0; i < answer->many.count; i++) {
		const struct value *row = answer->many.items[i];
		const char *kind = value_get_text(row, "kind"), *path = value_get_text(row, "path");

		count += kind && path && strcmp(kind, "layers") == 0 && str_ends(path, ending);
	}
	return count;
}

static void test_sweep(void)
{
	owned(value_release) struct value *answer = NULL;
	owned(value_release) struct value *again = NULL;
	owned(free_ptr) char *held_path = scratch_path(&scratch, "state/aisbx/layers/HELD");
	owned(fd_close) int held = -1;
	struct error err = { 0 };

	make_layers();
	if (storage_open(held_path, &held, &err) < 0)
		tap_bail(err.text);
	if (!tap_ok(app_gc(&answer, &err) == 0 && answer->kind == VALUE_LIST, "gc runs: %s",
		    err.text))
		return;
	tap_ok(!exists("state/aisbx/layers/DEAD"), "layers that nobody holds are removed");
	tap_is_int((long long)count_layers(answer, "/layers/DEAD"), 1, "and told");
	tap_ok(exists("state/aisbx/layers/HELD/u0/file") && count_layers(answer, "HELD") == 0,
	       "those of a living run are not touched");
	tap_ok(exists("state/aisbx/spool"), "nor is anything else");
	fd_close(&held);
	tap_ok(app_gc(&again, &err) == 0 && count_layers(again, "HELD") == 1,
	       "once its processes are gone they go, too");
}

/* A run that makes its directory holds the one above until it has locked its own. */
static void test_making(void)
{
	owned(value_release) struct value *answer = NULL;
	owned(free_ptr) char *above = scratch_path(&scratch, "state/aisbx/layers");
	owned(fd_close) int fd = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct error err = { 0 };
	int status = 0;
	pid_t child;

	free(scratch_write(&scratch, "state/aisbx/layers/MADE/file", "x"));
	if (fd < 0 || flock(fd, LOCK_SH) < 0 || (child = fork()) < 0)
		tap_bail("cannot hold the layers");
	if (child == 0) {
		/* A lock lives as long as any copy of its descriptor. */
		fd_close(&fd);
		_exit(app_gc(&answer, &err) < 0);
	}
	(void)usleep(50000);
	tap_ok(exists("state/aisbx/layers/MADE/file"), "a directory being made is left alone");
	fd_close(&fd);
	tap_ok(waitpid(child, &status, 0) == child && status == 0 &&
		       !exists("state/aisbx/layers/MADE"),
	       "and looked at when that is over");
}

/* Who ends as one should also sees to what others left beside it. */
static void test_neighbours(void)
{
	owned(free_ptr) char *own = scratch_path(&scratch, "state/aisbx/layers/OWN");
	owned(free_ptr) char *held_path = scratch_path(&scratch, "state/aisbx/layers/HELD");
	owned(fd_close) int held = -1;
	struct error err;

	free(scratch_write(&scratch, "state/aisbx/layers/OWN/u0/file", "x"));
	free(scratch_write(&scratch, "state/aisbx/layers/DEAD/u0/file", "x"));
	free(scratch_write(&scratch, "state/aisbx/layers/HELD/u0/file", "x"));
	if (storage_open(held_path, &held, &err) < 0)
		tap_bail(err.text);
	storage_remove(own);
	tap_ok(!exists("state/aisbx/layers/OWN") && !exists("state/aisbx/layers/DEAD"),
	       "with one's own layers those of the dead are removed");
	tap_ok(exists("state/aisbx/layers/HELD/u0/file"), "and nobody else's");
}

/* Files by which a run shows what it uses. */
static void test_live(void)
{
	owned(value_release) struct value *answer = NULL;
	owned(free_ptr) char *held_path = scratch_write(&scratch, "state/aisbx/live/HELD", "x");
	owned(fd_close) int held = open(held_path, O_RDONLY | O_CLOEXEC);
	struct error err = { 0 };

	free(scratch_write(&scratch, "state/aisbx/live/DEAD", "x"));
	free(scratch_write(&scratch, "state/aisbx/live/.s-1.DEAD", "x"));
	free(scratch_write(&scratch, "state/aisbx/live/.s-2.HELD", "x"));
	if (held < 0 || flock(held, LOCK_EX | LOCK_NB) < 0)
		tap_bail("cannot hold the file");
	tap_ok(app_gc(&answer, &err) == 0 && !exists("state/aisbx/live/DEAD") &&
		       !exists("state/aisbx/live/.s-1.DEAD"),
	       "a dead run's file goes, and its socket");
	tap_ok(exists("state/aisbx/live/HELD") && exists("state/aisbx/live/.s-2.HELD"),
	       "a living run's stay");
}

static void test_nothing(void)
{
	owned(strv_done) struct strv removed = STRV_INIT;

	storage_sweep("/no/such/place", &removed);
	tap_is_int((long long)removed.count, 0, "a state directory that is not there is clean");
}

int main(void)
{
	scratch_open(&scratch);
	owned(free_ptr) char *state = scratch_path(&scratch, "state");

	if (setenv("XDG_STATE_HOME", state, 1) < 0)
		tap_bail("cannot set a variable");
	test_sweep();
	test_making();
	test_neighbours();
	test_live();
	test_nothing();
	scratch_close(&scratch);
	return tap_done();
}
