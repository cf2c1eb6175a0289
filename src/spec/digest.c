/* SPDX-License-Identifier: Apache-2.0 */
/* A digest of a plan, along the table of its fields. */
#include "spec/digest.h"

#include "base/core/str.h"
#include "spec/codec_field.h"

#include <string.h>

/* By their names in any record; a field that is not here counts, also one that is added to the table tomorrow. */
static const char *const of_one_run[] = {
	"run_id", "sandbox",  "trace_id", "command",  "env",
	"cwd",	  "hostname", "notes",	  "host_uid", "host_gid"
};

static bool is_of_one_run(const char *name)
{
	for (size_t i = 0; i < sizeof(of_one_run) / sizeof(of_one_run[0]); i++) {
		if (strcmp(of_one_run[i], name) == 0)
			return true;
	}
	return false;
}

/* The NUL keeps neighbours apart; no text has its own number of a missing one. */
static void add_text(struct sha256 *sum, const char *text)
{
	sha256_add(sum, text ? "t" : "n", 1);
	if (text)
		sha256_add(sum, text, strlen(text) + 1);
}

static void add_record(struct sha256 *sum, const struct record *record, const char *at);

static void add_field(struct sha256 *sum, const struct field *field, const char *record)
{
	const void *at = record + field->offset;
	const struct strv *texts = at;
	size_t count;

	switch (field->kind) {
	case FIELD_TEXT:
		add_text(sum, *(const char *const *)at);
		break;
	case FIELD_TEXTS:
		sha256_add(sum, &texts->count, sizeof(texts->count));
		for (size_t i = 0; i < texts->count; i++)
			add_text(sum, texts->items[i]);
		break;
	case FIELD_BOOL:
		sha256_add(sum, at, sizeof(bool));
		break;
	case FIELD_U32:
	case FIELD_ENUM:
	case FIELD_LAYERS:
		sha256_add(sum, at, sizeof(uint32_t));
		break;
	case FIELD_U64:
		sha256_add(sum, at, sizeof(uint64_t));
		break;
	case FIELD_RECORD:
		add_record(sum, field->record, at);
		break;
	case FIELD_RECORDS:
		count = *(const size_t *)(const void *)(record + field->count_offset);
		sha256_add(sum, &count, sizeof(count));
		for (size_t i = 0; i < count; i++)
			add_record(sum, field->record,
				   *(const char *const *)at + i * field->record->size);
		break;
	}
}

static void add_record(struct sha256 *sum, const struct record *record, const char *at)
{
	for (const struct field *field = record->fields; field->name; field++) {
		if (!is_of_one_run(field->name))
			add_field(sum, field, at);
	}
}

void spec_digest_add(struct sha256 *sum, const struct spec *spec)
{
	add_record(sum, &spec_record, (const char *)spec);
}
