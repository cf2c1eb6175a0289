/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The standard streams of a run, between the caller and the payload.
 *
 * Output always passes through here: pipes, or a pty when the caller's stdout is a terminal. Nothing ever blocks the
 * supervisor: the caller's descriptors are written to only when poll reports them ready, and never in a portion that could
 * block. Input never is the caller's own descriptor either: see feed.h.
 */
#ifndef RUN_STDIO_H
#define RUN_STDIO_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "driver/driver.h"
#include "observe/result.h"
#include "run/feed.h"
#include "run/scrub.h"

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

#define STDIO_CHUNK 65536
#define STDIO_POLLS 6

struct stream {
	int from_fd; /* our end of the payload's pipe, or the pty's master; -1 when closed */
	int to_fd;   /* the caller's; -1 when captured or gone. Borrowed */
	char tag;    /* 'o' or 'e' */
	struct captured *captured;
	char *buffer;	     /* STDIO_CHUNK bytes */
	const char *pending; /* in the buffer, or what was left of it without secrets */
	size_t start, end;
	struct scrub scrub;
	struct str clean;
	bool is_exact;	   /* secrets stay in it, and it is not logged */
	bool to_may_block; /* a pipe, socket or terminal: small portions only */
	int lost_errno; /* why the caller's file took no more; 0: it did, or it has no reader any more */
};

struct stdio {
	struct driver_io io; /* for the driver */
	bool use_pty;
	bool capture;
	bool passes_on;	     /* output goes to the caller's descriptors */
	uint64_t keep_bytes; /* per stream, when captured */
	struct stream out, err;
	struct feed feed;
	/* the payload's ends, closed after the start */
	int child_fds[3];
	struct termios saved_terminal;
	bool has_saved_terminal;
	struct run_log *log;
	struct scrub_words words; /* what must not be shown */
};

struct run_log;
struct run_options;

/* Looks at descriptors 0 to 2 and prepares what the payload gets. */
int stdio_open(struct stdio *stdio, const struct spec *spec, const struct run_options *options,
	       struct run_result *result, struct run_log *log, struct error *err);

/* From now on these are kept out of all output. They must outlive the streams. */
void stdio_keep_out(struct stdio *stdio, const struct secrets *secrets,
		    const struct secrets *others);

/* After the start: lets go of the payload's ends. */
void stdio_started(struct stdio *stdio);

/* Once the driver has a pty: takes its master and puts the caller's terminal into raw mode. */
void stdio_take_pty(struct stdio *stdio, struct task *task);

/* Fills at most STDIO_POLLS entries; returns how many. */
size_t stdio_polls(const struct stdio *stdio, struct pollfd *polls);

/* When something has to be looked at although nothing is ready (CLOCK_MONOTONIC); 0 for never. */
uint64_t stdio_next_look_ns(const struct stdio *stdio);

/* Moves what is ready. */
void stdio_move(struct stdio *stdio, const struct pollfd *polls, size_t count, uint64_t now_ns);

/*
 * After the end: takes what is still in the pipes, delivers all of it, leaves unread input to the caller. A caller that
 * does not read is waited for, until CANCEL_FD becomes readable, and only for PATIENCE_MS when that is not negative.
 */
void stdio_finish(struct stdio *stdio, int patience_ms, int cancel_fd);

void stdio_close(struct stdio *stdio);

#endif
