/* SPDX-License-Identifier: Apache-2.0 */
/* What an image lets a run have: less than what is asked for, never more. */
#ifndef PLAN_IMAGE_POLICY_H
#define PLAN_IMAGE_POLICY_H

#include "spec/settings.h"

/*
 * Narrows SETTINGS by the image's words "KEY=VALUE", one after the other: limits; net=none; deny; syscalls, with commas
 * between. What is tighter already stays. A word that is none of these is an error.
 */
int image_policy_apply(const struct strv *words, struct settings *settings, struct error *err);

#endif
