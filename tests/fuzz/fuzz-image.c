/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes what others write about images: index, manifest, configuration, Docker's list. */
#include "app/image/oci.h"
#include "app/image/pseudo.h"
#include "base/core/own.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A policy that was taken is told in the same words again. */
static void try_pseudo(const char *bytes, size_t size, struct strv *words)
{
	struct pseudo pseudo;
	struct error err;

	(void)pseudo_read(bytes, size, &pseudo, &err);
	pseudo_done(&pseudo);
	if (pseudo_read_policy(bytes, size, words, &err) < 0 ||
	    pseudo_settle_policy(words, &err) < 0)
		return;
	size_t count = words->count;

	if (pseudo_settle_policy(words, &err) < 0 || words->count != count)
		abort();
}

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
	try_pseudo(bytes, size, &image.policy);
	image_done(&image);
	return 0;
}
