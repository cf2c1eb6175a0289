/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings files of srt (sandbox-runtime): JSON bytes in, settings or an error with its key out.
 *
 * What the file forbids is forbidden, or the file is refused by the name of the key. What it permits and a sandbox does
 * not give is noted, and not given. Its rules about writing concern the host, to which a run writes nothing.
 */
#ifndef PROFILE_SRT_H
#define PROFILE_SRT_H

#include "base/core/error.h"
#include "spec/settings.h"

#include <stddef.h>

#define SRT_MAX_BYTES ((size_t)1 << 20)

/* What paths in the file start from; absolute and clean, as text. */
struct srt_place {
	const char *origin; /* names the file in errors */
	const char *home;
	const char *cwd;
	const char *workspace; /* NULL where a run would get an empty one */
};

/* The file's rules about writing, for promotions: they apply to the host what a sandbox wrote. */
struct srt_writes {
	struct strv allow; /* absolute and clean; *, ? and [ stand for others, ** for whole paths */
	struct strv deny;
	char *unclear; /* an entry of deny that cannot be understood; NULL: none */
};

/*
 * Parses one file. Sets net, allow, deny and hide (absolute paths); NOTES grows by what is permitted there and not given
 * here. The caller owns *ret_settings (settings_done). Needs jansson: linked into aisbx-full, not into the hot program.
 */
int srt_parse(const char *bytes, size_t len, const struct srt_place *place,
	      struct settings *ret_settings, struct strv *notes, struct error *err);

/* The same, for its rules about writing. To be released in any case. */
int srt_parse_writes(const char *bytes, size_t len, const struct srt_place *place,
		     struct srt_writes *ret_writes, struct error *err);
void srt_writes_done(struct srt_writes *writes);

#endif
