/* SPDX-License-Identifier: Apache-2.0 */
/* What the forms of a patch share: the call, and the content of a side. Private to patch. */
#ifndef WORKSPACE_PATCH_PARTS_H
#define WORKSPACE_PATCH_PARTS_H

#include "base/text/json_write.h"
#include "workspace/consent/consent_rule.h"
#include "workspace/patch/patch.h"
#include "workspace/text/textdiff.h"

struct patch_run {
	const struct view_stack *stack;
	const struct patch_options *options;
	const struct patch_sink *sink;
	struct error *err;
	const struct delta_entry **entries; /* in the order they are shown */
	unsigned *asks; /* of each: why promotion asks about it (consent_rule.h) */
	size_t count;
	struct consent_caller caller;
	const char *why_partial; /* NULL: everything was looked at */
};

/* Hands TEXT over and empties it. */
int patch_flush(const struct patch_run *run, struct str *text);

/* A file or a symbolic link: what git can describe. */
bool patch_is_content(const struct delta_side *side);

/* Adds why promotion asks about a change, for people: "git hook", "setuid, file capability". */
void patch_add_why(struct str *out, unsigned asks, const char *name);

/* The name PATH has in lines of text: that of a directory ends in a slash. The caller owns it. */
char *patch_label(const struct patch_run *run, const struct delta_side *side, const char *path);

/* The mode that the host would get. */
mode_t patch_promoted_mode(const struct patch_run *run, const struct delta_entry *entry);

enum patch_kind { PATCH_TEXT, PATCH_BINARY, PATCH_LARGE, PATCH_UNREADABLE };

/* What a side holds: a file's bytes, a link's target, nothing when it does not exist. */
struct patch_content {
	enum patch_kind kind;
	struct str bytes; /* with PATCH_TEXT and PATCH_BINARY */
	uint64_t size;
	int errnum; /* with PATCH_UNREADABLE */
};

/* A side's file for reading; -1 with errno, also for what the sandbox may never have read. */
int patch_open(const struct patch_run *run, const struct delta_side *side);

void patch_content_read(const struct patch_run *run, const struct delta_side *side,
			struct patch_content *ret_content);
void patch_content_done(struct patch_content *content);
bool patch_content_equal(const struct patch_content *a, const struct patch_content *b);

/* Lines that begin with "#": what a person should know before the rest. */
void patch_add_warnings(const struct patch_run *run, struct str *out);

/* KEY, and KEY_b64 with the bytes themselves when they are not UTF-8: then KEY is for people only. */
void patch_add_raw(struct json *json, const char *key, const char *bytes);
/* Adds "asks": why promotion asks about the change at INDEX, or null. */
void patch_add_asks(struct json *json, const struct patch_run *run, size_t index);

int patch_write_unified(const struct patch_run *run);
int patch_write_stat(const struct patch_run *run);
int patch_write_json(const struct patch_run *run);
int patch_write_counts(const struct patch_run *run);

#endif
