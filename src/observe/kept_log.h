/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the kept output of a run, as run/log.h writes it: frames of "TAG SECONDS LENGTH\n", the bytes, a newline. */
#ifndef OBSERVE_KEPT_LOG_H
#define OBSERVE_KEPT_LOG_H

#include <stddef.h>

struct kept_frame {
	char stream;	   /* 'o' or 'e' */
	double at_s;	   /* since the run began */
	const char *bytes; /* borrowed */
	size_t len;
};

/*
 * The head of the frame at the start of BUFFER, for readers that skip frames; its bytes follow behind *ret_head_len, and a
 * newline. 1; 0 when there is no whole head (yet); -1 when what stands there is none.
 */
int kept_log_head(const char *buffer, size_t len, struct kept_frame *ret_frame,
		  size_t *ret_head_len);

/*
 * The frame at *OFFSET of the buffer; moves behind it. 1; 0 when there is no whole one (yet); -1 when what stands
 * there is none: whatever follows cannot be read.
 */
int kept_log_next(const char *buffer, size_t len, size_t *offset, struct kept_frame *ret_frame);

#endif
