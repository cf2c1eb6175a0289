/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Named sandboxes with processes in them: made, entered, stopped.
 *
 * The first `exec` starts the sandbox's supervisor: a detached process with the sandbox's init, reached through a socket, which
 * forks what later execs ask for. It ends with `stop`, `rm`, the ttl, when its sandbox is gone, or after 15 minutes in
 * which init was its only process. What is on disk (workspace/store/sandbox.h) outlives it.
 */
#ifndef APP_SANDBOX_H
#define APP_SANDBOX_H

#include "app/run/run_request.h"
#include "workspace/store/snapshot.h"
#include "workspace/view/view.h"

/* The caller's store, opened; expired sandboxes are swept and interrupted promotions finished on the way. */
int app_store(struct store *ret_store, struct error *err);

struct app_create {
	const char *name;
	uint64_t ttl_ms; /* 0: none; for a program's sandboxes a day */
};

/* Makes the sandbox; nothing runs yet. What the request asks for is kept as words and planned anew at each start. */
int app_create(const struct request *request, const struct app_create *create, struct error *err);

/* The kept words and workspace of a sandbox as a request again; command and environ are the caller's. */
int app_sandbox_request(const struct sandbox *sandbox, struct request *ret_request,
			struct error *err);

/*
 * Runs the request's command in the sandbox NAME and waits, with the result, codes and records of app_run. The
 * request's flags may only narrow what the sandbox was made with (time, cpu-time, output).
 */
int app_exec(const char *name, const struct request *request, const struct app_run_options *options,
	     struct run_result *ret_result, struct error *err);

/* app_run whose sandbox stays as NAME: `run --keep`, and what `try` looks at afterwards. */
int app_run_kept(const struct request *request, const char *name, uint64_t ttl_ms,
		 const struct app_run_options *options, struct run_result *ret_result,
		 struct error *err);

struct sandbox_process {
	int pid, parent; /* on the host */
	char *command;
	bool is_service; /* one that was cloned into it, or started by such a one */
};

struct sandbox_processes {
	struct sandbox_process *items; /* without init */
	size_t count;
	size_t others; /* that are not of services */
	bool has_supervisor;
	bool is_idle; /* its supervisor knows of no process */
	uint64_t cpu_us, memory_bytes;
};

/* The processes in it now. */
int app_processes(const struct sandbox *sandbox, struct sandbox_processes *ret_processes,
		  struct error *err);
void sandbox_processes_done(struct sandbox_processes *processes);

enum quiesce_mode {
	QUIET_REFUSE, /* an idle supervisor is ended, and services; with others alive ERROR_CONFLICT names them */
	QUIET_PAUSE,  /* the same, but services stay, as with QUIET_FREEZE */
	QUIET_FREEZE, /* others stay, frozen until app_thaw */
	QUIET_KILL,   /* all processes are ended */
};

/*
 * Makes sure that no process writes to the sandbox's top, and locks it exclusively (QUIET_FREEZE: shared, and *ret_frozen
 * is set when processes had to be frozen).
 */
int app_quiesce(struct sandbox *sandbox, enum quiesce_mode how, bool *ret_frozen,
		struct error *err);
int app_thaw(struct sandbox *sandbox, struct error *err);

/* Halts every process in it for as long as *ret_fd is open; ERROR_NOT_FOUND where none runs. */
int app_freeze(const char *name, int *ret_fd, struct error *err);

/* Ends the supervisor and all processes inside; *ret_ended: whether there was one. */
int app_stop(const char *name, bool *ret_ended, struct error *err);

/* The stack of a sandbox for looking at it: its top and layers, with the masks of its plan. */
int app_view(const struct sandbox *sandbox, const char *snapshot, struct view_stack *ret_stack,
	     struct error *err);

#endif
