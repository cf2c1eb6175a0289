/* SPDX-License-Identifier: Apache-2.0 */
/* Promotes what needs nobody's word, and tells what is left. */
#include "app/change/write_through.h"

#include "base/clock.h"
#include "base/json_write.h"
#include "base/own.h"
#include "base/parent_end.h"
#include "base/process.h"
#include "base/sha256.h"
#include "app/change/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Each round sees all there is to ask about what it was given; a host that moves meanwhile takes another one. */
#define ROUNDS 4
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

	if (one->kind == VALUE_TEXT)
		strv_add(ret_paths, one->text.bytes);
	else if (coded && base64_read(&raw, coded, strlen(coded)))
		strv_add(ret_paths, str_cstr(&raw));
	else if (value_get_text(one, "path"))
		strv_add(ret_paths, value_get_text(one, "path"));
}

static bool is_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return strncmp(path, dir, len) == 0 && path[len] == '/';
}

/* Naming a directory names all that is in it, also what git ignores: its own entries are named instead. */
static bool is_parent(const struct strv *sorted, size_t at)
{
	for (size_t i = at + 1; i < sorted->count; i++) {
		if (is_below(sorted->items[i], sorted->items[at]))
			return true;
		if (!str_starts(sorted->items[i], sorted->items[at]))
			break;
	}
	return false;
}

static bool has_to_wait(const char *path, const struct strv *waiting)
{
	for (size_t i = 0; i < waiting->count; i++) {
		if (strcmp(path, waiting->items[i]) == 0 || is_below(waiting->items[i], path) ||
		    is_below(path, waiting->items[i]))
			return true;
	}
	return false;
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

/* What would be promoted if everything were agreed to and the host's versions stayed where both changed. */
static int list_changes(const char *sandbox, struct strv *ret_paths, struct strv *waiting,
			struct value *told, struct error *err)
{
	const struct engine_promote all = { .sandbox = sandbox,
					    .allow_all = true,
					    .allow_privilege = true,
					    .allow_special = true,
					    .strategy = "ours",
					    .dry_run = true,
					    .how = QUIET_FREEZE };
	owned(value_release) struct value *answer = NULL;
	const struct value *applied;

	if (engine_promote(&all, &answer, err) < 0)
		return -1;
	applied = value_get(answer, "applied");
	for (size_t i = 0; applied && i < applied->many.count; i++)
		add_path(applied->many.items[i], ret_paths);
	strv_sort(ret_paths);
	add_waiting(value_get(answer, "conflicts"), BOTH, waiting, told);
	return 0;
}

/* PROMOTION is NULL where there was nothing to promote. */
static void describe(struct value *answer, struct value *promotion)
{
	struct value *applied = promotion ? value_take(promotion, "applied") : NULL;

	value_add(answer, "promotion_id",
		  value_new_text(value_get_text(promotion, "promotion_id")));
	value_add(answer, "applied", applied ? applied : value_new_list());
	value_add(answer, "undo", value_new_text(value_get_text(promotion, "undo")));
}

/* One try with all that does not have to wait: 1 when it was the last one, 0 for another. */
static int try_once(const char *sandbox, const struct strv *changed, struct strv *waiting,
		    struct value *answer, struct error *err)
{
	owned(strv_done) struct strv paths = STRV_INIT;
	owned(value_release) struct value *promotion = NULL;
	const struct engine_promote promote = { .sandbox = sandbox,
						.paths = &paths,
						.how = QUIET_FREEZE };
	struct value *told = value_get(answer, "waiting");

	for (size_t i = 0; i < changed->count; i++) {
		if (!is_parent(changed, i) && !has_to_wait(changed->items[i], waiting))
			strv_add(&paths, changed->items[i]);
	}
	if (paths.count == 0) {
		describe(answer, NULL);
		return 1;
	}
	if (engine_promote(&promote, &promotion, err) == 0) {
		describe(answer, promotion);
		return 1;
	}
	if (!promotion || add_waiting(value_get(promotion, "consent"), NULL, waiting, told) +
					  add_waiting(value_get(promotion, "conflicts"),
						      "changed on the host, too", waiting, told) ==
				  0)
		return -1;
	return 0;
}

int write_through(const char *sandbox, struct value **ret_answer, struct error *err)
{
	owned(strv_done) struct strv changed = STRV_INIT, waiting = STRV_INIT;
	owned(value_release) struct value *answer = value_new_map();
	int status = 0;

	value_add(answer, "waiting", value_new_list());
	if (list_changes(sandbox, &changed, &waiting, value_get(answer, "waiting"), err) < 0)
		return -1;
	for (unsigned round = 0; status == 0 && round < ROUNDS; round++)
		status = try_once(sandbox, &changed, &waiting, answer, err);
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

/* A digest of what changed, contents included; false when it cannot be had. */
static bool fingerprint(const char *sandbox, char ret_hex[static SHA256_HEX_SIZE])
{
	owned(str_done) struct str text = STR_INIT;
	const struct engine_diff diff = { .sandbox = sandbox,
					  .form = PATCH_JSON,
					  .sink = { collect, &text } };
	struct diff_outcome outcome;
	struct error ignored;

	if (engine_diff(&diff, &outcome, &ignored) < 0 || !outcome.differs)
		return false;
	sha256_hex(str_cstr(&text), text.len, ret_hex);
	return true;
}

/* Until the pipe ends. What two looks see alike is written, once. */
static void watch(const char *sandbox, int stop_fd)
{
	char last[SHA256_HEX_SIZE] = "", done[SHA256_HEX_SIZE] = "", now[SHA256_HEX_SIZE];
	struct pollfd end = { .fd = stop_fd, .events = POLLIN };
	int wait_ms = INTERVAL_MS;

	while (poll(&end, 1, wait_ms) == 0) {
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
	pid_t parent = getpid();
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_errno(err, ERROR_HOST, "pipe");
	ret_watch->pid = fork();
	if (ret_watch->pid == 0) {
		/* Signals of the terminal are for the command; this process ends with the pipe. */
		process_heed_signals();
		(void)setpgid(0, 0);
		parent_end_follow(parent, SIGTERM);
		close(ends[1]);
		watch(sandbox, ends[0]);
		_exit(0);
	}
	close(ends[0]);
	ret_watch->stop_fd = ends[1];
	if (ret_watch->pid < 0) {
		fd_close(&ret_watch->stop_fd);
		ret_watch->pid = 0;
		return error_errno(err, ERROR_HOST, PROCESS_REFUSED);
	}
	return 0;
}

void write_watch_stop(struct write_watch *watch)
{
	if (watch->pid <= 0)
		return;
	fd_close(&watch->stop_fd);
	while (waitpid(watch->pid, NULL, 0) < 0 && errno == EINTR)
		;
	watch->pid = 0;
}
