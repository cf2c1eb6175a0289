/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is about to be applied as one digest: path, type, mode, owner, content, attributes, and what stands there now.
 *
 * How the version that the sandbox started from was found is no part of it: that may be learned in another way the next
 * time, and where it leads to another judgement, what is applied is another.
 *
 * Numbers as text, texts with their length in front: two different bundles never look alike.
 */
#include "workspace/promote/promote_parts.h"

#include "base/core/own.h"
#include "workspace/base/origin_index.h"
#include "workspace/disk/target.h"

#include <inttypes.h>
#include <string.h>

static void put_text(struct str *line, const char *text)
{
	str_addf(line, " %zu:", strlen(text));
	str_add(line, text);
}

/* The content's digest, taken now: staging is held to it. */
static int digest_content(const struct promote *promote, struct item *item,
			  char ret_hex[static SHA256_HEX_SIZE], struct error *err)
{
	ret_hex[0] = '\0';
	if (item->type != 'f')
		return 0;
	if (item->content == CONTENT_MERGED) {
		sha256_hex(str_cstr(&item->merged), item->merged.len, ret_hex);
		return 0;
	}
	if (item->content == CONTENT_OURS ? promote_digest_ours(promote, item, err) < 0
					  : promote_digest_theirs(promote, item, err) < 0)
		return -1;
	memcpy(ret_hex, item->content == CONTENT_OURS ? item->now_sha256 : item->new_sha256,
	       SHA256_HEX_SIZE);
	return 0;
}

/* Of a directory, size and time speak of its entries: each of those that matters has a line of its own. */
static void put_identity(struct str *line, const struct txn_identity *identity)
{
	bool is_directory = S_ISDIR(identity->mode);

	str_addf(line, " %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRIo32,
		 identity->exists, identity->ino, identity->btime_ns,
		 is_directory ? 0 : identity->size, is_directory ? 0 : identity->mtime_ns,
		 identity->mode);
}

/* After the digest was taken: what is staged is held to that, and so is what was checked. */
static int check_content(const struct promote *promote, const struct item *item, struct error *err)
{
	const struct promote_request *request = promote->request;
	const char *link = item->type == 'l' ? item->entry.new.link : NULL;
	bool is_merged = item->type == 'f' && item->content == CONTENT_MERGED;
	owned(fd_close) int fd = -1;

	if (!request->check_content || !item->type || item->content == CONTENT_OURS)
		return 0;
	if (item->type == 'f' && !is_merged && (fd = promote_open_theirs(promote, item, err)) < 0)
		return -1;
	if (link && request->check_content(request->check_cookie, -1, link, strlen(link),
					   item->path, err) < 0)
		return -1;
	if (is_merged && request->check_content(request->check_cookie, -1, str_cstr(&item->merged),
						item->merged.len, item->path, err) < 0)
		return -1;
	return request->check_content(request->check_cookie, fd, item->path, strlen(item->path),
				      item->path, err);
}

static int seal_item(const struct promote *promote, struct item *item, struct sha256 *sum,
		     struct error *err)
{
	owned(str_done) struct str line = STR_INIT;
	char content[SHA256_HEX_SIZE], xattrs[SHA256_HEX_SIZE];

	if (digest_content(promote, item, content, err) < 0 ||
	    check_content(promote, item, err) < 0)
		return -1;
	origin_digest_xattrs(&item->xattrs, xattrs);
	str_addf(&line, "%c %o %u %u", item->type ? item->type : '-', (unsigned)item->meta.mode,
		 (unsigned)item->meta.uid, (unsigned)item->meta.gid);
	put_text(&line, item->path);
	put_text(&line, content);
	put_text(&line, xattrs);
	put_text(&line, item->type == 'l' && item->entry.new.link ? item->entry.new.link : "");
	if (item->type == 'c' || item->type == 'b')
		str_addf(&line, " %" PRIu64, (uint64_t)promote_device(item));
	if (item->anchor)
		put_text(&line, item->anchor);
	put_identity(&line, &item->now);
	str_add_char(&line, '\n');
	sha256_add(sum, str_cstr(&line), line.len);
	return 0;
}

int promote_seal(struct promote *promote, struct error *err)
{
	const char *want = promote->request->digest;
	struct sha256 sum;

	sha256_start(&sum);
	sha256_add(&sum, "aisbx-bundle 2\n", strlen("aisbx-bundle 2\n"));
	for (size_t i = 0; i < promote->count; i++)
		if (promote->items[i].fate == FATE_APPLIED &&
		    seal_item(promote, &promote->items[i], &sum, err) < 0)
			return -1;
	sha256_end(&sum, promote->promotion->digest);
	if (want && strcmp(want, promote->promotion->digest) != 0)
		return error_set(err, ERROR_CONFLICT,
				 "what would be applied is no longer what was reviewed");
	return 0;
}
