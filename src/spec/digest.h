/* SPDX-License-Identifier: Apache-2.0 */
/* What two plans must have in common so that a sandbox made of one can be used for the other. */
#ifndef SPEC_DIGEST_H
#define SPEC_DIGEST_H

#include "base/hash/sha256.h"
#include "spec/spec.h"

/* Adds all of SPEC but what is of one run alone: its names, its ids on the host, command, environment, directory, notes. */
void spec_digest_add(struct sha256 *sum, const struct spec *spec);

#endif
