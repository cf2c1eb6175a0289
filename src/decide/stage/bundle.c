/* SPDX-License-Identifier: Apache-2.0 */
/* Bundles: written, read, and compared with what a target has. */
#include "decide/stage/bundle.h"

#include "base/text/json_write.h"
#include "base/core/own.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KIND "aisbx-stage-bundle 1\n"
#define FIELDS 11 /* of a line: two sides of five, and the path */

void bundle_init(struct bundle *bundle)
{
	memset(bundle, 0, sizeof(*bundle));
}

void bundle_side_done(struct bundle_side *side)
{
	free_ptr(&side->link);
}

void bundle_done(struct bundle *bundle)
{
	for (size_t i = 0; i < bundle->count; i++) {
		free(bundle->items[i].path);
		bundle_side_done(&bundle->items[i].old);
		bundle_side_done(&bundle->items[i].new);
	}
	free(bundle->items);
	bundle_init(bundle);
}

int bundle_add(struct bundle *bundle, const char *path, struct bundle_change **ret_change,
	       struct error *err)
{
	if (bundle->count == BUNDLE_CHANGES_MAX)
		return error_set(err, ERROR_DENIED, "more than %d changes in one bundle",
				 BUNDLE_CHANGES_MAX);
	if ((bundle->count & (bundle->count - 1)) == 0)
		bundle->items = xrealloc(bundle->items, bundle->count ? bundle->count * 2 : 1,
					 sizeof(bundle->items[0]));
	*ret_change = &bundle->items[bundle->count++];
	**ret_change = (struct bundle_change){ .path = xstrdup(path) };
	return 0;
}

void bundle_drop_last(struct bundle *bundle)
{
	struct bundle_change *last = &bundle->items[--bundle->count];

	free(last->path);
	bundle_side_done(&last->old);
	bundle_side_done(&last->new);
}

static void put_text(struct str *out, const char *text)
{
	if (text && *text)
		base64_add(out, text, strlen(text));
	else
		str_add_char(out, '-');
}

static void put_side(struct str *out, const struct bundle_side *side)
{
	str_addf(out, "%c %o %llu %s ", side->type ? side->type : '-', side->mode,
		 (unsigned long long)side->mtime_s, side->sha256[0] ? side->sha256 : "-");
	put_text(out, side->link);
	str_add_char(out, ' ');
}

void bundle_write(const struct bundle *bundle, struct str *out)
{
	str_add(out, KIND);
	for (size_t i = 0; i < bundle->count; i++) {
		put_side(out, &bundle->items[i].new);
		put_side(out, &bundle->items[i].old);
		put_text(out, bundle->items[i].path);
		str_add_char(out, '\n');
	}
}

/* A field of base64; NULL for "-" and for what is none. */
static char *read_text(const char *field)
{
	owned(str_done) struct str text = STR_INIT;

	if (!base64_read(&text, field, strlen(field)) || text.len == 0 ||
	    strlen(str_cstr(&text)) != text.len)
		return NULL;
	return str_detach(&text);
}

static bool read_number(const char *field, int base, unsigned long long max,
			unsigned long long *ret_number)
{
	char *end;

	if (*field < '0' || *field > '9')
		return false;
	errno = 0;
	*ret_number = strtoull(field, &end, base);
	return !*end && errno == 0 && *ret_number <= max;
}

static bool read_side(char *const *fields, struct bundle_side *side)
{
	unsigned long long mode, mtime;

	if (!strchr("fdl-", fields[0][0]) || !fields[0][0] || fields[0][1] ||
	    !read_number(fields[1], 8, 07777, &mode) ||
	    !read_number(fields[2], 10, UINT64_MAX / 2, &mtime))
		return false;
	side->type = fields[0][0] == '-' ? '\0' : fields[0][0];
	side->mode = (unsigned)mode;
	side->mtime_s = mtime;
	if (side->type == 'f') {
		if (!sha256_is_hex(fields[3]))
			return false;
		memcpy(side->sha256, fields[3], SHA256_HEX_SIZE);
	}
	if (side->type == 'l')
		side->link = read_text(fields[4]);
	return side->type != 'l' || side->link;
}

/* Relative, with no empty, "." or ".." part. */
static bool is_inside(const char *path)
{
	for (const char *part = path;;) {
		size_t len = strcspn(part, "/");

		if (len == 0 || (len == 1 && part[0] == '.') ||
		    (len == 2 && part[0] == '.' && part[1] == '.'))
			return false;
		if (!part[len])
			return true;
		part += len + 1;
	}
}

static bool read_line(char *line, struct bundle *bundle, struct error *err)
{
	char *fields[FIELDS];
	owned(free_ptr) char *path = NULL;
	struct bundle_change *change = NULL;
	char *rest = NULL;

	for (size_t i = 0; i < FIELDS; i++) {
		fields[i] = strtok_r(i ? NULL : line, " ", &rest);
		if (!fields[i])
			return false;
	}
	path = read_text(fields[FIELDS - 1]);
	if (!path || !is_inside(path) || bundle_add(bundle, path, &change, err) < 0)
		return false;
	return read_side(fields, &change->new) && read_side(fields + 5, &change->old);
}

int bundle_read(const char *bytes, size_t len, struct bundle *bundle, struct error *err)
{
	owned(free_ptr) char *copy = xstrndup(bytes, len);
	char *rest = NULL;

	if (strlen(copy) != len || !str_starts(copy, KIND))
		return error_set(err, ERROR_INPUT, "damaged: not a bundle");
	for (char *line = strtok_r(copy + strlen(KIND), "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		if (!read_line(line, bundle, err))
			return error_set(err, ERROR_INPUT, "damaged: a line of the bundle is none");
	}
	return 0;
}

static bool is_same(const struct bundle_side *a, const struct bundle_side *b)
{
	return a->type == b->type && strcmp(a->sha256, b->sha256) == 0 &&
	       strcmp(a->link ? a->link : "", b->link ? b->link : "") == 0;
}

bool bundle_sides_equal(const struct bundle_side *a, const struct bundle_side *b)
{
	return is_same(a, b) && a->mode == b->mode;
}

static bool changes_mode(const struct bundle_change *change)
{
	return !change->old.type || change->old.mode != change->new.mode;
}

unsigned bundle_mode(const struct bundle_change *change, const struct bundle_side *now)
{
	return changes_mode(change) || now->type != change->new.type ? change->new.mode : now->mode;
}

static enum bundle_take decide_drifted(const struct bundle_change *change,
				       const struct bundle_side *now, const char *strategy)
{
	if (!strategy || strcmp(strategy, "fail") == 0)
		return BUNDLE_CONFLICT;
	if (strcmp(strategy, "ours") == 0)
		return BUNDLE_KEEP;
	if (strcmp(strategy, "theirs") == 0)
		return BUNDLE_NEW;
	if (strcmp(strategy, "lww") == 0)
		return now->mtime_s > change->new.mtime_s ? BUNDLE_KEEP : BUNDLE_NEW;
	return now->type == 'f' && change->old.type == 'f' && change->new.type == 'f'
		       ? BUNDLE_MERGE
		       : BUNDLE_CONFLICT;
}

enum bundle_take bundle_decide(const struct bundle_change *change, const struct bundle_side *now,
			       const char *strategy)
{
	bool has_mode = change->new.type && change->new.type != 'l' && changes_mode(change);

	if (is_same(now, &change->new) && (!has_mode || now->mode == change->new.mode))
		return BUNDLE_NOTHING;
	if (is_same(now, &change->old) || is_same(now, &change->new)) {
		bool is_known = now->mode == change->old.mode || now->mode == change->new.mode;

		return !has_mode || !change->old.type || is_known
			       ? BUNDLE_NEW
			       : decide_drifted(change, now, strategy);
	}
	return decide_drifted(change, now, strategy);
}
