/* SPDX-License-Identifier: Apache-2.0 */
/* The processes behind listening sockets: which they are, whose, and what of their state can be seen. */
#include "services/service.h"

#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/file/walk.h"
#include "base/process/process.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARGS_MAX 65536
#define MEASURE_NS UINT64_C(8000000)
/* The highest that a sandbox of root has. */
#define ID_MAX 65534u
/* A frozen copy: about a gigabyte a second, and some for halting. */
#define FROZEN_MS_A_GB 1000

struct sockets {
	struct listener *items;
	size_t count;
};

static int compare_inodes(const void *a, const void *b)
{
	const struct listener *one = a, *other = b;

	return one->inode < other->inode ? -1 : one->inode > other->inode;
}

static pid_t parent_of(pid_t pid)
{
	char path[32], text[512], state;
	int parent = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (file_read_small(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return 0;
	const char *end = strrchr(text, ')');

	return end && sscanf(end + 1, " %c %d", &state, &parent) == 2 ? parent : 0;
}

/* Of processes that hold one socket the topmost is the service: the others are its children. */
static void note_holder(struct listener *listener, pid_t pid)
{
	pid_t above = pid;

	if (listener->pid == 0 || listener->pid == parent_of(pid)) {
		listener->pid = listener->pid ? listener->pid : pid;
		return;
	}
	for (unsigned depth = 0; above > 1 && above != listener->pid && depth < 8; depth++)
		above = parent_of(above);
	if (above != listener->pid)
		listener->pid = pid;
}

static void look_at_process(int proc_fd, const char *name, struct sockets *sockets)
{
	owned(free_ptr) char *path = xasprintf("%s/fd", name);
	owned(dir_close) DIR *dir = dir_open(proc_fd, path);
	struct dirent *entry;

	while (dir && dir_next(dir, &entry) > 0) {
		char target[64];
		struct listener key = { 0 }, *found;
		ssize_t len = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

		target[len > 0 ? len : 0] = '\0';
		if (sscanf(target, "socket:[%lu]", &key.inode) != 1)
			continue;
		found = bsearch(&key, sockets->items, sockets->count, sizeof(key), compare_inodes);
		if (found)
			note_holder(found, (pid_t)strtol(name, NULL, 10));
	}
}

static bool has_user(const struct sockets *sockets, uid_t uid)
{
	for (size_t i = 0; i < sockets->count; i++) {
		if (sockets->items[i].uid == uid)
			return true;
	}
	return false;
}

static char *comm_of(pid_t pid)
{
	char path[32], text[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	ssize_t len = file_read_small(AT_FDCWD, path, text, sizeof(text));

	return xstrndup(text, len > 0 ? strcspn(text, "\n") : 0);
}

/* A socket of another user's has no holder that may be seen: a process of that user which a recipe knows is taken for it. */
static void guess_holder(pid_t pid, uid_t uid, struct sockets *sockets)
{
	owned(free_ptr) char *comm = comm_of(pid);

	for (size_t i = 0; recipe_match(comm) && i < sockets->count; i++) {
		struct listener *listener = &sockets->items[i];

		if (listener->pid == 0 && listener->uid == uid && uid != geteuid())
			listener->pid = -pid;
	}
}

static int find_holders(struct sockets *sockets, struct error *err)
{
	owned(dir_close) DIR *proc = opendir("/proc");
	struct dirent *entry;
	struct stat st;

	if (!proc)
		return error_errno(err, ERROR_HOST, "/proc");
	while (dir_next(proc, &entry) > 0) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
		    fstatat(dirfd(proc), entry->d_name, &st, 0) < 0 ||
		    !has_user(sockets, st.st_uid))
			continue;
		if (geteuid() == 0 || st.st_uid == geteuid())
			look_at_process(dirfd(proc), entry->d_name, sockets);
		else
			guess_holder((pid_t)strtol(entry->d_name, NULL, 10), st.st_uid, sockets);
	}
	return 0;
}

static char *read_link(pid_t pid, const char *what)
{
	char path[40], target[PATH_MAX];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, what);
	ssize_t len = readlink(path, target, sizeof(target) - 1);

	return len > 0 && target[0] ? xstrndup(target, (size_t)len) : NULL;
}

/* What stands between NULs; of variables the names alone. */
static void read_words(pid_t pid, const char *what, bool only_names, struct strv *ret_words)
{
	char path[40];
	owned(str_done) struct str text = STR_INIT;
	struct error ignored;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, what);
	if (file_read(AT_FDCWD, path, ARGS_MAX, &text, &ignored) < 0)
		return;
	for (const char *at = str_cstr(&text), *end = at + text.len; at < end;
	     at += strlen(at) + 1) {
		owned(free_ptr) char *name = xstrndup(at, strcspn(at, "="));

		strv_add(ret_words, only_names ? name : at);
	}
}

static int add_bytes(const struct walk_entry *entry, void *cookie)
{
	if (S_ISREG(entry->st->stx_mode))
		*(uint64_t *)cookie += entry->st->stx_blocks * 512;
	return 0;
}

static void measure(struct service *service)
{
	struct walk walk = { .purpose = WALK_MEASURE,
			     .visit = add_bytes,
			     .cookie = &service->bytes,
			     .until_ns = clock_now_ns() + MEASURE_NS };

	(void)walk_tree(&walk, AT_FDCWD, service->dir);
}

static void refuse(struct service *service, const char *why)
{
	service->level = "refused";
	free(service->why);
	service->why = xstrdup(why);
}

/* How it would be cloned, and for how long that takes. */
static void estimate(struct service *service)
{
	const char *cost = recipe_get(service->recipe, "cost", 0);
	unsigned fixed = 0, a_gb = FROZEN_MS_A_GB, pause = 0;

	if (!service->recipe) {
		refuse(service, "no recipe knows it");
		return;
	}
	if (!service->dir)
		return;
	measure(service);
	service->level = cost ? "native" : "frozen";
	if (cost && sscanf(cost, "%u %u %u", &fixed, &a_gb, &pause) == 3)
		service->pause_ms = pause;
	service->takes_ms = fixed + service->bytes * a_gb / 1000000000u;
	if (!cost)
		service->pause_ms = service->takes_ms < 50 ? service->takes_ms : 50;
}

static bool is_in_our_namespaces(pid_t pid)
{
	owned(free_ptr) char *theirs = read_link(pid, "ns/mnt"),
			     *ours = read_link(getpid(), "ns/mnt");

	return str_same(theirs, ours);
}

bool service_owns_dir(const struct service *service)
{
	struct stat st;

	return service->uid == geteuid() ||
	       (lstat(service->dir, &st) == 0 && st.st_uid == service->uid);
}

/* Servers of databases change to the directory of their state. */
static void place(struct service *service)
{
	const char *row = recipe_get(service->recipe, "place", 0);
	owned(strv_done) struct strv words = STRV_INIT;
	struct error ignored;

	service->dir = xstrdup(service->cwd);
	if (row && recipe_expand(service, row, &words, &ignored) == 0 && words.count == 1)
		service->place = xstrdup(words.items[0]);
	else
		service->place = xstrdup(service->dir);
}

static void describe(struct service *service)
{
	pid_t pid = service->pid;
	struct stat st;
	char path[32];

	service->exe = read_link(pid, "exe");
	service->cwd = read_link(pid, "cwd");
	read_words(pid, "cmdline", false, &service->args);
	read_words(pid, "environ", true, &service->variables);
	if (service->args.count > 0) {
		struct strv rest = STRV_INIT;

		for (size_t i = 1; i < service->args.count; i++)
			strv_add(&rest, service->args.items[i]);
		strv_done(&service->args);
		service->args = rest;
	}
	(void)snprintf(path, sizeof(path), "/proc/%d", pid);
	if (stat(path, &st) == 0)
		service->gid = st.st_gid;
	service->began = process_began(pid);
	if (!service->exe || !service->cwd)
		refuse(service, "its processes may not be looked at");
	else if (!is_in_our_namespaces(pid))
		refuse(service, "it runs in a container: save that with the container's own tools");
	else if (service->uid != geteuid() && geteuid() != 0)
		refuse(service,
		       "it runs under another id, which only a sandbox of root can start it as");
	else if (service->uid != geteuid() && (service->uid > ID_MAX || service->gid > ID_MAX))
		refuse(service, "it runs under an id beyond 65534, which no sandbox has");
	else if (strstr(service->exe, " (deleted)"))
		refuse(service, "its program was replaced since it was started: restart it first");
	/* The state of what is refused is known, too: it is hidden. */
	if (service->recipe && service->cwd && is_in_our_namespaces(pid))
		place(service);
	/* Its process may stand wherever it likes: what it shows at that place inside would be its own. */
	if (!service->level && str_same(service->place, service->dir) && !service_owns_dir(service))
		refuse(service, "the directory that it runs in belongs to another user");
	if (!service->level)
		estimate(service);
}

/* Sockets of one process are one service, called by its lowest port. */
static struct service *find_or_add(struct services *services, const struct listener *listener)
{
	struct service *service;

	for (size_t i = 0; listener->pid > 0 && i < services->count; i++) {
		service = &services->items[i];
		if (service->pid != listener->pid)
			continue;
		service->is_everywhere |= listener->is_everywhere;
		if (listener->port < service->port) {
			service->port = listener->port;
			memcpy(service->host, listener->host, sizeof(service->host));
		}
		return NULL;
	}
	services->items = xrealloc(services->items, services->count + 1, sizeof(*services->items));
	service = &services->items[services->count++];
	*service = (struct service){ .pid = listener->pid > 0 ? listener->pid : 0,
				     .uid = listener->uid,
				     .port = listener->port,
				     .is_everywhere = listener->is_everywhere };
	memcpy(service->host, listener->host, sizeof(service->host));
	return service;
}

static void add_service(struct services *services, const struct listener *listener)
{
	owned(free_ptr) char *comm = listener->pid ? comm_of(abs(listener->pid)) : xstrdup("");
	struct service *service;

	/* Servers of ours are no services of the machine. */
	if (str_starts(comm, "aisbx"))
		return;
	service = find_or_add(services, listener);
	if (!service)
		return;
	service->comm = ptr_take(&comm);
	service->recipe = recipe_match(service->comm);
	if (service->pid == 0)
		refuse(service, listener->uid == geteuid() || geteuid() == 0
					? "its processes cannot be seen from here"
					: "it is another user's");
	else
		describe(service);
}

static int compare_services(const void *a, const void *b)
{
	const struct service *one = a, *other = b;
	bool is_refused[2] = { one->why != NULL, other->why != NULL };

	if (is_refused[0] != is_refused[1])
		return is_refused[0] ? 1 : -1;
	return one->port < other->port ? -1 : one->port > other->port;
}

/* What people call it: the program's name up to a dash; for what is not to be seen, its port. */
static char *stem_of(const struct service *service)
{
	if (!service->comm[0])
		return xasprintf("port-%u", service->port);
	if (!service->recipe)
		return xstrdup(service->comm);
	return xstrndup(service->comm, strcspn(service->comm, "-"));
}

static void name_all(struct services *services)
{
	for (size_t i = 0; i < services->count; i++) {
		struct service *service = &services->items[i];
		owned(free_ptr) char *stem = stem_of(service);
		bool is_alone = true;

		for (size_t j = 0; j < services->count; j++) {
			const struct service *other = &services->items[j];
			owned(free_ptr) char *theirs = stem_of(other);

			is_alone &= i == j || strcmp(stem, theirs) != 0 ||
				    (other->why && !service->why);
		}
		service->name =
			is_alone ? ptr_take(&stem) : xasprintf("%s-%u", stem, service->port);
	}
}

int services_find(struct services *ret_services, struct error *err)
{
	struct services services = { NULL, 0 };
	struct sockets sockets = { NULL, 0 };

	if (listeners_read(&sockets.items, &sockets.count, err) < 0)
		return -1;
	if (sockets.count > 0)
		qsort(sockets.items, sockets.count, sizeof(*sockets.items), compare_inodes);
	if (find_holders(&sockets, err) < 0) {
		free(sockets.items);
		return -1;
	}
	for (size_t i = 0; i < sockets.count; i++)
		add_service(&services, &sockets.items[i]);
	free(sockets.items);
	if (services.count > 0)
		qsort(services.items, services.count, sizeof(*services.items), compare_services);
	name_all(&services);
	*ret_services = services;
	return 0;
}

void services_done(struct services *services)
{
	for (size_t i = 0; i < services->count; i++) {
		struct service *service = &services->items[i];
		char *const owned_texts[] = { service->name, service->comm, service->exe,
					      service->cwd,  service->dir,  service->why,
					      service->place };

		for (size_t t = 0; t < sizeof(owned_texts) / sizeof(owned_texts[0]); t++)
			free(owned_texts[t]);
		strv_done(&service->args);
		strv_done(&service->variables);
		strv_done(&service->facts);
	}
	free(services->items);
	*services = (struct services){ NULL, 0 };
}

int services_pick(const struct services *services, const char *name, struct service **ret_service,
		  struct error *err)
{
	size_t matches = 0;

	for (size_t i = 0; i < services->count; i++) {
		struct service *service = &services->items[i];
		owned(free_ptr) char *stem = stem_of(service);
		owned(free_ptr) char *numbered = xasprintf("%s-%u", stem, service->port);
		/* With its port it is the same whether or not others of the kind came or went since it was listed. */
		bool is_exact = strcmp(service->name, name) == 0 || strcmp(numbered, name) == 0;

		if (is_exact || (strcmp(stem, name) == 0 && !service->why))
			*ret_service = service;
		if (is_exact)
			return 0;
		matches += strcmp(stem, name) == 0 && !service->why;
	}
	if (matches == 1)
		return 0;
	return error_advise(err, matches ? ERROR_USAGE : ERROR_NOT_FOUND,
			    "aisbx services lists what there is", "%s service is called '%.60s'",
			    matches ? "more than one" : "no", name);
}
