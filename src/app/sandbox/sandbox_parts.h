/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs of named sandboxes share: words kept and read again, the plan of a start, the way to the supervisor. */
#ifndef APP_SANDBOX_PARTS_H
#define APP_SANDBOX_PARTS_H

#include "app/sandbox/sandbox.h"
#include "app/prepare/plan_context.h"
#include "plan/request.h"

/* A store with one sandbox of it. Must not be moved: one points to the other. */
struct sandbox_place {
	struct store store;
	struct sandbox sandbox;
	bool has_store, has_sandbox;
};

/* PLACE is empty; it is closed after an error, too. */
int sandbox_place_open(struct sandbox_place *place, const char *name, enum sandbox_lock lock,
		       struct error *err);
void sandbox_place_close(struct sandbox_place *place);

/* The request's flags as words that sandbox_words_read takes; what is relative is made absolute. */
void sandbox_words_write(const struct request *request, const char *cwd, bool workspace_made,
			 struct strv *ret_words);
int sandbox_words_read(const struct strv *words, struct request *request, struct error *err);

/* Whether its workspace is none of the host's, but one that each start makes, empty. */
bool sandbox_makes_workspace(const struct sandbox *sandbox);

/*
 * Whether the request's command may run in the living sandbox NAME: policies, scan and signatures are asked as if it entered.
 * *ret_time_ms is how long it may take; 0: no limit was asked for. For what an agent inside starts; in aisbx-full only.
 */
int sandbox_judge(const char *name, const struct request *request, uint64_t *ret_time_ms,
		  struct error *err);

/* Looks around for a start of the sandbox: its request, and the host as it is now. */
int sandbox_look_around(const struct sandbox *sandbox, struct request *ret_request,
			struct plan_context *ret_around, struct error *err);

/* The plan of a start of the sandbox, for what it shows and hides. */
int sandbox_plan_masks(const struct sandbox *sandbox, struct spec *ret_spec, struct error *err);

/* Lays a sandbox's layers and top into a spec made of its request. Its lock is held. */
int sandbox_lay(struct sandbox *sandbox, struct spec *spec, struct error *err);

/*
 * After a command, and before a seal: writes down what the top's changes were made from, for promotions to come. Best
 * effort: what is unknown later is a conflict then. Its lock is held.
 */
void sandbox_capture(struct sandbox *sandbox);
/* Whether there is anything for it to do in DIR_FD: the top changed (at NEWEST_NS; 0: never) since the last time. */
bool sandbox_capture_is_due(int dir_fd, uint64_t newest_ns);

/*
 * Adds to NOTES which files of the workspace may be older inside than on the host, where processes hold on to names that
 * were looked up at SINCE_NS or later. A bounded search.
 */
void sandbox_note_older(const struct sandbox *sandbox, uint64_t since_ns, struct strv *notes);

/* sandbox_blobs.c: what git has of bases whose content is not kept. Best effort, too. */
struct origin_records;
struct view_stack;
struct git;
/* Adds as many of the records' paths to the words of one call of git as it takes, from FROM on; the first that it did not. */
size_t sandbox_put_paths(const struct git *git, const struct origin_records *records, size_t from,
			 struct strv *words);
void sandbox_note_blobs(const struct sandbox *sandbox, struct origin_records *unkept);
/* Before a promotion: takes over what the host has no more. */
void sandbox_fetch_blobs(const struct sandbox *sandbox, const struct view_stack *stack);

/*
 * After a promotion that stopped: for files whose base is lost, what git had there when the sandbox was made. Whether
 * there was one that was not known before.
 */
struct promotion;
bool sandbox_fetch_ancestors(const struct sandbox *sandbox, const struct promotion *promotion);

/* "idmapped", "forest", "project", "project-idmapped". */
const char *sandbox_root_name(enum root_mode root);

struct execute_apart;

struct sandbox_exec {
	const char *name;
	const struct request *request;
	const struct app_run_options *options;
	struct execute_apart *apart; /* NULL: the caller waits */
	uint64_t queued_ms;	     /* what it has waited already */
};

/* As app_exec. */
int sandbox_exec(const struct sandbox_exec *exec, struct run_result *ret_result, struct error *err);

/* Connects to the sandbox's supervisor, which is started where there is none, as for the command of REQUEST. Its lock is held. */
int sandbox_enter(struct sandbox *sandbox, const struct request *request, int *ret_fd,
		  struct error *err);

/* The same for a command that policies have been asked about: MOST is what they allow, 0 where they do not say. */
int sandbox_enter_within(struct sandbox *sandbox, const struct request *request,
			 const struct spec_limits *most, int *ret_fd, struct error *err);

/* Connects to the supervisor of the sandbox in DIR_FD; false when there is none. */
bool sandbox_reach(int dir_fd, int *ret_fd);
/*
 * Whether a call of the supervisor at the other end of FD failed because it has ended, as another caller may have wished since
 * it was reached; then ERR is empty again.
 */
bool sandbox_was_left(int fd, struct error *err);

/*
 * Ends the supervisor at the other end of FD, which sandbox_reach() connected, if no process of a command lives in its sandbox.
 * 1 when it has ended, by this or by itself; 0 when processes are alive; -1. No other supervisor is ended: another command may
 * have started one since.
 */
int sandbox_end_idle(int dir_fd, int fd, struct error *err);

#endif
