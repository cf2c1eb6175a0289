/* SPDX-License-Identifier: Apache-2.0 */
/* Images as others write them, read: OCI's index, manifest and configuration, and Docker's archive. Bytes in, data out. */
#ifndef IMAGE_OCI_H
#define IMAGE_OCI_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "base/core/value.h"
#include "base/hash/sha256.h"
#include "workspace/store/image.h"

#include <stddef.h>
#include <stdint.h>

#define OCI_JSON_MAX ((size_t)4 << 20)
#define OCI_ENV_MAX 512u
#define OCI_WORDS_MAX 256u

/* A part of an image, by what it holds or by where it lies. */
struct oci_blob {
	char digest[SHA256_HEX_SIZE]; /* "": of no known digest, as in Docker's archives */
	uint64_t size;		      /* of one with a digest; 0: not said */
	char *path;		      /* below the image's directory */
};

struct oci_manifest {
	struct oci_blob config; /* without a path: there is none */
	struct oci_blob layers[IMAGE_LAYERS_MAX];
	size_t layer_count; /* lowest first */
};

void oci_manifest_done(struct oci_manifest *manifest);

/* The manifest for this machine that an index names, or a further index (*ret_is_index). */
int oci_read_index(const char *bytes, size_t len, struct oci_blob *ret_blob, bool *ret_is_index,
		   struct error *err);
int oci_read_manifest(const char *bytes, size_t len, struct oci_manifest *ret_manifest,
		      struct error *err);
/* manifest.json of a Docker archive, which must hold one image. */
int oci_read_docker(const char *bytes, size_t len, struct oci_manifest *ret_manifest,
		    struct error *err);
/* Adds what a configuration says to IMAGE. */
int oci_read_config(const char *bytes, size_t len, struct image *image, struct error *err);

/* Adds the texts of the list KEY of CONFIG, up to MOST of them; none is no error. */
int oci_add_words(const struct value *config, const char *key, size_t most, struct strv *words,
		  struct error *err);
/* Each is NAME=VALUE. */
int oci_check_env(const struct strv *env, struct error *err);

/* As configurations call it: "amd64", "arm64". */
const char *oci_architecture(void);

#endif
