/* SPDX-License-Identifier: Apache-2.0 */
/* Settings: the table of every flag and profile key, and the life of the struct it fills. */
#include "spec/settings.h"

#include "spec/settings_field.h"

#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(struct settings, field)
#define BOTH true, true
#define ONLY_PROFILE false, true
#define ONLY_FLAG true, false

#define KIB (INT64_C(1) << 10)
#define MIB (INT64_C(1) << 20)

/*
 * Least values are those below which nothing can start; the largest count of processes is the kernel's, that of
 * descriptors its default ceiling.
 */
const struct setting_row setting_rows[] = {
	{ "cpu", SETTING_CPU, BOTH, AT(cpu_milli), "N", NULL, "cores, such as 1.5", 0, 0 },
	{ "mem", SETTING_SIZE, BOTH, AT(mem_bytes), "SIZE", NULL, "memory, such as 512m", MIB, 0 },
	{ "pids", SETTING_COUNT, BOTH, AT(pids), "N", NULL, "processes and threads", 1, 4194304 },
	{ "disk", SETTING_SIZE, BOTH, AT(disk_bytes), "SIZE", NULL,
	  "what may be written, such as 1g", 4 * KIB, 0 },
	{ "inodes", SETTING_COUNT, BOTH, AT(inodes), "N", NULL, "files that may be made", 1,
	  INT64_C(1) << 40 },
	{ "time", SETTING_DURATION, BOTH, AT(time_ms), "TIME", NULL, "wall time, such as 30s", 0,
	  0 },
	{ "cpu-time", SETTING_DURATION, BOTH, AT(cpu_time_ms), "TIME", NULL,
	  "time on the processor", 0, 0 },
	{ "grace", SETTING_PAUSE, BOTH, AT(grace_ms), "TIME", NULL,
	  "between TERM, INT or HUP and the kill (default 2s); if given, --time sends TERM first",
	  0, 0 },
	{ "fsize", SETTING_SIZE, BOTH, AT(fsize_bytes), "SIZE", NULL,
	  "largest file that may be written", 0, 0 },
	{ "nofile", SETTING_COUNT, BOTH, AT(nofile), "N", NULL, "open files a process", 8,
	  1073741816 },
	{ "output", SETTING_SIZE, BOTH, AT(output_bytes), "SIZE", NULL, "output kept per stream", 0,
	  1024 * MIB },
	{ "fuel", SETTING_FUEL, BOTH, AT(fuel), "N", NULL, "instructions under wasm, such as 20g",
	  0, 0 },
	{ "driver", SETTING_WORD, BOTH, AT(driver), "NAME", NULL, "how to isolate (default linux)",
	  0, 0 },
	{ "root", SETTING_WORD, BOTH, AT(root), "host|project|IMAGE", NULL,
	  "what the sandbox sees as its root (default host); images: aisbx image", 0, 0 },
	{ "net", SETTING_WORD, BOTH, AT(net), "none|loopback|allow|all", "none|loopback|allow|all",
	  "network (default none; --allow says allow); all: every place but this machine and "
	  "private addresses",
	  0, 0 },
	{ "allow", SETTING_LIST, BOTH, AT(allow), "RULE", NULL,
	  "let connections out: [udp:]HOST[:PORTS][,...] (443 and 80 without a port) or "
	  "http:[METHODS:]HOST:PORTS[/PREFIX]; HOST is a name, *.name, address, CIDR or [IPv6]; "
	  "localhost:PORT is a server of this machine; @pypi, @npm, @crates, @go, @maven, @debian "
	  "are registries as configured here",
	  0, 0 },
	{ "deny", SETTING_LIST, BOTH, AT(deny), "RULE", NULL,
	  "refuse connections or requests to this place (every port without one), whatever is "
	  "allowed",
	  0, 0 },
	{ "publish", SETTING_LIST, BOTH, AT(publish), "HOSTPORT:PORT", NULL,
	  "let this machine reach a port of the sandbox, on 127.0.0.1", 0, 0 },
	{ "secret-header", SETTING_LIST, BOTH, AT(secret_header), "HOST:NAME=FILE", NULL,
	  "header that plain HTTP requests to this host get outside, from a file", 0, 0 },
	{ "ro", SETTING_MOUNT_RO, ONLY_FLAG, 0, "SRC:DST", NULL, "show a host path, read-only", 0,
	  0 },
	{ "rw", SETTING_MOUNT_RW, ONLY_FLAG, 0, "SRC:DST", NULL, "show a host path, copy-on-write",
	  0, 0 },
	{ "rw-through", SETTING_MOUNT_THROUGH, ONLY_FLAG, 0, "SRC:DST", NULL,
	  "show a host path; writes reach the host", 0, 0 },
	{ "env", SETTING_LIST, BOTH, AT(env), "K=V", NULL, "set a variable", 0, 0 },
	{ "pass-env", SETTING_LIST, BOTH, AT(pass_env), "K", NULL, "pass a variable on", 0, 0 },
	{ "secret", SETTING_LIST, BOTH, AT(secret), "NAME[=FILE]", NULL,
	  "a stored secret (aisbx secret), or a file, that the sandbox reads at /run/secrets/NAME "
	  "and logs never show; the command can read it: the weaker way",
	  0, 0 },
	{ "secret-env", SETTING_LIST, BOTH, AT(secret_env), "VAR=NAME", NULL,
	  "the same of a stored secret as a variable", 0, 0 },
	{ "inject", SETTING_LIST, BOTH, AT(inject), "[http:]HOST[:PORT]:HOW=NAME", NULL,
	  "a stored secret that requests to this host get outside, over HTTPS too; HOW is a "
	  "header, "
	  "bearer, basic, basic/USER or query/PARAMETER; the command never holds it: the stronger "
	  "way; by TLS, plain only as http:HOST:PORT",
	  0, 0 },
	{ "inject-env", SETTING_LIST, BOTH, AT(inject_env), "VAR=NAME@[http:]HOST[:PORT]", NULL,
	  "the same by a placeholder in a variable, which requests to this host exchange for the "
	  "secret outside",
	  0, 0 },
	{ "with-services", SETTING_LIST, ONLY_FLAG, AT(with_services), "NAME", NULL,
	  "bring a copy of a service that runs here, such as redis or postgres: same port, own "
	  "data "
	  "(aisbx services)",
	  0, 0 },
	{ "scan", SETTING_WORD, BOTH, AT(scan), "off|warn|enforce", "off|warn|enforce",
	  "read the code before it runs, by a policy: say what is found, or refuse (default off)",
	  0, 0 },
	{ "require-signature", SETTING_WORD, ONLY_PROFILE, AT(require_signature), "true|false",
	  "true|false", "run signed files only (a switch on the command line)", 0, 0 },
	{ "home", SETTING_WORD, BOTH, AT(home), "tools|full", "tools|full",
	  "what of the home directory is shown (default tools)", 0, 0 },
	{ "home-tools", SETTING_LIST, BOTH, AT(home_tools), "DIR", NULL,
	  "show this directory of the home, too; credentials that aisbx knows of stay hidden", 0,
	  0 },
	{ "hide", SETTING_LIST, BOTH, AT(hide), "PATH", NULL,
	  "do not show this file or directory; * stands for anything in its last part", 0, 0 },
	{ "workspace-secrets", SETTING_WORD, BOTH, AT(workspace_secrets), "show|mask", "show|mask",
	  "credential files inside the workspace", 0, 0 },
	{ "splice", SETTING_WORD, BOTH, AT(splice), "off|on", "off|on",
	  "allow splice(2) and tee(2)", 0, 0 },
	{ "gpu", SETTING_MAYBE, BOTH, AT(gpu), "all|N|UUID", NULL,
	  "let the command use the GPUs of this machine, or those named, by comma; opens the "
	  "driver's "
	  "interface to it (docs/gpu.md)",
	  0, 0 },
	{ "cache", SETTING_WORD, ONLY_PROFILE, AT(cache), "true|false", "true|false",
	  "keep what tools fetch and build for later runs here (a switch on the command line)", 0,
	  0 },
	{ "seccomp", SETTING_WORD, BOTH, AT(seccomp), "FILE", NULL,
	  "OCI system call profile applied on top of ours", 0, 0 },
	{ "syscalls", SETTING_LIST, ONLY_PROFILE, AT(syscalls), "NAME", NULL,
	  "of what is permitted, only these system calls and what every program needs", 0, 0 },
	{ "require", SETTING_LIST, BOTH, AT(require), "LAYER", NULL,
	  "refuse to run without this layer", 0, 0 },
	{ "allow-degraded", SETTING_LIST, BOTH, AT(allow_degraded), "LAYER", NULL,
	  "run where the kernel has no such layer: ipc, uts, and what may be absent", 0, 0 },
	{ "entrypoint", SETTING_LIST, ONLY_PROFILE, AT(entrypoint), "ARG", NULL,
	  "command when none is given", 0, 0 },
	{ "tests", SETTING_LIST, ONLY_PROFILE, AT(tests), "CMD", NULL,
	  "commands that must succeed for tests==pass", 0, 0 },
	{ "gates", SETTING_LIST, ONLY_PROFILE, AT(gates), "EXPR", NULL,
	  "conditions for applying changes", 0, 0 },
	{ .name = NULL },
};

int64_t *settings_number(struct settings *settings, const struct setting_row *row)
{
	return (int64_t *)(void *)((char *)settings + row->offset);
}

char **settings_word(struct settings *settings, const struct setting_row *row)
{
	return (char **)(void *)((char *)settings + row->offset);
}

struct strv *settings_list(struct settings *settings, const struct setting_row *row)
{
	return (struct strv *)(void *)((char *)settings + row->offset);
}

enum setting_shape setting_shape(const struct setting_row *row)
{
	switch (row->kind) {
	case SETTING_SIZE:
	case SETTING_DURATION:
	case SETTING_PAUSE:
	case SETTING_COUNT:
	case SETTING_CPU:
	case SETTING_FUEL:
		return SHAPE_NUMBER;
	case SETTING_WORD:
	case SETTING_MAYBE:
		return SHAPE_WORD;
	case SETTING_LIST:
		return SHAPE_LIST;
	case SETTING_MOUNT_RO:
	case SETTING_MOUNT_RW:
	case SETTING_MOUNT_THROUGH:
		break;
	}
	return SHAPE_MOUNT;
}

int64_t settings_get_number(const struct settings *settings, const struct setting_row *row)
{
	return *(const int64_t *)(const void *)((const char *)settings + row->offset);
}

const char *settings_get_word(const struct settings *settings, const struct setting_row *row)
{
	return *(const char *const *)(const void *)((const char *)settings + row->offset);
}

const struct strv *settings_get_list(const struct settings *settings, const struct setting_row *row)
{
	return (const struct strv *)(const void *)((const char *)settings + row->offset);
}

void settings_init(struct settings *settings)
{
	memset(settings, 0, sizeof(*settings));
	for (const struct setting_row *row = setting_rows; row->name; row++) {
		if (setting_shape(row) == SHAPE_NUMBER)
			*settings_number(settings, row) = SETTING_UNSET;
	}
}

void settings_done(struct settings *settings)
{
	for (const struct setting_row *row = setting_rows; row->name; row++) {
		enum setting_shape shape = setting_shape(row);

		if (shape == SHAPE_WORD)
			free(*settings_word(settings, row));
		else if (shape == SHAPE_LIST)
			strv_done(settings_list(settings, row));
	}
	for (size_t i = 0; i < settings->mount_count; i++) {
		free(settings->mounts[i].host);
		free(settings->mounts[i].guest);
	}
	free(settings->mounts);
	settings_init(settings);
}

void settings_copy(struct settings *to, const struct settings *from)
{
	settings_init(to);
	settings_merge(to, from);
}

const struct setting_row *setting_find(const char *name)
{
	for (const struct setting_row *row = setting_rows; row->name; row++) {
		size_t i = 0;

		while (row->name[i] &&
		       (row->name[i] == name[i] || (row->name[i] == '-' && name[i] == '_')))
			i++;
		if (!row->name[i] && !name[i])
			return row;
	}
	return NULL;
}

void settings_add_mount(struct settings *settings, const char *host, const char *guest,
			bool writable, bool through)
{
	settings->mounts =
		xrealloc(settings->mounts, settings->mount_count + 1, sizeof(*settings->mounts));
	settings->mounts[settings->mount_count++] = (struct settings_mount){
		.host = xstrdup(host),
		.guest = xstrdup(guest),
		.writable = writable,
		.through = through,
	};
}

char *settings_file_pair(const char *pair, const char *cwd)
{
	const char *file = pair + strcspn(pair, "=");

	/* The name of a stored one stands alone. */
	if (!file[0])
		return xstrdup(pair);
	file++;
	if (file[0] == '/')
		return xstrdup(pair);
	return xasprintf("%.*s%s/%s", (int)(file - pair), pair, cwd, file);
}

void settings_add_env(struct strv *env, const char *pair)
{
	size_t name = (size_t)(strchrnul(pair, '=') - pair);

	for (size_t i = 0; i < env->count; i++) {
		if (strncmp(env->items[i], pair, name) != 0 || env->items[i][name] != '=')
			continue;
		free(env->items[i]);
		env->items[i] = xstrdup(pair);
		return;
	}
	strv_add(env, pair);
}

static void merge_list(struct settings *base, const struct settings *over,
		       const struct setting_row *row)
{
	const struct strv *more = settings_get_list(over, row);
	struct strv *list = settings_list(base, row);

	/* Half of one command and half of another is no command. */
	if (list == &base->entrypoint && more->count > 0)
		strv_done(list);
	if (list != &base->env) {
		strv_copy(list, more);
		return;
	}
	for (size_t i = 0; i < more->count; i++)
		settings_add_env(list, more->items[i]);
}

static uint32_t bit_at(size_t offset)
{
	return UINT32_C(1) << offset / sizeof(int64_t);
}

uint32_t settings_ceiling_bit(const struct setting_row *row)
{
	return bit_at(row->offset);
}

_Static_assert(offsetof(struct settings, fuel) / sizeof(int64_t) < 32,
	       "numbers stand first, a bit each");

uint64_t settings_limit(const struct settings *settings, const int64_t *number, uint64_t otherwise)
{
	size_t offset = (size_t)((const char *)number - (const char *)settings);

	if (*number == SETTING_UNSET)
		return otherwise;
	if ((settings->ceilings & bit_at(offset)) && otherwise && otherwise < (uint64_t)*number)
		return otherwise;
	return (uint64_t)*number;
}

bool settings_is_own(const struct settings *settings, const int64_t *number)
{
	size_t offset = (size_t)((const char *)number - (const char *)settings);

	return *number != SETTING_UNSET && !(settings->ceilings & bit_at(offset));
}

static void merge_number(struct settings *base, const struct settings *over,
			 const struct setting_row *row)
{
	int64_t number = settings_get_number(over, row);
	uint32_t bit = settings_ceiling_bit(row);

	if (number == SETTING_UNSET)
		return;
	*settings_number(base, row) = number;
	base->ceilings = (base->ceilings & ~bit) | (over->ceilings & bit);
}

void settings_merge(struct settings *base, const struct settings *over)
{
	for (const struct setting_row *row = setting_rows; row->name; row++) {
		enum setting_shape shape = setting_shape(row);

		if (shape == SHAPE_NUMBER)
			merge_number(base, over, row);
		if (shape == SHAPE_WORD && settings_get_word(over, row)) {
			free(*settings_word(base, row));
			*settings_word(base, row) = xstrdup(settings_get_word(over, row));
		}
		if (shape == SHAPE_LIST)
			merge_list(base, over, row);
	}
	for (size_t i = 0; i < over->mount_count; i++) {
		const struct settings_mount *mount = &over->mounts[i];

		settings_add_mount(base, mount->host, mount->guest, mount->writable,
				   mount->through);
	}
}
