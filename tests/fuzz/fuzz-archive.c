/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes manifests of archives: what is taken has names that stay where they belong, and sizes that add up. */
#include "app/archive/manifest.h"
#include "base/core/own.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(archive_manifest_done) struct archive_manifest manifest = { 0 };
	struct error err = { 0 };
	uint64_t at = 0;

	if (archive_manifest_read((const char *)data, size, &manifest, &err) < 0) {
		must(err.code == ERROR_INPUT && !manifest.tree && !manifest.items);
		return 0;
	}
	must(strlen(manifest.object) == 64 && strlen(manifest.machine) == 64);
	must(archive_ratio_is_fine(manifest.bytes, manifest.raw_bytes));
	for (size_t i = 0; i < manifest.count; i++) {
		const struct archive_entry *item = &manifest.items[i];

		must(!strchr(item->id, '/') && item->id[0] != '.' && strlen(item->sha256) == 64);
		must(item->at == at && item->size <= manifest.raw_bytes - at);
		at += item->size;
	}
	must(at == manifest.raw_bytes);
	return 0;
}
