/* SPDX-License-Identifier: Apache-2.0 */
/* `pull`: verified, decided in a draft, then the sandbox by one step. */
#include "app/travel/travel_parts.h"

#include "base/core/id.h"
#include "base/core/own.h"
#include "base/file/fd.h"
#include "app/change/workspace_parts.h"
#include "app/record/record.h"
#include "app/travel/pull_check.h"
#include "workspace/store/cas.h"
#include "workspace/store/sandbox_record.h"

#include <string.h>
#include <sys/stat.h>

#define DRAFT_TTL_MS (UINT64_C(2) * 3600 * 1000)

struct pulling {
	const struct app_pull *wish;
	const char *sandbox;
	char draft[ID_SHORT_SIZE];
	char *saved; /* what a sandbox that was there had, as a snapshot; NULL */
	struct remote remote;
	struct store store;
	bool has_store, is_there;
	struct heads heads;
	struct known known;
	struct value *sequences;
	size_t files;
};

static void pulling_done(struct pulling *pull)
{
	struct error ignored;

	if (pull->draft[0])
		(void)app_remove(pull->draft, &ignored);
	remote_close(&pull->remote);
	if (pull->has_store)
		store_close(&pull->store);
	heads_done(&pull->heads);
	known_done(&pull->known);
	value_release(&pull->sequences);
	free(pull->saved);
}

static int fetch_content(struct pulling *pull, const struct bundle_side *side, uint64_t *left,
			 struct error *err)
{
	owned(free_ptr) char *place = NULL;
	owned(fd_close) int fd = -1, kept = -1;
	char hex[SHA256_HEX_SIZE];
	struct error absent;
	struct stat st;

	if (side->type != 'f')
		return 0;
	if (cas_open(&pull->store, side->sha256, &kept, &absent) == 0)
		return 0;
	place = travel_object(side->sha256);
	fd = remote_draft(err);
	if (fd < 0 || remote_get(&pull->remote, place, *left, fd, err) < 0)
		return -1;
	if (fstat(fd, &st) < 0 || (uint64_t)st.st_size > *left)
		return error_set(err, ERROR_DENIED, "it is larger than the bundle says");
	*left -= (uint64_t)st.st_size;
	if (pull_check_content(fd, side->sha256, err) < 0)
		return -1;
	return cas_keep_fd(&pull->store, fd, hex, err);
}

/* The list of one push, as it was signed and as it may be. */
static int fetch_list(struct pulling *pull, const struct head *head, struct bundle *ret_bundle,
		      struct error *err)
{
	owned(free_ptr) char *place = xasprintf("bundles/%s", head->bundle);
	owned(str_done) struct str text = STR_INIT;
	char hex[SHA256_HEX_SIZE];

	if (head->bytes > TRAVEL_BYTES_MAX)
		return error_set(err, ERROR_DENIED, "more than 10 GiB of contents do not travel");
	if (remote_get_bytes(&pull->remote, place, TRAVEL_LIST_MAX, &text, err) < 0)
		return -1;
	sha256_hex(str_cstr(&text), text.len, hex);
	if (strcmp(hex, head->bundle) != 0)
		return error_set(err, ERROR_INPUT, "%s is not what was signed", place);
	return bundle_read(str_cstr(&text), text.len, ret_bundle, err) < 0
		       ? -1
		       : pull_check_bundle(ret_bundle, pull->wish->allow_links, err);
}

/* Where the sandbox has a push that this one was made from, that is what both started from. */
static int rebase(struct pulling *pull, const struct head *head, struct bundle *bundle,
		  uint64_t *left, struct error *err)
{
	const struct head *common = heads_common(&pull->heads, head, &pull->known);
	struct bundle earlier;
	int status;

	if (!common)
		return 0;
	bundle_init(&earlier);
	status = fetch_list(pull, common, &earlier, err);
	if (status == 0)
		status = bundle_rebase(bundle, &earlier, err);
	bundle_done(&earlier);
	*left += common->bytes;
	return status;
}

/* The changes and all contents of one push, verified; they are in the store afterwards. */
static int fetch(struct pulling *pull, const struct head *head, struct bundle *ret_bundle,
		 struct error *err)
{
	char shown[STR_SHOWN_SIZE];
	uint64_t left = head->bytes;

	if (fetch_list(pull, head, ret_bundle, err) < 0 ||
	    rebase(pull, head, ret_bundle, &left, err) < 0)
		return -1;
	for (size_t i = 0; i < ret_bundle->count; i++) {
		const struct bundle_change *change = &ret_bundle->items[i];

		if (fetch_content(pull, &change->old, &left, err) < 0 ||
		    fetch_content(pull, &change->new, &left, err) < 0)
			return error_context(err, "%s", str_shown(change->path, shown));
	}
	return 0;
}

/* By the order of the remote: what this sandbox pushed itself has a place in it, what was never pushed has none. */
static const char *strategy_of(const struct pulling *pull, const struct head *head)
{
	const char *wish = pull->wish->strategy ? pull->wish->strategy : "merge";

	if (strcmp(wish, "lww") != 0)
		return wish;
	return head->sequence > pull->known.own ? "theirs" : "ours";
}

static int fill_draft(struct pulling *pull, const struct head *head, const struct bundle *bundle,
		      struct pull_conflicts *conflicts, struct error *err)
{
	owned(opened_close) struct opened opened;

	opened_init(&opened);
	if (opened_open(&opened, pull->draft, SANDBOX_UNLOCKED, err) < 0)
		return -1;
	conflicts->sequence = head->sequence;
	const struct fill fill = { .bundle = bundle,
				   .store = &pull->store,
				   .dir_fd = opened.sandbox.dir_fd,
				   .sandbox = pull->draft,
				   .target = opened.sandbox.workspace,
				   .strategy = strategy_of(pull, head),
				   .environ = pull->wish->request->environ,
				   .by_view = true,
				   .settle = conflict_settle_pull,
				   .cookie = conflicts };

	return bundle_fill(&fill, err);
}

static int make_draft(struct pulling *pull, struct error *err)
{
	char name[ID_SHORT_SIZE];
	const struct app_create create = { .name = name, .ttl_ms = DRAFT_TTL_MS };
	const struct app_fork fork = {
		.from = pull->sandbox, .new_name = name, .keeps_owner = true, .ttl_ms = DRAFT_TTL_MS
	};
	owned(value_release) struct value *made = NULL;

	if (id_short("pull", name, err) < 0 ||
	    (pull->is_there ? app_fork(&fork, &made, err)
			    : app_create(pull->wish->request, &create, err)) < 0)
		return -1;
	memcpy(pull->draft, name, sizeof(name));
	return 0;
}

/* The draft becomes the sandbox: a new one appears whole, one that is there moves to a snapshot as rollback does. */
static int publish(struct pulling *pull, struct error *err)
{
	owned(value_release) struct value *made = NULL, *moved = NULL;
	owned(free_ptr) char *from = xasprintf("%s@pulled", pull->draft);
	const struct app_snap snap = { .sandbox = pull->draft,
				       .name = "pulled",
				       .message = "as it was pulled",
				       .durable = true };
	const struct app_fork fork = { .from = from, .new_name = pull->sandbox };
	char name[ID_SHORT_SIZE];

	if (app_snap(&snap, &made, err) < 0)
		return -1;
	if (!pull->is_there)
		return app_fork(&fork, &moved, err);
	if (id_short("pulled", name, err) < 0 ||
	    app_adopt(pull->sandbox, pull->draft, "pulled", name, &moved, err) < 0)
		return -1;
	pull->saved =
		value_get_text(moved, "saved") ? xstrdup(value_get_text(moved, "saved")) : NULL;
	return 0;
}

static int note_known(struct pulling *pull, struct error *err)
{
	owned(opened_close) struct opened opened;

	opened_init(&opened);
	return opened_open(&opened, pull->sandbox, SANDBOX_UNLOCKED, err) < 0
		       ? -1
		       : known_write(opened.sandbox.dir_fd, &pull->remote, pull->wish->name,
				     &pull->known, err);
}

static struct value *describe(const struct pulling *pull, struct value *conflicts)
{
	struct value *answer = value_new_map(), *list;

	value_add(answer, "sandbox", value_new_text(pull->sandbox));
	value_add(answer, "remote", value_new_text(pull->wish->remote));
	value_add(answer, "name", value_new_text(pull->wish->name));
	list = value_add(answer, "sequence", value_new_list());
	for (size_t i = 0; i < pull->sequences->many.count; i++)
		value_append(list, value_new_int(pull->sequences->many.items[i]->integer));
	value_add(answer, "files", value_new_int((int64_t)pull->files));
	value_add(answer, "created", value_new_bool(!pull->is_there));
	value_add(answer, "saved", value_new_text(pull->saved));
	value_add(answer, "conflicts", conflicts);
	return answer;
}

/* What no other push stands for and the sandbox does not have, in the order of the remote. */
static bool is_wanted(const struct pulling *pull, const struct head *head)
{
	return !heads_supersede(&pull->heads, head->sequence) &&
	       !known_has(&pull->known, head->sequence);
}

static int take_heads(struct pulling *pull, struct pull_conflicts *conflicts, struct error *err)
{
	for (size_t i = 0; i < pull->heads.count; i++) {
		const struct head *head = &pull->heads.items[i];
		struct bundle bundle;
		int status;

		if (!is_wanted(pull, head))
			continue;
		bundle_init(&bundle);
		status = fetch(pull, head, &bundle, err);
		if (status == 0 && !pull->draft[0])
			status = make_draft(pull, err);
		if (status == 0)
			status = fill_draft(pull, head, &bundle, conflicts, err);
		pull->files += bundle.count;
		bundle_done(&bundle);
		value_append(pull->sequences, value_new_int((int64_t)head->sequence));
		if (status < 0)
			return -1;
	}
	for (size_t i = 0; i < pull->sequences->many.count; i++)
		known_add(&pull->known, (uint64_t)pull->sequences->many.items[i]->integer);
	return 0;
}

static int open_places(struct pulling *pull, struct error *err)
{
	const struct app_pull *wish = pull->wish;

	if (sandbox_check_name(wish->name, err) < 0 || sandbox_check_name(pull->sandbox, err) < 0 ||
	    app_store(&pull->store, err) < 0)
		return -1;
	pull->has_store = true;
	if (remote_open(wish->remote, false, &pull->remote, err) < 0 ||
	    heads_read(&pull->remote, wish->name, &pull->heads, err) < 0)
		return -1;
	if (pull->heads.count == 0)
		return error_set(err, ERROR_NOT_FOUND, "nothing was pushed to %s as '%s'",
				 wish->remote, wish->name);
	pull->is_there = sandbox_is_there(&pull->store, pull->sandbox);
	if (pull->is_there) {
		owned(opened_close) struct opened opened;

		opened_init(&opened);
		if (opened_open(&opened, pull->sandbox, SANDBOX_UNLOCKED, err) < 0)
			return -1;
		known_read(opened.sandbox.dir_fd, &pull->remote, wish->name, &pull->known);
	}
	return 0;
}

int app_pull(const struct app_pull *wish, struct value **ret_answer, struct error *err)
{
	owned(pulling_done) struct pulling pull = {
		.wish = wish,
		.sandbox = wish->sandbox ? wish->sandbox : wish->name,
		.remote = { .fd = -1, .in_fd = -1, .out_fd = -1 },
		.sequences = value_new_list(),
	};
	struct pull_conflicts conflicts = { .pull = wish,
					    .sandbox = pull.sandbox,
					    .list = value_new_list() };
	int status = open_places(&pull, err);

	conflicts.store = &pull.store;
	conflicts.remote_id = pull.remote.id;
	if (status == 0)
		status = take_heads(&pull, &conflicts, err);
	if (status == 0 && pull.draft[0])
		status = publish(&pull, err);
	if (status == 0 && pull.draft[0])
		status = note_known(&pull, err);
	if (status == 0)
		conflicts_forget(&conflicts);
	strv_done(&conflicts.used);
	if (status < 0 && conflicts.list->many.count == 0) {
		value_free(conflicts.list);
		return -1;
	}
	*ret_answer = describe(&pull, conflicts.list);
	if (status == 0)
		record_event(&(struct record_event){ .kind = "pull",
						     .sandbox = pull.sandbox,
						     .id = wish->name,
						     .body = *ret_answer });
	return status;
}
