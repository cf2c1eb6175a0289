/* SPDX-License-Identifier: Apache-2.0 */
/* Files that make something run when a person next works in the tree: promotion asks for each before it applies it. */
#ifndef WORKSPACE_TRIGGER_H
#define WORKSPACE_TRIGGER_H

#include <stdbool.h>

/* Why PATH (relative to the workspace, raw bytes) is one: "git hook", "build file", "agent configuration"; NULL when it is none. */
const char *trigger_why(const char *path);

/* The same by the names that tools read alone: what git directories hold is judged by git_tree_why. */
const char *trigger_why_of_names(const char *path);

/* The same for REST below a directory that git takes for a repository; "" for itself, which as a file has the path of one. */
const char *trigger_why_in_git(const char *rest);

/* Whether a directory called NAME is a git directory by its name alone: ".git", "x.git". */
bool trigger_is_git_name(const char *name);

#endif
