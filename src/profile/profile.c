/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles without a parser: their life cycle, the built-in ones, and settings as text. */
#include "profile/profile.h"

#include "base/core/die.h"
#include "profile/builtin.h"

#include <string.h>

void profile_init(struct profile *profile)
{
	memset(profile, 0, sizeof(*profile));
	settings_init(&profile->settings);
	for (size_t i = 0; i < PROFILE_LANGUAGES; i++)
		settings_init(&profile->languages[i]);
}

void profile_done(struct profile *profile)
{
	free(profile->name);
	free(profile->extends);
	settings_done(&profile->settings);
	for (size_t i = 0; i < PROFILE_LANGUAGES; i++)
		settings_done(&profile->languages[i]);
	memset(profile, 0, sizeof(*profile));
}

const struct profile_builtin *profile_builtin_find(const char *name)
{
	for (const struct profile_builtin *builtin = profile_builtins; builtin->name; builtin++)
		if (strcmp(builtin->name, name) == 0)
			return builtin;
	return NULL;
}

void profile_apply_pairs(struct settings *settings, const struct profile_pair *pairs)
{
	struct error err;

	/* The generator has been through settings_set with the same words, so none can fail. */
	for (; pairs->key; pairs++)
		if (settings_set(settings, setting_find(pairs->key), pairs->key, pairs->value,
				 &err) < 0)
			die("a built-in profile has a setting that is none");
}
