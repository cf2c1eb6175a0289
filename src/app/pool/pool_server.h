/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's loop: callers on one side, ready sandboxes on the other. Private to the daemon. */
#ifndef APP_POOL_SERVER_H
#define APP_POOL_SERVER_H

#include "app/pool/daemon.h"

/* Serves LISTEN_FD, whose socket lies in DIR_FD, until a caller or SIGTERM, SIGINT, SIGHUP ends it; then nothing of the pool is left, nor of helpers. */
int pool_serve(int dir_fd, int listen_fd, struct daemon_request *request, struct error *err);

#endif
