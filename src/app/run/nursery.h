/* Zygotes for the runs of a server, as those see it who may not look at drivers. */
#ifndef ENGINE_NURSERY_H
#define ENGINE_NURSERY_H

#include "driver/nursery.h" /* IWYU pragma: export */

#endif
