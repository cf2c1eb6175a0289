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
 * The frame at *OFFSET of the buffer; moves behind it. 1; 0 when there is no whole one (yet); -1 when what stands
 * there is none: whatever follows cannot be read.
 */
int kept_log_next(const char *buffer, size_t len, size_t *offset, struct kept_frame *ret_frame);

#endif
