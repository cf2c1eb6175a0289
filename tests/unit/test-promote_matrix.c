/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every type the base had, to every type the sandbox made of it, while the host made every type of it: all of them in one
 * tree, promoted at once. Where only one side changed, that side is what comes out; where both did, differently, it is a
 * conflict, and each strategy gives its side. What is refused changes nothing, and what is done can be undone to the inode.
 */
#include "tests/kernel/random_tree.h"
#include "tests/unit/promote_fixture.h"

/* UNTOUCHED: whoever may change it did not. OPAQUE: the sandbox's directory instead of the base's, not over it. */
enum type { UNTOUCHED, ABSENT, FILE_TYPE, DIR_TYPE, LINK, FIFO, SOCKET, DEVICE, OPAQUE };

static const char *const type_names[] = { "untouched", "absent", "file",   "dir",   "link",
					  "fifo",      "socket", "device", "opaque" };

enum side { BASE, SANDBOX, HOST };

struct cell {
	enum type base, sandbox, host;
	char name[40];
};

struct matrix {
	struct bench bench;
	struct cell cells[8 * 9 * 9];
	size_t count;
};

static bool is_dir(enum type type)
{
	return type == DIR_TYPE || type == OPAQUE;
}

/* What a side writes into what it makes; also its child's name, the link's target. */
static const char *mark_of(enum side side)
{
	static const char *const marks[] = { "old", "sandbox", "real" };

	return marks[side];
}

/* What a type is by name: "-", "f old", "d old sandbox", "l old", "p", "s", "c 3". */
static void type_text(enum type type, enum side side, struct str *out)
{
	switch (type) {
	case FILE_TYPE:
		str_addf(out, "f %s", mark_of(side));
		break;
	case DIR_TYPE:
	case OPAQUE:
		str_addf(out, "d %s", mark_of(side));
		break;
	case LINK:
		str_addf(out, "l %s", mark_of(side));
		break;
	case FIFO:
		str_add(out, "p");
		break;
	case SOCKET:
		str_add(out, "s");
		break;
	case DEVICE:
		str_addf(out, "c %d", 3 + 2 * (int)side);
		break;
	case UNTOUCHED:
	case ABSENT:
		str_add(out, "-");
	}
}

static int compare_entries(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void found_names(const char *path, struct str *out)
{
	struct dirent **names;
	int count = scandir(path, &names, NULL, compare_entries);

	str_add_char(out, 'd');
	for (int i = 0; i < count; i++) {
		if (names[i]->d_name[0] != '.')
			str_addf(out, " %s", names[i]->d_name);
		free(names[i]);
	}
	if (count >= 0)
		free(names);
}

/* What is there, in the same words. */
static void found_text(const char *path, struct str *out)
{
	char text[64] = "";
	struct stat st;

	if (lstat(path, &st) < 0) {
		str_add(out, "-");
	} else if (S_ISDIR(st.st_mode)) {
		found_names(path, out);
	} else if (S_ISLNK(st.st_mode)) {
		(void)!readlink(path, text, sizeof(text) - 1);
		str_addf(out, "l %s", text);
	} else if (S_ISREG(st.st_mode)) {
		owned(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);

		(void)!read(fd, text, sizeof(text) - 1);
		str_addf(out, "f %s", text);
	} else if (S_ISCHR(st.st_mode)) {
		str_addf(out, "c %u", minor(st.st_rdev));
	} else {
		str_add(out, S_ISFIFO(st.st_mode) ? "p" : "s");
	}
}

static void make_type(const char *path, enum type type, enum side side)
{
	owned(free_ptr) char *child = xasprintf("%s/%s", path, mark_of(side));
	int status = 0;

	switch (type) {
	case FILE_TYPE:
		bench_write(path, mark_of(side));
		break;
	case DIR_TYPE:
	case OPAQUE:
		status = mkdir(path, 0755);
		bench_write(child, mark_of(side));
		break;
	case LINK:
		status = symlink(mark_of(side), path);
		break;
	case FIFO:
		status = mkfifo(path, 0644);
		break;
	case SOCKET:
		status = mknod(path, S_IFSOCK | 0644, 0);
		break;
	case DEVICE:
		status = mknod(path, S_IFCHR | 0644, makedev(1, 3 + 2 * (unsigned)side));
		break;
	case UNTOUCHED:
	case ABSENT:
		break;
	}
	if (status < 0)
		tap_bail("cannot make an object");
}

static void make_sandbox_side(const struct bench *b, const struct cell *cell)
{
	owned(free_ptr) char *path = bench_top(b, cell->name);

	if (cell->sandbox == UNTOUCHED)
		return;
	if (cell->sandbox == ABSENT) {
		if (cell->base != ABSENT)
			top_remove(b, cell->name);
		return;
	}
	/* As the kernel does it: a directory over one of the base is the same, unless it says that it hides. */
	if (is_dir(cell->sandbox))
		top_mkdir(b, cell->name,
			  cell->sandbox == OPAQUE ? "opaque"
			  : is_dir(cell->base)	  ? "origin"
						  : NULL,
			  cell->sandbox == OPAQUE ? "y" : "");
	if (is_dir(cell->sandbox)) {
		owned(free_ptr) char *child = xasprintf("%s/%s", path, mark_of(SANDBOX));

		bench_write(child, mark_of(SANDBOX));
	} else {
		make_type(path, cell->sandbox, SANDBOX);
	}
}

/* The host moves on: its own object there, or within the same directory. */
static void make_host_side(const struct bench *b, const struct cell *cell)
{
	owned(free_ptr) char *path = bench_real(b, cell->name);

	if (cell->host == UNTOUCHED)
		return;
	if (is_dir(cell->base) && is_dir(cell->host)) {
		owned(free_ptr) char *child = xasprintf("%s/%s", path, mark_of(HOST));

		bench_write(child, mark_of(HOST));
		return;
	}
	if (cell->base != ABSENT)
		(void)tree_remove(AT_FDCWD, path);
	make_type(path, cell->host, HOST);
}

static void open_matrix(struct matrix *m, enum type last)
{
	bench_open(&m->bench);
	m->count = 0;
	for (enum type base = ABSENT; base <= last; base++) {
		for (enum type sandbox = UNTOUCHED; sandbox <= OPAQUE; sandbox++) {
			for (enum type host = UNTOUCHED; host <= last; host++) {
				struct cell *cell = &m->cells[m->count];

				if (sandbox > last && sandbox != OPAQUE)
					continue;
				m->count++;
				*cell = (struct cell){ .base = base,
						       .sandbox = sandbox,
						       .host = host };
				(void)snprintf(cell->name, sizeof(cell->name), "%s-%s-%s",
					       type_names[base], type_names[sandbox],
					       type_names[host]);
				owned(free_ptr) char *path = bench_real(&m->bench, cell->name);

				make_type(path, base, BASE);
			}
		}
	}
	bench_start(&m->bench);
	for (size_t i = 0; i < m->count; i++)
		make_sandbox_side(&m->bench, &m->cells[i]);
	bench_capture(&m->bench);
	bench_tick();
	for (size_t i = 0; i < m->count; i++)
		make_host_side(&m->bench, &m->cells[i]);
	m->bench.request.allow_all = true;
}

/* Pipes and sockets have nothing by which one could be told from another. */
static bool is_plain_same(enum type one, enum type other)
{
	return one == other && (one == ABSENT || one == FIFO || one == SOCKET);
}

static bool is_conflict(const struct cell *cell)
{
	if (cell->sandbox == UNTOUCHED || cell->host == UNTOUCHED ||
	    is_plain_same(cell->base, cell->host) || is_plain_same(cell->sandbox, cell->host) ||
	    (cell->sandbox == ABSENT && cell->base == ABSENT))
		return false;
	/*
	 * Two directories are one, entry by entry. One in place of the base's is a conflict about what the base's got since;
	 * where the base had none, it deletes nothing.
	 */
	if (is_dir(cell->sandbox) && is_dir(cell->host))
		return cell->sandbox == OPAQUE && is_dir(cell->base);
	/* What the sandbox made anew where both did away with the old, be it the same again, is its own to add. */
	return cell->host != ABSENT || !(is_plain_same(cell->sandbox, cell->base) ||
					 (cell->sandbox == OPAQUE && is_dir(cell->base)));
}

/* The only conflict is about what the host put into a directory that the sandbox replaced. */
static bool is_about_unseen(const struct cell *cell)
{
	return cell->sandbox == OPAQUE && is_dir(cell->base) && is_dir(cell->host);
}

/* What must be there when it is promoted; THEIRS: conflicts are the sandbox's to win. */
static void expected(const struct cell *cell, bool theirs, struct str *out)
{
	bool was_dir = is_dir(cell->base);
	enum type host = cell->host == UNTOUCHED ? cell->base : cell->host;
	enum side host_side = cell->host == UNTOUCHED ? BASE : HOST;
	/* A socket is never promoted: its process is gone. */
	bool takes_sandbox = cell->sandbox != UNTOUCHED && cell->sandbox != SOCKET &&
			     !(cell->sandbox == ABSENT && cell->base == ABSENT) &&
			     (!is_conflict(cell) || theirs || is_about_unseen(cell));

	if (takes_sandbox && !is_dir(cell->sandbox)) {
		type_text(cell->sandbox, SANDBOX, out);
		return;
	}
	if (!takes_sandbox && !is_dir(host)) {
		type_text(host, host_side, out);
		return;
	}
	/* A directory: of the base's entry what neither side took away, and each side's own. */
	str_add_char(out, 'd');
	if (was_dir && is_dir(host) && !(takes_sandbox && cell->sandbox == OPAQUE))
		str_add(out, " old");
	if (is_dir(cell->host) && !(theirs && is_about_unseen(cell)))
		str_add(out, " real");
	if (takes_sandbox)
		str_add(out, " sandbox");
}

static bool is_at(const char *path, const char *name)
{
	size_t len = strlen(name);

	return strncmp(path, name, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

static bool has_conflict(const struct bench *b, const char *name)
{
	for (size_t i = 0; i < b->promotion.conflict_count; i++)
		if (is_at(b->promotion.conflicts[i].path, name))
			return true;
	return false;
}

static void check_conflicts(struct matrix *m)
{
	size_t good = 0, conflicts = 0;

	for (size_t i = 0; i < m->count; i++) {
		bool want = is_conflict(&m->cells[i]);
		bool got = has_conflict(&m->bench, m->cells[i].name);

		good += got == want;
		conflicts += want;
		if (got != want)
			printf("# %s: %s\n", m->cells[i].name, got ? "a conflict" : "no conflict");
	}
	tap_is_int((long long)good, (long long)m->count, "%zu of %zu are conflicts", conflicts,
		   m->count);
}

static void check_outcome(const struct matrix *m, bool theirs)
{
	size_t good = 0;

	for (size_t i = 0; i < m->count; i++) {
		owned(free_ptr) char *path = bench_real(&m->bench, m->cells[i].name);
		owned(str_done) struct str got = STR_INIT, want = STR_INIT;

		found_text(path, &got);
		expected(&m->cells[i], theirs, &want);
		if (strcmp(str_cstr(&got), str_cstr(&want)) == 0)
			good++;
		else
			printf("# %s: '%s', not '%s'\n", m->cells[i].name, str_cstr(&got),
			       str_cstr(&want));
	}
	tap_is_int((long long)good, (long long)m->count, "each is what it should be");
}

static void check_same(const struct bench *b, const struct str *before, const char *what)
{
	owned(str_done) struct str now = STR_INIT;

	describe(b->workspace, "", DESCRIBE_TIMES | DESCRIBE_INODES, &now);
	tap_ok(strcmp(str_cstr(&now), str_cstr(before)) == 0, "%s", what);
}

static void test_strategy(enum type last, enum promote_strategy strategy, const char *name)
{
	struct matrix m;
	owned(str_done) struct str before = STR_INIT;

	open_matrix(&m, last);
	describe(m.bench.workspace, "", DESCRIBE_TIMES | DESCRIBE_INODES, &before);
	tap_ok(bench_promote(&m.bench) < 0 && m.bench.err.code == ERROR_CONFLICT,
	       "%s: without a word it is refused", name);
	check_conflicts(&m);
	check_same(&m.bench, &before, "and nothing happened");
	m.bench.request.strategy = strategy;
	tap_is_int(bench_promote(&m.bench), 0, "%s", name);
	check_outcome(&m, strategy == STRATEGY_THEIRS);
	tap_is_int(bench_undo(&m.bench, NULL), 0, "%s: undone", name);
	check_same(&m.bench, &before, "as it was, to the inode");
	bench_close(&m.bench);
}

/* A device is its number: what was reviewed as one is not applied as another. */
static void test_reviewed(void)
{
	owned(bench_close) struct bench b;
	char digest[SHA256_HEX_SIZE];
	struct stat st;

	bench_open(&b);
	bench_start(&b);
	owned(free_ptr) char *path = bench_top(&b, "device");

	if (mknod(path, S_IFCHR | 0644, makedev(1, 3)) < 0)
		tap_bail("cannot make a device");
	b.request = (struct promote_request){ .allow_all = true, .dry_run = true };
	tap_is_int(bench_promote(&b), 0, "a device is reviewed");
	memcpy(digest, b.promotion.digest, sizeof(digest));
	b.request.dry_run = false;
	b.request.digest = digest;
	if (unlink(path) < 0 || mknod(path, S_IFCHR | 0644, makedev(1, 1)) < 0)
		tap_bail("cannot make another device");
	tap_ok(bench_promote(&b) < 0 && b.err.code == ERROR_CONFLICT &&
		       !real_stat(&b, "device", &st),
	       "another one is refused");
}

int main(void)
{
	enum type last = geteuid() == 0 ? DEVICE : SOCKET;

	test_strategy(last, STRATEGY_OURS, "the host wins");
	test_strategy(last, STRATEGY_THEIRS, "the sandbox wins");
	if (geteuid() == 0)
		test_reviewed();
	else
		tap_skip(2, "needs root to make devices");
	return tap_done();
}
