/* SPDX-License-Identifier: Apache-2.0 */
/* Places in the file system, by text. */
#ifndef SCAN_PLACE_H
#define SCAN_PLACE_H

#include <stdbool.h>

enum place_kind {
	PLACE_PLAIN,
	PLACE_SECRET,
	PLACE_ACCOUNTS,	  /* /etc/passwd: names, no secrets */
	PLACE_START,	  /* what runs by itself: profiles, cron, hooks */
	PLACE_SYSTEM,	  /* absolute, not for programs to change */
	PLACE_DISK,	  /* a device that holds data */
	PLACE_EVERYTHING, /* the root, a home, all of the present directory's parents */
	PLACE_TEMPORARY,
};
enum place_kind place_of(const char *path);
/* Whether it lies below a home that is written as one: ~/x, $HOME/x. */
bool place_is_home(const char *path);
/* What a build makes, by the name of its first folder: dist/x. */
bool place_is_output(const char *path);
/* Settings that name programs to run: harmless to read, not to write. */
bool place_is_obeyed(const char *path);
/* Where a cloud machine is given its credentials. */
bool place_is_metadata(const char *url);

#endif
