/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes what others write about images: index, manifest, configuration, Docker's list. */
#include "app/image/oci.h"
#include "base/core/own.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	struct oci_manifest manifest;
	struct oci_blob blob;
	struct image image;
	struct error err = { 0 };
	bool is_index;

	(void)oci_read_index(bytes, size, &blob, &is_index, &err);
	free(blob.path);
	if (oci_read_manifest(bytes, size, &manifest, &err) == 0)
		oci_manifest_done(&manifest);
	if (oci_read_docker(bytes, size, &manifest, &err) == 0)
		oci_manifest_done(&manifest);
	image_init(&image);
	(void)oci_read_config(bytes, size, &image, &err);
	image_done(&image);
	return 0;
}
