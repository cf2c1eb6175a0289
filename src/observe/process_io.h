/* SPDX-License-Identifier: Apache-2.0 */
/* What the processes below one have read from and written to disks. */
#ifndef OBSERVE_PROCESS_IO_H
#define OBSERVE_PROCESS_IO_H

#include <stddef.h>
#include <stdint.h>

struct process_list {
	struct process_entry {
		int64_t pid, parent;
	} * items;
	size_t count;
};

/* All processes there are right now. */
void process_list_read(struct process_list *ret_list);
void process_list_done(struct process_list *list);

/* Bytes read and written by TOP and its descendants. Those that may not be read count as 0. */
void process_io(const struct process_list *list, int64_t top, uint64_t ret_bytes[static 2]);

#endif
