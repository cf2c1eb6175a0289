/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's loop: callers on one side, ready sandboxes on the other. Private to the daemon. */
#ifndef ENGINE_POOL_SERVER_H
#define ENGINE_POOL_SERVER_H

#include "app/pool/daemon_children.h"
#include "base/error.h"

/* Serves LISTEN_FD until a caller or SIGTERM, SIGINT, SIGHUP ends it; then nothing of the pool is left, nor of HELPERS. */
int pool_serve(int listen_fd, unsigned size, struct helpers *helpers, struct error *err);

#endif
