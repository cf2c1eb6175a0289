/* Promotions that a program asked for: kept, listed, decided. */
#include "engine/promotion_ask.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/own.h"
#include "engine/record.h"
#include "engine/workspace_parts.h"
#include "host/host.h"
#include "observe/result.h"
#include "workspace/store.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of one owner: so many wait for a person, and so many that were decided are kept. */
#define PENDING_MAX 50
#define DECIDED_MAX 200
#define SNAP_TRIES 3
#define ASK_BYTES ((size_t)4 << 20)
#define KEPT_MS (UINT64_C(7) * 24 * 3600 * 1000)
#define TOLD_PATHS 1000

/* Below the state's directory, locked: decisions and questions come one after the other. */
static int open_asks(int *ret_fd, struct error *err)
{
	owned(host_done) struct host host = { 0 };
	owned(free_ptr) char *path = NULL;

	if (host_read_caller(&host, err) < 0)
		return -1;
	path = xasprintf("%s/asks", host.state_dir);
	if (mkdir(host.state_dir, 0700) < 0 && errno != EEXIST)
		return error_errno(err, ERROR_HOST, "%s", host.state_dir);
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return error_errno(err, ERROR_HOST, "%s", path);
	owned(fd_close) int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return error_errno(err, ERROR_HOST, "%s", path);
	*ret_fd = fd_take(&fd);
	return 0;
}

/* Ids are ours: digits and upper case letters, never part of a path otherwise. */
static bool is_id(const char *text)
{
	if (strlen(text) != ID_RUN_SIZE - 1)
		return false;
	for (; *text; text++) {
		if (!isdigit((unsigned char)*text) && !(*text >= 'A' && *text <= 'Z'))
			return false;
	}
	return true;
}

static int read_ask(int dir_fd, const char *id, struct value **ret_ask, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	char shown[STR_SHOWN_SIZE];

	if (!is_id(id) || faccessat(dir_fd, id, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return error_set(err, ERROR_NOT_FOUND,
				 "nobody asked for a promotion '%s' (aisbx promotions lists them)",
				 str_shown(id, shown));
	owned(fd_close) int fd = openat(dir_fd, id, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || fd_read_all(fd, ASK_BYTES, &text) < 0)
		return error_errno(err, ERROR_HOST, "the request %s", id);
	if (json_read(str_cstr(&text), text.len, NULL, ret_ask, err) < 0)
		return error_context(err, "the request %s", id);
	return 0;
}

static int write_ask(int dir_fd, const struct value *ask, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;

	json_write(&text, ask, 0);
	return store_replace(dir_fd, value_get_text(ask, "request_id"), text.data, text.len, true,
			     err);
}

static void collect_names(int dir_fd, struct strv *ret_names)
{
	owned(fd_close) int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	if (!dir)
		return;
	fd_take(&fd);
	while ((entry = readdir(dir))) {
		if (is_id(entry->d_name))
			strv_add(ret_names, entry->d_name);
	}
	(void)closedir(dir);
	strv_sort(ret_names);
}

/* The first so many; the digest stands for all of them. */
static struct value *copy_paths(const struct value *answer, const char *key, struct value *list)
{
	const struct value *from = value_get(answer, key);

	for (size_t i = 0; from && i < from->many.count && list->many.count < TOLD_PATHS; i++) {
		const struct value *one = from->many.items[i];
		const char *path =
			one->kind == VALUE_TEXT ? one->text.bytes : value_get_text(one, "path");

		value_append(list, value_new_text(path));
	}
	return list;
}

static size_t count_of(const struct value *answer, const char *key)
{
	const struct value *list = value_get(answer, key);

	return list && list->kind == VALUE_LIST ? list->many.count : 0;
}

/* Paths and what is to be agreed to about each, as the answer of a promotion has them. */
static struct value *triggers_of(const struct value *answer)
{
	const struct value *consents = value_get(answer, "consent");
	struct value *list = value_new_list();

	for (size_t i = 0; i < count_of(answer, "consent"); i++) {
		const struct value *from = consents->many.items[i];
		struct value *row = value_append(list, value_new_map());
		const char *coded = value_get_text(from, "path_b64");

		value_add(row, "path", value_new_text(value_get_text(from, "path")));
		if (coded)
			value_add(row, "path_b64", value_new_text(coded));
		value_add(row, "why", value_new_text(value_get_text(from, "why")));
	}
	return list;
}

static struct value *describe(const struct engine_ask *ask, const struct value *answer,
			      const char *sandbox_id, const char *id)
{
	struct value *row = value_new_map(), *paths = value_new_list();
	size_t files = count_of(answer, "applied") + count_of(answer, "merged");
	char now[32];

	time_format_utc(clock_epoch_ms(), now);
	value_add(row, "request_id", value_new_text(id));
	value_add(row, "state", value_new_text("pending"));
	value_add(row, "sandbox", value_new_text(ask->sandbox));
	value_add(row, "sandbox_id", value_new_text(sandbox_id));
	value_add(row, "target", value_new_text(value_get_text(answer, "target")));
	value_add(row, "bundle", value_new_text(value_get_text(answer, "bundle")));
	value_add(row, "strategy", value_new_text(ask->strategy));
	value_add(row, "files", value_new_int((int64_t)files));
	copy_paths(answer, "applied", paths);
	value_add(row, "paths", copy_paths(answer, "merged", paths));
	value_add(row, "only", ask->paths ? value_from_strv(ask->paths) : value_new_list());
	value_add(row, "triggers", triggers_of(answer));
	value_add(row, "reason", value_new_text(ask->reason));
	value_add(row, "owner", value_new_text(ask->owner));
	value_add(row, "made", value_new_text(now));
	value_add(row, "promotion_id", value_new_null());
	return row;
}

/*
 * What is asked about must not move between the look at it and the answer: the present is saved first, and that is
 * looked at and applied. NAME@SNAP, the caller's to free; NULL with ERR.
 */
static char *hold_still(const char *sandbox, struct error *err)
{
	owned(value_release) struct value *made = NULL;
	const struct engine_snap snap = { .sandbox = sandbox,
					  .message = "asked to be promoted",
					  .how = QUIET_FREEZE };

	if (strchr(sandbox, '@'))
		return xstrdup(sandbox);
	/* A keeper may end while it is asked to halt everybody; the next try finds it gone. */
	for (unsigned left = SNAP_TRIES; engine_snap(&snap, &made, err) < 0; left--) {
		if (err->code != ERROR_HOST || left == 0)
			return NULL;
	}
	return xasprintf("%s@%s", sandbox, value_get_text(made, "name"));
}

/* Once for what needs agreement, and once as if all of it were given: that has the digest. */
static int look(const struct engine_ask *ask, const char *sandbox_id, struct value **ret_answer,
		struct error *err)
{
	struct engine_promote dry = { .sandbox = ask->sandbox,
				      .sandbox_id = sandbox_id,
				      .paths = ask->paths,
				      .strategy = ask->strategy,
				      .dry_run = true };
	struct value *consents;

	if (engine_promote(&dry, ret_answer, err) < 0) {
		if (err->code != ERROR_CONSENT)
			return -1;
		consents = value_take(*ret_answer, "consent");
		value_free(*ret_answer);
		*ret_answer = NULL;
		dry.allow_privilege = dry.allow_special = dry.allow_all = true;
		if (engine_promote(&dry, ret_answer, err) < 0) {
			value_free(consents);
			return -1;
		}
		value_set(*ret_answer, "consent", consents);
	}
	if (count_of(*ret_answer, "applied") + count_of(*ret_answer, "merged") == 0)
		return error_set(err, ERROR_USAGE, "there is nothing to promote from %s",
				 ask->sandbox);
	if (!value_get_text(*ret_answer, "bundle"))
		return error_set(err, ERROR_INTERNAL, "a bundle without a digest");
	return 0;
}

static bool is_pending(const struct value *ask)
{
	const char *state = value_get_text(ask, "state");

	return state && strcmp(state, "pending") == 0;
}

/* The id of the sandbox that has the name now, owned by the caller; NULL with ERR. */
static char *id_of(const char *word, struct error *err)
{
	owned(free_ptr) char *name = NULL, *snapshot = NULL;
	owned(opened_close) struct opened opened;

	opened_init(&opened);
	workspace_split_name(word, &name, &snapshot);
	return opened_open(&opened, name, SANDBOX_UNLOCKED, err) < 0 ? NULL
								     : xstrdup(opened.sandbox.id);
}

/* A question about a sandbox that is gone can only be answered with no. */
static bool is_moot(const struct value *ask)
{
	const char *sandbox = value_get_text(ask, "sandbox");
	const char *wanted = value_get_text(ask, "sandbox_id");
	struct error ignored;
	owned(free_ptr) char *found = sandbox ? id_of(sandbox, &ignored) : NULL;

	return is_pending(ask) && (!found || !wanted || strcmp(found, wanted) != 0);
}

static bool is_of(const struct value *ask, const char *owner)
{
	const char *whose = value_get_text(ask, "owner");

	return whose && owner ? strcmp(whose, owner) == 0 : whose == owner;
}

/* Room for one more question of OWNER's: moot ones and old answers make place, others wait for a person. */
static int make_room(int dir_fd, const char *owner, struct error *err)
{
	owned(strv_done) struct strv names = STRV_INIT;
	size_t pending = 0, decided = 0;
	struct error ignored;

	collect_names(dir_fd, &names);
	for (size_t i = names.count; i-- > 0;) {
		owned(value_release) struct value *ask = NULL;

		if (read_ask(dir_fd, names.items[i], &ask, &ignored) < 0 || !is_of(ask, owner))
			continue;
		if (is_moot(ask) || (!is_pending(ask) && ++decided > DECIDED_MAX))
			(void)unlinkat(dir_fd, names.items[i], 0);
		else
			pending += is_pending(ask);
	}
	if (pending < PENDING_MAX)
		return 0;
	return error_set(err, ERROR_DENIED,
			 "%d requests of this owner wait already; a person decides: aisbx "
			 "promotions, aisbx promotions reject --all",
			 PENDING_MAX);
}

int engine_ask_make(const struct engine_ask *given, struct value **ret_answer, struct error *err)
{
	owned(free_ptr) char *sandbox_id = id_of(given->sandbox, err), *held = NULL;
	struct engine_ask still = *given, *ask = &still;
	owned(value_release) struct value *seen = NULL;
	owned(value_release) struct value *row = NULL;
	owned(fd_close) int dir_fd = -1;
	char id[ID_RUN_SIZE];

	if (!sandbox_id || open_asks(&dir_fd, err) < 0 || make_room(dir_fd, given->owner, err) < 0)
		return -1;
	/* Looking takes long, and others may ask meanwhile. */
	fd_close(&dir_fd);
	held = hold_still(given->sandbox, err);
	if (!held)
		return -1;
	still.sandbox = held;
	if (look(ask, sandbox_id, &seen, err) < 0) {
		*ret_answer = ptr_take(&seen);
		return -1;
	}
	if (open_asks(&dir_fd, err) < 0 || make_room(dir_fd, given->owner, err) < 0 ||
	    id_run(id, err) < 0)
		return -1;
	row = describe(ask, seen, sandbox_id, id);
	if (write_ask(dir_fd, row, err) < 0)
		return -1;
	record_named("ask", ask->sandbox, id);
	*ret_answer = ptr_take(&row);
	return 0;
}

/* Decided a week ago: nobody wonders any more. */
static bool is_stale(int dir_fd, const char *id, const struct value *ask)
{
	struct stat st;

	return !is_pending(ask) && fstatat(dir_fd, id, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (uint64_t)st.st_mtim.tv_sec * 1000 + KEPT_MS < clock_epoch_ms();
}

int engine_ask_list(const char *owner, struct value **ret_list, struct error *err)
{
	owned(strv_done) struct strv names = STRV_INIT;
	owned(fd_close) int dir_fd = -1;
	struct error ignored;

	if (open_asks(&dir_fd, err) < 0)
		return -1;
	collect_names(dir_fd, &names);
	*ret_list = value_new_list();
	for (size_t i = names.count; i-- > 0;) {
		struct value *ask = NULL;
		const char *whose;

		/* A damaged one is nobody's request. */
		if (read_ask(dir_fd, names.items[i], &ask, &ignored) < 0)
			continue;
		whose = value_get_text(ask, "owner");
		if (is_moot(ask))
			value_set(ask, "state", value_new_text("ended"));
		if (is_stale(dir_fd, names.items[i], ask))
			(void)unlinkat(dir_fd, names.items[i], 0);
		if (!owner || (whose && strcmp(whose, owner) == 0))
			value_append(*ret_list, ask);
		else
			value_free(ask);
	}
	return 0;
}

/* Exactly what was shown to need a word: what needs one only by now was not agreed to. */
static void read_agreed(const struct value *ask, struct strv *ret_agreed)
{
	const struct value *triggers = value_get(ask, "triggers");

	for (size_t i = 0; i < count_of(ask, "triggers"); i++) {
		const char *path = value_get_text(triggers->many.items[i], "path");
		const char *coded = value_get_text(triggers->many.items[i], "path_b64");
		const char *why = value_get_text(triggers->many.items[i], "why");
		owned(str_done) struct str raw = STR_INIT;

		if (coded && base64_read(&raw, coded, strlen(coded)))
			path = str_cstr(&raw);
		if (path && why)
			strv_addf(ret_agreed, "%s %s", why, path);
	}
}

static int apply(const struct value *ask, struct value **ret_answer, struct error *err)
{
	owned(strv_done) struct strv paths = STRV_INIT, agreed = STRV_INIT;
	const struct value *only = value_get(ask, "only");
	struct engine_promote promote = { .sandbox = value_get_text(ask, "sandbox"),
					  .sandbox_id = value_get_text(ask, "sandbox_id"),
					  .paths = &paths,
					  .agreed = &agreed,
					  .strategy = value_get_text(ask, "strategy"),
					  .digest = value_get_text(ask, "bundle") };

	if (!promote.sandbox || !promote.sandbox_id || !promote.digest)
		return error_set(err, ERROR_INPUT, "the request is damaged");
	for (size_t i = 0; only && only->kind == VALUE_LIST && i < only->many.count; i++) {
		if (only->many.items[i]->kind == VALUE_TEXT)
			strv_add(&paths, only->many.items[i]->text.bytes);
	}
	read_agreed(ask, &agreed);
	return engine_promote(&promote, ret_answer, err);
}

int engine_ask_decide(const char *id, bool is_approved, struct value **ret_answer,
		      struct error *err)
{
	owned(value_release) struct value *ask = NULL;
	owned(value_release) struct value *promoted = NULL;
	owned(fd_close) int dir_fd = -1;

	if (open_asks(&dir_fd, err) < 0 || read_ask(dir_fd, id, &ask, err) < 0)
		return -1;
	if (!is_pending(ask))
		return error_set(err, ERROR_CONFLICT, "the request %s is %s already", id,
				 value_get_text(ask, "state"));
	if (is_approved && apply(ask, &promoted, err) < 0)
		return error_context(err, "nothing was promoted");
	value_set(ask, "state", value_new_text(is_approved ? "approved" : "rejected"));
	if (promoted) {
		value_set(ask, "promotion_id",
			  value_new_text(value_get_text(promoted, "promotion_id")));
		value_set(ask, "undo", value_new_text(value_get_text(promoted, "undo")));
	}
	if (write_ask(dir_fd, ask, err) < 0)
		return -1;
	record_named(is_approved ? "approve" : "reject", value_get_text(ask, "sandbox"), id);
	*ret_answer = ptr_take(&ask);
	return 0;
}
