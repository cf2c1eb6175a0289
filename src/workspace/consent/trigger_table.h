/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of triggers.tsv as trigger.c looks them up: tables that gen_triggers.c makes at build time, sorted by bytes. */
#ifndef WORKSPACE_TRIGGER_TABLE_H
#define WORKSPACE_TRIGGER_TABLE_H

#include <stddef.h>

struct trigger_row {
	const char *pattern; /* in lower case; a star in a name is any characters */
	const char *why;
	unsigned char len; /* of the pattern */
	char first, last;  /* of its bytes: rules out most names */
};

/* Names of files, in any directory: those without a star, for a binary search, and those with one. */
extern const struct trigger_row trigger_names[], trigger_name_patterns[];
extern const size_t trigger_names_count, trigger_name_patterns_count;
/* Names of directories: everything below one, at any depth. */
extern const struct trigger_row trigger_folders[], trigger_folder_patterns[];
extern const size_t trigger_folders_count, trigger_folder_patterns_count;
/* The last names of a path. */
extern const struct trigger_row trigger_paths[];
extern const size_t trigger_paths_count;
/* Exceptions: names that match a pattern of another row but are no triggers. */
extern const struct trigger_row trigger_plain_names[];
extern const size_t trigger_plain_names_count;

#endif
