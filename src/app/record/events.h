/* SPDX-License-Identifier: Apache-2.0 */
/* What happens, as a stream from the record: what is there, then what comes. Only in the program with libraries. */
#ifndef APP_EVENTS_H
#define APP_EVENTS_H

#include "history/history.h"

struct app_events {
	struct history *history;
	struct history_place place;
	int watch_fd; /* of the directory of the record; -1: nothing is waited for */
	bool is_read; /* all that was on record at the last look */
};

/*
 * SINCE is an event's id: the first is the one behind it. NULL: from the beginning, or with IS_FOLLOWED from now on.
 */
int app_events_open(const char *since, bool is_followed, struct app_events *ret_events,
		    struct error *err);
void app_events_close(struct app_events *events);

/*
 * The next ones, as history_events gives them; may be none. 1; 0 at the end, which one that is followed has only when
 * READER_FD, a pipe that they are written to, is no longer read.
 */
int app_events_next(struct app_events *events, int reader_fd, struct value **ret_list,
		    struct error *err);

#endif
