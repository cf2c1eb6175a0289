/* SPDX-License-Identifier: Apache-2.0 */
/* Short file names for places: what belongs to a path is found again by it, whatever the path's length and bytes are. */
#ifndef BASE_PATH_HASH_H
#define BASE_PATH_HASH_H

#define PATH_HASH_SIZE 19 /* KIND, a dash, 16 hex digits */

/* "u-8a5edab282632443" for KIND 'u' and PATH "/": the first half of the path's sha256. Pure. */
void path_hash(char kind, const char *path, char ret_name[static PATH_HASH_SIZE]);

#endif
