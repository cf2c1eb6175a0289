/* Vetting: what a command would run is read, scanned and its signature checked before it starts. */
#include "engine/vet.h"

#include "base/dir.h"
#include "base/fd.h"
#include "base/own.h"
#include "engine/engine.h"
#include "engine/record.h"
#include "engine/scan_policy.h"
#include "engine/sign.h"
#include "engine/vet_source.h"
#include "scan/code.h"
#include "scan/scan.h"
#include "scan/syntax.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPIES "vetted"
#define NOTES_MAX 5u

const bool engine_can_vet = true;

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
	struct error *err;
};

static void vet_done(struct vet *vet)
{
	scan_code_done(&vet->code);
	vet_source_done(&vet->source);
}

void vetting_done(struct vetting *vetting)
{
	if (vetting->copy_path)
		(void)unlink(vetting->copy_path);
	free_ptr(&vetting->copy_path);
	if (vetting->copy_fd > 0)
		fd_close(&vetting->copy_fd);
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

/* Medium and above is told, and refused where the policy is enforced. */
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
	return error_set(
		vet->err, ERROR_DENIED,
		"--scan enforce: risk %s: %s%s%s; look with aisbx scan, change the code, or "
		"run it with --scan warn",
		scan_severity_name(report->risk), worst ? worst->file : "", worst ? ": " : "",
		worst ? worst->message : "what it would run");
}

static int scan_it(struct vet *vet)
{
	owned(scan_policy_done) struct scan_policy policy;
	owned(scan_report_done) struct scan_report report;
	struct scan_text text = { .name = "-c", .language = vet->code.language };

	scan_report_init(&report);
	scan_policy_init(&policy);
	if (engine_scan_policy(NULL, (const char *const *)environ, &policy, vet->err) < 0)
		return -1;
	if (vet->code.kind == CODE_INCOMES) {
		scan_report_refuse(&report, &policy, "standard input",
				   "code that comes in later cannot be read before");
		return weigh(vet, &report);
	}
	if (vet->code.kind == CODE_TEXT) {
		text.bytes = vet->code.text;
		text.len = strlen(vet->code.text);
	} else if (vet->has_source && vet->is_script) {
		text.name = vet->code.text;
		text.bytes = str_cstr(&vet->source.bytes);
		text.len = vet->source.bytes.len;
	} else if (vet->code.kind == CODE_FILE && !vet->code.is_program && !vet->has_source) {
		scan_report_refuse(&report, &policy, vet->code.text,
				   "it cannot be read before it runs");
		return weigh(vet, &report);
	} else {
		return 0;
	}
	if (scan_text(&text, &policy, &report, vet->err) < 0)
		return error_context(vet->err, "--scan %s", vet->spec->scan);
	return weigh(vet, &report);
}

/* Removes copies that nobody holds any more: their runs were killed. */
static void sweep(int dir_fd)
{
	owned(dir_close) DIR *dir = dir_open(dir_fd, ".");
	struct dirent *entry;

	while (dir_next(dir, &entry) > 0) {
		owned(fd_close) int fd =
			openat(dir_fd, entry->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			(void)unlinkat(dir_fd, entry->d_name, 0);
	}
}

/* Locked before it has its name, so that nobody sweeps it away. */
static int write_copy(const struct vet *vet, int dir_fd, int *ret_fd, struct error *err)
{
	mode_t mode = vet->source.mode & 0111 ? 0555 : 0444;
	owned(fd_close) int fd = openat(dir_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	char name[64];

	if (fd < 0 || flock(fd, LOCK_SH) < 0 ||
	    fd_write_all(fd, str_cstr(&vet->source.bytes), vet->source.bytes.len) < 0 ||
	    fchmod(fd, mode) < 0)
		return error_errno(err, ERROR_HOST, "the copy of %s that would run",
				   vet->source.path);
	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, name, dir_fd, vet->spec->run_id, AT_SYMLINK_FOLLOW) < 0)
		return error_errno(err, ERROR_HOST, "the copy of %s that would run",
				   vet->source.path);
	/* Nothing can be executed that is open for writing; the lock passes from one to the other. */
	*ret_fd = openat(dir_fd, vet->spec->run_id, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (*ret_fd < 0 || flock(*ret_fd, LOCK_SH) < 0)
		return error_errno(err, ERROR_HOST, "the copy of %s that would run",
				   vet->source.path);
	return 0;
}

/* What was read is what will run: its copy is mounted over it. */
static int lay_over(const struct vet *vet, struct vetting *vetting, struct error *err)
{
	owned(free_ptr) char *directory = xasprintf("%s/" COPIES, vet->spec->state_dir);
	owned(fd_close) int dir_fd = -1;

	if (dir_make_all(directory) < 0)
		return error_errno(err, ERROR_HOST, "%s", directory);
	dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir_fd < 0)
		return error_errno(err, ERROR_HOST, "%s", directory);
	sweep(dir_fd);
	if (write_copy(vet, dir_fd, &vetting->copy_fd, err) < 0)
		return -1;
	vetting->copy_path = xasprintf("%s/%s", directory, vet->spec->run_id);
	(void)spec_add_bind(vet->spec, vetting->copy_path, vet->source.path);
	return 0;
}

static bool is_text(const struct str *bytes)
{
	return bytes->len >= 2 && bytes->data[0] == '#' && bytes->data[1] == '!';
}

static int find_source(struct vet *vet)
{
	int found;

	scan_code_find(&vet->spec->command, &vet->code);
	if (vet->code.kind != CODE_FILE)
		return 0;
	found = vet_source_read(&vet->view, vet->code.text, vet->code.is_program, &vet->source,
				vet->err);
	if (found < 0)
		return -1;
	vet->has_source = found > 0;
	vet->is_script = vet->has_source && (!vet->code.is_program || is_text(&vet->source.bytes));
	return 0;
}

static int check_signature(struct vet *vet)
{
	const struct vet_signed what = { .view = &vet->view,
					 .code = &vet->code,
					 .source = vet->has_source ? &vet->source : NULL };

	return vet_signature(&what, vet->err);
}

int engine_vet(struct spec *spec, bool lives, struct run_result *result,
	       struct vetting *ret_vetting, struct error *err)
{
	owned(vet_done) struct vet vet = {
		.spec = spec,
		.result = result,
		.view = { spec, lives || spec->upper_dir || spec->layers.count > 0 },
		.enforces = spec->scan && strcmp(spec->scan, "enforce") == 0,
		.err = err,
	};
	bool scans = spec->scan && strcmp(spec->scan, "off") != 0;

	if (find_source(&vet) < 0 || (spec->signed_only && check_signature(&vet) < 0) ||
	    (scans && scan_it(&vet) < 0))
		return -1;
	if (!vet.has_source || lives || !vet.source.is_plain ||
	    !(vet.is_script || spec->signed_only) || !(spec->signed_only || vet.enforces))
		return 0;
	return lay_over(&vet, ret_vetting, err);
}
