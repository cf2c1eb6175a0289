/* SPDX-License-Identifier: Apache-2.0 */
/* Capabilities: all five sets emptied, and the door locked behind. */
#ifndef CONFINE_CAPABILITY_H
#define CONFINE_CAPABILITY_H

/* Locks the secure bits, empties the bounding and ambient sets. Needs CAP_SETPCAP. 0, or -1 with errno. No heap. */
int capability_lock(void);

/* Empties the effective, permitted and inheritable sets and sets no_new_privs. 0, or -1 with errno. No heap. */
int capability_drop(void);

/* Whether this process has no capability in any set and cannot gain one. No heap. */
int capability_assert_none(void);

#endif
