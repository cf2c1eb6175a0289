/* The linux driver's row for the table. */
#ifndef DRIVER_LINUX_LINUX_H
#define DRIVER_LINUX_LINUX_H

#include "driver/driver.h"

extern const struct driver driver_linux;

#endif
