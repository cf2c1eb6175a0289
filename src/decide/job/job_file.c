/* SPDX-License-Identifier: Apache-2.0 */
/* Job files: YAML in, a job out; every mistake with its line. */
#include "decide/job/job.h"

#include "base/core/own.h"
#include "base/text/suggest.h"
#include "base/text/units.h"
#include "base/text/value_reader.h"
#include "base/text/yaml.h"

#include <string.h>

#define EVERY_MIN_MS 1000
#define RUNS_MAX 3600
#define CPU_MINUTES_MAX 1000000

struct job_reader {
	struct value_reader file;
	struct job *job;
};

static const char *word_of(const struct value *item)
{
	return value_is_word(item) ? item->text.bytes : "";
}

static int place_error(const struct job_reader *reader, const struct value *item)
{
	reader->file.err->code = ERROR_INPUT;
	return value_reader_at(&reader->file, item);
}

static int read_every(const struct job_reader *reader, const struct value *item)
{
	if (units_duration("every", word_of(item), &reader->job->every_ms, reader->file.err) < 0)
		return place_error(reader, item);
	if (reader->job->every_ms < EVERY_MIN_MS)
		return value_reader_refuse(&reader->file, item, "'every' is a second at least");
	return 0;
}

/* "HH:MM" at TEXT; what follows it, or NULL. */
static const char *read_minute(const char *text, int *ret_minute)
{
	static const char shape[] = "dd:dd";
	int digits[4] = { 0 }, count = 0;

	for (size_t i = 0; shape[i]; i++) {
		if (shape[i] == ':' ? text[i] != ':' : text[i] < '0' || text[i] > '9')
			return NULL;
		if (shape[i] == 'd')
			digits[count++] = text[i] - '0';
	}
	*ret_minute = (digits[0] * 10 + digits[1]) * 60 + digits[2] * 10 + digits[3];
	return *ret_minute < 24 * 60 && digits[2] < 6 ? text + sizeof(shape) - 1 : NULL;
}

static int read_at(const struct job_reader *reader, const struct value *item)
{
	const char *end = read_minute(word_of(item), &reader->job->at_minute);

	return end && !*end ? 0
			    : value_reader_refuse(&reader->file, item,
						  "'at' is a time of the day: \"03:00\"");
}

static int read_quiet(const struct job_reader *reader, const struct value *item)
{
	const char *end = read_minute(word_of(item), &reader->job->quiet_from);

	end = end && *end == '-' ? read_minute(end + 1, &reader->job->quiet_to) : NULL;
	if (end && !*end && reader->job->quiet_from != reader->job->quiet_to)
		return 0;
	return value_reader_refuse(&reader->file, item,
				   "'quiet' is a stretch of the day: \"22:00-06:00\"");
}

/* Beneath the workspace, and nowhere else. */
static bool is_pattern(const char *text)
{
	if (!*text || *text == '/')
		return false;
	for (const char *part = text; part; part = strchr(part, '/')) {
		part += *part == '/';
		if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || !part[2]))
			return false;
	}
	return true;
}

static int read_patterns(const struct job_reader *reader, const struct value *item, const char *key,
			 struct strv *patterns)
{
	bool is_good;

	if (item->kind == VALUE_LIST) {
		if (value_reader_words(&reader->file, item, key, patterns) < 0)
			return -1;
	} else if (value_is_word(item)) {
		strv_add(patterns, item->text.bytes);
	}
	is_good = patterns->count > 0 && patterns->count <= JOB_PATTERNS_MAX;
	for (size_t i = 0; is_good && i < patterns->count; i++)
		is_good = is_pattern(patterns->items[i]);
	if (is_good)
		return 0;
	error_set(reader->file.err, ERROR_INPUT,
		  "'%s' is one to %d patterns of paths in the workspace: src/**", key,
		  JOB_PATTERNS_MAX);
	return value_reader_at(&reader->file, item);
}

static int read_on_change(const struct job_reader *reader, const struct value *item)
{
	return read_patterns(reader, item, "on_change", &reader->job->on_change);
}

static int read_inputs(const struct job_reader *reader, const struct value *item)
{
	return read_patterns(reader, item, "inputs", &reader->job->inputs);
}

/* As in a name of git's, and nothing that git could take for a flag or an expression. */
static int read_on_commit(const struct job_reader *reader, const struct value *item)
{
	const char *name = word_of(item);

	if (!*name || *name == '-' || *name == '/' || strstr(name, "..") ||
	    strpbrk(name, " ~^:?*[\\@{\t\n"))
		return value_reader_refuse(&reader->file, item, "'on_commit' is a branch: main");
	return value_reader_text(&reader->file, item, "on_commit", &reader->job->on_commit);
}

static int read_on_run_failed(const struct job_reader *reader, const struct value *item)
{
	if (item->kind == VALUE_NULL || strcmp(word_of(item), "true") == 0) {
		reader->job->on_run_failed = true;
		return 0;
	}
	return value_reader_refuse(&reader->file, item, "'on_run_failed' is true, or left out");
}

static int read_name(const struct job_reader *reader, const struct value *item)
{
	if (!job_is_name(word_of(item)))
		return value_reader_refuse(
			&reader->file, item,
			"a job's name is made of a-z, 0-9, '.', '_' and '-', 40 at most");
	return value_reader_text(&reader->file, item, "name", &reader->job->name);
}

static int read_race(const struct job_reader *reader, const struct value *item)
{
	return value_reader_text(&reader->file, item, "race", &reader->job->race);
}

static int read_task(const struct job_reader *reader, const struct value *item)
{
	return value_reader_text(&reader->file, item, "task", &reader->job->task);
}

static int read_promote(const struct job_reader *reader, const struct value *item)
{
	static const char *const words[] = { "never", "ask", "gates" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(word_of(item), words[i]) == 0) {
			reader->job->promote = (enum job_promote)i;
			return 0;
		}
	}
	return value_reader_refuse(&reader->file, item, "'promote' is never, ask or gates");
}

static int read_budget(const struct job_reader *reader, const struct value *item)
{
	static const char *const keys[] = { "runs_per_hour", "cpu_minutes_per_day", NULL };
	unsigned *const places[] = { &reader->job->runs_per_hour,
				     &reader->job->cpu_minutes_per_day };
	const int64_t most[] = { RUNS_MAX, CPU_MINUTES_MAX };

	if (item->kind != VALUE_MAP)
		return value_reader_refuse(&reader->file, item,
					   "'budget' is a map: {runs_per_hour: 4}");
	for (size_t i = 0; i < item->many.count; i++) {
		const struct value *one = item->many.items[i];
		const char *key = item->many.keys[i];
		size_t row = strcmp(key, keys[0]) == 0 ? 0 : 1;
		int64_t count;

		if (strcmp(key, keys[row]) != 0)
			return value_reader_unknown(&reader->file, one, key, suggest_of(key, keys));
		if (units_count(key, word_of(one), 1, most[row], &count, reader->file.err) < 0)
			return place_error(reader, one);
		*places[row] = (unsigned)count;
	}
	return 0;
}

static int read_on_failure(const struct job_reader *reader, const struct value *item)
{
	static const char *const words[] = { "keep", "pause", "retry" };
	bool *const places[] = { &reader->job->keeps_failed, &reader->job->pauses_failed,
				 &reader->job->retries_failed };
	bool is_list = item->kind == VALUE_LIST;
	size_t count = is_list ? item->many.count : 1, i, known = 0;

	for (size_t k = 0; k < count; k++) {
		const char *word = word_of(is_list ? item->many.items[k] : item);

		for (i = 0; i < 3 && strcmp(word, words[i]) != 0; i++)
			;
		if (i < 3)
			*places[i] = true;
		known += i < 3;
	}
	return known == count ? 0
			      : value_reader_refuse(&reader->file, item,
						    "'on_failure' is keep, pause or retry, or a "
						    "list of these");
}

static const struct {
	const char *key;
	int (*read)(const struct job_reader *reader, const struct value *item);
} job_keys[] = {
	{ "name", read_name },
	{ "every", read_every },
	{ "at", read_at },
	{ "on_change", read_on_change },
	{ "on_commit", read_on_commit },
	{ "on_run_failed", read_on_run_failed },
	{ "race", read_race },
	{ "task", read_task },
	{ "inputs", read_inputs },
	{ "promote", read_promote },
	{ "budget", read_budget },
	{ "quiet", read_quiet },
	{ "on_failure", read_on_failure },
};

/* What has to do with more than one key. */
static int check_whole(const struct job_reader *reader, const struct value *tree)
{
	struct job *job = reader->job;
	const struct value *gates = value_get(job->work, "gates");
	bool has_work = value_get(job->work, "command") || value_get(job->work, "script") ||
			value_get(job->work, "intent");

	if ((job->race != NULL) + (job->task != NULL) + has_work != 1)
		return value_reader_refuse(&reader->file, tree,
					   "a job has one of: command, script, intent, race, task");
	if (job->task && job->work->many.count > 0)
		return value_reader_refuse(&reader->file, job->work->many.items[0],
					   "this belongs into the task's own file");
	if (job->promote == JOB_PROMOTE_GATES && !job->task &&
	    (!gates || gates->kind != VALUE_LIST || gates->many.count == 0))
		return value_reader_refuse(
			&reader->file, tree,
			"'promote: gates' needs gates: [\"tests==pass\"]; or say promote: ask");
	return 0;
}

int job_read(const char *bytes, size_t len, const char *origin, struct job *job, struct error *err)
{
	const struct job_reader reader = { { origin, err }, job };
	const size_t known = sizeof(job_keys) / sizeof(job_keys[0]);
	owned(value_release) struct value *tree = NULL;

	if (yaml_read(bytes, len, origin, YAML_TEXT, &tree, err) < 0)
		return -1;
	if (tree->kind != VALUE_MAP)
		return error_set(err, ERROR_INPUT, "%s: a job is a map: {every: 15m, script: ...}",
				 origin);
	value_free(job->work);
	job->work = value_new_map();
	for (size_t i = 0, row; i < tree->many.count; i++) {
		for (row = 0; row < known; row++) {
			if (strcmp(job_keys[row].key, tree->many.keys[i]) == 0)
				break;
		}
		if (row < known && job_keys[row].read(&reader, tree->many.items[i]) < 0)
			return -1;
		if (row == known) {
			value_add(job->work, tree->many.keys[i], tree->many.items[i]);
			tree->many.items[i] = value_new_null();
		}
	}
	return check_whole(&reader, tree);
}
