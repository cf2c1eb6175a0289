/* SPDX-License-Identifier: Apache-2.0 */
/* A job in memory, and the patterns of paths that it names. */
#include "decide/job/job.h"

#include "base/core/own.h"
#include "base/text/wildcard.h"

#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyz0123456789"

void job_init(struct job *job)
{
	*job = (struct job){ .at_minute = -1, .quiet_from = -1, .quiet_to = -1 };
}

void job_done(struct job *job)
{
	free(job->name);
	strv_done(&job->on_change);
	free(job->on_commit);
	free(job->race);
	free(job->task);
	value_free(job->work);
	strv_done(&job->inputs);
	job_init(job);
}

bool job_is_name(const char *name)
{
	return *name && strchr(LETTERS, *name) && strlen(name) <= JOB_NAME_MAX &&
	       strspn(name, LETTERS "._-") == strlen(name);
}

bool job_pattern_matches(const char *pattern, const char *path)
{
	owned(str_done) struct str reaching = STR_INIT;
	const char *stars;

	if (!strstr(pattern, "**"))
		return wildcard_matches(pattern, path, WILDCARD_PATH | WILDCARD_BELOW);
	/* Between two slashes ** stands for any number of directories, also for none. */
	while ((stars = strstr(pattern, "**"))) {
		str_add_bytes(&reaching, pattern, (size_t)(stars - pattern));
		str_add_char(&reaching, '*');
		pattern = stars + 2 + (stars[2] == '/');
	}
	str_add(&reaching, pattern);
	return wildcard_matches(str_cstr(&reaching), path, WILDCARD_BELOW);
}

char *job_pattern_root(const char *pattern)
{
	size_t plain = strcspn(pattern, "*?[\\");

	if (pattern[plain]) {
		while (plain > 0 && pattern[plain - 1] != '/')
			plain--;
	}
	while (plain > 0 && pattern[plain - 1] == '/')
		plain--;
	return plain ? xstrndup(pattern, plain) : xstrdup(".");
}
