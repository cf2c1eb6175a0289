/* SPDX-License-Identifier: Apache-2.0 */
/* The linux driver's row for the table. */
#ifndef DRIVER_LINUX_LINUX_H
#define DRIVER_LINUX_LINUX_H

#include "driver/driver.h"

#include <sys/resource.h>

extern const struct driver driver_linux;

/* The same in a sandbox that a supervisor holds. */
extern const struct driver driver_linux_attach;

/* Names the layers that hold, given those that do not. */
void linux_name_layers(struct task *task, uint32_t missing);

/* Shared by both: vtable functions that do not depend on how the sandbox was reached, and a command's own time. */
int linux_check(const struct spec *spec, struct error *err);
void linux_resize(struct task *task, unsigned rows, unsigned columns);

#endif
