/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes configuration files of package clients: the first byte is the form. No value with a user in it may become a URL. */
#include "app/preset/preset_text.h"
#include "base/core/own.h"
#include "base/text/url.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(strv_done) struct strv values = STRV_INIT;

	if (size == 0)
		return 0;
	preset_text_read((enum preset_form)(data[0] % (PRESET_LOOK + 1)), (const char *)data + 1,
			 size - 1, "url|index-url|mirror/url|source.*.registry|href=|@*:registry",
			 &values);
	if (values.count > PRESET_VALUES_MAX)
		abort();
	for (size_t i = 0; i < values.count; i++) {
		owned(free_ptr) char *bare = url_list_without_users(values.items[i]);
		struct url url;

		if (bare && strchr(bare, '@'))
			abort();
		if (url_parse(values.items[i], strlen(values.items[i]), &url) &&
		    strlen(url.host) >= URL_HOST_SIZE)
			abort();
	}
	return 0;
}
