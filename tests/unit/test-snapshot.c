/* Snapshots: sealing, naming, going back, forking; on tops written by hand. */
#include "workspace/snapshot.h"

#include "tests/unit/store_fixture.h"

static struct fixture fixture;

static bool take(struct sandbox *sandbox, const char *message, char ret_name[static 64])
{
	const struct snapshot_request request = { .message = message };
	struct snapshot made;

	ret_name[0] = '\0';
	if (snapshot_take(sandbox, &request, &made, &fixture.err) < 0) {
		printf("# %s\n", fixture.err.text);
		return false;
	}
	memcpy(ret_name, made.name, sizeof(made.name));
	snapshot_done(&made);
	return true;
}

static bool shows(const struct sandbox *sandbox, const char *name, const char *want)
{
	char text[64];

	fixture_read(sandbox, name, text);
	return tap_is_str(text, want, "'%s' of %s", name, sandbox->name);
}

static bool has_upper(const struct sandbox *sandbox)
{
	return faccessat(sandbox->dir_fd, "upper", F_OK, 0) == 0;
}

static void test_save_and_rewind(void)
{
	struct sandbox box;
	struct snapshots list;
	char name[64], saved[64];

	fixture_make(&fixture, "box", 0);
	if (!tap_ok(fixture_enter(&fixture, "box", &box), "a sandbox is entered"))
		return;
	fixture_write(&box, "f", "one");
	tap_ok(take(&box, "first", name) && strcmp(name, "s1") == 0, "the first is s1");
	tap_ok(!has_upper(&box) && box.head[0], "the top became a layer");
	shows(&box, "f", "one");
	fixture_write(&box, "f", "two");
	shows(&box, "f", "two");
	tap_ok(snapshot_rollback(&box, NULL, saved, &fixture.err) == 0, "going back");
	tap_is_str(saved, "auto1", "the present was saved");
	shows(&box, "f", "one");
	tap_is_str(box.at, "s1", "it stands on s1");
	tap_ok(snapshot_rollback(&box, "auto1", saved, &fixture.err) == 0 && !saved[0],
	       "and forward again, with nothing to save");
	shows(&box, "f", "two");
	tap_ok(snapshot_rollback(&box, NULL, saved, &fixture.err) == 0,
	       "back to what the user made, past the automatic one");
	shows(&box, "f", "one");
	tap_ok(snapshot_rollback(&box, "base", saved, &fixture.err) == 0, "back to reality");
	shows(&box, "f", "");
	tap_ok(snapshot_list(&box, &list, &fixture.err) == 0 && list.count == 2 &&
		       strcmp(list.items[0].name, "s1") == 0 &&
		       strcmp(list.items[1].parent, "s1") == 0 && list.items[1].is_auto,
	       "listed as a tree, oldest first");
	snapshots_done(&list);
	sandbox_close(&box);
}

static void test_fork(void)
{
	struct sandbox box, forked;

	if (!fixture_enter(&fixture, "box", &box))
		return;
	fixture_write(&box, "f", "three");
	tap_ok(snapshot_fork(&box, NULL, "twin", 0, &fixture.err) == 0, "the present is forked");
	tap_ok(fixture_enter(&fixture, "twin", &forked), "the fork is there");
	shows(&forked, "f", "three");
	fixture_write(&forked, "f", "four");
	shows(&box, "f", "three");
	sandbox_close(&forked);
	tap_ok(snapshot_fork(&box, "s1", "old", 0, &fixture.err) == 0, "a snapshot is forked");
	tap_ok(fixture_enter(&fixture, "old", &forked), "that fork is there, too");
	shows(&forked, "f", "one");
	sandbox_close(&forked);
	tap_ok(snapshot_fork(&box, "s1", "old", 0, &fixture.err) < 0 &&
		       fixture.err.code == ERROR_CONFLICT,
	       "a name is given once");
	tap_ok(snapshot_fork(&box, "s2", "x", 0, &fixture.err) < 0 &&
		       fixture.err.code == ERROR_NOT_FOUND && strstr(fixture.err.text, "s1"),
	       "an unknown snapshot is told with the nearest");
	printf("# %s\n", fixture.err.text);
	sandbox_close(&box);
}

int main(void)
{
	fixture_open(&fixture);
	test_save_and_rewind();
	test_fork();
	fixture_close(&fixture);
	return tap_done();
}
