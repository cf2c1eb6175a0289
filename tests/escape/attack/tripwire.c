/* SPDX-License-Identifier: Apache-2.0 */
/* The tripwire in front of destructive payloads: they act only where everything says "inside the clone". */
#include "probe.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool refuse(const char *why, const char *what)
{
	report_text("tripwire", "refused: %s%s", why, what);
	return false;
}

/* A namespace link that reads the same as the host's means: not inside. */
static bool differs(const char *link, const char *host)
{
	char here[PATH_MAX];
	ssize_t len = readlink(link, here, sizeof(here) - 1);

	if (len <= 0)
		return refuse("cannot read ", link);
	here[len] = '\0';
	if (strcmp(here, host) == 0)
		return refuse("still in the host's namespace: ", link);
	return true;
}

static bool is_throwaway(const char *type)
{
	static const char *const types[] = { "overlay", "tmpfs",  "proc",    "sysfs",	"devpts",
					     "mqueue",	"cgroup", "cgroup2", "devtmpfs" };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(type, types[i]) == 0)
			return true;
	return false;
}

/* Where a kernel has no tmpfs for layers, a plain user's skeleton lies on disk: below the state directory, run by run. */
static bool is_skeleton(const char *root)
{
	const char *end = strrchr(root, '/');

	return end && strcmp(end, "/skeleton") == 0 && strstr(root, "/aisbx/layers/");
}

/* Anything writable that is not one of ours could be the machine itself. */
static bool mounts_are_throwaway(void)
{
	char line[4096];
	FILE *file = fopen("/proc/self/mountinfo", "re");
	bool fine = true;

	if (!file)
		return refuse("no mountinfo", "");
	while (fine && fgets(line, sizeof(line), file)) {
		char root[2048], point[2048], flags[512], type[64];
		const char *dash = strstr(line, " - ");

		if (!dash ||
		    sscanf(line, "%*s %*s %*s %2047s %2047s %511s", root, point, flags) != 3 ||
		    sscanf(dash, " - %63s", type) != 1)
			fine = refuse("mountinfo not understood: ", line);
		else if (strncmp(flags, "ro", 2) != 0 && !is_throwaway(type) && !is_skeleton(root))
			fine = refuse("writable and real: ", point);
	}
	fclose(file);
	return fine;
}

bool tripwire_allows(int argc, char **argv)
{
	const char *mark = getenv("AISBX");

	if (argc < 4)
		return refuse("arguments missing", "");
	if (!mark || strcmp(mark, "1") != 0)
		return refuse("AISBX is not 1", "");
	if (access(argv[0], F_OK) != 0)
		return refuse("no marker of the inside: ", argv[0]);
	if (access(argv[1], F_OK) == 0)
		return refuse("marker of the host is visible: ", argv[1]);
	return differs("/proc/self/ns/pid", argv[2]) && differs("/proc/self/ns/mnt", argv[3]) &&
	       mounts_are_throwaway();
}
