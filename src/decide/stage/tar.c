/* SPDX-License-Identifier: Apache-2.0 */
/* Headers of a tar archive. */
#include "decide/stage/tar.h"

#include <stdio.h>
#include <string.h>

/* POSIX names and their places; long names go ahead of the header as an entry of GNU's own. */
struct tar_block {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100];
	char magic[8], user[32], group[32], major[8], minor[8], prefix[155], end[12];
};

_Static_assert(sizeof(struct tar_block) == TAR_BLOCK, "a header is one block");

static void put_octal(char *field, size_t size, uint64_t number)
{
	field[--size] = '\0';
	while (size > 0) {
		field[--size] = (char)('0' + (number & 7));
		number >>= 3;
	}
}

/* Octal where it fits, else big-endian with the top bit set. */
static void put_size(char field[static 12], uint64_t number)
{
	if (number < (UINT64_C(1) << 33)) {
		put_octal(field, 12, number);
		return;
	}
	memset(field, 0, 12);
	field[0] = (char)0x80;
	for (size_t i = 11; number > 0; i--) {
		field[i] = (char)(number & 0xff);
		number >>= 8;
	}
}

static void add_block(struct str *out, const struct tar_entry *entry, char type)
{
	struct tar_block block;
	unsigned sum = 0;

	memset(&block, 0, sizeof(block));
	memcpy(block.name, entry->path, strnlen(entry->path, sizeof(block.name)));
	put_octal(block.mode, sizeof(block.mode), entry->mode & 07777);
	put_octal(block.uid, sizeof(block.uid), entry->uid);
	put_octal(block.gid, sizeof(block.gid), entry->gid);
	put_size(block.size, entry->size);
	put_size(block.mtime, entry->mtime_s);
	block.type = type;
	if (entry->link)
		memcpy(block.link, entry->link, strnlen(entry->link, sizeof(block.link)));
	/* GNU tar reads a map of data only behind POSIX's own mark. */
	memcpy(block.magic, entry->real_size ? "ustar\00000" : "ustar  ", 8);
	memset(block.sum, ' ', sizeof(block.sum));
	for (size_t i = 0; i < sizeof(block); i++)
		sum += ((const unsigned char *)&block)[i];
	put_octal(block.sum, 7, sum);
	str_add_bytes(out, &block, sizeof(block));
}

static void add_zeros(struct str *out, uint64_t count)
{
	static const char zeros[TAR_BLOCK];

	str_add_bytes(out, zeros, (size_t)count);
}

static void add_long(struct str *out, const char *text, char type)
{
	const struct tar_entry entry = { .path = "././@LongLink", .size = strlen(text) + 1 };

	add_block(out, &entry, type);
	str_add_bytes(out, text, strlen(text) + 1);
	add_zeros(out, tar_padding(entry.size));
}

/* "LENGTH KEY=VALUE\n", where the length counts itself. */
static void add_record(struct str *out, const char *key, const char *value)
{
	size_t rest = strlen(key) + strlen(value) + 3, len = rest + 1;
	char digits[24];

	while ((size_t)snprintf(digits, sizeof(digits), "%zu", len) != len - rest)
		len++;
	str_addf(out, "%zu %s=%s\n", len, key, value);
}

static void add_sparse(struct str *out, const struct tar_entry *entry)
{
	struct str records = STR_INIT;
	char size[24];

	(void)snprintf(size, sizeof(size), "%llu", (unsigned long long)entry->real_size);
	add_record(&records, "GNU.sparse.major", "1");
	add_record(&records, "GNU.sparse.minor", "0");
	add_record(&records, "GNU.sparse.name", entry->path);
	add_record(&records, "GNU.sparse.realsize", size);
	const struct tar_entry head = { .path = "./GNUSparseFile",
					.size = records.len,
					.real_size = entry->real_size };

	add_block(out, &head, 'x');
	str_add_bytes(out, str_cstr(&records), records.len);
	add_zeros(out, tar_padding(records.len));
	str_done(&records);
	add_block(out, entry, '0');
}

void tar_add_header(struct str *out, const struct tar_entry *entry)
{
	if (entry->real_size) {
		add_sparse(out, entry);
		return;
	}
	if (entry->link && strlen(entry->link) > 100)
		add_long(out, entry->link, 'K');
	if (strlen(entry->path) > 100)
		add_long(out, entry->path, 'L');
	add_block(out, entry,
		  entry->type == 'd'   ? '5'
		  : entry->type == 'l' ? '2'
		  : entry->type == 'h' ? '1'
				       : '0');
}

void tar_add_end(struct str *out)
{
	add_zeros(out, TAR_BLOCK);
	add_zeros(out, TAR_BLOCK);
}
