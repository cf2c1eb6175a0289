/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of this machine's own. */
#ifndef NET_OWN_ADDRESS_H
#define NET_OWN_ADDRESS_H

#include "net/rule/address.h"

#include <stdbool.h>

/* A socket for own_address_is, made before the gateway is sealed; -1: there is none. */
int own_address_open(void);
/* Also when it cannot be found out. */
bool own_address_is(int fd, const struct net_address *address);

#endif
