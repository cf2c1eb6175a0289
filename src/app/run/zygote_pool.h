/* SPDX-License-Identifier: Apache-2.0 */
/* Zygotes for the runs of a server, as those see it who may not look at drivers. */
#ifndef ENGINE_ZYGOTE_POOL_H
#define ENGINE_ZYGOTE_POOL_H

#include "driver/zygote_pool.h" /* IWYU pragma: export */

#endif
