/* SPDX-License-Identifier: Apache-2.0 */
/* Capabilities: all five sets emptied, and the door locked behind. */
#ifndef CONFINE_CAPABILITY_H
#define CONFINE_CAPABILITY_H

#include <stdbool.h>

/* Locks the secure bits, empties the bounding and ambient sets. Needs CAP_SETPCAP. 0, or -1 with errno. No heap. */
int capability_lock(void);

/* Empties the effective, permitted and inheritable sets and sets no_new_privs. 0, or -1 with errno. No heap. */
int capability_drop(void);

/*
 * As capability_drop, but leaves what an init needs whose commands have ids of their own: to become another id of its user
 * namespace, and to signal those. 0, or -1 with errno. No heap.
 */
int capability_keep_ids(void);

/* 0 when this process has no capability in any set and cannot gain one, else -1. No heap. */
int capability_assert_none(void);

/* The same but for the capabilities of capability_keep_ids, which it may have. No heap. */
int capability_assert_ids(void);

/* Whether the effective, permitted and inheritable sets are empty: what else there is, is inherited empty. No heap. */
bool capability_sets_are_empty(void);

#endif
