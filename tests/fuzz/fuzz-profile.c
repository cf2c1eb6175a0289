/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any bytes as a profile; one that is read must survive being shown and read again. */
#include "base/core/own.h"
#include "profile/profile.h"
#include "profile/show.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void show_again(const struct settings *settings)
{
	owned(str_done) struct str first = STR_INIT;
	owned(str_done) struct str second = STR_INIT;
	struct profile profile;
	struct error err = { .code = ERROR_NONE };

	profile_show(settings, &first);
	if (profile_parse(str_cstr(&first), first.len, "shown", NULL, &profile, &err) < 0)
		abort();
	profile_show(&profile.settings, &second);
	if (strcmp(str_cstr(&first), str_cstr(&second)) != 0)
		abort();
	profile_done(&profile);
}

/* A workspace's profile: whatever it says, these must not come of it. */
static void narrow(const struct settings *repo)
{
	struct settings base;
	struct strv notes = STRV_INIT;

	settings_init(&base);
	profile_builtin_find("strict")->apply(&base);
	settings_narrow(&base, repo, &notes);
	if (base.mount_count > 0 || base.allow.count > 0 || base.env.count > 0 || base.pids > 64 ||
	    base.mem_bytes > 512 << 20 || base.entrypoint.count > 0 || base.secret.count > 0)
		abort();
	strv_done(&notes);
	settings_done(&base);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile profile;
	struct error err = { .code = ERROR_NONE };

	if (profile_parse((const char *)data, size, "fuzz", "/base", &profile, &err) < 0) {
		if (err.code != ERROR_INPUT || strncmp(err.text, "fuzz:", 5) != 0)
			abort();
		return 0;
	}
	show_again(&profile.settings);
	narrow(&profile.settings);
	profile_done(&profile);
	return 0;
}
