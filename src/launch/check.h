/* The last look before the payload is released: is the tree what the plan promised? */
#ifndef LAUNCH_CHECK_H
#define LAUNCH_CHECK_H

#include "base/error.h"

#include <stddef.h>

/* Reads this process's mounts and refuses any that could carry a set-id program or a device of the host. */
int check_mounts(struct error *err);

/* The same over given text; for tests. */
int check_mount_text(const char *text, struct error *err);

#endif
