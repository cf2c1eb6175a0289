/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Git directories of the host looked at before git is started in them: a promotion that a person agreed to, or another
 * user, may have left a fifo that git waits for, or a link by which git writes into something else.
 */
#ifndef APP_GIT_PLAIN_H
#define APP_GIT_PLAIN_H

#include "base/core/error.h"
#include "base/core/str.h"

/* The git directories of the work tree that TARGET lies in, its own first, then the one it shares; none: empty. */
void git_plain_find(const char *target, struct strv *ret_directories);

/* The top of the work tree that TARGET lies in, TARGET itself when it lies in none; the caller's to free. */
char *git_plain_top(const char *target);

/* Git passes over a directory without HEAD, objects and refs and takes one further up; DIRECTORIES as found, not empty. */
int git_plain_check_whole(const struct strv *directories, struct error *err);

/* What git reads at every start must be regular files. */
int git_plain_check(const struct strv *directories, struct error *err);

/* So must be what the configuration file CONFIG names, and what the files that it includes name. */
int git_plain_check_named(const char *config, struct error *err);

/* The same for the user's configuration: HOME and XDG_CONFIG_HOME as git will have them, NULL where it has none. */
int git_plain_check_home(const char *home, const char *config, struct error *err);

/* The logs that a move of the checked out branch is appended to must be files of their own, and no links. */
int git_plain_check_logs(const struct strv *directories, struct error *err);

#endif
