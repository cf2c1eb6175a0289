/* SPDX-License-Identifier: Apache-2.0 */
/* Commands by their words, wherever they are started from: a shell, subprocess.run, child_process.spawn. */
#ifndef SCAN_COMMAND_H
#define SCAN_COMMAND_H

#include "base/core/str.h"
#include "scan/judge/job.h"

/* Words hold FOLD_GAP where something is not known. Findings stand at AT. */
void judge_command(struct scan_job *job, uint32_t at, const struct strv *words);

/* Where the command itself begins behind sudo, env, nohup, timeout and their like. */
size_t command_start(const struct strv *words);
/* The last part of the program's path. */
const char *command_name(const char *word);

/* Runs programs that are texts; its language may be one that is not parsed here. */
bool command_is_interpreter(const char *name);
/* An interpreter that takes its program from its input, given these words. */
bool command_reads_code(const struct strv *words);
/* Whether a command that is known here has a name that PATTERN covers. */
bool command_may_be(const char *pattern);
/* Starts another command that stands behind it: env, nohup, timeout. */
bool command_is_wrapper(const char *name);
/* Gets things from the network; turns text into other text. */
bool command_fetches(const char *name);
bool command_decodes(const char *name, const struct strv *words);

/* CODE that comes into an interpreter whose language is not parsed here: perl, make. */
void judge_foreign(struct scan_job *job, uint32_t at, const struct strv *words, const char *code);

/* How grave it is to delete TARGET. */
enum scan_severity command_removal(const char *target, bool is_recursive);

/* A place that something is written to. */
void judge_target(struct scan_job *job, uint32_t at, const char *path);

#endif
