/* SPDX-License-Identifier: Apache-2.0 */
/* Links of a home that credentials lie behind: what is remembered of them is never older than the home. */
#include "app/prepare/home_links.h"

#include "tests/tap.h"
#include "tests/unit/scratch.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static size_t count_links(const char *home, struct home_memory *memory)
{
	struct plan_paths paths = { 0 };
	size_t count;

	home_links_read(home, memory, &paths);
	count = paths.link_count;
	for (size_t i = 0; i < paths.link_count; i++) {
		free(paths.links[i].name);
		free(paths.links[i].target);
	}
	free(paths.links);
	return count;
}

/* What was done is long enough ago to be remembered. */
static void settle(void)
{
	const struct timespec while_ns = { .tv_nsec = 150000000 };

	(void)nanosleep(&while_ns, NULL);
}

int main(void)
{
	struct home_memory memory = { .count = 0 };
	struct scratch scratch;
	uint64_t read_ns;
	const char *home = scratch.dir;

	scratch_open(&scratch);
	if (chdir(home) < 0)
		tap_bail("no place for a home");
	(void)mkdir("elsewhere", 0700);
	(void)mkdir(".config", 0700);
	(void)mkdir(".local", 0700);
	tap_ok(count_links(home, NULL) == 0, "none, and nobody who remembers");
	settle();
	tap_ok(count_links(home, &memory) == 0, "none");
	tap_ok(memory.read_ns != 0 && memory.count >= 2, "which is remembered of %u directories",
	       memory.count);
	read_ns = memory.read_ns;
	(void)count_links(home, &memory);
	tap_ok(memory.count >= 2 && memory.read_ns >= read_ns, "and once more");
	(void)symlink("../elsewhere", ".config/gh");
	tap_ok(count_links(home, &memory) == 1, "one that was just made below is seen");
	tap_ok(memory.read_ns == 0, "where there is one, nothing is remembered");
	(void)unlink(".config/gh");
	tap_ok(count_links(home, &memory) == 0, "gone again");
	settle();
	tap_ok(count_links(home, &memory) == 0 && memory.read_ns != 0, "and remembered");
	(void)symlink("elsewhere", ".ssh");
	tap_ok(count_links(home, &memory) == 1, "one in the home itself is seen");
	(void)unlink(".ssh");
	(void)rename(".config", "old");
	(void)symlink("old", ".config");
	settle();
	(void)count_links(home, &memory);
	tap_ok(memory.read_ns == 0, "behind a link nothing is remembered");
	(void)chdir("/");
	scratch_close(&scratch);
	return tap_done();
}
