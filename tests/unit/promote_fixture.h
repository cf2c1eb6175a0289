/* SPDX-License-Identifier: Apache-2.0 */
/* What is done with a sandbox that was made by hand: captured, promoted, undone. */
#ifndef TESTS_PROMOTE_FIXTURE_H
#define TESTS_PROMOTE_FIXTURE_H

#include "workspace/promote/promotions.h"
#include "tests/unit/promote_files.h"

static inline void bench_view(struct bench *bench, struct view_stack *ret_stack)
{
	int upper_fd = -1;

	if (sandbox_open_upper(&bench->sandbox, &upper_fd, &bench->err) < 0 ||
	    view_open(&bench->store, bench->sandbox.head, upper_fd, ret_stack, &bench->err) < 0)
		tap_bail(bench->err.text);
}

/* Promotes as the request says; the outcome is in the bench. */
static inline int bench_promote(struct bench *bench)
{
	struct view_stack stack;
	int status;

	promotion_done(&bench->promotion);
	bench->err = (struct error){ 0 };
	bench_view(bench, &stack);
	status = promote_run(&bench->sandbox, &stack, &bench->request, &bench->promotion,
			     &bench->err);
	view_close(&stack);
	if (status < 0)
		printf("# %s: %s\n", error_code_name(bench->err.code), bench->err.text);
	return status;
}

/* As after each command. */
static inline void bench_capture(struct bench *bench)
{
	struct delta_options options = { .workspace = bench->workspace,
					 .renames = true,
					 .same = true };
	struct view_stack stack;
	struct delta delta;

	bench_view(bench, &stack);
	options.old_from = stack.count;
	if (delta_read(&stack, &options, &delta, &bench->err) < 0 ||
	    origin_capture(&bench->sandbox, &stack, &delta, NULL, &bench->err) < 0)
		tap_bail(bench->err.text);
	delta_done(&delta);
	view_close(&stack);
}

/* How many changes the sandbox has against the host; with UNSETTLED, that promotions did not deal with. */
static inline int bench_count(struct bench *bench, bool unsettled)
{
	struct delta_options options = { .workspace = bench->workspace,
					 .renames = true,
					 .expand = true };
	struct view_stack stack;
	struct delta delta;
	int count;

	bench_view(bench, &stack);
	options.old_from = stack.count;
	if (delta_read(&stack, &options, &delta, &bench->err) < 0)
		tap_bail(bench->err.text);
	if (unsettled)
		origin_drop_settled(&bench->sandbox, &stack, &delta);
	for (size_t i = 0; i < delta.count; i++)
		printf("# %c %s\n", delta_op_letter(delta.items[i].op), delta.items[i].path);
	count = (int)delta.count;
	delta_done(&delta);
	view_close(&stack);
	return count;
}

static inline int bench_changes(struct bench *bench)
{
	return bench_count(bench, false);
}

static inline int bench_left(struct bench *bench)
{
	return bench_count(bench, true);
}

static inline int bench_undo(struct bench *bench, const char *id)
{
	char undone[LAYER_ID_SIZE];
	struct strv paths = STRV_INIT;
	int status;

	bench->err = (struct error){ 0 };
	status = promotion_undo(&bench->store, id, bench->workspace, undone, &paths, &bench->err);
	strv_done(&paths);
	if (status < 0)
		printf("# %s: %s\n", error_code_name(bench->err.code), bench->err.text);
	return status;
}

#endif
