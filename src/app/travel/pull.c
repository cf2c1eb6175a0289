/* SPDX-License-Identifier: Apache-2.0 */
/* `pull`: verified, decided in a draft, then a new sandbox by one step. What is there stays as it is. */
#include "app/travel/travel_parts.h"

#include "app/change/workspace_parts.h"
#include "app/record/record.h"
#include "app/travel/pull_check.h"
#include "base/core/id.h"
#include "base/core/own.h"
#include "base/file/fd.h"
#include "workspace/disk/digest.h"
#include "workspace/store/cas.h"
#include "workspace/store/sandbox_record.h"

#include <string.h>
#include <sys/stat.h>

#define DRAFT_TTL_MS (UINT64_C(2) * 3600 * 1000)

struct pulling {
	const struct app_pull *wish;
	char *name;
	const char *sandbox; /* that is made */
	char draft[ID_SHORT_SIZE];
	struct remote remote;
	struct store store;
	bool has_store;
	struct head head;
	struct known known; /* what `onto` has; sequence 0: nothing */
	struct bundle bundle;
	uint64_t left; /* bytes that may still be fetched */
};

static void pulling_done(struct pulling *pull)
{
	struct error ignored;

	if (pull->draft[0])
		(void)app_remove(pull->draft, &ignored);
	remote_close(&pull->remote);
	if (pull->has_store)
		store_close(&pull->store);
	bundle_done(&pull->bundle);
	free(pull->name);
}

/* The one that was asked for, or the only one there is. */
static int choose_name(struct pulling *pull, struct error *err)
{
	owned(strv_done) struct strv names = STRV_INIT;
	owned(str_done) struct str all = STR_INIT;
	char shown[STR_SHOWN_SIZE];

	if (pull->wish->name) {
		pull->name = xstrdup(pull->wish->name);
		return sandbox_check_name(pull->name, err);
	}
	if (remote_list(&pull->remote, "names", &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.count && all.len < STR_SHOWN_SIZE; i++)
		str_addf(&all, "%s%s", i ? ", " : "", str_shown(names.items[i], shown));
	if (names.count != 1)
		return error_set(err, names.count ? ERROR_USAGE : ERROR_NOT_FOUND,
				 names.count ? "which one of %s?" : "nothing was pushed there%s",
				 str_cstr(&all));
	pull->name = xstrdup(names.items[0]);
	return sandbox_check_name(pull->name, err);
}

static int read_known(struct pulling *pull, struct error *err)
{
	owned(opened_close) struct opened opened;

	opened_init(&opened);
	if (opened_open(&opened, pull->wish->onto, SANDBOX_UNLOCKED, err) < 0)
		return -1;
	int found = known_find(&opened.sandbox, opened.sandbox.at, &pull->remote, pull->name,
			       &pull->known, err);

	if (found == 0)
		pull->known = (struct known){ 0 };
	return found <= 0 ? found
			  : head_descends(&pull->remote, pull->name, &pull->head,
					  pull->known.sequence, pull->known.id, err);
}

static int open_places(struct pulling *pull, struct error *err)
{
	const struct app_pull *wish = pull->wish;
	uint64_t last = 0;

	if (app_store(&pull->store, err) < 0)
		return -1;
	pull->has_store = true;
	if (remote_open(wish->remote, false, &pull->remote, err) < 0 || choose_name(pull, err) < 0)
		return -1;
	pull->sandbox = wish->sandbox ? wish->sandbox : pull->name;
	if (sandbox_check_name(pull->sandbox, err) < 0)
		return -1;
	if (sandbox_is_there(&pull->store, pull->sandbox))
		return error_advise(err, ERROR_CONFLICT,
				    "--as NEW names another; with --onto it has both sides' work",
				    "there is a sandbox '%s' already", pull->sandbox);
	if (head_last(&pull->remote, pull->name, &last, err) < 0)
		return -1;
	if (last == 0)
		return error_set(err, ERROR_NOT_FOUND, "nothing was pushed to %s as '%s'",
				 wish->remote, pull->name);
	if (head_read(&pull->remote, pull->name, last, true, &pull->head, err) < 0 ||
	    seen_check(&pull->store, &pull->remote, pull->name, &pull->head, err) < 0)
		return -1;
	return wish->onto ? read_known(pull, err) : 0;
}

/* The base of a merge may be missing: then a person decides where both sides changed. */
static int fetch_content(struct pulling *pull, const struct bundle_side *side, bool is_base,
			 struct error *err)
{
	uint64_t max = is_base ? TRAVEL_BASE_MAX : pull->head.largest;
	owned(free_ptr) char *place = NULL;
	owned(fd_close) int fd = -1, kept = -1;
	char hex[SHA256_HEX_SIZE];
	struct error absent;
	struct stat st;

	if (side->type != 'f' || cas_open(&pull->store, side->sha256, &kept, &absent) == 0)
		return 0;
	place = travel_object(side->sha256);
	fd = remote_draft(err);
	if (fd < 0)
		return -1;
	if (remote_get(&pull->remote, place, max < pull->left ? max : pull->left, fd, err) < 0)
		return is_base && (err->code == ERROR_NOT_FOUND || err->code == ERROR_DENIED) ? 0
											      : -1;
	if (fstat(fd, &st) < 0 || (uint64_t)st.st_size > pull->left)
		return error_set(err, ERROR_DENIED, "more than 10 GiB of contents do not travel");
	pull->left -= (uint64_t)st.st_size;
	if (digest_matches(fd, side->sha256) != 1)
		return error_set(err, ERROR_INPUT, "the content %.12s is not what was signed",
				 side->sha256);
	return cas_keep_fd(&pull->store, fd, hex, err);
}

/* What changed since what the sandbox has, verified; all contents are in the store afterwards. */
static int fetch(struct pulling *pull, struct error *err)
{
	char shown[STR_SHOWN_SIZE];
	struct bundle earlier;
	struct head before;
	int status;

	bundle_init(&earlier);
	status = head_list(&pull->remote, &pull->head, &pull->bundle, err);
	if (status == 0)
		status = pull_check_bundle(&pull->bundle, pull->wish->allow_links, err);
	if (status == 0 && pull->known.sequence) {
		status = head_read(&pull->remote, pull->name, pull->known.sequence, false, &before,
				   err);
		/* Read once more, from a remote that may answer something else each time. */
		if (status == 0 && strcmp(before.id, pull->known.id) != 0)
			status = head_refuse(pull->name, err);
		if (status == 0)
			status = head_list(&pull->remote, &before, &earlier, err);
	}
	travel_sort(&earlier);
	if (status == 0)
		status = travel_since(&pull->bundle, pull->known.sequence ? &earlier : NULL, err);
	bundle_done(&earlier);
	for (size_t i = 0; status == 0 && i < pull->bundle.count; i++) {
		const struct bundle_change *change = &pull->bundle.items[i];

		if (fetch_content(pull, &change->old, true, err) < 0 ||
		    fetch_content(pull, &change->new, false, err) < 0)
			return error_context(err, "%s", str_shown(change->path, shown));
	}
	return status;
}

static int make_draft(struct pulling *pull, struct error *err)
{
	char name[ID_SHORT_SIZE];
	const struct app_create create = { .name = name, .ttl_ms = DRAFT_TTL_MS };
	const struct app_fork fork = { .from = pull->wish->onto,
				       .new_name = name,
				       .keeps_owner = true,
				       .how = QUIET_FREEZE,
				       .ttl_ms = DRAFT_TTL_MS };
	owned(value_release) struct value *made = NULL;

	if (id_short("pull", name, err) < 0 ||
	    (pull->wish->onto ? app_fork(&fork, &made, err)
			      : app_create(pull->wish->request, &create, err)) < 0)
		return -1;
	memcpy(pull->draft, name, sizeof(name));
	return 0;
}

static int fill_draft(struct pulling *pull, struct pull_conflicts *conflicts, struct error *err)
{
	const char *strategy = pull->wish->strategy ? pull->wish->strategy : "merge";
	owned(opened_close) struct opened opened;

	opened_init(&opened);
	if (opened_open(&opened, pull->draft, SANDBOX_UNLOCKED, err) < 0 ||
	    pull_check_places(&pull->bundle, &opened.sandbox, err) < 0)
		return -1;
	/* The remote's order: what was pushed comes after what is not there yet. No clock is asked. */
	const struct fill fill = { .bundle = &pull->bundle,
				   .store = &pull->store,
				   .dir_fd = opened.sandbox.dir_fd,
				   .sandbox = pull->draft,
				   .target = opened.sandbox.workspace,
				   .strategy = strcmp(strategy, "lww") == 0 ? "theirs" : strategy,
				   .environ = pull->wish->request->environ,
				   .by_view = true,
				   .settle = conflict_settle_pull,
				   .cookie = conflicts };

	return bundle_fill(&fill, err);
}

/* The draft as a new sandbox, which appears whole. */
static int publish(struct pulling *pull, struct error *err)
{
	owned(value_release) struct value *made = NULL, *moved = NULL;
	owned(free_ptr) char *from = xasprintf("%s@pulled", pull->draft);
	const struct app_snap snap = { .sandbox = pull->draft,
				       .name = "pulled",
				       .message = "as it was pulled",
				       .durable = true };
	const struct app_fork fork = { .from = from, .new_name = pull->sandbox };

	return app_snap(&snap, &made, err) < 0 || app_fork(&fork, &moved, err) < 0 ? -1 : 0;
}

/* Killed before this, the sandbox knows of no push, and has to be given another name to be pushed. */
static int note_known(struct pulling *pull, struct error *err)
{
	struct known known = { .sequence = pull->head.sequence,
			       .snapshot = SANDBOX_FORK_NAME,
			       .is_certain = true };
	owned(opened_close) struct opened opened;

	opened_init(&opened);
	memcpy(known.id, pull->head.id, sizeof(known.id));
	(void)snprintf(known.name, sizeof(known.name), "%s", pull->name);
	if (opened_open(&opened, pull->sandbox, SANDBOX_UNLOCKED, err) < 0 ||
	    known_add(&opened.sandbox, &pull->remote, &known, err) < 0)
		return -1;
	return seen_note(&pull->store, &pull->remote, pull->name, &pull->head, err);
}

static struct value *describe(const struct pulling *pull, bool is_made, struct value *conflicts)
{
	struct value *answer = value_new_map();

	value_add(answer, "sandbox", value_new_text(is_made ? pull->sandbox : NULL));
	value_add(answer, "remote", value_new_text(pull->wish->remote));
	value_add(answer, "name", value_new_text(pull->name));
	value_add(answer, "sequence", value_new_int((int64_t)pull->head.sequence));
	value_add(answer, "files", value_new_int((int64_t)pull->bundle.count));
	value_add(answer, "created", value_new_bool(is_made));
	value_add(answer, "conflicts", conflicts);
	return answer;
}

/* *ret_made: a sandbox; it stays so when ONTO has all of it already. */
static int take(struct pulling *pull, struct pull_conflicts *conflicts, bool *ret_made,
		struct error *err)
{
	if (open_places(pull, err) < 0)
		return -1;
	*ret_made = false;
	if (pull->known.sequence == pull->head.sequence)
		return 0;
	conflicts->store = &pull->store;
	conflicts->sandbox = pull->wish->onto ? pull->wish->onto : pull->sandbox;
	conflicts->name = pull->name;
	conflicts->remote_id = pull->remote.id;
	conflicts->sequence = pull->head.sequence;
	if (fetch(pull, err) < 0 || make_draft(pull, err) < 0 ||
	    fill_draft(pull, conflicts, err) < 0 || publish(pull, err) < 0)
		return -1;
	*ret_made = true;
	return note_known(pull, err);
}

int app_pull(const struct app_pull *wish, struct value **ret_answer, struct error *err)
{
	owned(pulling_done) struct pulling pull = {
		.wish = wish,
		.remote = { .fd = -1, .in_fd = -1, .out_fd = -1 },
		.left = TRAVEL_BYTES_MAX,
	};
	struct pull_conflicts conflicts = { .pull = wish, .list = value_new_list() };
	bool is_made = false;
	int status;

	bundle_init(&pull.bundle);
	status = take(&pull, &conflicts, &is_made, err);
	if (status == 0)
		conflicts_forget(&conflicts);
	strv_done(&conflicts.used);
	if (status < 0 && conflicts.list->many.count == 0) {
		value_free(conflicts.list);
		return -1;
	}
	*ret_answer = describe(&pull, is_made, conflicts.list);
	if (is_made)
		record_event(&(struct record_event){ .kind = "pull",
						     .sandbox = pull.sandbox,
						     .id = pull.name,
						     .body = *ret_answer });
	return status;
}
