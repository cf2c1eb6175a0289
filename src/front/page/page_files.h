/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the page, part of the program: page_files.c is made of static/ by `bundle`. */
#ifndef FRONT_PAGE_FILES_H
#define FRONT_PAGE_FILES_H

#include <stddef.h>

struct page_file {
	const char *path; /* as a browser asks for it */
	const char *type;
	const char *bytes;
	size_t len;
};

/* Ended by one without a path. */
extern const struct page_file page_files[];

#endif
