/* SPDX-License-Identifier: Apache-2.0 */
/* Promotes what needs no consent, and reports what is left. */
#include "app/change/write_through.h"

#include "base/process/child.h"
#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "base/process/process.h"
#include "base/hash/sha256.h"
#include "app/change/workspace.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

/* Each round sees all there is to ask about what it was given; a host that moves meanwhile takes another one. */
#define ROUNDS 5
#define BOTH "changed on the host, too"
#define INTERVAL_MS 2000
/* Looking takes at most this part of the time. */
#define LOOK_SHARE 20

static int collect(void *cookie, const char *bytes, size_t len, struct error *err)
{
	(void)err;
	str_add_bytes(cookie, bytes, len);
	return 0;
}

/* A path of a list in an answer, as the bytes it is. */
static void add_path(const struct value *one, struct strv *ret_paths)
{
	const char *coded = value_get_text(one, "path_b64");
	owned(str_done) struct str raw = STR_INIT;

	if (coded && base64_read(&raw, coded, strlen(coded)))
		strv_add(ret_paths, str_cstr(&raw));
	else if (value_get_text(one, "path"))
		strv_add(ret_paths, value_get_text(one, "path"));
}

/* Adds paths of LIST that are new to WAITING, with the reason; how many. */
static size_t add_waiting(const struct value *list, const char *why, struct strv *waiting,
			  struct value *told)
{
	size_t count = 0;

	for (size_t i = 0; list && i < list->many.count; i++) {
		const struct value *one = list->many.items[i];
		owned(strv_done) struct strv path = STRV_INIT;
		struct value *row;

		add_path(one, &path);
		if (path.count == 0 || strv_has(waiting, path.items[0]))
			continue;
		strv_copy(waiting, &path);
		row = value_append(told, value_new_map());
		value_add(row, "path", value_new_text(value_get_text(one, "path")));
		value_add(row, "path_b64", value_new_text(value_get_text(one, "path_b64")));
		value_add(row, "why", value_new_text(why ? why : value_get_text(one, "why")));
		count++;
	}
	return count;
}

/* What a promotion without the waiting ones came to. */
static void describe(struct value *answer, struct value *promotion)
{
	static const char *const kept[] = { "promotion_id", "sandbox",	  "applied",
					    "ignored",	    "ignored_at", "undo" };

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		value_add(answer, kept[i], value_take(promotion, kept[i]));
}

/* One try with all that does not have to wait: 1 when it was the last one, 0 for another. */
static int try_once(const char *sandbox, struct strv *waiting, struct value *answer,
		    struct error *err)
{
	owned(value_release) struct value *promotion = NULL;
	const struct app_promote promote = { .sandbox = sandbox,
					     .request.leave = waiting,
					     .how = QUIET_FREEZE };
	struct value *told = value_get(answer, "waiting");
	size_t more = 0;

	if (app_promote(&promote, &promotion, err) == 0) {
		describe(answer, promotion);
		return 1;
	}
	if (promotion)
		more = add_waiting(value_get(promotion, "consent"), NULL, waiting, told) +
		       add_waiting(value_get(promotion, "conflicts"), BOTH, waiting, told);
	return more > 0 ? 0 : -1;
}

int write_through(const char *sandbox, struct value **ret_answer, struct error *err)
{
	owned(strv_done) struct strv waiting = STRV_INIT;
	owned(value_release) struct value *answer = value_new_map();
	int status = 0;

	value_add(answer, "waiting", value_new_list());
	for (unsigned round = 0; status == 0 && round < ROUNDS; round++)
		status = try_once(sandbox, &waiting, answer, err);
	if (status < 0)
		return -1;
	if (status == 0) {
		error_set(err, ERROR_CONFLICT,
			  "the host's files change faster than they can be written");
		return error_add_hint(err, "aisbx promote %s tries again", sandbox);
	}
	*ret_answer = ptr_take(&answer);
	return 0;
}

int write_promotions(const char *sandbox, const char *since, struct value **ret_list,
		     struct error *err)
{
	owned(value_release) struct value *all = NULL;

	if (app_promotions(&all, err) < 0)
		return -1;
	*ret_list = value_new_list();
	for (size_t i = 0; i < all->many.count; i++) {
		struct value *one = all->many.items[i], *row;
		const char *from = value_get_text(one, "sandbox");

		if (!from || strcmp(from, sandbox) != 0 || !value_get_text(one, "undo") ||
		    strcmp(value_get_text(one, "promotion_id"), since) <= 0)
			continue;
		row = value_append(*ret_list, value_new_map());
		value_add(row, "promotion_id", value_take(one, "promotion_id"));
		value_add(row, "paths", value_take(one, "paths"));
		value_add(row, "undo", value_take(one, "undo"));
	}
	return 0;
}

/* A digest of what changed, contents included; false when it cannot be had. */
static bool fingerprint(const char *sandbox, char ret_hex[static SHA256_HEX_SIZE])
{
	owned(str_done) struct str text = STR_INIT;
	const struct app_diff diff = { .sandbox = sandbox,
				       .form = PATCH_JSON,
				       .sink = { collect, &text } };
	struct diff_outcome outcome;
	struct error ignored;

	if (app_diff(&diff, &outcome, &ignored) < 0 || !outcome.differs)
		return false;
	sha256_hex(str_cstr(&text), text.len, ret_hex);
	return true;
}

/* Until the pipe ends. What two looks see alike is written, once. */
static void watch(const char *sandbox, int stop_fd)
{
	char last[SHA256_HEX_SIZE] = "", done[SHA256_HEX_SIZE] = "", now[SHA256_HEX_SIZE];
	int wait_ms = INTERVAL_MS;

	while (fd_wait(stop_fd, POLLIN, wait_ms) == 0) {
		uint64_t began_ms = clock_epoch_ms(), took_ms;

		if (fingerprint(sandbox, now)) {
			if (strcmp(now, last) == 0 && strcmp(now, done) != 0) {
				struct value *answer = NULL;
				struct error ignored;

				(void)write_through(sandbox, &answer, &ignored);
				value_free(answer);
				memcpy(done, now, sizeof(done));
			}
			memcpy(last, now, sizeof(last));
		}
		took_ms = clock_epoch_ms() - began_ms;
		wait_ms = took_ms * LOOK_SHARE > INTERVAL_MS ? (int)(took_ms * LOOK_SHARE)
							     : INTERVAL_MS;
	}
}

int write_watch_start(const char *sandbox, struct write_watch *ret_watch, struct error *err)
{
	if (id_run(ret_watch->since, err) < 0)
		return -1;
	pid_t pid = child_fork(CHILD_READS, SIGTERM, &ret_watch->stop_fd, err);

	if (pid == 0) {
		/* Signals of the terminal are for the command; this process ends with the pipe. */
		process_heed_signals();
		(void)setpgid(0, 0);
		watch(sandbox, ret_watch->stop_fd);
		_exit(0);
	}
	ret_watch->pid = pid > 0 ? pid : 0;
	return pid > 0 ? 0 : -1;
}

void write_watch_stop(struct write_watch *watch)
{
	if (watch->pid <= 0)
		return;
	fd_close(&watch->stop_fd);
	(void)child_wait(watch->pid);
	watch->pid = 0;
}
