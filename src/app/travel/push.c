/* SPDX-License-Identifier: Apache-2.0 */
/* `push`: contents, the list of changes, the signed head; in this order, and the head only where none took its place. */
#include "app/travel/travel_parts.h"

#include "app/change/secret_look.h"
#include "app/change/workspace_parts.h"
#include "app/record/record.h"
#include "app/travel/pull_check.h"
#include "base/core/id.h"
#include "base/core/own.h"
#include "base/file/fd.h"
#include "workspace/store/cas.h"
#include "workspace/text/textdiff.h"

#include <string.h>
#include <sys/stat.h>

struct pushing {
	const struct app_push *wish;
	struct opened opened;
	struct view_stack stack;
	bool has_stack;
	struct secret_look look;
	struct remote remote;
	struct known known; /* sequence 0: none */
	char snapshot[ID_SHORT_SIZE];
	struct bundle bundle, pushed; /* what it follows; empty: nothing */
	struct head before, head;     /* the push it follows (sequence 0: none), and this one */
	struct strv left_out;
	size_t sent;
	uint64_t bytes; /* of contents that the push before it had not */
	bool is_tried, is_new;
};

static void pushing_done(struct pushing *push)
{
	struct error ignored;

	if (push->has_stack)
		view_close(&push->stack);
	opened_close(&push->opened);
	/* Without a push, nothing is bound to it. One that was tried may have been accepted. */
	if (push->snapshot[0] && !push->is_tried)
		(void)app_snap_drop(push->wish->sandbox, push->snapshot, &ignored);
	secret_look_close(&push->look);
	remote_close(&push->remote);
	bundle_done(&push->bundle);
	bundle_done(&push->pushed);
	strv_done(&push->left_out);
}

/* One moment is pushed, whatever runs inside; what the sandbox knows afterwards is bound to it. */
static int open_moment(struct pushing *push, struct error *err)
{
	owned(value_release) struct value *made = NULL;
	char name[ID_SHORT_SIZE];
	const struct app_snap snap = { .sandbox = push->wish->sandbox,
				       .name = name,
				       .message = "pushed",
				       .how = QUIET_FREEZE,
				       .durable = true };

	if (id_short("push", name, err) < 0 || app_snap(&snap, &made, err) < 0)
		return -1;
	memcpy(push->snapshot, name, sizeof(name));
	if (opened_open(&push->opened, push->wish->sandbox, SANDBOX_UNLOCKED, err) < 0 ||
	    secret_look_open(&push->opened.sandbox, &push->look, err) < 0 ||
	    app_view(&push->opened.sandbox, name, &push->stack, err) < 0)
		return -1;
	push->has_stack = true;
	return 0;
}

static int pull_first(const struct pushing *push, struct error *err)
{
	error_set(err, ERROR_CONFLICT, "%s has a push of '%s' that this sandbox has not seen",
		  push->wish->remote, push->known.name);
	return error_add_hint(err, "aisbx pull %s %s --onto %s --as NEW, or push --as another name",
			      push->wish->remote, push->known.name, push->wish->sandbox);
}

/* Which push this one follows. */
static int find_place(struct pushing *push, struct error *err)
{
	const struct sandbox *sandbox = &push->opened.sandbox;
	uint64_t last = 0;
	int found = known_find(sandbox, push->snapshot, &push->remote, push->wish->name,
			       &push->known, err);

	if (found < 0)
		return -1;
	if (found == 0)
		push->known = (struct known){ 0 };
	if (!push->known.name[0])
		(void)snprintf(push->known.name, sizeof(push->known.name), "%s",
			       push->wish->name ? push->wish->name : sandbox->name);
	if (sandbox_check_name(push->known.name, err) < 0 ||
	    head_last(&push->remote, push->known.name, &last, err) < 0)
		return -1;
	if (last != push->known.sequence)
		return pull_first(push, err);
	if (last > 0 &&
	    head_read(&push->remote, push->known.name, last, false, &push->before, err) < 0)
		return -1;
	if (last > 0 && strcmp(push->before.id, push->known.id) != 0)
		return pull_first(push, err);
	return seen_check(sandbox->store, &push->remote, push->known.name, &push->before, err);
}

/* What is pushed: the sandbox's changes, and all that the push before this one had. */
static int gather(struct pushing *push, struct error *err)
{
	const struct sandbox *sandbox = &push->opened.sandbox;
	const struct head *before = &push->before;

	if (travel_seal(sandbox, &push->stack, &push->bundle, &push->left_out, err) < 0)
		return -1;
	if (push->known.sequence == 0 && push->bundle.count > 0)
		return 0;
	if (push->known.sequence == 0)
		return error_set(err, ERROR_NOT_FOUND, "%s changed nothing that could be pushed",
				 sandbox->name);
	if (head_list(&push->remote, before, &push->pushed, err) < 0 ||
	    travel_compose(sandbox, &push->stack, push->known.snapshot, &push->pushed,
			   &push->bundle, err) < 0)
		return -1;
	push->head = (struct head){ .largest = before->largest };
	memcpy(push->head.parent, before->id, sizeof(before->id));
	memcpy(push->head.bundle, before->bundle, sizeof(before->bundle));
	return 0;
}

static int put_object(struct pushing *push, const char *sha256, int fd, struct error *err)
{
	owned(free_ptr) char *place = travel_object(sha256);
	bool is_new = false;

	if (remote_put(&push->remote, place, fd, &is_new, err) < 0)
		return -1;
	push->sent += is_new;
	return 0;
}

static int look_at_link(struct pushing *push, const char *link, const char *path, struct error *err)
{
	return link ? secret_look_refuse(&push->look, -1, link, strlen(link), path, err) : 0;
}

static int send_new(struct pushing *push, const struct bundle_change *change, struct error *err)
{
	const struct bundle_side *side = &change->new;
	owned(fd_close) int fd = -1;
	struct stat st;

	if (side->type && side->mode & 06000)
		return error_advise(err, ERROR_DENIED, "take it away (chmod), then push",
				    "it is setuid or setgid, which does not travel");
	if (side->type == 'f' && cas_open(push->opened.sandbox.store, side->sha256, &fd, err) < 0)
		return -1;
	if (secret_look_refuse(&push->look, fd, change->path, strlen(change->path), change->path,
			       err) < 0 ||
	    look_at_link(push, side->link, change->path, err) < 0 ||
	    look_at_link(push, change->old.link, change->path, err) < 0)
		return -1;
	if (fd < 0)
		return 0;
	if (fstat(fd, &st) < 0)
		return error_errno(err, ERROR_HOST, "the content %.12s", side->sha256);
	push->bytes += (uint64_t)st.st_size;
	if (push->bytes > TRAVEL_BYTES_MAX)
		return error_set(err, ERROR_DENIED, "more than 10 GiB of contents do not travel");
	if ((uint64_t)st.st_size > push->head.largest)
		push->head.largest = (uint64_t)st.st_size;
	return put_object(push, side->sha256, fd, err);
}

/* The host's version goes along only where a text was changed, so that it can be merged; never of what was deleted. */
static int send_base(struct pushing *push, const struct bundle_change *change, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	owned(fd_close) int fd = -1;
	struct error ignored;

	if (change->old.type != 'f' || change->new.type != 'f' ||
	    cas_open(push->opened.sandbox.store, change->old.sha256, &fd, &ignored) < 0 ||
	    fd_read_all(fd, TRAVEL_BASE_MAX, &text) < 0 ||
	    text_is_binary(str_cstr(&text), text.len) ||
	    secret_look_refuse(&push->look, fd, NULL, 0, change->path, &ignored) < 0)
		return 0;
	return put_object(push, change->old.sha256, fd, err);
}

static int send_contents(struct pushing *push, struct error *err)
{
	for (size_t i = 0; i < push->bundle.count; i++) {
		const struct bundle_change *change = &push->bundle.items[i];
		const struct bundle_change *before = travel_find(&push->pushed, change->path);
		char shown[STR_SHOWN_SIZE];

		/* What is as it was pushed lies there already. */
		if (before && bundle_sides_equal(&before->new, &change->new))
			continue;
		if (send_new(push, change, err) < 0 || send_base(push, change, err) < 0)
			return error_context(err, "%s", str_shown(change->path, shown));
	}
	return 0;
}

/* *ret_same: it is what lies there already. */
static int send_list(struct pushing *push, bool *ret_same, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	owned(free_ptr) char *place = NULL;
	char hex[SHA256_HEX_SIZE];
	bool is_new;

	bundle_write(&push->bundle, &text);
	if (text.len > TRAVEL_LIST_MAX)
		return error_set(err, ERROR_DENIED, "too many changes for one push");
	sha256_hex(str_cstr(&text), text.len, hex);
	*ret_same = strcmp(hex, push->head.bundle) == 0;
	memcpy(push->head.bundle, hex, sizeof(hex));
	place = xasprintf("bundles/%s", hex);
	return *ret_same ? 0 : remote_put_bytes(&push->remote, place, &text, &is_new, err);
}

/* Noted before it is tried: killed in between, the next push finds out from the remote what became of it. */
static int send_head(struct pushing *push, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	owned(free_ptr) char *place = NULL;
	struct known known = push->known;

	push->head.sequence = known.sequence + 1;
	place = head_place(known.name, push->head.sequence);
	if (head_sign(&push->remote, known.name, &push->head, &text, err) < 0)
		return -1;
	known.sequence = push->head.sequence;
	known.is_certain = false;
	memcpy(known.id, push->head.id, sizeof(known.id));
	(void)snprintf(known.snapshot, sizeof(known.snapshot), "%s", push->snapshot);
	push->is_tried = true;
	if (known_add(&push->opened.sandbox, &push->remote, &known, err) < 0 ||
	    remote_put_bytes(&push->remote, place, &text, &push->is_new, err) < 0)
		return -1;
	if (!push->is_new)
		return pull_first(push, err);
	known.is_certain = true;
	return known_add(&push->opened.sandbox, &push->remote, &known, err) < 0
		       ? -1
		       : seen_note(push->opened.sandbox.store, &push->remote, known.name,
				   &push->head, err);
}

static struct value *describe(const struct pushing *push)
{
	struct value *answer = value_new_map();

	value_add(answer, "sandbox", value_new_text(push->wish->sandbox));
	value_add(answer, "remote", value_new_text(push->wish->remote));
	value_add(answer, "name", value_new_text(push->known.name));
	value_add(answer, "sequence",
		  value_new_int((int64_t)(push->known.sequence + (push->is_new ? 1 : 0))));
	value_add(answer, "bundle", value_new_text(push->head.bundle));
	value_add(answer, "files", value_new_int((int64_t)push->bundle.count));
	value_add(answer, "sent", value_new_int((int64_t)push->sent));
	value_add(answer, "is_new", value_new_bool(push->is_new));
	value_add(answer, "snapshot", value_new_text(push->is_new ? push->snapshot : NULL));
	value_add(answer, "left_out", workspace_paths(&push->left_out));
	return answer;
}

int app_push(const struct app_push *wish, struct value **ret_answer, struct error *err)
{
	owned(pushing_done) struct pushing push = {
		.wish = wish,
		.remote = { .fd = -1, .in_fd = -1, .out_fd = -1 },
	};
	bool is_same = false;

	opened_init(&push.opened);
	bundle_init(&push.bundle);
	bundle_init(&push.pushed);
	if (remote_open(wish->remote, true, &push.remote, err) < 0 || open_moment(&push, err) < 0 ||
	    find_place(&push, err) < 0 || gather(&push, err) < 0 ||
	    /* What no pull would take is refused here, before it stands in the line. */
	    pull_check_bundle(&push.bundle, true, err) < 0 || send_contents(&push, err) < 0 ||
	    send_list(&push, &is_same, err) < 0 || (!is_same && send_head(&push, err) < 0))
		return -1;
	*ret_answer = describe(&push);
	if (push.is_new)
		record_event(&(struct record_event){ .kind = "push",
						     .sandbox = wish->sandbox,
						     .id = push.head.bundle,
						     .body = *ret_answer });
	return 0;
}
