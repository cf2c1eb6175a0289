/* SPDX-License-Identifier: Apache-2.0 */
/* As much of XML as Maven's settings need: elements and their texts. No entity, no document type, no attribute. */
#include "app/preset/preset_parts.h"

#include <string.h>

#define DEPTH_MAX 32

/* The elements around the present place. */
struct xml_path {
	struct part names[DEPTH_MAX];
	size_t depth; /* may be beyond DEPTH_MAX: those are counted only */
};

/* Whether the innermost elements are those of KEY, "mirror/url". */
static bool ends_with(const struct xml_path *path, struct part key)
{
	size_t at = path->depth;

	if (at == 0 || at > DEPTH_MAX)
		return false;
	while (key.len > 0) {
		const char *slash = memrchr(key.text, '/', key.len);
		size_t start = slash ? (size_t)(slash + 1 - key.text) : 0;

		if (at == 0 || path->names[at - 1].len != key.len - start ||
		    memcmp(path->names[at - 1].text, key.text + start, key.len - start) != 0)
			return false;
		at--;
		key.len = slash ? start - 1 : 0;
	}
	return true;
}

static bool is_wanted(const struct xml_path *path, const char *keys)
{
	for (size_t len; *keys; keys += len + (keys[len] == '|')) {
		len = strcspn(keys, "|");
		if (ends_with(path, (struct part){ keys, len }))
			return true;
	}
	return false;
}

/* Where what begins with "<!" or "<?" ends: comments and the like hold no elements. */
static const char *skip_special(const char *at, const char *end)
{
	static const struct {
		const char *open, *close;
	} kinds[] = { { "<!--", "-->" }, { "<![CDATA[", "]]>" }, { "<?", "?>" }, { "<!", ">" } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t len = strlen(kinds[i].open);
		const char *close;

		if ((size_t)(end - at) < len || memcmp(at, kinds[i].open, len) != 0)
			continue;
		close = memmem(at + len, (size_t)(end - at) - len, kinds[i].close,
			       strlen(kinds[i].close));
		return close ? close + strlen(kinds[i].close) : end;
	}
	return NULL;
}

/* <name ...>, </name>, <name/>: the path behind it. */
static void pass_tag(struct xml_path *path, struct part tag)
{
	size_t len = 0;

	if (tag.len > 0 && tag.text[0] == '/') {
		path->depth -= path->depth > 0;
		return;
	}
	if (tag.len > 0 && tag.text[tag.len - 1] == '/')
		return;
	while (len < tag.len && !memchr(" \t\r\n", tag.text[len], 4))
		len++;
	if (path->depth < DEPTH_MAX)
		path->names[path->depth] = (struct part){ tag.text, len };
	path->depth++;
}

static void take_text(const struct xml_path *path, const char *keys, struct part text,
		      struct strv *values)
{
	while (text.len > 0 && memchr(" \t\r\n", text.text[0], 4)) {
		text.text++;
		text.len--;
	}
	while (text.len > 0 && memchr(" \t\r\n", text.text[text.len - 1], 4))
		text.len--;
	if (text.len > 0 && is_wanted(path, keys))
		part_add(values, text);
}

void preset_xml_read(struct part text, const char *keys, struct strv *values)
{
	struct xml_path path = { .depth = 0 };
	const char *at = text.text, *end = at + text.len;

	while (at < end) {
		const char *tag = memchr(at, '<', (size_t)(end - at)), *close;

		if (!tag)
			return;
		take_text(&path, keys, (struct part){ at, (size_t)(tag - at) }, values);
		at = skip_special(tag, end);
		if (at)
			continue;
		close = memchr(tag, '>', (size_t)(end - tag));
		if (!close)
			return;
		pass_tag(&path, (struct part){ tag + 1, (size_t)(close - tag - 1) });
		at = close + 1;
	}
}
