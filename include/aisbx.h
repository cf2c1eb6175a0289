/*
 * libaisbx: run commands in throw-away copies of this machine, from C.
 *
 * The library never confines anything in your process: it starts the program `aisbx` as supervisor
 * and talks to it. Your signals, limits, working directory, environment and descriptors stay as
 * they are; none of your descriptors reaches the sandbox. All functions may be called from several
 * threads at once, as long as no two of them use the same request or result. Memory running out
 * ends the process.
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

#ifdef __cplusplus
extern "C" {
#endif

/* What a call of the library itself can come to. What came of the command is in the result. */
enum aisbx_error {
	AISBX_OK = 0,
	AISBX_ERROR_ARGUMENT, /* a NULL where none may be, or a name that is no flag's */
	AISBX_ERROR_PROGRAM,  /* the program aisbx could not be started */
	AISBX_ERROR_SYSTEM,   /* no descriptors, no processes left */
	AISBX_ERROR_ANSWER    /* the program died or gave an answer that is not one */
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

/* The version of the library, such as "0.1.0". */
AISBX_API const char *aisbx_version(void);

/* A sentence for an error, never NULL; do not free it. */
AISBX_API const char *aisbx_strerror(enum aisbx_error error);

/* An empty request: the default profile, no input, the caller's directory. Never NULL. */
AISBX_API struct aisbx_request *aisbx_request_new(void);

/* Accepts NULL. */
AISBX_API void aisbx_request_free(struct aisbx_request *request);

/*
 * Says what a flag of `aisbx run` says: NAME without dashes ("mem", "time", "profile", "env"),
 * VALUE as on the command line, NULL for a switch ("no-net"). Lists grow, of others the last value
 * counts. The workspace is "workspace". Whether the value makes sense is told by the run.
 */
AISBX_API enum aisbx_error aisbx_request_set(struct aisbx_request *request, const char *name,
					     const char *value);

/* The command, ended by NULL, passed exactly; copied. None: the profile's entrypoint runs. */
AISBX_API enum aisbx_error aisbx_request_command(struct aisbx_request *request,
						 const char *const *argv);

/* What the command reads from its stdin; copied. Without it, stdin is empty. */
AISBX_API enum aisbx_error aisbx_request_stdin(struct aisbx_request *request, const void *bytes,
					       size_t len);

/* The absolute path of the program aisbx, where it was not installed with the library. */
AISBX_API enum aisbx_error aisbx_request_program(struct aisbx_request *request, const char *path);

/*
 * Runs the command and waits for it. With AISBX_OK there is a result, also when the command failed
 * or was refused; otherwise *result is untouched. Set "time", or the wait has the profile's limit
 * only.
 */
AISBX_API enum aisbx_error aisbx_run(const struct aisbx_request *request,
				     struct aisbx_result **result);

/*
 * What aisbx_run would launch, without launching it. With AISBX_OK there is a result: with
 * AISBX_SUCCESS its JSON is the plan, with AISBX_DENIED its message says why there is none.
 */
AISBX_API enum aisbx_error aisbx_plan(const struct aisbx_request *request,
				      struct aisbx_result **result);

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

/* The whole object as `aisbx run --json` prints it: denials, limits, usage. Owned by the result. */
AISBX_API const char *aisbx_result_json(const struct aisbx_result *result);

/* Accepts NULL. */
AISBX_API void aisbx_result_free(struct aisbx_result *result);

#ifdef __cplusplus
}
#endif

#endif
