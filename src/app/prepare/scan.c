/* SPDX-License-Identifier: Apache-2.0 */
/* Scanning files, directories and texts: opens what the scanner is given. */
#include "app/prepare/scan.h"

#include "base/file/fd.h"
#include "base/text/suggest.h"
#include "base/core/own.h"
#include "base/file/walk.h"
#include "app/config/scan_policy.h"
#include "scan/scan.h"
#include "scan/syntax/syntax.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MAX 20000u
#define DIRECTORIES_MAX 20000u

struct scanning {
	struct scan_report *report;
	const struct scan_policy *policy;
	enum scan_language language;
	size_t directories, files;
	const char *top; /* what is walked */
	struct error *err;
};

void app_scan_answer_done(struct app_scan_answer *answer)
{
	value_free(answer->report);
	value_free(answer->sarif);
	str_done(&answer->words);
}

static int scan_bytes(struct scanning *scanning, const char *name, const struct str *bytes,
		      struct error *err)
{
	const struct scan_text text = { .name = name,
					.bytes = str_cstr(bytes),
					.len = bytes->len,
					.language = scanning->language };

	return scan_text(&text, scanning->policy, scanning->report, err);
}

/* Reads at most what can be parsed; what is longer is not analysable, and not an error. */
static int scan_fd(struct scanning *scanning, int fd, const char *name, struct error *err)
{
	owned(str_done) struct str bytes = STR_INIT;

	if (fd_read_all(fd, SYNTAX_MAX_BYTES, &bytes) == 0)
		return scan_bytes(scanning, name, &bytes, err);
	scan_report_refuse(scanning->report, scanning->policy, name,
			   errno == EFBIG ? "longer than 1 MiB" : error_words(errno));
	return 0;
}

/* A file found in a directory: what is of no known language is skipped, unless it can be executed. */
static int scan_found(struct scanning *scanning, int dir_fd, const char *name, const char *path,
		      struct error *err)
{
	owned(fd_close) int fd =
		openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char start[256];
	ssize_t got;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	got = pread(fd, start, sizeof(start), 0);
	if (scanning->language == SCAN_UNKNOWN &&
	    scan_language_of(path, start, got > 0 ? (size_t)got : 0) == SCAN_UNKNOWN &&
	    !(st.st_mode & 0111)) {
		if (scanning->report->skipped.count < 1000)
			strv_add(&scanning->report->skipped, path);
		return 0;
	}
	return scan_fd(scanning, fd, path, err);
}

/* Kept copies of other people's work and of history, as linters leave them out. */
static bool is_passed_over(const char *name)
{
	return strcmp(name, ".git") == 0 || strcmp(name, "node_modules") == 0 ||
	       strcmp(name, "__pycache__") == 0 || strcmp(name, ".venv") == 0;
}

static int scan_entry(const struct walk_entry *entry, void *cookie)
{
	struct scanning *scanning = cookie;
	bool is_directory = S_ISDIR(entry->st->stx_mode);
	size_t *count = is_directory ? &scanning->directories : &scanning->files;
	unsigned max = is_directory ? DIRECTORIES_MAX : FILES_MAX;

	if (is_directory ? is_passed_over(entry->name) : !S_ISREG(entry->st->stx_mode))
		return WALK_SKIP;
	if (++*count > max)
		return error_advise(scanning->err, ERROR_INPUT, "name parts of it",
				    "%s: more than %u %s", scanning->top, max,
				    is_directory ? "directories" : "files");
	if (is_directory)
		return 0;
	owned(free_ptr) char *path = xasprintf("%s/%s", scanning->top, entry->path);

	return scan_found(scanning, entry->dir_fd, entry->name, path, scanning->err);
}

static int scan_tree(struct scanning *scanning, int fd, const char *path, struct error *err)
{
	struct walk walk = { .purpose = WALK_SCAN, .visit = scan_entry, .cookie = scanning };

	scanning->top = path;
	scanning->err = err;
	if (walk_tree(&walk, fd, ".") < 0)
		return -1;
	return walk.missed ? error_set(err, ERROR_HOST, "%s/%s: %s", path, walk.failed_at,
				       walk.missed & WALK_CLOSED ? error_words(EACCES)
								 : "cannot be read")
			   : 0;
}

static int scan_path(struct scanning *scanning, const char *path, struct error *err)
{
	owned(fd_close) int fd = -1;
	struct stat st;

	if (strcmp(path, "-") == 0)
		return scan_fd(scanning, STDIN_FILENO, "-", err);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_HOST, "%s", path);
	if (S_ISDIR(st.st_mode))
		return scan_tree(scanning, fd, path, err);
	if (!S_ISREG(st.st_mode))
		return error_advise(err, ERROR_USAGE, "pipe it in and write -",
				    "%s is neither a file nor a directory", path);
	return scan_fd(scanning, fd, path, err);
}

static int scan_all(const struct app_scan *scan, struct scanning *scanning, struct error *err)
{
	if (scan->content) {
		owned(str_done) struct str bytes = STR_INIT;

		str_add(&bytes, scan->content);
		return scan_bytes(scanning, "content", &bytes, err);
	}
	for (size_t i = 0; i < scan->paths->count; i++) {
		if (scan_path(scanning, scan->paths->items[i], err) < 0)
			return -1;
	}
	return 0;
}

static int read_language(const char *word, enum scan_language *ret_language, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	*ret_language = word ? scan_language_named(word) : SCAN_UNKNOWN;
	if (word && *ret_language == SCAN_UNKNOWN)
		return error_set(err, ERROR_USAGE,
				 "--lang %s: the languages are python, javascript and shell",
				 str_shown(word, shown));
	return 0;
}

static int read_bound(const char *word, const struct scan_policy *policy, int *ret_bound,
		      struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	*ret_bound = policy->fail_on >= 0 ? policy->fail_on : SEVERITY_MEDIUM;
	if (word)
		*ret_bound = scan_severity_named(word);
	if (*ret_bound < SEVERITY_LOW)
		return error_set(err, ERROR_USAGE,
				 "--fail-on %s: write low, medium, high or critical",
				 str_shown(word ? word : "off", shown));
	return 0;
}

int app_scan(const struct app_scan *scan, const char *version, struct app_scan_answer *ret_answer,
	     struct error *err)
{
	owned(scan_policy_done) struct scan_policy policy;
	owned(scan_report_done) struct scan_report report;
	struct scanning scanning = { .report = &report, .policy = &policy };
	int bound;

	scan_report_init(&report);
	scan_policy_init(&policy);
	*ret_answer = (struct app_scan_answer){ 0 };
	if (read_language(scan->language, &scanning.language, err) < 0 ||
	    app_scan_policy(scan->policy, scan->environ, &policy, err) < 0 ||
	    read_bound(scan->fail_on, &policy, &bound, err) < 0)
		return -1;
	if (!scan_is_built()) {
		struct syntax none;

		return syntax_parse(SCAN_PYTHON, "", 0, &none, err);
	}
	if (scan_all(scan, &scanning, err) < 0)
		return -1;
	ret_answer->report = scan_report_value(&report);
	ret_answer->sarif = scan_report_sarif(&report, version);
	scan_report_words(&report, &ret_answer->words);
	ret_answer->fails = (int)report.risk >= bound;
	return 0;
}

static struct value *rule_value(const struct scan_rule_row *row)
{
	struct value *map = value_new_map();

	value_add(map, "rule", value_new_text(row->name));
	value_add(map, "severity", value_new_text(scan_severity_name(row->severity)));
	value_add(map, "message", value_new_text(row->message));
	value_add(map, "why", value_new_text(row->why));
	value_add(map, "hint", value_new_text(row->hint));
	return map;
}

int app_scan_explain(const char *rule, struct str *out, struct value **ret_answer,
		     struct error *err)
{
	int found = scan_rule_named(rule);
	const struct scan_rule_row *row = found < 0 ? NULL : &scan_rules[found];
	char shown[STR_SHOWN_SIZE];
	struct suggest suggest;

	if (!row) {
		suggest_init(&suggest, rule);
		for (size_t i = 0; i < SCAN_RULES; i++)
			suggest_try(&suggest, scan_rules[i].name);
		return error_advise(err, ERROR_NOT_FOUND, "`aisbx help scan` lists them",
				    "no rule '%s'%s%s%s", str_shown(rule, shown),
				    suggest.best ? " (did you mean '" : "",
				    suggest.best ? suggest.best : "", suggest.best ? "'?)" : "");
	}
	str_addf(out, "%s: %s (%s)\n\n%s\n\nInstead: %s.\n", row->name, row->message,
		 scan_severity_name(row->severity), row->why, row->hint);
	*ret_answer = rule_value(row);
	return 0;
}
