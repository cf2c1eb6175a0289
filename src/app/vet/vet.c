/* SPDX-License-Identifier: Apache-2.0 */
/* Vetting: what a command would run is read, scanned and its signature checked before it starts. */
#include "app/vet/vet.h"

#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "app/record/record.h"
#include "app/config/scan_policy.h"
#include "app/vet/sign.h"
#include "app/vet/vet_source.h"
#include "scan/judge/code.h"
#include "scan/scan.h"
#include "scan/syntax/syntax.h"
#include "wasm/language.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPIES "vetted"
#define NOTES_MAX 5u

const bool app_can_vet = true;

/* One command on its way. */
struct vet {
	struct spec *spec;
	struct run_result *result;
	struct vet_view view;
	struct scan_code code;
	struct vet_source source;
	bool has_source; /* there is a file, and its bytes are there */
	bool is_script;	 /* a text that an interpreter would read */
	bool enforces;
	struct vet_source more[SCAN_MAX_SCRIPTS]; /* scripts that what was read would run */
	size_t more_count;
	const struct strv *set; /* variables for a command in a sandbox that lives; else NULL */
	struct error *err;
};

static void vet_done(struct vet *vet)
{
	scan_code_done(&vet->code);
	vet_source_done(&vet->source);
	for (size_t i = 0; i < vet->more_count; i++)
		vet_source_done(&vet->more[i]);
}

void vetting_done(struct vetting *vetting)
{
	for (size_t i = 0; i < vetting->count; i++) {
		(void)unlink(vetting->copies[i].path);
		free(vetting->copies[i].path);
		fd_close(&vetting->copies[i].fd);
	}
	free(vetting->copies);
	*vetting = (struct vetting){ .count = 0 };
}

static void note_findings(const struct vet *vet, const struct scan_report *report)
{
	size_t told = 0;

	for (size_t i = 0; i < report->count && told < NOTES_MAX; i++) {
		const struct scan_finding *one = &report->findings[i];

		if (one->severity < SEVERITY_MEDIUM)
			continue;
		told++;
		strv_addf(&vet->result->notes, "scan: %s:%u: %s: %s [%s.%s]", one->file, one->line,
			  scan_severity_name(one->severity), one->message,
			  scan_language_name(one->language), scan_rules[one->rule].name);
	}
}

static void keep_record(const struct vet *vet, const struct scan_report *report)
{
	owned(value_release) struct value *body = scan_report_value(report);
	const struct record_event event = {
		.kind = "scan", .sandbox = vet->spec->sandbox, .id = vet->spec->run_id, .body = body
	};

	record_event(&event);
}

/* Medium and above is reported, and refused where the policy is enforced. */
static int weigh(struct vet *vet, const struct scan_report *report)
{
	const struct scan_finding *worst = NULL;

	if (report->risk < SEVERITY_MEDIUM)
		return 0;
	note_findings(vet, report);
	keep_record(vet, report);
	if (!vet->enforces)
		return 0;
	for (size_t i = 0; i < report->count && !worst; i++) {
		if (report->findings[i].severity == report->risk)
			worst = &report->findings[i];
	}
	return error_advise(vet->err, ERROR_DENIED,
			    "look with aisbx scan, change the code, or run it with --scan warn",
			    "--scan enforce: risk %s: %s%s%s", scan_severity_name(report->risk),
			    worst ? worst->file : "", worst ? ": " : "",
			    worst ? worst->message : "what it would run");
}

static bool is_script(const struct vet_source *source, bool is_program)
{
	const struct str *bytes = &source->bytes;

	return !is_program || (bytes->len >= 2 && bytes->data[0] == '#' && bytes->data[1] == '!');
}

/* One script that what was read would run. Binaries are not checked; a script that does not exist yet is refused. */
static int scan_script(struct vet *vet, const struct scan_script *script,
		       const struct scan_policy *policy, struct scan_report *report)
{
	owned(vet_source_done) struct vet_source source = { .path = NULL };
	int found =
		vet_source_read(&vet->view, script->file, script->is_program, &source, vet->err);
	struct scan_text text = { .name = script->file, .language = script->language };

	if (found < 0)
		return -1;
	if (found == 0 && script->is_sure && !script->is_program)
		scan_report_refuse(report, policy, script->file,
				   "it cannot be read before it runs");
	if (found == 0 || !is_script(&source, script->is_program))
		return 0;
	text.bytes = str_cstr(&source.bytes);
	text.len = source.bytes.len;
	if (scan_text(&text, policy, report, vet->err) < 0)
		return -1;
	vet->more[vet->more_count++] = source;
	source = (struct vet_source){ .path = NULL };
	return 0;
}

/* Each may name others: the list grows while it is gone through, up to its bound. */
static int scan_scripts(struct vet *vet, const struct scan_policy *policy,
			struct scan_report *report)
{
	for (size_t i = 0; i < vet->code.also.count; i++)
		scan_report_script(report,
				   &(const struct scan_script){ .file = vet->code.also.items[i],
								.language = vet->code.language,
								.is_sure = true });
	for (size_t i = 0; i < report->script_count; i++) {
		const struct scan_script script = report->scripts[i];

		if (scan_script(vet, &script, policy, report) < 0)
			return -1;
	}
	if (report->has_more_scripts)
		scan_report_refuse(report, policy, vet->spec->command.items[0],
				   "it runs more scripts than can be looked at");
	return 0;
}

static int scan_first(struct vet *vet, const struct scan_policy *policy, struct scan_report *report)
{
	struct scan_text text = { .name = "-c", .language = vet->code.language };

	if (vet->code.kind == CODE_INCOMES) {
		scan_report_refuse(report, policy, "standard input",
				   "code that comes in later cannot be read before");
		return 0;
	}
	if (vet->code.kind == CODE_TEXT) {
		text.bytes = vet->code.text;
		text.len = strlen(vet->code.text);
	} else if (vet->has_source && vet->is_script) {
		text.name = vet->code.text;
		text.bytes = str_cstr(&vet->source.bytes);
		text.len = vet->source.bytes.len;
	} else if (vet->code.kind == CODE_FILE && !vet->code.is_program && !vet->has_source) {
		scan_report_refuse(report, policy, vet->code.text,
				   "it cannot be read before it runs");
		return 0;
	} else {
		scan_command(&vet->spec->command, policy, report);
		return 0;
	}
	return scan_text(&text, policy, report, vet->err);
}

static int scan_it(struct vet *vet)
{
	owned(scan_policy_done) struct scan_policy policy;
	owned(scan_report_done) struct scan_report report;

	scan_report_init(&report);
	scan_policy_init(&policy);
	if (app_scan_policy(NULL, (const char *const *)environ, &policy, vet->err) < 0)
		return -1;
	if (scan_first(vet, &policy, &report) < 0 || scan_scripts(vet, &policy, &report) < 0)
		return error_context(vet->err, "--scan %s", vet->spec->scan);
	return weigh(vet, &report);
}

/* Removes copies without a lock: their runs were killed. */
static void sweep(int dir_fd)
{
	owned(dir_close) DIR *dir = dir_open(dir_fd, ".");
	struct dirent *entry;

	while (dir_next(dir, &entry) > 0) {
		owned(fd_close) int fd = file_open(dir_fd, entry->d_name, O_NOFOLLOW, NULL);

		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			(void)unlinkat(dir_fd, entry->d_name, 0);
	}
}

/* Locked before it has its name, so that no sweep removes it. */
static int write_copy(const struct vet_source *source, int dir_fd, const char *file, int *ret_fd,
		      struct error *err)
{
	mode_t mode = source->mode & 0111 ? 0555 : 0444;
	owned(fd_close) int fd = openat(dir_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	char name[64];

	if (fd < 0 || flock(fd, LOCK_SH) < 0 ||
	    fd_write_all(fd, str_cstr(&source->bytes), source->bytes.len) < 0 ||
	    fchmod(fd, mode) < 0)
		return error_errno(err, ERROR_HOST, "the copy of %s that would run", source->path);
	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, name, dir_fd, file, AT_SYMLINK_FOLLOW) < 0)
		return error_errno(err, ERROR_HOST, "the copy of %s that would run", source->path);
	/* Nothing can be executed that is open for writing; the lock passes from one to the other. */
	*ret_fd = file_open(dir_fd, file, O_NOFOLLOW, NULL);
	if (*ret_fd < 0 || flock(*ret_fd, LOCK_SH) < 0)
		return error_errno(err, ERROR_HOST, "the copy of %s that would run", source->path);
	return 0;
}

/* What was read is what will run: its copy is mounted over it. */
static int lay_over(struct spec *spec, const struct vet_source *source, struct vetting *vetting,
		    struct error *err)
{
	owned(free_ptr) char *directory = xasprintf("%s/" COPIES, spec->state_dir);
	owned(free_ptr) char *file = xasprintf("%s-%zu", spec->run_id, vetting->count);
	owned(fd_close) int dir_fd = -1;
	struct vetting_copy copy = { .fd = -1 };

	if (dir_make_all(directory) < 0)
		return error_errno(err, ERROR_HOST, "%s", directory);
	dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir_fd < 0)
		return error_errno(err, ERROR_HOST, "%s", directory);
	if (vetting->count == 0)
		sweep(dir_fd);
	if (write_copy(source, dir_fd, file, &copy.fd, err) < 0) {
		fd_close(&copy.fd);
		return -1;
	}
	copy.path = xasprintf("%s/%s", directory, file);
	vetting->copies = xrealloc(vetting->copies, vetting->count + 1, sizeof(*vetting->copies));
	vetting->copies[vetting->count++] = copy;
	(void)spec_add_bind(spec, copy.path, source->path);
	return 0;
}

/* python -m NAME: a file of the workspace where there is one; what is installed is not read. */
static int find_module(struct vet *vet)
{
	int found = 0;

	for (unsigned i = 0; i < CODE_MODULE_FILES && found == 0; i++) {
		owned(free_ptr) char *file = scan_code_module_file(vet->code.text, i);

		vet_source_done(&vet->source);
		found = vet_source_read(&vet->view, file, false, &vet->source, vet->err);
	}
	vet->has_source = vet->is_script = found > 0;
	return found < 0 ? -1 : 0;
}

/* With the driver wasm the first word is a language's name, and no program's. */
static void find_code(struct vet *vet)
{
	const struct spec *spec = vet->spec;
	const struct wasm_language *language = NULL;

	if (strcmp(spec->driver, "wasm") == 0 && spec->command.count > 0)
		language = wasm_language_find(spec->command.items[0]);
	if (language)
		scan_code_find_in(&spec->command,
				  language->is_python ? SCAN_PYTHON
						      : scan_language_named(language->name),
				  &vet->code);
	else
		scan_code_find(&spec->command, &vet->code);
}

static int find_source(struct vet *vet)
{
	int found;

	find_code(vet);
	if (vet->code.kind == CODE_MODULE && !vet->spec->signed_only)
		return find_module(vet);
	if (vet->code.kind != CODE_FILE)
		return 0;
	found = vet_source_read(&vet->view, vet->code.text, vet->code.is_program, &vet->source,
				vet->err);
	if (found < 0)
		return -1;
	vet->has_source = found > 0;
	vet->is_script = vet->has_source && is_script(&vet->source, vet->code.is_program);
	return 0;
}

static int check_signature(struct vet *vet)
{
	const struct vet_signed what = { .view = &vet->view,
					 .code = &vet->code,
					 .source = vet->has_source ? &vet->source : NULL,
					 .set = vet->set };

	if (vet_signature(&what, vet->err) < 0)
		return -1;
	vet_confine(&what, vet->spec, &vet->result->notes);
	return 0;
}

static bool is_laid(const struct spec *spec, const char *path)
{
	for (size_t i = 0; i < spec->bind_count; i++) {
		if (strcmp(spec->binds[i].target, path) == 0)
			return true;
	}
	return false;
}

/* What is read by an interpreter, or whatever it is where only signed files may run. */
static bool is_kept(const struct vet *vet)
{
	bool matters = vet->spec->signed_only || (vet->enforces && vet->is_script);

	return matters && vet->has_source && vet->source.is_plain;
}

static int lay_all(const struct vet *vet, struct vetting *vetting)
{
	struct spec *spec = vet->spec;

	if (is_kept(vet) && lay_over(spec, &vet->source, vetting, vet->err) < 0)
		return -1;
	for (size_t i = 0; vet->enforces && i < vet->more_count; i++) {
		if (vet->more[i].is_plain && !is_laid(spec, vet->more[i].path) &&
		    lay_over(spec, &vet->more[i], vetting, vet->err) < 0)
			return -1;
	}
	return 0;
}

int app_vet(struct spec *spec, const struct strv *set, struct run_result *result,
	    struct vetting *ret_vetting, struct error *err)
{
	bool lives = set != NULL;
	owned(vet_done) struct vet vet = {
		.spec = spec,
		.result = result,
		.enforces = spec->scan && strcmp(spec->scan, "enforce") == 0,
		.set = set,
		.err = err,
	};
	bool scans = spec->scan && strcmp(spec->scan, "off") != 0;

	vet_view_init(spec, lives, &vet.view);
	if (find_source(&vet) < 0 || (spec->signed_only && check_signature(&vet) < 0) ||
	    (scans && scan_it(&vet) < 0))
		return -1;
	return lives ? 0 : lay_all(&vet, ret_vetting);
}
