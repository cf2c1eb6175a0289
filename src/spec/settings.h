/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings: what a flag or a profile key can say, as one table.
 *
 * The same names serve the command line (`--mem 512m`), profiles (`mem: 512m`) and MCP arguments, so
 * that no face can drift from another. Values are parsed here and nowhere else.
 */
#ifndef SPEC_SETTINGS_H
#define SPEC_SETTINGS_H

#include "base/core/error.h"
#include "base/core/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SETTING_UNSET INT64_MIN

struct settings_mount {
	char *host;
	char *guest;
	bool writable; /* copy-on-write unless through */
	bool through;  /* writes reach the host: only by --rw-through or the user's own profile */
};

struct settings {
	int64_t cpu_milli; /* 1500 is one and a half cores */
	int64_t mem_bytes;
	int64_t pids;
	int64_t disk_bytes;
	int64_t inodes;
	int64_t time_ms;
	int64_t cpu_time_ms;
	int64_t grace_ms; /* between a signal and the kill */
	int64_t fsize_bytes;
	int64_t nofile;
	int64_t output_bytes; /* kept per stream in the result */
	int64_t fuel;

	char *driver;
	char *root;		 /* host, project, or an image's name */
	char *net;		 /* none, loopback, allow, all */
	char *scan;		 /* off, warn, enforce */
	char *require_signature; /* true, false */
	char *home;		 /* tools (allow-list), full */
	char *workspace_secrets; /* show, mask */
	char *splice;		 /* off, on */
	char *gpu;		 /* none, all, or GPUs by comma: number, UUID, parts of one */
	char *cache;		 /* true, false */
	char *seccomp;		 /* path of an OCI profile applied on top of ours */

	struct strv allow, deny, publish, secret_header;
	struct strv with_services; /* names; cloned before a plan is made */
	struct strv env;	   /* K=V */
	struct strv pass_env;	   /* names */
	struct strv secret;	   /* NAME=FILE, NAME of a stored one */
	struct strv secret_env;	   /* VAR=NAME of a stored one */
	struct strv inject;	   /* [http:]HOST[:PORT]:HOW=NAME of a stored one */
	struct strv inject_env;	   /* VAR=NAME@[http:]HOST[:PORT] of a stored one */
	struct strv require;	   /* layers that must hold */
	struct strv allow_degraded;
	struct strv home_tools; /* directories of HOME to show beside the table's */
	struct strv hide;	/* paths not to be seen; relative ones are the workspace's */
	struct strv syscalls;	/* names; of what the filter built in permits, only these */
	struct strv entrypoint, tests, gates;

	struct settings_mount *mounts;
	size_t mount_count;

	/* Bit per number, in the order above: set by an untrusted profile only. */
	uint32_t ceilings;
};

enum setting_kind {
	SETTING_SIZE,	  /* bytes, 1024-based: 512m */
	SETTING_DURATION, /* milliseconds: 500ms 30s 5m 2h */
	SETTING_PAUSE,	  /* the same, and 0 */
	SETTING_COUNT,	  /* whole number from 1 */
	SETTING_CPU,	  /* cores: 1.5 */
	SETTING_FUEL,	  /* decimal: 400m */
	SETTING_WORD,	  /* one of `choices`, or any word when that is NULL */
	SETTING_MAYBE,	  /* a word behind '=': the flag alone means "all" */
	SETTING_LIST,	  /* may be given several times */
	SETTING_MOUNT_RO, /* SRC:DST */
	SETTING_MOUNT_RW,
	SETTING_MOUNT_THROUGH,
};

struct setting_row {
	const char *name; /* spelt with dashes; profiles accept dashes and underscores */
	enum setting_kind kind;
	bool flag;     /* has a command line flag */
	bool profile;  /* may stand in a profile */
	size_t offset; /* of the field in struct settings; unused for mounts */
	const char *metavar;
	const char *choices; /* "none|loopback|allow|all" */
	const char *help;
	int64_t min, max; /* of counts and sizes; max 0: no bound of our own */
};

/* The table, ended by a row without a name. */
extern const struct setting_row setting_rows[];

void settings_init(struct settings *settings);
void settings_done(struct settings *settings);
/* TO need not be initialised. */
void settings_copy(struct settings *to, const struct settings *from);

/* The row of that name ('_' is as good as '-'), or NULL. */
const struct setting_row *setting_find(const char *name);

/* Parses VALUE into the row's field; on failure nothing changes. WHERE names the place ("--mem"). */
int settings_set(struct settings *settings, const struct setting_row *row, const char *where,
		 const char *value, struct error *err);

/*
 * What is set in OVER replaces what is set in BASE; lists and mounts are appended (a variable of the same name is replaced,
 * and so is the entrypoint as a whole).
 */
void settings_merge(struct settings *base, const struct settings *over);

/* Appends copies. */
void settings_add_mount(struct settings *settings, const char *host, const char *guest,
			bool writable, bool through);

/*
 * The limit in force for NUMBER, a field of SETTINGS: the value set, else OTHERWISE. A value set only by an untrusted
 * profile can lower OTHERWISE, never raise it. 0 is "none", in OTHERWISE and in the answer.
 */
uint64_t settings_limit(const struct settings *settings, const int64_t *number, uint64_t otherwise);

/* Whether NUMBER, a field of SETTINGS, was set, and by more than an untrusted profile. */
bool settings_is_own(const struct settings *settings, const int64_t *number);

/*
 * Takes from REPO (an untrusted profile found in a workspace, a program's wishes) only what makes BASE tighter. Each
 * key that would widen is left out and named in LEFT_OUT: "'net: allow'".
 */
void settings_narrow(struct settings *base, const struct settings *repo, struct strv *left_out);

/* The PATH where the environment has none. */
#define SETTINGS_PATH_DEFAULT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* PAIR, NAME=FILE or NAME, with a FILE that is relative to CWD made absolute. The caller frees it. */
char *settings_file_pair(const char *pair, const char *cwd);

/* Adds "K=V" in place of an earlier value of K. */
void settings_add_env(struct strv *env, const char *pair);

#endif
