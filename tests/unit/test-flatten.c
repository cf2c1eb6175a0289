/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histories in a mounted overlay against a plain copy: seals, rollbacks, forks, folding.
 *
 * Each history is a seed. After every move the kernel's view of the sandbox must equal the copy.
 */
#include "base/file/tree.h"
#include "tests/unit/model_step.h"
#include "tests/unit/store_fixture.h"
#include "workspace/store/snapshot_parts.h"

#include <sys/mount.h>
#include <time.h>

#define STEPS 12
#define ROUNDS 12

static struct fixture fixture;

struct history {
	struct model model;
	bool user_xattr;
	struct sandbox box;
	char *base, *merged, *plain, *kept; /* directories */
	bool is_mounted;
};

static void make_below(const char *path, unsigned depth)
{
	(void)mkdir(path, 0755);
	for (unsigned i = 0; i < 3; i++) {
		owned(free_ptr) char *file = xasprintf("%s/f%u", path, i);
		owned(free_ptr) char *inner = xasprintf("%s/n%u", path, i);

		(void)model_write(file, file, O_TRUNC);
		if (depth > 0)
			make_below(inner, depth - 1);
	}
}

/* The base every history begins with: three directories and files in each, three levels deep. */
static void make_base(const char *base)
{
	make_below(base, 3);
}

static bool mount_box(struct history *history)
{
	owned(str_done) struct str options = STR_INIT;
	struct layer_chain chain = { 0 };
	owned(fd_close) int upper_fd = -1;
	char unit[LAYER_UNIT_SIZE], work[LAYER_UNIT_SIZE];
	struct error *err = &fixture.err;

	layer_unit_name(UNIT_PATH, unit);
	memcpy(work, unit, sizeof(work));
	work[0] = 'w';
	if (sandbox_open_upper(&history->box, &upper_fd, err) < 0 ||
	    layer_units_add(upper_fd, UNIT_PATH, err) < 0 ||
	    layer_chain_read(&fixture.store, history->box.head, &chain, err) < 0) {
		printf("# %s\n", err->text);
		return false;
	}
	(void)mkdirat(upper_fd, unit, 0755);
	/* What a volatile mount leaves there would refuse the next one. */
	(void)tree_remove(upper_fd, work);
	(void)mkdirat(upper_fd, work, 0755);
	str_add(&options, history->user_xattr ? "userxattr,"
					      : "redirect_dir=on,index=off,metacopy=off,xino=off,");
	/* Relative paths: the kernel reads one page of options. */
	str_addf(&options, "volatile,upperdir=sbx/%s/upper/%s,workdir=sbx/%s/upper/%s,lowerdir=",
		 history->box.name, unit, history->box.name, work);
	for (size_t i = 0; i < chain.count; i++)
		str_addf(&options, "layers/%s/%s:", chain.items[i].id, unit);
	layer_chain_done(&chain);
	str_add(&options, history->base);
	if (fchdir(fixture.store.fd) < 0 ||
	    mount("overlay", history->merged, "overlay", 0, options.data) < 0) {
		printf("# mount: %s\n", strerror(errno));
		return false;
	}
	history->is_mounted = true;
	return true;
}

static void unmount_box(struct history *history)
{
	if (history->is_mounted && umount(history->merged) < 0)
		tap_bail("cannot unmount");
	history->is_mounted = false;
}

/* In a lower layer names of one inode part at the first write: in the copy, too, then. */
static void break_links(const char *plain)
{
	owned(strv_done) struct strv paths = STRV_INIT;

	model_list(plain, "", &paths);
	for (size_t i = 0; i < paths.count; i++) {
		owned(free_ptr) char *full = xasprintf("%s/%s", plain, paths.items[i]);
		owned(free_ptr) char *twin = xasprintf("%s.twin", full);
		struct stat st;

		if (lstat(full, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink > 1 &&
		    (!model_copy(full, twin) || rename(twin, full) < 0))
			tap_bail("cannot part links");
	}
}

static char *kept_path(const struct history *history, const char *snapshot)
{
	return xasprintf("%s/%s", history->kept, snapshot);
}

static bool take(struct history *history)
{
	const struct snapshot_request request = { .message = NULL };
	owned(free_ptr) char *kept = NULL;
	struct snapshot made;

	if (snapshot_take(&history->box, &request, &made, &fixture.err) < 0)
		return false;
	break_links(history->plain);
	kept = kept_path(history, made.name);
	snapshot_done(&made);
	return model_copy(history->plain, kept);
}

/* To a random snapshot, and the automatic one is as good as any later on. */
static bool go_back(struct history *history)
{
	struct snapshots list;
	char saved[SNAPSHOT_NAME_MAX + 1];
	bool is_good;

	if (snapshot_list(&history->box, &list, &fixture.err) < 0)
		return false;
	if (list.count == 0)
		return true;
	const char *name = list.items[model_random(&history->model, (unsigned)list.count)].name;
	owned(free_ptr) char *kept = kept_path(history, name);

	is_good = snapshot_rollback(&history->box, name, saved, &fixture.err) == 0;
	snapshots_done(&list);
	if (is_good && saved[0]) {
		owned(free_ptr) char *saved_to = kept_path(history, saved);

		break_links(history->plain);
		is_good = model_copy(history->plain, saved_to);
	}
	return is_good && model_copy(kept, history->plain);
}

/* The history goes on in a fork. */
static bool branch(struct history *history)
{
	owned(free_ptr) char *name = xasprintf("%s-", history->box.name);
	owned(free_ptr) char *kept = kept_path(history, "fork");

	if (strlen(name) > SANDBOX_NAME_MAX ||
	    snapshot_fork(&history->box, NULL, name, 0, &fixture.err) < 0)
		return false;
	sandbox_close(&history->box);
	model_remove(history->kept);
	(void)mkdir(history->kept, 0755);
	break_links(history->plain);
	return fixture_enter(&fixture, name, &history->box) && model_copy(history->plain, kept);
}

static bool fold(struct history *history)
{
	return snapshot_fold(&history->box, 1, &fixture.err) >= 0;
}

/* One move with nothing mounted. */
static bool move_on(struct history *history)
{
	switch (model_random(&history->model, 8)) {
	case 0:
		return go_back(history);
	case 1:
		return branch(history);
	case 2:
	case 3:
	case 4:
		return take(history) && fold(history);
	case 5:
		return true;
	default:
		return take(history);
	}
}

static bool play_round(struct history *history)
{
	bool is_good = true;

	for (unsigned i = 0; is_good && i < STEPS; i++)
		is_good = model_step(&history->model);
	if (!is_good || !model_equal(history->merged, history->plain))
		return false;
	unmount_box(history);
	fixture.err.text[0] = '\0';
	if (!move_on(history)) {
		printf("# %s\n", fixture.err.text);
		return false;
	}
	return mount_box(history) && model_equal(history->merged, history->plain);
}

static bool play(uint64_t seed, bool user_xattr)
{
	owned(free_ptr) char *name =
		xasprintf("h%llu%s", (unsigned long long)seed, user_xattr ? "u" : "");
	const struct sandbox_make make = { .name = name,
					   .workspace = UNIT_PATH,
					   .root = user_xattr ? "project" : "idmapped",
					   .head = "" };
	struct history history = { .model = { .seed = seed * 2654435761u + 88172645463325252u },
				   .user_xattr = user_xattr,
				   .box = { .dir_fd = -1, .lock_fd = -1, .freeze_fd = -1 } };
	struct sandbox made;
	bool is_good;

	history.base = scratch_path(&fixture.scratch, "base");
	history.merged = scratch_path(&fixture.scratch, "merged");
	history.plain = scratch_path(&fixture.scratch, "plain");
	history.kept = scratch_path(&fixture.scratch, "kept");
	model_remove(history.base);
	make_base(history.base);
	(void)mkdir(history.merged, 0755);
	model_remove(history.kept);
	(void)mkdir(history.kept, 0755);
	history.model.box = history.merged;
	history.model.plain = history.plain;
	is_good = model_copy(history.base, history.plain) &&
		  sandbox_make(&fixture.store, &make, &made, &fixture.err) == 0;
	if (is_good) {
		sandbox_close(&made);
		is_good = fixture_enter(&fixture, name, &history.box) && mount_box(&history);
	}
	for (unsigned i = 0; is_good && i < ROUNDS; i++)
		is_good = play_round(&history);
	unmount_box(&history);
	sandbox_close(&history.box);
	free(history.base);
	free(history.merged);
	free(history.plain);
	free(history.kept);
	return is_good;
}

static void play_all(bool user_xattr)
{
	const char *wanted = getenv("AISBX_TEST_SEEDS");
	unsigned long count = wanted ? strtoul(wanted, NULL, 10) : tap_size(3, 4, 20);
	const char *one = getenv("AISBX_SEED"), *is_long = getenv("AISBX_LONG");
	/* The same before each landing; others where there is time for more. Each is named in what is printed. */
	unsigned long fresh = is_long && strcmp(is_long, "1") == 0 ? (unsigned long)time(NULL) : 1;
	unsigned long first = one ? strtoul(one, NULL, 10) : fresh;

	for (unsigned long seed = first; seed < first + (one ? 1 : count); seed++)
		tap_ok(play(seed, user_xattr), "history %lu with %s marks", seed,
		       user_xattr ? "a plain user's" : "root's");
}

int main(void)
{
	bool is_root = geteuid() == 0;
	const char *why_not = fixture_enter_namespace();

	if (why_not) {
		tap_skip(2, why_not);
		return tap_done();
	}
	fixture_open(&fixture);
	if (is_root)
		play_all(false);
	else
		tap_skip(1, "root's marks need root");
	play_all(true);
	if (chdir("/") < 0)
		tap_bail("cannot leave");
	fixture_close(&fixture);
	return tap_done();
}
