/* SPDX-License-Identifier: Apache-2.0 */
/* `push`: contents, the list of changes, a number, the signed head; in this order. */
#include "app/travel/travel_parts.h"

#include "base/core/id.h"
#include "base/core/own.h"
#include "app/change/workspace_parts.h"
#include "app/record/record.h"
#include "app/stage/stage_parts.h"
#include "workspace/store/cas.h"

#include <string.h>
#include <sys/stat.h>

struct pushing {
	const struct app_push *wish;
	const char *name;
	struct remote remote;
	struct store store;
	bool has_store;
	struct bundle bundle;
	struct head head;
	size_t fresh;
};

static void pushing_done(struct pushing *push)
{
	remote_close(&push->remote);
	if (push->has_store)
		store_close(&push->store);
	bundle_done(&push->bundle);
	free(push->head.after);
}

/* Sealed from a snapshot, so that one moment is pushed whatever runs inside. */
static int seal(struct pushing *push, struct error *err)
{
	owned(value_release) struct value *made = NULL;
	char name[ID_SHORT_SIZE];
	const struct app_snap snap = { .sandbox = push->wish->sandbox,
				       .name = name,
				       .message = "sealed by aisbx push" };
	struct error ignored;
	int status;

	if (id_short("push", name, err) < 0 || app_snap(&snap, &made, err) < 0)
		return -1;
	status = stage_seal(push->wish->sandbox, name, &push->store, &push->bundle, err);
	(void)app_snap_drop(push->wish->sandbox, name, &ignored);
	return status;
}

static int send_side(struct pushing *push, const struct bundle_side *side, struct error *err)
{
	owned(free_ptr) char *place = NULL;
	owned(fd_close) int fd = -1;
	bool is_new = false;
	struct stat st;

	if (side->type != 'f')
		return 0;
	if (side->mode & 06000)
		return error_advise(err, ERROR_DENIED, "take it away (chmod), then push",
				    "it is setuid or setgid, which does not travel");
	place = travel_object(side->sha256);
	if (cas_open(&push->store, side->sha256, &fd, err) < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return error_errno(err, ERROR_HOST, "the content %.12s", side->sha256);
	push->head.bytes += (uint64_t)st.st_size;
	if (push->head.bytes > TRAVEL_BYTES_MAX)
		return error_set(err, ERROR_DENIED, "more than 10 GiB of contents do not travel");
	if (remote_put(&push->remote, place, fd, &is_new, err) < 0)
		return -1;
	push->fresh += is_new;
	return 0;
}

static int send_contents(struct pushing *push, struct error *err)
{
	for (size_t i = 0; i < push->bundle.count; i++) {
		const struct bundle_change *change = &push->bundle.items[i];
		char shown[STR_SHOWN_SIZE];

		if (send_side(push, &change->old, err) < 0 ||
		    send_side(push, &change->new, err) < 0)
			return error_context(err, "%s", str_shown(change->path, shown));
	}
	return 0;
}

static int send_list(struct pushing *push, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	owned(free_ptr) char *place = NULL;
	bool is_new;

	bundle_write(&push->bundle, &text);
	sha256_hex(str_cstr(&text), text.len, push->head.bundle);
	place = xasprintf("bundles/%s", push->head.bundle);
	return remote_put_bytes(&push->remote, place, &text, &is_new, err);
}

static int send_head(struct pushing *push, struct error *err)
{
	owned(opened_close) struct opened opened;
	owned(known_done) struct known known = { 0 };
	struct known now = { 0 };
	int status;

	opened_init(&opened);
	if (opened_open(&opened, push->wish->sandbox, SANDBOX_UNLOCKED, err) < 0)
		return -1;
	known_read(opened.sandbox.dir_fd, &push->remote, push->name, &known);
	if (remote_next(&push->remote, &push->head.sequence, err) < 0)
		return -1;
	push->head.after = xcalloc(known.count + 1, sizeof(push->head.after[0]));
	for (size_t i = 0; i < known.count; i++)
		if (known.items[i] < push->head.sequence)
			push->head.after[push->head.after_count++] = known.items[i];
	if (head_put(&push->remote, push->name, &push->head, err) < 0)
		return -1;
	/* It stands for all those from now on. */
	known_add(&now, push->head.sequence);
	now.own = push->head.sequence;
	status = known_write(opened.sandbox.dir_fd, &push->remote, push->name, &now, err);
	known_done(&now);
	return status;
}

static struct value *describe(const struct pushing *push)
{
	struct value *answer = value_new_map();

	value_add(answer, "sandbox", value_new_text(push->wish->sandbox));
	value_add(answer, "remote", value_new_text(push->wish->remote));
	value_add(answer, "name", value_new_text(push->name));
	value_add(answer, "sequence", value_new_int((int64_t)push->head.sequence));
	value_add(answer, "bundle", value_new_text(push->head.bundle));
	value_add(answer, "files", value_new_int((int64_t)push->bundle.count));
	value_add(answer, "bytes", value_new_int((int64_t)push->head.bytes));
	value_add(answer, "sent", value_new_int((int64_t)push->fresh));
	return answer;
}

int app_push(const struct app_push *wish, struct value **ret_answer, struct error *err)
{
	owned(pushing_done) struct pushing push = {
		.wish = wish,
		.name = wish->name ? wish->name : wish->sandbox,
		.remote = { .fd = -1, .in_fd = -1, .out_fd = -1 },
	};

	bundle_init(&push.bundle);
	if (sandbox_check_name(push.name, err) < 0 || app_store(&push.store, err) < 0)
		return -1;
	push.has_store = true;
	if (seal(&push, err) < 0 || remote_open(wish->remote, true, &push.remote, err) < 0 ||
	    send_contents(&push, err) < 0 || send_list(&push, err) < 0 || send_head(&push, err) < 0)
		return -1;
	*ret_answer = describe(&push);
	record_event(&(struct record_event){ .kind = "push",
					     .sandbox = wish->sandbox,
					     .id = push.head.bundle,
					     .body = *ret_answer });
	return 0;
}
