/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes every setting's parser: the first byte chooses the row, the rest is the value. */
#include "base/core/own.h"
#include "spec/settings.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct setting_row *choose_row(uint8_t byte)
{
	size_t rows = 0;

	while (setting_rows[rows].name)
		rows++;
	return &setting_rows[byte % rows];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(settings_done) struct settings settings, base;
	owned(strv_done) struct strv notes = STRV_INIT;
	owned(free_ptr) char *value = NULL;
	struct error err = { 0 };

	settings_init(&settings);
	settings_init(&base);
	if (size == 0)
		return 0;
	value = xstrndup((const char *)data + 1, size - 1);
	if (settings_set(&settings, choose_row(data[0]), "place", value, &err) < 0) {
		if (err.code != ERROR_USAGE || strncmp(err.text, "place: ", 7) != 0 ||
		    strpbrk(err.text, "\n\033"))
			abort();
		return 0;
	}
	/* An untrusted profile that says this must not open anything. */
	settings_narrow(&base, &settings, &notes);
	if (base.mount_count || base.allow.count || base.env.count || base.seccomp || base.driver ||
	    base.net)
		abort();
	return 0;
}
