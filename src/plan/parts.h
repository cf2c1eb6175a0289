/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of plan_make, shared by the files of this folder only. */
#ifndef PLAN_PARTS_H
#define PLAN_PARTS_H

#include "plan/plan.h"

/* Inputs and the spec under way; nothing in it is owned. */
struct planning {
	const struct request *request;
	const struct settings *settings; /* the profile with the flags laid over it */
	const struct host *host;
	const struct plan_paths *paths;
	struct spec *spec;
};

/* Refuses what was asked for and is not in this build: never ignored silently. */
int plan_refuse_absent(const struct planning *planning, struct error *err);

/* Each step fills its part of the spec and reads what the ones before it filled. In this order: */
int plan_binds(const struct planning *planning, struct error *err);
int plan_workspace(const struct planning *planning, struct error *err);
int plan_masks(const struct planning *planning, struct error *err);
int plan_gpu(const struct planning *planning, struct error *err);
int plan_certificates(const struct planning *planning, struct error *err);
void plan_trees(const struct planning *planning);
void plan_cache(const struct planning *planning);
void plan_limits(const struct planning *planning);
void plan_environment(const struct planning *planning);

/* What --hide asks for, as clean absolute paths, each of which is refused where it could not be hidden; and the state of services. */
int plan_hidden(const struct planning *planning, struct strv *ret_paths, struct error *err);

/* Whether a directory at or below PATH is kept visible. */
bool plan_keeps_within(const struct spec *spec, const char *path);

/* The mount PATH lies on; NULL when mountinfo does not say. */
const struct host_mount *plan_holder(const struct host *host, const char *path);

/*
 * Whether B shows something of the filesystem that A shows, under another name (a bind mount, a subvolume and its
 * parent): what is below *ret_from through A is below *ret_to through B. The caller owns both.
 */
bool plan_twins(const struct host_mount *a, const struct host_mount *b, char **ret_from,
		char **ret_to);

/* Where the content of PATH, as plan_twins translates it, has its other name; NULL when it has none. */
char *plan_alias(const char *path, const char *from, const char *to);

/* Whether hiding PATH, to which a link leads, would take away what every sandbox needs, or the workspace. */
bool plan_is_needed(const struct spec *spec, const char *path);

/* Whether the mount at TO is PLACE under a second name, and PLACE a home or the directory of homes. */
bool plan_is_home_twin(const char *place, const char *home, const char *from, const char *to);

/* Whether PATH is "/", part of the operating system, or a directory that only holds other people's. */
bool plan_is_system_dir(const char *path);

/* One of our own directories that PATH lies in (or that lies in PATH, with HOLDS); NULL when none does. */
const char *plan_own_dir(const struct host *host, const char *path, bool holds);

/* The network's mode and its rules, each of them read once. */
int plan_network(const struct planning *planning, struct error *err);

/*
 * SOURCE as an absolute clean path, as text; NULL when it has none. Steps up are taken from the start only, from the
 * current directory, which the kernel gave us resolved; further on they could climb out of a link.
 */
char *plan_absolute(const char *cwd, const char *source);

/* NAME below DIR; owned by the caller. */
char *plan_join(const char *dir, const char *name);

#endif
