/* SPDX-License-Identifier: Apache-2.0 */
/* `bench` as a whole: the scratch directory, the parts in their order, the sum. */
#include "app/doctor/bench.h"

#include "base/core/env.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/file/tree.h"
#include "base/process/own_program.h"
#include "app/doctor/bench_parts.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

void bench_progress(const struct bench *bench, const char *what)
{
	if (bench->options->progress)
		bench->options->progress(what);
}

struct value *bench_real(double number)
{
	return value_new_real((double)(int64_t)(number * 1000 + (number < 0 ? -0.5 : 0.5)) / 1000);
}

void bench_check(struct bench *bench, const char *group, const char *name, const char *state,
		 const char *detail)
{
	struct value *row = value_append(bench->checks, value_new_map());

	value_set(row, "group", value_new_text(group));
	value_set(row, "name", value_new_text(name));
	value_set(row, "state", value_new_text(state));
	value_set(row, "detail", value_new_text(detail));
	bench->held += strcmp(state, "held") == 0;
	bench->broken += strcmp(state, "broken") == 0;
	bench->skipped += strcmp(state, "skipped") == 0;
}

/* A file as tokens are: in HOME, mode 0600, under a name that no list has. */
static void put_secret(struct bench *bench)
{
	const char *home = env_get(bench->options->environ, "HOME");
	owned(free_ptr) char *path = xasprintf("%s/.aisbx-bench-%d", home ? home : "", getpid());
	owned(fd_close) int fd = -1;

	if (!home || home[0] != '/')
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0 && fd_write_all(fd, "secret\n", 7) == 0)
		bench->secret = xstrdup(path);
}

static int make_scratch(struct bench *bench, struct error *err)
{
	const char *base = env_get(bench->options->environ, "TMPDIR");

	bench->dir = xasprintf("%s/aisbx-bench-XXXXXX", base && base[0] == '/' ? base : "/var/tmp");
	if (!mkdtemp(bench->dir)) {
		free_ptr(&bench->dir);
		return error_errno(err, ERROR_HOST, "a scratch directory");
	}
	bench->work = xasprintf("%s/work", bench->dir);
	bench->outside = xasprintf("%s/outside", bench->dir);
	if (mkdir(bench->work, 0755) < 0 || mkdir(bench->outside, 0755) < 0)
		return error_errno(err, ERROR_HOST, "a scratch directory");
	put_secret(bench);
	return 0;
}

static void bench_release(struct bench *bench)
{
	if (bench->secret)
		(void)unlink(bench->secret);
	free(bench->secret);
	if (bench->dir)
		(void)tree_remove(AT_FDCWD, bench->dir);
	free(bench->program);
	free(bench->dir);
	free(bench->work);
	free(bench->outside);
}

int app_bench(const struct bench_options *options, struct value **ret_answer, struct error *err)
{
	owned(value_release) struct value *answer = value_new_map();
	owned(bench_release) struct bench bench = { .options = options };

	bench.program = options->program ? xstrdup(options->program) : own_program("aisbx");
	if (!bench.program)
		bench.program = xstrdup("aisbx");
	bench.starts = value_set(answer, "starts", value_new_list());
	bench.builds = value_set(answer, "builds", value_new_list());
	bench.checks = value_set(answer, "checks", value_new_list());
	if (make_scratch(&bench, err) < 0 || bench_starts(&bench, err) < 0 ||
	    bench_limits(&bench, err) < 0 || bench_walls(&bench, err) < 0 ||
	    bench_builds(&bench, err) < 0)
		return -1;
	bench_progress(&bench, NULL);
	value_set(answer, "held", value_new_int(bench.held));
	value_set(answer, "broken", value_new_int(bench.broken));
	value_set(answer, "skipped", value_new_int(bench.skipped));
	*ret_answer = ptr_take(&answer);
	return 0;
}
