/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where commands in the background leave their traces, in STATE/execs:
 *
 *   ID          the record: sandbox, time, command; locked by the supervisor as long as that lives
 *   ID.socket   where the supervisor listens (control_socket.h)
 *   ID.result   what came of it; whole from the moment it is there
 *
 * The record comes first and goes last. An unlocked record without a result belongs to a supervisor that was killed: the
 * sandbox's supervisor has ended its command by then. Results are kept for a day.
 */
#ifndef BACKGROUND_PLACE_H
#define BACKGROUND_PLACE_H

#include "base/core/error.h"
#include "base/core/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More than these at once are refused: each is a process of the caller's. */
#define EXECS_MAX 256

struct exec_record {
	char *sandbox;
	uint64_t started_ms; /* since the epoch */
	struct strv command; /* its beginning, when it is long */
};

void exec_record_done(struct exec_record *record);

enum exec_state {
	EXEC_RUNNING,
	EXEC_DONE, /* with a result */
	EXEC_LOST, /* its supervisor was killed */
};

/* Whether the word can be an id of ours; others are never part of a path. */
bool exec_is_id(const char *word);

/* The directory in STATE_DIR; made when it is missing and MAKE is set. */
int execs_open(const char *state_dir, bool make, int *ret_dir_fd, struct error *err);

/* Makes the record, locked; the caller holds *ret_lock_fd until its end. */
int exec_record_make(int dir_fd, const char *id, const struct exec_record *record, int *ret_lock_fd,
		     struct error *err);
/* ERROR_NOT_FOUND when there is none. */
int exec_record_read(int dir_fd, const char *id, struct exec_record *ret_record, struct error *err);

/* The bytes of a record; exposed for tests and fuzzing. */
void exec_record_format(const struct exec_record *record, struct str *out);
int exec_record_parse(const char *bytes, size_t len, struct exec_record *ret_record,
		      struct error *err);

/* What came of it: a few words, and all of it as one JSON object. */
struct exec_result {
	struct str words, object;
};

void exec_result_done(struct exec_result *result);
int exec_result_write(int dir_fd, const char *id, const struct exec_result *result,
		      struct error *err);
/* How it stands; with EXEC_DONE, *ret_result is what exec_result_write was given. */
int exec_state_read(int dir_fd, const char *id, enum exec_state *ret_state,
		    struct exec_result *ret_result, struct error *err);

/* At the end: closes the socket. */
void exec_unlisten(int dir_fd, const char *id);

/* Removes all traces of one. */
void exec_forget(int dir_fd, const char *id);

/* Removes what is older than a day and not running. Ids of those that run, and of those removed (may be NULL). */
void execs_sweep(int dir_fd, struct strv *ret_running, struct strv *ret_removed);

#endif
