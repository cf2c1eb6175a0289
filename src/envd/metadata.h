/* SPDX-License-Identifier: Apache-2.0 */
/* What clients note at a file beside its content: extended attributes user.e2b.KEY. */
#ifndef ENVD_METADATA_H
#define ENVD_METADATA_H

#include "base/core/str.h"
#include "base/text/json_write.h"

/* Those among WORDS of a request take the place of all that the file had; a file system that takes none keeps it all the same. */
void metadata_put(int fd, const struct strv *words);

/* "metadata": {KEY: VALUE, ...} of the file at PATH, as a member of an object; nothing where there is none. */
void metadata_write(struct json *json, const char *path);

#endif
