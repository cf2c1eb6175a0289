/* SPDX-License-Identifier: Apache-2.0 */
/* What a repository's refs name on the host and after a promotion, and what of its history the host would lose. */
#ifndef WORKSPACE_PROMOTE_REFS_H
#define WORKSPACE_PROMOTE_REFS_H

#include "workspace/promote/promote_parts.h"

#define REF_SIZE_MAX 65536
#define SYMREF "ref: "
#define SHA256_LEN 64

/* A repository that the promotion changes. */
struct promote_refs {
	const struct promote *promote;
	char *directory; /* that has the refs and objects, relative to the target; "" for the target itself */
	struct str packed_old, packed_new;
	bool is_unread; /* the host has packed refs that are too many, or may not be read */
};

void promote_refs_init(struct promote_refs *refs, const struct promote *promote,
		       const char *directory);
void promote_refs_done(struct promote_refs *refs);

/* NAME below the repository's directory, relative to the target; the caller frees it. */
char *promote_refs_path(const struct promote_refs *refs, const char *name);
/* The id that NAME comes to on one side; "" for none. FILE: its path; the caller frees the answer. */
char *promote_refs_resolve(const struct promote_refs *refs, const char *file, const char *name,
			   bool is_after);
/*
 * Whether the host's ref NAME, whose file is FILE, comes off an object that its log on the host would not name: *ret_old is
 * that object, *ret_new what the ref comes to, "" for nothing. The answers are the caller's to free, whatever is returned.
 */
bool promote_refs_leaves(const struct promote_refs *refs, const char *file, const char *name,
			 char **ret_old, char **ret_new);
/* How many of the bytes at TEXT are the name of an object; 0: they are none. */
size_t promote_refs_id_len(const char *text, size_t len);

/* Whether the host gets the item. */
bool promote_is_applied(const struct item *item);
/* The text of the item, a regular file; -1 when it cannot be read. */
int promote_read_item(const struct promote *promote, const struct item *item, size_t max,
		      struct str *ret_text);

/*
 * What to ask about when the host would lose history by the item, at REST below its git directory: an object, a ref, a log,
 * or what git needs to read these. NULL: nothing is lost. One removed directory is one question.
 */
const char *promote_refs_lost(const struct promote_refs *refs, const struct item *item,
			      const char *rest);
/* Whether the item is in a conflict that nothing resolves: it ends the promotion, there is nothing to agree to. */
bool promote_refs_is_open(const struct promote *promote, const struct item *item);

#endif
