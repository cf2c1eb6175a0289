/* What the hot program has instead of musl's: copies of every size and distance, a sort that keeps equals, patterns. */
#include "tests/tap.h"

#include <fnmatch.h>
#include <stdint.h>
#include <time.h>

#define SIZES 300
#define ROOM 1024
#define MIDDLE 400
#define ITEMS 5000

static unsigned char expected[ROOM], moved[ROOM];
static uint64_t state;

static size_t draw(size_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (size_t)(state >> 33) % below;
}

static void fill(void)
{
	for (size_t i = 0; i < ROOM; i++)
		expected[i] = moved[i] = (unsigned char)draw(256);
}

/* As slowly as it can be said. */
static void move_slowly(unsigned char *to, const unsigned char *from, size_t size)
{
	static unsigned char between[ROOM];

	for (volatile size_t i = 0; i < size; i++)
		between[i] = from[i];
	for (volatile size_t i = 0; i < size; i++)
		to[i] = between[i];
}

static bool is_same(void)
{
	for (size_t i = 0; i < ROOM; i++) {
		if (expected[i] != moved[i])
			return false;
	}
	return true;
}

static void test_move(void)
{
	bool is_right = true;

	for (size_t size = 0; size < SIZES && is_right; size++) {
		for (size_t at = MIDDLE - 70; at < MIDDLE + 70 && is_right; at++) {
			fill();
			move_slowly(expected + at, expected + MIDDLE, size);
			is_right = memmove(moved + at, moved + MIDDLE, size) == moved + at &&
				   is_same();
			if (!is_right)
				printf("# size %zu from %d to %zu\n", size, MIDDLE, at);
		}
	}
	tap_ok(is_right, "what overlaps is moved");
}

static void test_copy(void)
{
	bool is_right = true;

	for (size_t size = 0; size < SIZES && is_right; size++) {
		for (size_t at = 0; at < 17 && is_right; at++) {
			fill();
			move_slowly(expected + at, expected + MIDDLE + size % 13, size);
			is_right = memcpy(moved + at, moved + MIDDLE + size % 13, size) ==
					   moved + at &&
				   is_same();
		}
	}
	tap_ok(is_right, "and what does not is copied");
}

struct item {
	unsigned key, place;
	char filling[5];
};

static int compare(const void *a, const void *b)
{
	const struct item *left = a, *right = b;

	return (left->key > right->key) - (left->key < right->key);
}

static void test_sort(size_t count, size_t keys)
{
	static struct item items[ITEMS];
	size_t wrong = 0;

	for (size_t i = 0; i < count; i++)
		items[i] = (struct item){ .key = (unsigned)draw(keys), .place = (unsigned)i };
	qsort(items, count, sizeof(items[0]), compare);
	for (size_t i = 1; i < count; i++) {
		int order = compare(&items[i - 1], &items[i]);

		wrong += order > 0 || (order == 0 && items[i - 1].place >= items[i].place);
	}
	tap_is_int((long long)wrong, 0, "%zu items with %zu keys", count, keys);
}

/* As glibc answers each of them. */
static void test_match(void)
{
	static const struct {
		const char *pattern, *text;
		int flags;
		bool is_match;
	} cases[] = {
		{ "", "", 0, true },
		{ "", "a", 0, false },
		{ "*", "", 0, true },
		{ "a*c*e", "abcde", 0, true },
		{ "a*c*e", "abcdef", 0, false },
		{ "*", "a/b", 0, true },
		{ "*", "a/b", FNM_PATHNAME, false },
		{ "*", "a/b", FNM_PATHNAME | FNM_LEADING_DIR, true },
		{ "a*/b", "ax/b/c", FNM_PATHNAME | FNM_LEADING_DIR, true },
		{ "a*/b", "ax/y/b", FNM_PATHNAME, false },
		{ "*/b", ".x/b", FNM_PATHNAME, true },
		{ "?", "/", FNM_PATHNAME, false },
		{ "?", "", 0, false },
		{ "[/a]", "/", FNM_PATHNAME, false },
		{ "[/a]", "a", FNM_PATHNAME, true },
		{ "[!a]", "/", FNM_PATHNAME, false },
		{ "[a-c]", "b", 0, true },
		{ "[^a-c]", "b", 0, false },
		{ "[]a]", "]", 0, true },
		{ "[a-]", "-", 0, true },
		{ "[x\\]y]*", "]z", 0, true },
		{ "[x\\]y]*", "\\y]", FNM_NOESCAPE, true },
		{ "[a\\-c]", "b", 0, false },
		{ "[[:digit:]x]", "7", 0, true },
		{ "[[:digit:]x]", ":", 0, false },
		{ "[[:none:]]", "n", 0, false },
		{ "[a", "[a", 0, true },
		{ "[a", "a", 0, false },
		{ "a\\*", "a*", 0, true },
		{ "a\\*", "ab", 0, false },
		{ "a\\*", "a\\b", FNM_NOESCAPE, true },
		{ "a\\", "a\\", 0, false },
		{ "\xc3?", "\xc3\xa9", 0, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		tap_is_int(fnmatch(cases[i].pattern, cases[i].text, cases[i].flags) == 0,
			   cases[i].is_match, "'%s' and '%s'", cases[i].pattern, cases[i].text);
}

int main(void)
{
	state = (uint64_t)time(NULL);
	printf("# seed %llu\n", (unsigned long long)state);
	test_move();
	test_copy();
	test_sort(0, 1);
	test_sort(1, 1);
	test_sort(2, 2);
	test_sort(7, 3);
	test_sort(ITEMS, 1);
	test_sort(ITEMS, 50);
	test_sort(ITEMS, 1000000);
	test_match();
	return tap_done();
}
