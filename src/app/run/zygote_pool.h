/* SPDX-License-Identifier: Apache-2.0 */
/* Zygotes for the runs of a server, for code that may not include drivers. */
#ifndef APP_ZYGOTE_POOL_H
#define APP_ZYGOTE_POOL_H

#include "driver/zygote_pool.h" /* IWYU pragma: export */

#endif
