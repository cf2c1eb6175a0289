/* SPDX-License-Identifier: Apache-2.0 */
/* Presets in use: expanded before a plan is made, shown, refreshed. In aisbx-full only. */
#ifndef APP_PRESET_RUN_H
#define APP_PRESET_RUN_H

#include "app/prepare/plan_context.h"
#include "app/preset/preset.h"
#include "base/core/error.h"
#include "base/core/value.h"

/* Whether some rule is a preset's name. */
bool app_presets_in(const struct strv *rules);

/*
 * The rules of USE with each @NAME replaced by the hosts it stands for, for a caller whose variables are ENVIRON (NULL: ours);
 * what configuration files said about those registries is added as variables.
 */
int app_presets_expand(const struct plan_context *around, const char *const *environ,
		       const struct preset_use *use, struct error *err);

/* The same for a caller that has planned nothing; WORKSPACE as for -C, or NULL. */
int app_presets_expand_here(const char *workspace, struct strv *rules, struct strv *notes,
			    struct error *err);

/*
 * What each preset means here: list of {preset, hosts: [{rule, how}], notes: [text]}. WORKSPACE as for -C, or NULL. With
 * REFRESH each index is looked at once.
 */
int app_presets(const char *workspace, const char *const *environ, bool refresh,
		struct value **ret_answer, struct error *err);

#endif
