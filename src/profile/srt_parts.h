/* SPDX-License-Identifier: Apache-2.0 */
/* The state of one parse of an srt file, shared by the files that read it. */
#ifndef PROFILE_SRT_PARTS_H
#define PROFILE_SRT_PARTS_H

#include "base/text/value_reader.h"
#include "profile/srt.h"

struct srt_reader {
	struct value_reader file;
	const struct srt_place *place;
	struct settings *settings;
	struct strv *notes;
	struct strv allow_read; /* absolute and clean */
	struct srt_writes *writes;
	bool says_writes; /* it speaks of places to write to */
};

/* What becomes of a key. */
enum srt_fate {
	SRT_LIST,      /* a list: each entry goes to `take` */
	SRT_MAP,       /* a map: it goes to `take` */
	SRT_IDLE,      /* cannot widen a sandbox, or asks for what a sandbox does anyway */
	SRT_NOT_GIVEN, /* permits something a sandbox does not give: noted where it is set */
	SRT_REFUSED, /* forbids or changes something in a way we cannot: refused where it is set */
};

struct srt_key {
	const char *name;
	enum srt_fate fate;
	int (*take)(struct srt_reader *reader, const struct value *item, const char *key);
	const char *instead; /* of a refused one: the way out */
};

/* Reads MAP, called SECTION ("network.", or "" at the top), by KEYS, ended by a row without a name. */
int srt_read_keys(struct srt_reader *reader, const struct value *map, const char *section,
		  const struct srt_key *keys);

/* "SECTION: 'ENTRY' REASON" with its place; -1. */
int srt_refuse(const struct srt_reader *reader, const struct value *item, const char *key,
	       const char *reason);

/* The text of ITEM, which is a text or {path, literal}; NULL with an error. */
const char *srt_path_text(const struct srt_reader *reader, const struct value *item,
			  const char *key, bool *ret_literal);

extern const struct srt_key srt_network_keys[], srt_filesystem_keys[], srt_credentials_keys[];

/* Once all is read: what is hidden must not be what the sandbox is for. */
int srt_check_paths(struct srt_reader *reader, const struct value *file);

#endif
