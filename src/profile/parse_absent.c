/* SPDX-License-Identifier: Apache-2.0 */
/* What stands for the parsers in a program that is linked without it. */
#include "profile/profile.h"
#include "profile/srt.h"

/* Weak: where the parser is linked, it takes this one's place. */
__attribute__((weak)) int profile_parse(const char *bytes, size_t len, const char *origin,
					const char *base_dir, struct profile *ret_profile,
					struct error *err)
{
	(void)bytes;
	(void)len;
	(void)base_dir;
	(void)ret_profile;
	return error_set(err, ERROR_INTERNAL, "%s: this program cannot read YAML", origin);
}

__attribute__((weak)) int srt_parse(const char *bytes, size_t len, const struct srt_place *place,
				    struct settings *ret_settings, struct strv *notes,
				    struct error *err)
{
	(void)bytes;
	(void)len;
	(void)ret_settings;
	(void)notes;
	return error_set(err, ERROR_INTERNAL, "%s: this program cannot read JSON", place->origin);
}

__attribute__((weak)) int srt_parse_writes(const char *bytes, size_t len,
					   const struct srt_place *place,
					   struct srt_writes *ret_writes, struct error *err)
{
	(void)bytes;
	(void)len;
	(void)ret_writes;
	return error_set(err, ERROR_INTERNAL, "%s: this program cannot read JSON", place->origin);
}

__attribute__((weak)) void srt_writes_done(struct srt_writes *writes)
{
	(void)writes;
}
