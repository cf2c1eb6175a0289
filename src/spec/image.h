/* SPDX-License-Identifier: Apache-2.0 */
/* A spec laid out in one piece of memory, for a process that has the same memory at the same place. */
#ifndef SPEC_IMAGE_H
#define SPEC_IMAGE_H

#include "spec/spec.h"

/*
 * A copy of SPEC in the SIZE bytes at MEMORY, which is aligned for any type; NULL where it does not fit. Everything it points
 * to is in there as well. It is only to be read: nothing of it can be freed.
 */
const struct spec *spec_image_make(const struct spec *spec, void *memory, size_t size);

#endif
