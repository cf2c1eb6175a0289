/* SPDX-License-Identifier: Apache-2.0 */
/* Keys that aisbx makes for the user: one line of base64 in a file of the configuration that is the user's alone. */
#ifndef APP_OWN_KEY_H
#define APP_OWN_KEY_H

#include "base/core/error.h"

#include <stddef.h>

/* Opens a file that is the user's alone, and no link. 1, or 0 when there is none; -1. The caller closes it. */
int own_key_open(const char *path, int *ret_fd, struct error *err);

/* The LEN bytes of the key NAME below CONFIG_DIR. 1, or 0 when there is none yet; -1. */
int own_key_read(const char *config_dir, const char *name, unsigned char *ret_key, size_t len,
		 struct error *err);

/* Keeps a new one, complete before it has its name. Where another process has made one meanwhile, that one stays. */
int own_key_keep(const char *config_dir, const char *name, const unsigned char *key, size_t len,
		 struct error *err);

#endif
