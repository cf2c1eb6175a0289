/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of an environment that was handed over. */
#ifndef BASE_ENV_H
#define BASE_ENV_H

/* The value of NAME in ENV, which may be NULL; NULL when it is not there. */
const char *env_get(const char *const *env, const char *name);
/* Likewise, where one that is set to nothing counts as not set. */
const char *env_given(const char *const *env, const char *name);

#endif
