/* SPDX-License-Identifier: Apache-2.0 */
/* The door to the page: a socket of the user's own by which `aisbx ui` is given an address with a single-use token. */
#ifndef APP_PAGE_DOOR_H
#define APP_PAGE_DOOR_H

#include "base/core/error.h"

#include <stdbool.h>

#define PAGE_ADDRESS_MAX 256

/* Opens the door, and listens on ADDRESS of the loopback. Called by the daemon, before it serves. */
int page_door_open(const char *address, int *ret_listen_fd, int *ret_door_fd, struct error *err);
/* Removes the door's name. */
void page_door_close(void);

/* Whether the process that connected FD is of this user and no more confined than this one. */
bool page_door_is_welcome(int fd);

/* Asks for an address; the caller's to free. */
int page_door_ask(char **ret_address, struct error *err);

#endif
