/* The linux driver's row for the table. */
#ifndef DRIVER_LINUX_LINUX_H
#define DRIVER_LINUX_LINUX_H

#include "driver/driver.h"

extern const struct driver driver_linux;

/* The same in a sandbox that a keeper holds. */
extern const struct driver driver_linux_attach;

/* Names the layers that hold, given those that do not. */
void linux_name_layers(struct task *task, uint32_t missing);

#endif
