/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pseudo-images, read and written: an image that a person can put together by hand.
 *
 *   image.yaml       name, version, base, env, entrypoint, layers: digests, lowest first; policy: the digest of policy.json
 *   policy.json      limits, seccomp, network: what a run on it may have at most
 *   layers/HEX.tar   the layers, as archives
 *
 * Bytes in, data out, and back; every text is a stranger's.
 */
#ifndef IMAGE_PSEUDO_H
#define IMAGE_PSEUDO_H

#include "app/image/oci.h"

#define PSEUDO_FILE "image.yaml"
#define PSEUDO_POLICY "policy.json"

struct pseudo {
	char *name; /* NULL: not said */
	char *base; /* an image in the store whose layers come first; NULL: none */
	char base_id[SHA256_HEX_SIZE]; /* which one it must be; "": any */
	char policy[SHA256_HEX_SIZE];  /* digest of policy.json; "": not said */
	struct strv env, entrypoint;   /* over those of the base */
	char *version;		       /* NULL: not said */
	struct oci_manifest manifest;  /* its layers */
};

void pseudo_done(struct pseudo *pseudo);

/* What image.yaml says. On failure PSEUDO is to be released as well. */
int pseudo_read(const char *bytes, size_t len, struct pseudo *ret_pseudo, struct error *err);

/* Adds what policy.json says to the words of an image's policy. A field that widens is refused by its name. */
int pseudo_read_policy(const char *bytes, size_t len, struct strv *words, struct error *err);

/* The same policy, each thing said once. */
int pseudo_settle_policy(struct strv *words, struct error *err);

/* The texts of both files; LAYERS are digests. Without a policy POLICY stays empty. */
void pseudo_write(const struct image *image, const struct strv *layers, struct str *yaml,
		  struct str *policy);

#endif
