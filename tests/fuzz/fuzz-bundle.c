/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes lists of changes from elsewhere: what is read leads nowhere out, is written as it was read, and is checked to its end. */
#include "app/travel/pull_check.h"

#include "base/core/own.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_at(const struct bundle_change *change)
{
	const struct bundle_side *side = &change->new;
	owned(free_ptr) char *path = xasprintf("/%s/", change->path);

	if (strstr(path, "/../") || strstr(path, "/./") || strstr(path, "//"))
		abort();
	if ((side->type == 'l') != (side->link != NULL) ||
	    (side->type == 'f') != (side->sha256[0] != '\0') || side->mode > 07777)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(bundle_done) struct bundle bundle, again;
	owned(str_done) struct str text = STR_INIT, twice = STR_INIT;
	struct error err = { 0 };

	bundle_init(&bundle);
	bundle_init(&again);
	if (bundle_read((const char *)data, size, &bundle, &err) < 0) {
		if (!err.text[0])
			abort();
		return 0;
	}
	for (size_t i = 0; i < bundle.count; i++)
		look_at(&bundle.items[i]);
	bundle_write(&bundle, &text);
	if (bundle_read(str_cstr(&text), text.len, &again, &err) < 0)
		abort();
	bundle_write(&again, &twice);
	if (strcmp(str_cstr(&text), str_cstr(&twice)) != 0)
		abort();
	if (pull_check_bundle(&bundle, false, &err) < 0 || travel_since(&again, &bundle, &err) < 0)
		return 0;
	/* Of what a pull takes, nothing changed since itself. */
	if (again.count > 0)
		abort();
	return 0;
}
