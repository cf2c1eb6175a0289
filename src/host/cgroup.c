/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The caller's place in the cgroup tree: below which directory of each hierarchy can groups be made?
 *
 * v1: the caller's own group, so that its limits keep holding for the sandbox. v2 forbids that for any group with
 * processes in it ("no internal processes"; the machine's root group excepted), so the nearest ancestor is taken
 * where controllers are on already and the caller may make groups and move processes; unless the group left behind
 * limits memory, since that limit would not hold any more.
 */
#include "base/file/fd.h"
#include "base/core/own.h"
#include "host/parts.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void host_cgroup_done(struct host_cgroup *cgroup)
{
	free(cgroup->v2_path);
	free(cgroup->memory_path);
	free(cgroup->pids_path);
	free(cgroup->cpu_path);
	free(cgroup->cpuacct_path);
	*cgroup = (struct host_cgroup){ .kind = CGROUP_NONE };
}

/* Whether the list of words, each ended by one of SEPARATORS, holds WORD. */
static bool has_word(const char *list, size_t len, const char *separators, const char *word)
{
	size_t want = strlen(word);
	const char *end = list + len;

	while (list < end) {
		size_t span = strcspn(list, separators);

		if (span > (size_t)(end - list))
			span = (size_t)(end - list);
		if (span == want && memcmp(list, word, want) == 0)
			return true;
		list += span + 1;
	}
	return false;
}

/* The caller's group in the hierarchy of CONTROLLER ("" is v2): the path behind the second colon. */
static char *group_of(const char *text, const char *controller)
{
	while (*text) {
		const char *end = strchrnul(text, '\n');
		const char *names = memchr(text, ':', (size_t)(end - text));
		const char *path = names ? memchr(names + 1, ':', (size_t)(end - names - 1)) : NULL;

		if (path) {
			size_t len = (size_t)(path - names - 1);

			if (*controller ? has_word(names + 1, len, ",:", controller) : len == 0)
				return xstrndup(path + 1, (size_t)(end - path - 1));
		}
		text = *end ? end + 1 : end;
	}
	return NULL;
}

/* Directory of GROUP as seen through MOUNT, or NULL when the mount shows another part of the tree. */
static char *directory_in(const struct host_mount *mount, const char *group)
{
	size_t len = strlen(mount->root);

	if (strncmp(group, "/..", 3) == 0)
		return NULL;
	if (len == 1)
		return xasprintf("%s%s", mount->point, strcmp(group, "/") == 0 ? "" : group);
	if (strncmp(group, mount->root, len) != 0 || (group[len] && group[len] != '/'))
		return NULL;
	return xasprintf("%s%s", mount->point, group + len);
}

static bool is_writable(const char *directory, const char *name)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s%s%s", directory, name ? "/" : "",
			     name ? name : "") >= sizeof(path))
		return false;
	return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
}

static char *find_v1(const struct host *host, const char *text, const char *controller)
{
	owned(free_ptr) char *group = group_of(text, controller);

	for (size_t i = 0; group && i < host->mount_count; i++) {
		const struct host_mount *mount = &host->mounts[i];

		if (strcmp(mount->fstype, "cgroup") != 0 || mount->readonly ||
		    !has_word(mount->super_options, strlen(mount->super_options), ",", controller))
			continue;
		owned(free_ptr) char *directory = directory_in(mount, group);

		if (directory && is_writable(directory, NULL))
			return ptr_take(&directory);
	}
	return NULL;
}

static bool find_all_v1(struct host *host, const char *text)
{
	struct host_cgroup *cgroup = &host->cgroup;

	cgroup->memory_path = find_v1(host, text, "memory");
	cgroup->pids_path = find_v1(host, text, "pids");
	cgroup->cpu_path = find_v1(host, text, "cpu");
	cgroup->cpuacct_path = find_v1(host, text, "cpuacct");
	/* One hierarchy for both is usual ("cpu,cpuacct"): then one group does. */
	if (cgroup->cpu_path && cgroup->cpuacct_path &&
	    strcmp(cgroup->cpu_path, cgroup->cpuacct_path) == 0) {
		free(cgroup->cpuacct_path);
		cgroup->cpuacct_path = NULL;
	}
	return cgroup->memory_path || cgroup->pids_path || cgroup->cpu_path;
}

static bool read_in(const char *directory, const char *name, char *buffer, size_t size)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", directory, name) >= sizeof(path))
		return false;
	return file_read_small(AT_FDCWD, path, buffer, size) >= 0;
}

static bool lists_both(const char *directory, const char *name)
{
	char words[512];

	return read_in(directory, name, words, sizeof(words)) &&
	       has_word(words, strlen(words), " \n", "memory") &&
	       has_word(words, strlen(words), " \n", "pids");
}

static bool may_make_groups(const char *directory)
{
	return is_writable(directory, NULL) && is_writable(directory, "cgroup.procs") &&
	       is_writable(directory, "cgroup.subtree_control");
}

static bool limits_memory(const char *directory)
{
	char text[64];

	return read_in(directory, "memory.max", text, sizeof(text)) && strcmp(text, "max\n") != 0;
}

/* Whether the caller is the only process of the group. */
static bool is_alone_in(const char *directory)
{
	char text[64], own[32];

	if (!read_in(directory, "cgroup.procs", text, sizeof(text)))
		return false;
	(void)snprintf(own, sizeof(own), "%ld\n", (long)getpid());
	return strcmp(text, own) == 0;
}

/* Cuts DIRECTORY down to its parent; false at the mount's top. */
static bool to_parent(char *directory, const char *top)
{
	if (strlen(directory) <= strlen(top))
		return false;
	*strrchr(directory, '/') = '\0';
	return true;
}

/* Fills v2_path from the group at OWN, seen through a mount at TOP. */
static bool find_above(struct host_cgroup *cgroup, const char *own, const char *top)
{
	owned(free_ptr) char *directory = xstrdup(own);
	char type[32];

	/* Only the machine's root group has no type; it may have processes and groups with controllers. */
	if (!read_in(own, "cgroup.type", type, sizeof(type)) && may_make_groups(own) &&
	    lists_both(own, "cgroup.controllers")) {
		cgroup->v2_path = ptr_take(&directory);
		return true;
	}
	while (!limits_memory(directory) && to_parent(directory, top)) {
		if (!may_make_groups(directory))
			break;
		if (lists_both(directory, "cgroup.subtree_control")) {
			cgroup->v2_path = ptr_take(&directory);
			return true;
		}
	}
	if (!may_make_groups(own) || !lists_both(own, "cgroup.controllers") || !is_alone_in(own))
		return false;
	cgroup->v2_path = xstrdup(own);
	cgroup->v2_is_own = true;
	return true;
}

static bool find_v2(struct host *host, const char *text)
{
	owned(free_ptr) char *group = group_of(text, "");

	for (size_t i = 0; group && i < host->mount_count; i++) {
		const struct host_mount *mount = &host->mounts[i];

		if (strcmp(mount->fstype, "cgroup2") != 0 || mount->readonly)
			continue;
		owned(free_ptr) char *own = directory_in(mount, group);

		if (own && find_above(&host->cgroup, own, mount->point))
			return true;
	}
	return false;
}

void host_find_cgroup(struct host *host, const char *text)
{
	/* v1 first: on hybrid machines the v2 tree is there too, but has no controllers. */
	if (find_all_v1(host, text))
		host->cgroup.kind = CGROUP_V1;
	else if (find_v2(host, text))
		host->cgroup.kind = CGROUP_V2;
}
