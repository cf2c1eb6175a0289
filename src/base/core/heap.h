/* SPDX-License-Identifier: Apache-2.0 */
/* The heap of a process that reads what strangers send. */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

/*
 * From now on what is allocated lies elsewhere than before, and from 1 KiB on in a mapping of its own: an overflow runs into a
 * page that is not there, and what was freed is gone. For processes that live long: each such allocation is a system call.
 */
void heap_harden(void);

#endif
