/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of protect.h share. */
#ifndef ENGINE_PROTECT_PARTS_H
#define ENGINE_PROTECT_PARTS_H

#include "workspace/base/origin_record.h"

#define PROTECT_MARKS_MAX 256

/* A large base that is marked. */
struct protect_mark {
	int fd; /* of the file, held: the host may remove it */
	struct origin_record record;
};

struct protect_marks {
	int watch_fd; /* to the process that holds the marks and answers; -1 where none can be set */
	struct protect_mark items[PROTECT_MARKS_MAX];
	size_t count;
};

/* Whether marks can be set at all; the error says what is missing. */
int protect_marks_check(struct error *err);

/*
 * Forks who holds the marks and answers the kernel's questions, for the life of this process: what we open ourselves is
 * asked about, too. Should it die, the marks go with it, and nobody waits.
 */
void protect_marks_init(struct protect_marks *marks, const struct sandbox *sandbox);

/* Marks what was written down as too large to be kept; takes over what the host removed or replaced meanwhile. */
void protect_marks_update(struct protect_marks *marks, const struct sandbox *sandbox);

/* Nobody will be there to be asked: keeps what is left. */
void protect_marks_end(struct protect_marks *marks, const struct sandbox *sandbox);

#endif
