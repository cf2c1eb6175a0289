/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Presets: the hosts of a registry as it is configured for this user on this machine, by name (`--allow @pypi`).
 *
 *   presets.tsv ──> files, variables ──values──> URLs ──> HOST:PORT and how it is known
 *                   the client itself, where it has something built in
 *   ~/.config/aisbx/presets       lines `NAME RULE[,RULE...]`: the user's own, and more for the ones above
 *   ~/.local/state/aisbx/presets  what `net presets --refresh` found, for as long as the index is the same
 *
 * No host stands in the program, and no file of a workspace adds one.
 */
#ifndef APP_PRESET_H
#define APP_PRESET_H

#include "app/preset/preset_files.h"
#include "base/core/error.h"
#include "base/core/str.h"

#define PRESET_HOSTS_MAX 64

struct preset_host {
	char *rule; /* HOST:PORT */
	char *url;  /* it was found in, without user info; NULL when it was a rule already */
	char *how;  /* "~/.npmrc: registry" */
	bool is_index;
};

struct preset {
	char *name;
	struct preset_host *hosts;
	size_t count;
	struct strv env; /* NAME=VALUE: what files that are hidden inside say, without user info */
	struct strv notes; /* what was passed over, and why */
};

/* What a run gets of presets; each is appended to. */
struct preset_use {
	struct strv *rules, *env, *notes;
};

/*
 * Runs SCRIPT with the program at PROGRAM as its $0, apart from everything and without a network, or, with RULE, with a
 * network to that place alone. False when nothing came of it.
 */
struct preset_ask {
	bool (*run)(const struct preset_place *place, const char *program, const char *script,
		    const char *rule, struct str *ret_output);
};

/* What NAME means here. ERROR_USAGE for a name that is no preset; one for which nothing is found has no hosts. */
int preset_find(const struct preset_place *place, const struct preset_ask *ask, const char *name,
		struct preset *ret_preset, struct error *err);
void preset_done(struct preset *preset);

/* Every name, sorted. */
int preset_names(const struct preset_place *place, struct strv *ret_names, struct error *err);

/* The rules of USE with each @NAME replaced by what it means here. Nothing found is an error. */
int preset_expand(const struct preset_place *place, const struct preset_ask *ask,
		  const struct preset_use *use, struct error *err);

/* Looks at the indexes of PRESET once, and keeps what other hosts they name; those are added to it. */
int preset_refresh(const struct preset_place *place, const struct preset_ask *ask,
		   struct preset *preset, struct error *err);

/* Of this folder only. Adds a host unless it is there; false when the text leads nowhere a rule could. */
bool preset_add_url(struct preset *preset, const char *url, bool is_index, const char *how);
bool preset_add_rule(struct preset *preset, const char *rule, const char *how);

/* Adds what was kept for the hosts that PRESET has. */
int preset_kept_read(const struct preset_place *place, struct preset *preset, struct error *err);

#endif
