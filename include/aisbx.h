/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libaisbx: run commands in throw-away copies of this machine, from C.
 *
 * The library never confines anything in your process: it starts the program `aisbx` as supervisor
 * and talks to it. Your signals, limits, working directory, environment and descriptors stay as
 * they are; none of your descriptors reaches the sandbox. All functions may be called from several
 * threads at once; a request that several use at once must not be changed meanwhile, a result may be
 * read by all of them. Memory running out ends the process.
 *
 * Versions are semantic: within one major number, and so within one name of the shared library,
 * functions and values are added and never changed or removed. (While the major number is 0, a minor
 * number may change them.)
 *
 *	struct aisbx_request *request = aisbx_request_new();
 *	struct aisbx_result *result;
 *
 *	aisbx_request_set(request, "mem", "256m");
 *	aisbx_request_command(request, (const char *const[]){ "python3", "x.py", NULL });
 *	if (aisbx_run(request, &result) == AISBX_OK) {
 *		puts(aisbx_result_stdout(result, NULL));
 *		aisbx_result_free(result);
 *	}
 *	aisbx_request_free(request);
 *
 * A sandbox that stays is made with aisbx_create, used with aisbx_exec, and its changes become real with
 * aisbx_promote alone. These calls take the program, the flags and the input from a request as well.
 *
 * Build with: cc x.c $(pkg-config --cflags --libs aisbx)
 */
#ifndef AISBX_H
#define AISBX_H

#include <stddef.h>

#if defined(__GNUC__)
#define AISBX_API __attribute__((visibility("default")))
#else
#define AISBX_API
#endif

#define AISBX_VERSION_MAJOR 0
#define AISBX_VERSION_MINOR 2
#define AISBX_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* What a call of the library itself can come to. What came of the command is in the result. */
enum aisbx_error {
	AISBX_OK = 0,
	AISBX_ERROR_ARGUMENT, /* a NULL where none may be, or a name that is no flag's */
	AISBX_ERROR_PROGRAM,  /* the program aisbx could not be started */
	AISBX_ERROR_SYSTEM,   /* no descriptors, no processes left */
	AISBX_ERROR_ANSWER,   /* the program died or gave an answer that is not one */
	AISBX_ERROR_TIME      /* the program took too long and was ended: aisbx_request_limit */
};

/* What came of a command. */
enum aisbx_status {
	AISBX_SUCCESS, /* exited with 0 */
	AISBX_FAILURE, /* exited with something else */
	AISBX_TIMEOUT, /* the wall clock limit was reached */
	AISBX_OOM,     /* memory ran out */
	AISBX_KILLED,  /* ended by a signal */
	AISBX_LIMIT,   /* stopped by another limit */
	AISBX_DENIED,  /* refused before it started: see aisbx_result_message */
	AISBX_INTERNAL /* aisbx itself failed: see aisbx_result_message */
};

/* What to run and how; filled before the call, and reusable after it. */
struct aisbx_request;

/* What came of it; yours until you free it. */
struct aisbx_result;

/* A program that stays between runs. */
struct aisbx_session;

/* The version of the library in use, such as "0.2.0"; the macros tell the one compiled with. */
AISBX_API const char *aisbx_version(void);

/* A sentence for an error, never NULL; do not free it. */
AISBX_API const char *aisbx_strerror(enum aisbx_error error);

/* An empty request: the default profile, no input, the caller's directory. Never NULL. */
AISBX_API struct aisbx_request *aisbx_request_new(void);

/* Accepts NULL. */
AISBX_API void aisbx_request_free(struct aisbx_request *request);

/*
 * Says what a flag of the verb to be called (such as `aisbx run`) says: NAME without dashes ("mem", "time", "profile",
 * "env"), VALUE as on the command line, NULL for a switch ("no-net"). Lists grow, of others the last value counts. The
 * workspace is "workspace". Variables ("env") reach the program by descriptor, everything else on its command line,
 * which every user of the machine can read. The value is checked by the call that uses the request.
 */
AISBX_API enum aisbx_error aisbx_request_set(struct aisbx_request *request, const char *name,
					     const char *value);

/* The command, ended by NULL, passed exactly; copied. None: the profile's entrypoint runs. */
AISBX_API enum aisbx_error aisbx_request_command(struct aisbx_request *request,
						 const char *const *argv);

/* What the command reads from its stdin; copied. Without it, stdin is empty. */
AISBX_API enum aisbx_error aisbx_request_stdin(struct aisbx_request *request, const void *bytes,
					       size_t len);

/*
 * How long a call may take, in milliseconds, beyond the time of a command it runs; 600000 at first. The command's
 * time is what "time" says, or a day. Of a session the limit holds that it was opened with.
 */
AISBX_API enum aisbx_error aisbx_request_limit(struct aisbx_request *request,
					       unsigned long milliseconds);

/* The absolute path of the program aisbx, where it was not installed with the library; copied. */
AISBX_API enum aisbx_error aisbx_request_program(struct aisbx_request *request, const char *path);

/*
 * Runs the command and waits for it. With AISBX_OK there is a result, also when the command failed
 * or was refused; otherwise *result is untouched. Set "time", or the command has the profile's limit
 * only.
 */
AISBX_API enum aisbx_error aisbx_run(const struct aisbx_request *request,
				     struct aisbx_result **result);

/*
 * Many runs with the same flags: a session is a program aisbx that stays, and with "driver" set to "wasm" it keeps
 * engines and interpreters started, each run a fork of its own that sees nothing of the others. The session has
 * the request's flags and the directory and environment of the moment; it ends with aisbx_session_close, or with
 * your process.
 */
AISBX_API enum aisbx_error aisbx_session_open(const struct aisbx_request *request,
					      struct aisbx_session **session);

/*
 * As aisbx_run, in the session: the request has a command and maybe input, both UTF-8, and no flags. Threads that
 * share a session wait for each other; it is its process's own, and a fork that uses it is told
 * AISBX_ERROR_ARGUMENT. After AISBX_ERROR_ANSWER the session is of no use any more.
 */
AISBX_API enum aisbx_error aisbx_session_run(struct aisbx_session *session,
					     const struct aisbx_request *request,
					     struct aisbx_result **result);

/* Ends it and what it kept; no other thread may be using it. Accepts NULL. */
AISBX_API void aisbx_session_close(struct aisbx_session *session);

/*
 * What aisbx_run would launch, without launching it. With AISBX_OK there is a result: with
 * AISBX_SUCCESS its JSON is the plan, with AISBX_DENIED its message says why there is none.
 */
AISBX_API enum aisbx_error aisbx_plan(const struct aisbx_request *request,
				      struct aisbx_result **result);

/*
 * Named sandboxes. With AISBX_OK there is a result, also when the call was refused: its status is then
 * AISBX_DENIED or AISBX_INTERNAL, its code and message say why, and nothing was changed. NAME is
 * [a-z0-9][a-z0-9._-]{0,62}. Each call is the verb of the program it is named after; REQUEST may carry
 * that verb's flags, and may be NULL where none are needed and the program is where it was installed.
 */

/* Makes a sandbox over the request's "workspace"; "ttl" ends it by itself. Nothing runs yet. */
AISBX_API enum aisbx_error aisbx_create(const struct aisbx_request *request, const char *name,
					struct aisbx_result **result);

/* Runs the request's command in it and waits; what it did, the next one sees. As aisbx_run. */
AISBX_API enum aisbx_error aisbx_exec(const struct aisbx_request *request, const char *name,
				      struct aisbx_result **result);

/* Saves its state; the snapshot's name is the text "name" of the result. MESSAGE may be NULL. */
AISBX_API enum aisbx_error aisbx_snapshot(const struct aisbx_request *request, const char *name,
					  const char *message, struct aisbx_result **result);

/* Goes back to SNAPSHOT, NULL for the last one. What is left behind is saved first, as "saved". */
AISBX_API enum aisbx_error aisbx_rollback(const struct aisbx_request *request, const char *name,
					  const char *snapshot, struct aisbx_result **result);

/* Makes NEW_NAME, which begins where SOURCE is: a sandbox's name, or NAME@SNAPSHOT. */
AISBX_API enum aisbx_error aisbx_fork(const struct aisbx_request *request, const char *source,
				      const char *new_name, struct aisbx_result **result);

/* What it changed: a row per path, with "op", "path" and "type". */
AISBX_API enum aisbx_error aisbx_diff(const struct aisbx_request *request, const char *name,
				      struct aisbx_result **result);

/*
 * Applies its changes to the host, all or nothing; those at PATHS (ended by NULL; an empty list applies
 * nothing), or all when that is NULL.
 * With the flag "dry-run" it only says what it would do; "strategy" decides conflicts, "allow-path" agrees
 * to what could make something run. The text "promotion_id" is what aisbx_undo takes. A conflict has the
 * code "conflict", a missing agreement "consent"; the JSON then names each place.
 */
AISBX_API enum aisbx_error aisbx_promote(const struct aisbx_request *request, const char *name,
					 const char *const *paths, struct aisbx_result **result);

/* Takes a promotion back. */
AISBX_API enum aisbx_error aisbx_undo(const struct aisbx_request *request, const char *promotion_id,
				      struct aisbx_result **result);

/* Ends its processes and removes it with its snapshots. */
AISBX_API enum aisbx_error aisbx_remove(const struct aisbx_request *request, const char *name,
					struct aisbx_result **result);

/* All sandboxes of this user: a row each, with "name", "state", "base". */
AISBX_API enum aisbx_error aisbx_list(const struct aisbx_request *request,
				      struct aisbx_result **result);

/*
 * A file of the sandbox: relative paths start at the top of its workspace, and it is read and written with
 * what a command in it may do. What was read is the result's stdout; directories that lead to a file to
 * be written are made. A file that is not there, or is none (a pipe, a device), has the status AISBX_FAILURE, and
 * stderr says so.
 */
AISBX_API enum aisbx_error aisbx_read_file(const struct aisbx_request *request, const char *name,
					   const char *path, struct aisbx_result **result);
AISBX_API enum aisbx_error aisbx_write_file(const struct aisbx_request *request, const char *name,
					    const char *path, const void *bytes, size_t len,
					    struct aisbx_result **result);

/* What came of it; of calls that run nothing AISBX_SUCCESS, AISBX_DENIED or AISBX_INTERNAL. */
AISBX_API enum aisbx_status aisbx_result_status(const struct aisbx_result *result);

/* The code a shell would see: the command's own, 124 time, 125 aisbx, 126, 127, 128 + signal. */
AISBX_API int aisbx_result_exit_code(const struct aisbx_result *result);

/*
 * What the command wrote, as far as it was kept ("output"); NUL-terminated beyond its length. LEN
 * may be NULL. Owned by the result.
 */
AISBX_API const char *aisbx_result_stdout(const struct aisbx_result *result, size_t *len);
AISBX_API const char *aisbx_result_stderr(const struct aisbx_result *result, size_t *len);

/* Whether something was written that was not kept. */
AISBX_API int aisbx_result_truncated(const struct aisbx_result *result);

/* Why it was refused or failed inside aisbx, in one sentence, else NULL. Owned by the result. */
AISBX_API const char *aisbx_result_message(const struct aisbx_result *result);

/* The same for programs ("not_found", "conflict", "consent", "usage"), and the way out; each may be NULL. */
AISBX_API const char *aisbx_result_code(const struct aisbx_result *result);
AISBX_API const char *aisbx_result_hint(const struct aisbx_result *result);

/* How many objects the answer has: one, or of lists as many as there are. */
AISBX_API size_t aisbx_result_rows(const struct aisbx_result *result);

/* Of object ROW (from 0), the text of KEY; NULL where there is none. Owned by the result. */
AISBX_API const char *aisbx_result_text(const struct aisbx_result *result, size_t row,
					const char *key);

/* The same for numbers ("duration_ms", "peak_memory_bytes"); 0 where there is none. */
AISBX_API double aisbx_result_number(const struct aisbx_result *result, size_t row,
				     const char *key);

/* The whole answer as the verb prints it with --json: one object, or one a line. Owned by the result. */
AISBX_API const char *aisbx_result_json(const struct aisbx_result *result);

/* Accepts NULL. */
AISBX_API void aisbx_result_free(struct aisbx_result *result);

#ifdef __cplusplus
}
#endif

#endif
