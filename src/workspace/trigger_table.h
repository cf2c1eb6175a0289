/* The names trigger.c looks for; every row of it is found by a binary search. */
#ifndef WORKSPACE_TRIGGER_TABLE_H
#define WORKSPACE_TRIGGER_TABLE_H

#include <stddef.h>

#define WHY_BUILD "build file"
#define WHY_DEPENDENCY "dependency list"
#define WHY_TEST "test set-up"
#define WHY_PYTHON "python start file"
#define WHY_SHELL "start file"
#define WHY_ENVIRONMENT "environment file"
#define WHY_EDITOR "editor configuration"
#define WHY_CI "continuous integration"
#define WHY_HOOK "commit hook"
#define WHY_VCS "version control configuration"
#define WHY_CONTAINER "container file"
#define WHY_AGENT "agent configuration"
#define WHY_UNIT "service unit"
#define WHY_CRON "scheduled job"
#define WHY_ACCESS "access and credentials"
#define WHY_GIT_HOOK "git hook"
#define WHY_GIT_CONFIG "git configuration"
#define WHY_GIT_DISGUISED "git repository in disguise"

struct trigger_row {
	const char *name; /* lower case */
	const char *why;
};

/* Names of files, in any directory. */
extern const struct trigger_row trigger_names[];
extern const size_t trigger_name_count;
/* Names of directories: everything below one, at any depth. */
extern const struct trigger_row trigger_folders[];
extern const size_t trigger_folder_count;

#endif
