/* SPDX-License-Identifier: Apache-2.0 */
/* Base identities as they lie on disk: written and read line by line. */
#include "workspace/base/origin_record.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/text/percent.h"
#include "workspace/disk/fields.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_LINE "aisbx-origins 1\n"
#define BYTES_MAX (256u << 20)
#define WORDS 18 /* of a line */

void origin_done(struct origin *origin)
{
	free(origin->link);
	free(origin->from);
	origin->link = origin->from = NULL;
}

void origin_record_done(struct origin_record *record)
{
	free(record->path);
	record->path = NULL;
	origin_done(&record->origin);
}

void origin_records_done(struct origin_records *records)
{
	for (size_t i = 0; i < records->count; i++)
		origin_record_done(&records->items[i]);
	free(records->items);
	*records = (struct origin_records){ 0 };
}

void origin_records_begin(struct str *text)
{
	str_add(text, FIRST_LINE);
}

void origin_records_put_time(struct str *text, uint64_t at_ns)
{
	str_addf(text, "at %" PRIu64 "\n", at_ns);
}

/* A word without blanks; "-" for NULL and "". */
static void put_word(struct str *text, const char *word)
{
	if (!word || !*word) {
		str_add(text, " -");
		return;
	}
	str_add_char(text, ' ');
	for (const unsigned char *at = (const unsigned char *)word; *at; at++) {
		bool is_dash = at == (const unsigned char *)word && *at == '-';

		if (*at <= ' ' || *at >= 0x7f || *at == '%' || is_dash)
			str_addf(text, "%%%02X", *at);
		else
			str_add_char(text, (char)*at);
	}
}

void origin_records_put(struct str *text, const struct origin_record *record)
{
	const struct txn_identity *id = &record->origin.identity;

	str_addf(text,
		 "path %s %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64
		 " %" PRIo32 " %" PRIu32 " %" PRIu32,
		 origin_quality_name(record->origin.quality), id->exists, id->dev, id->ino,
		 id->btime_ns, id->size, id->mtime_ns, id->ctime_ns, id->mode, id->uid, id->gid);
	put_word(text, record->origin.sha256);
	put_word(text, record->origin.xattrs);
	put_word(text, record->promotion);
	put_word(text, record->origin.link);
	put_word(text, record->origin.from);
	put_word(text, record->path);
	str_add_char(text, '\n');
}

/* The word as it was; NULL when it is none that put_word writes. "" for "-". */
static char *take_word(const char *word)
{
	owned(str_done) struct str text = STR_INIT;

	if (strcmp(word, "-") == 0)
		return xstrdup("");
	for (const char *at = word; *at; at++) {
		int escaped = percent_byte(at, strlen(at));

		if (*at == '%' && escaped <= 0)
			return NULL;
		str_add_char(&text, *at == '%' ? (char)escaped : *at);
		at += *at == '%' ? 2 : 0;
	}
	return *word ? str_detach(&text) : NULL;
}

static bool take_number(const char *word, int base, int64_t *ret_number)
{
	char *end;

	if (*word == '\0' || *word == ' ' || *word == '+')
		return false;
	errno = 0;
	if (*word == '-')
		*ret_number = strtoll(word, &end, base);
	else
		*ret_number = (int64_t)strtoull(word, &end, base);
	return errno == 0 && *end == '\0';
}

static bool take_hex(const char *word, char *buffer, size_t size)
{
	size_t len = strcmp(word, "-") == 0 ? 0 : strlen(word);

	if (len != 0 && len != size - 1)
		return false;
	for (size_t i = 0; i < len; i++) {
		bool is_plain = (word[i] >= '0' && word[i] <= '9') ||
				(word[i] >= 'a' && word[i] <= 'z') ||
				(word[i] >= 'A' && word[i] <= 'Z');

		if (!is_plain)
			return false;
	}
	memcpy(buffer, word, len);
	buffer[len] = '\0';
	return true;
}

static bool take_quality(const char *word, enum origin_quality *ret_quality)
{
	for (enum origin_quality q = ORIGIN_EXACT; q <= ORIGIN_LOST; q++) {
		if (strcmp(word, origin_quality_name(q)) != 0)
			continue;
		*ret_quality = q;
		return true;
	}
	return false;
}

/* The numbers of a line, in the order in which they are written. */
static bool take_identity(char *const words[static WORDS], struct txn_identity *ret_identity)
{
	int64_t n[10];

	for (size_t i = 0; i < 10; i++)
		if (!take_number(words[2 + i], i == 7 ? 8 : 10, &n[i]))
			return false;
	*ret_identity = (struct txn_identity){
		.exists = n[0] == 1,
		.dev = (uint64_t)n[1],
		.ino = (uint64_t)n[2],
		.btime_ns = (uint64_t)n[3],
		.size = (uint64_t)n[4],
		.mtime_ns = n[5],
		.ctime_ns = n[6],
		.mode = (uint32_t)n[7],
		.uid = (uint32_t)n[8],
		.gid = (uint32_t)n[9],
	};
	return n[0] == 0 || n[0] == 1;
}

static bool take_line(char *line, struct origin_record *ret_record)
{
	struct origin_record record = { 0 };
	char *words[WORDS + 1] = { 0 }, *rest = line;
	size_t count = 0;

	while (count <= WORDS && (words[count] = strsep(&rest, " ")))
		count++;
	if (count != WORDS || strcmp(words[0], "path") != 0)
		return false;
	if (!take_quality(words[1], &record.origin.quality) ||
	    !take_identity(words, &record.origin.identity) ||
	    !take_hex(words[12], record.origin.sha256, sizeof(record.origin.sha256)) ||
	    !take_hex(words[13], record.origin.xattrs, sizeof(record.origin.xattrs)) ||
	    !take_hex(words[14], record.promotion, sizeof(record.promotion)))
		return false;
	record.origin.link = take_word(words[15]);
	record.origin.from = take_word(words[16]);
	record.path = take_word(words[17]);
	if (!record.origin.link || !record.origin.from || !record.path || record.path[0] != '/') {
		origin_record_done(&record);
		return false;
	}
	if (!*record.origin.link)
		free_ptr(&record.origin.link);
	if (!*record.origin.from)
		free_ptr(&record.origin.from);
	*ret_record = record;
	return true;
}

static bool add_line(struct origin_records *records, char *line)
{
	struct origin_record record;
	int64_t at_ns;

	if (strncmp(line, "at ", 3) == 0) {
		if (!take_number(line + 3, 10, &at_ns))
			return false;
		records->at_ns = (uint64_t)at_ns;
		return true;
	}
	if (!take_line(line, &record))
		return false;
	/* Grown by doubling: powers of two are when there is no room left. */
	if ((records->count & (records->count - 1)) == 0)
		records->items = xrealloc(records->items, records->count ? records->count * 2 : 1,
					  sizeof(records->items[0]));
	records->items[records->count++] = record;
	return true;
}

int origin_records_parse(const char *bytes, size_t len, struct origin_records *ret_records,
			 struct error *err)
{
	struct origin_records records = { 0 };
	size_t first = strlen(FIRST_LINE);
	const char *at = bytes + first, *end = bytes + len;

	if (len > 0 &&
	    (len < first || memcmp(bytes, FIRST_LINE, first) != 0 || memchr(bytes, '\0', len)))
		return error_set(err, ERROR_INPUT, "damaged: not a list of origins");
	for (const char *stop; len > 0 && at < end && (stop = memchr(at, '\n', (size_t)(end - at)));
	     at = stop + 1) {
		owned(free_ptr) char *line = xstrndup(at, (size_t)(stop - at));

		if (!add_line(&records, line)) {
			origin_records_done(&records);
			return error_set(err, ERROR_INPUT, "damaged: a line that is no origin");
		}
	}
	*ret_records = records;
	return 0;
}

int origin_records_read(int dir_fd, const char *name, struct origin_records *ret_records,
			struct error *err)
{
	owned(str_done) struct str text = STR_INIT;

	*ret_records = (struct origin_records){ 0 };
	if (fields_read_bytes(dir_fd, name, BYTES_MAX, &text, err) < 0) {
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		*err = (struct error){ 0 };
		return 0;
	}
	if (origin_records_parse(str_cstr(&text), text.len, ret_records, err) < 0)
		return error_context(err, "%s", name);
	return 0;
}

/* The length up to the last end of a line among LEN bytes of FD. */
static off_t whole_lines(int fd, off_t len)
{
	char byte;

	while (len > 0 && (pread(fd, &byte, 1, len - 1) != 1 || byte != '\n'))
		len--;
	return len;
}

int origin_records_append(int dir_fd, const char *name, const struct str *text, struct error *err)
{
	owned(fd_close) int fd =
		openat(dir_fd, name,
		       O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	owned(str_done) struct str whole = STR_INIT;
	char last = '\n';

	if (fd < 0)
		return error_errno(err, ERROR_HOST, "%s", name);
	off_t len = lseek(fd, 0, SEEK_END);

	if (len == 0)
		origin_records_begin(&whole);
	/* What a crash cut short is ended, so that only that line is lost. */
	if (len > 0 && pread(fd, &last, 1, len - 1) == 1 && last != '\n' &&
	    ftruncate(fd, whole_lines(fd, len)) < 0)
		return error_errno(err, ERROR_HOST, "%s", name);
	str_add_bytes(&whole, str_cstr(text), text->len);
	if (fd_write_all(fd, str_cstr(&whole), whole.len) < 0)
		return error_errno(err, ERROR_HOST, "%s", name);
	return 0;
}

static int compare_records(const void *a, const void *b)
{
	const struct origin_record *left = a, *right = b;

	return strcmp(left->path, right->path);
}

/* Merges two sorted runs, START to MIDDLE and MIDDLE to STOP, into the same place of SPARE. */
static void merge_runs(const struct origin_record *items, struct origin_record *spare, size_t start,
		       size_t middle, size_t stop)
{
	size_t a = start, b = middle;

	for (size_t to = start; to < stop; to++) {
		bool left = a < middle && (b >= stop || compare_records(&items[a], &items[b]) <= 0);

		spare[to] = left ? items[a++] : items[b++];
	}
}

/* Sorts COUNT records by path, keeping the order of equals; SPARE has as much room. */
static void merge_sort(struct origin_record *items, struct origin_record *spare, size_t count)
{
	for (size_t width = 1; width < count; width *= 2) {
		for (size_t start = 0; start < count; start += 2 * width) {
			size_t middle = start + width < count ? start + width : count;
			size_t stop = start + 2 * width < count ? start + 2 * width : count;

			merge_runs(items, spare, start, middle, stop);
		}
		memcpy(items, spare, count * sizeof(items[0]));
	}
}

void origin_records_sort(struct origin_records *records)
{
	owned(free_ptr) struct origin_record *spare = NULL;

	if (records->count < 2)
		return;
	spare = xcalloc(records->count, sizeof(spare[0]));
	merge_sort(records->items, spare, records->count);
}

const struct origin_record *origin_records_find(const struct origin_records *records,
						const char *path, bool last)
{
	size_t low = 0, high = records->count;

	/* The first that is not before PATH; for the last one, the first behind it. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(records->items[middle].path, path);

		if (order < 0 || (last && order == 0))
			low = middle + 1;
		else
			high = middle;
	}
	if (last)
		return low > 0 && strcmp(records->items[low - 1].path, path) == 0
			       ? &records->items[low - 1]
			       : NULL;
	return low < records->count && strcmp(records->items[low].path, path) == 0
		       ? &records->items[low]
		       : NULL;
}
