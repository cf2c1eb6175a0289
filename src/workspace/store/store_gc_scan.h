/* SPDX-License-Identifier: Apache-2.0 */
/* Words of a file that could be ids or digests: runs of letters and digits. */
#ifndef WORKSPACE_STORE_GC_SCAN_H
#define WORKSPACE_STORE_GC_SCAN_H

#include <stddef.h>

#define SCAN_WORD_MAX 64u

/* Calls SEE with each run of at most SCAN_WORD_MAX letters and digits in the first MAX bytes of FD. 0, or -1 with errno. */
int store_gc_scan(int fd, size_t max, void (*see)(const char *word, size_t len, void *cookie),
		  void *cookie);

#endif
