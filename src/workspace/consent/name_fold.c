/* SPDX-License-Identifier: Apache-2.0 */
/* Names as the least careful file system or tool would read them. */
#include "workspace/consent/name_fold.h"

#include "base/core/utf8.h"

#include <stdint.h>
#include <string.h>

/*
 * Code points that Unicode calls ignorable by default, which casefolding file systems leave out of a name: from, to.
 * Source: DerivedCoreProperties.txt, Default_Ignorable_Code_Point.
 */
static const uint32_t ignorable[][2] = {
	{ 0x00ad, 0x00ad },   { 0x034f, 0x034f }, { 0x061c, 0x061c },	{ 0x115f, 0x1160 },
	{ 0x17b4, 0x17b5 },   { 0x180b, 0x180f }, { 0x200b, 0x200f },	{ 0x202a, 0x202e },
	{ 0x2060, 0x206f },   { 0x3164, 0x3164 }, { 0xfe00, 0xfe0f },	{ 0xfeff, 0xfeff },
	{ 0xffa0, 0xffa0 },   { 0xfff0, 0xfff8 }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },
	{ 0xe0000, 0xe0fff },
};

/*
 * What becomes plain letters by full case folding (CaseFolding.txt, C and F), by simple upper or lower case, or by
 * decomposition: all there is beyond ASCII itself. Never longer than the code point is in UTF-8.
 */
static const struct {
	uint32_t point;
	const char *plain;
} letters[] = {
	{ 0x00df, "ss" }, { 0x0130, "i" },   { 0x0131, "i" },	{ 0x017f, "s" },  { 0x037e, ";" },
	{ 0x1e9e, "ss" }, { 0x1fef, "`" },   { 0x212a, "k" },	{ 0xfb00, "ff" }, { 0xfb01, "fi" },
	{ 0xfb02, "fl" }, { 0xfb03, "ffi" }, { 0xfb04, "ffl" }, { 0xfb05, "st" }, { 0xfb06, "st" },
};

/* Full-width forms, which file systems that compare by compatibility take for ASCII. */
#define WIDE_FIRST 0xff01
#define WIDE_LAST 0xff5e
#define WIDE_AWAY 0xfee0

static bool is_ignorable(uint32_t point)
{
	for (size_t i = 0; i < sizeof(ignorable) / sizeof(ignorable[0]); i++)
		if (point >= ignorable[i][0] && point <= ignorable[i][1])
			return true;
	return false;
}

static char lower(char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

/* The text that POINT folds to; NULL: itself. BUFFER holds it where it is one letter. */
static const char *fold_point(uint32_t point, char buffer[static 2])
{
	if (is_ignorable(point))
		return "";
	if (point >= WIDE_FIRST && point <= WIDE_LAST) {
		buffer[0] = lower((char)(point - WIDE_AWAY));
		buffer[1] = '\0';
		return buffer;
	}
	for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++)
		if (letters[i].point == point)
			return letters[i].plain;
	return NULL;
}

/* The length of NAME without what some file systems do not take as part of it. */
static size_t significant_len(const char *name, size_t len)
{
	/* A stream of another file system: "config::$data" is config. */
	for (size_t i = 1; i + 1 < len; i++)
		if (name[i] == ':' && name[i + 1] == ':')
			len = i;
	while (len > 0 && (name[len - 1] == '.' || name[len - 1] == ' '))
		len--;
	return len;
}

const char *name_fold(const char *path, char ret_name[static NAME_FOLD_SIZE])
{
	size_t name_len = strcspn(path, "/"), len = 0;

	for (size_t at = 0, step; at < name_len; at += step) {
		uint32_t point = 0;
		char buffer[2];

		/* Bytes that are no UTF-8 stand for themselves. */
		step = utf8_decode(path + at, name_len - at, &point);
		const char *folded = step > 1 ? fold_point(point, buffer) : NULL;
		size_t folded_len = folded ? strlen(folded) : 0;

		if (step == 0)
			step = 1;
		if (!folded && len + step < NAME_FOLD_SIZE) {
			memcpy(ret_name + len, path + at, step);
			len += step;
		} else if (folded && len + folded_len < NAME_FOLD_SIZE) {
			memcpy(ret_name + len, folded, folded_len);
			len += folded_len;
		}
		if (step == 1 && len > 0 && !folded)
			ret_name[len - 1] = lower(ret_name[len - 1]);
	}
	ret_name[significant_len(ret_name, len)] = '\0';
	return path + name_len;
}

void name_fold_path(const char *path, struct str *ret_folded)
{
	char name[NAME_FOLD_SIZE];

	while (*(path += strspn(path, "/"))) {
		path = name_fold(path, name);
		if (ret_folded->len > 0)
			str_add_char(ret_folded, '/');
		str_add(ret_folded, name);
	}
}
