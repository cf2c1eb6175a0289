/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A delta as people, git and programs read it. Raw bytes: to be escaped before they are shown on a terminal.
 *
 * Changes that promotion asks about come first, then the workspace, then what lies outside of it. Names are relative
 * in the workspace, absolute elsewhere. Where names stand in lines of text they are quoted as git quotes them.
 *
 * PATCH_UNIFIED is taken by `git apply`, binary files excepted. What git has no words for (owners, directories,
 * devices, modes beyond the executable bit, files outside) stands in lines that begin with "#", which it skips.
 */
#ifndef WORKSPACE_PATCH_H
#define WORKSPACE_PATCH_H

#include "workspace/delta/delta.h"
#include "workspace/base/origin.h"

#define PATCH_TEXT_MAX (16UL << 20)    /* larger files are one line */
#define PATCH_DIGEST_MAX (256UL << 20) /* larger files have no sha256 in JSON */

enum patch_form {
	PATCH_UNIFIED,
	PATCH_STAT,	   /* a histogram per file, then the sum */
	PATCH_NAME_STATUS, /* git's letter, a tab, the name; renamed: letter, old, new */
	PATCH_JSON,	   /* one object per line */
	PATCH_COUNTS,	   /* the same, with the lines that came and went and little else */
};

struct patch_options {
	enum patch_form form;
	const char *workspace;
	unsigned context; /* lines around a change; 3 as usual */
	unsigned columns; /* of PATCH_STAT; 0: 80 */
	bool nul;	  /* PATCH_NAME_STATUS: NUL for tab and newline, names as they are */
	const struct origin_index *origins; /* PATCH_JSON: for `base`; NULL leaves it null */
	const struct staleness *staleness;  /* PATCH_JSON: for `stale`; NULL leaves it null */
	const struct strv *named;    /* paths that the host's git configuration names; NULL: none */
	const struct strv *settings; /* rules about writing (write_rule.h) among them; NULL: none */
};

/* Takes whole lines (records with `nul`); the bytes are the caller's again afterwards. */
struct patch_sink {
	int (*add)(void *cookie, const char *bytes, size_t len, struct error *err);
	void *cookie;
};

/* Writes DELTA to SINK, change by change. A file that cannot be read any more becomes a line in its place. */
int patch_write(const struct view_stack *stack, const struct delta *delta,
		const struct patch_options *options, const struct patch_sink *sink,
		struct error *err);

/* PATH relative to WORKSPACE inside it ("." for itself), else PATH. Points into PATH. */
const char *patch_name(const char *path, const char *workspace);

/* Adds PREFIX and NAME, in quotes with C's escapes when it holds anything but plain ASCII. */
void patch_quote(struct str *out, const char *prefix, const char *name);

#endif
