/* SPDX-License-Identifier: Apache-2.0 */
/* Inside a zygote pool: what its process and its keepers share. */
#ifndef DRIVER_WASM_ZYGOTE_POOL_PARTS_H
#define DRIVER_WASM_ZYGOTE_POOL_PARTS_H

#include "driver/wasm/zygote.h"

/* A run as it was asked for; owns its descriptors. */
struct zygote_pool_ask {
	struct zygote_message message;
	int fds[ASK_FD_COUNT];
};

#define ZYGOTE_POOL_ASK_INIT                       \
	{                                          \
		{ 0 },                             \
		{                                  \
			-1, -1, -1, -1, -1, -1, -1 \
		}                                  \
	}

/* 1; 0 at the end of the stream or for what is no message of ours; -1 with errno. */
int zygote_pool_ask_receive(int fd, struct zygote_pool_ask *ret_ask);
void zygote_pool_ask_done(struct zygote_pool_ask *ask);
void zygote_pool_ask_refuse(struct zygote_pool_ask *ask);

/*
 * The keeper of one zygote, in a process of its own: starts its sandbox for the first ASK, serves that, then what comes on
 * FD, and reports on FD when it is ready for the next. Takes ASK, ends with ZYGOTE_POOL. Returns its exit status.
 */
int keeper_main(int fd, pid_t zygote_pool, struct zygote_pool_ask *ask);

#endif
