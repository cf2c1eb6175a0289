/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `files read|write|ls|edit`: files of a named sandbox, by commands inside it.
 *
 * Every path is resolved where the sandbox's own commands resolve theirs: links, masks and `..` lead where they lead for
 * them, and nowhere else.
 */
#include "base/file/fd.h"
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "base/hash/sha256.h"
#include "base/text/units.h"
#include "app/sandbox/sandbox.h"
#include "app/change/workspace.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define READ_DEFAULT (64 << 10)
#define READ_MAX (1 << 20)
/* Within what is kept of output by default. */
#define EDIT_MAX (750 << 10)
#define WRITE_MAX ((size_t)64 << 20)
#define ENTRIES_MAX 1000
/* A path may lead to something that never answers. */
#define WAIT_MS 60000

#define CHANGED "has changed since it was read; read it again"

/* Secrets are for the commands inside; in part they would pass what keeps them out of output. */
#define REFUSE_SECRETS                                           \
	"case \"$(readlink -f -- \"$1\")/\" in /run/secrets/*) " \
	"echo 'holds secrets: only commands inside read it' >&2; exit 1;; esac; "
#define REFUSE_DIRECTORY "[ -d \"$1\" ] && { echo 'is a directory' >&2; exit 1; }; "
#define WANT_FILE                                                               \
	REFUSE_DIRECTORY REFUSE_SECRETS                                         \
		"[ -e \"$1\" ] || { echo 'does not exist' >&2; exit 1; }; "     \
		"[ -f \"$1\" ] || { echo 'not a regular file' >&2; exit 1; }; " \
		"size=$(wc -c < \"$1\") || exit 1; echo $size >&2; "

static const char read_script[] = WANT_FILE "tail -c \"+$2\" < \"$1\" | head -c \"$3\"";
/* What is written back must be the file's own bytes, so this output is not searched for secrets (is_exact). */
static const char fetch_script[] = WANT_FILE "[ $size -gt \"$2\" ] || cat < \"$1\"";
/*
 * Whole or not at all: beside the file, as many bytes as there are, then in its place with its mode. Where nothing can
 * be made beside it, or it is a mount of its own, it is written as it stands. Not where it is no longer what was edited.
 */
static const char write_script[] = REFUSE_DIRECTORY REFUSE_SECRETS
	"case \"$1\" in */*) mkdir -p -- \"${1%/*}/\" || exit 1;; esac; "
	"to=$(readlink -f -- \"$1\"; echo .); to=${to%??}; "
	"[ -n \"$to\" ] || { echo 'leads nowhere' >&2; exit 1; }; "
	"[ ! -e \"$to\" ] || [ -f \"$to\" ] || { echo 'not a regular file' >&2; exit 1; }; "
	"new=$(mktemp \"${to%/*}/.aisbx-XXXXXX\" 2>/dev/null) || { cat > \"$to\"; exit; }; "
	"trap 'rm -f -- \"$new\"' EXIT; trap 'exit 1' HUP INT TERM; "
	"cat > \"$new\" && [ \"$(wc -c < \"$new\")\" -eq \"$2\" ] || "
	"{ echo 'could not be written whole' >&2; exit 1; }; "
	"if [ -e \"$to\" ]; then chmod \"$(stat -c %a -- \"$to\")\" \"$new\"; "
	"chown \"$(stat -c %u:%g -- \"$to\")\" \"$new\" 2>/dev/null; else chmod =rw \"$new\"; fi; "
	"[ -z \"$3\" ] || ! sum=$(sha256sum < \"$to\" 2>/dev/null) || [ \"${sum%% *}\" = \"$3\" ] "
	"|| "
	"{ echo '" CHANGED "' >&2; exit 1; }; "
	"mv -f -- \"$new\" \"$to\" 2>/dev/null || cat \"$new\" > \"$to\"";
/* What a write that was killed left beside its file. */
static const char clear_script[] = "to=$(readlink -f -- \"$1\"; echo .); to=${to%??}; "
				   "[ -z \"$to\" ] || rm -f -- \"${to%/*}\"/.aisbx-??????";
static const char list_script[] =
	"cd -- \"$1\" && find . -mindepth 1 -maxdepth 1 -printf '%y %s %m %f\\0'";

/* One script in the sandbox; what it wrote comes back in RESULT. */
static int run_script(struct op_call *call, const char *script, const struct strv *words,
		      struct run_result *result, struct error *err)
{
	const struct app_run_options options = { .capture = true,
						 .is_exact = script == fetch_script };
	owned(request_done) struct request request;
	const char *path = words->count > 0 ? words->items[0] : ".";
	char shown[STR_SHOWN_SIZE], place[STR_SHOWN_SIZE];

	request_init(&request);
	if (op_request(call, &request, err) < 0)
		return -1;
	strv_done(&request.command);
	strv_add_script(&request.command, script);
	strv_add(&request.command, "sh");
	strv_copy(&request.command, words);
	request.flags.time_ms = WAIT_MS;
	if (app_exec(call->words.items[1], &request, &options, result, err) < 0)
		return -1;
	if (result->exit_code == 0)
		return 0;
	/* The last message of the shell, without its own name in front. */
	owned(free_ptr) char *said =
		xstrndup(str_cstr(&result->err.kept), strcspn(str_cstr(&result->err.kept), "\n"));
	const char *why = *said ? said : run_status_name(result->status);

	return error_set(err,
			 strstr(why, "not exist")    ? ERROR_NOT_FOUND
			 : strcmp(why, CHANGED) == 0 ? ERROR_CONFLICT
						     : ERROR_USAGE,
			 "%s in %s: %s", str_shown(path, place), call->words.items[1],
			 str_shown(why, shown));
}

/*
 * Locks out other writers from outside, and removes what a killed one left behind. The locked file names the one that is
 * being written.
 */
static int hold_files(struct op_call *call, int *ret_fd, struct error *err)
{
	owned(run_result_done) struct run_result result;
	owned(strv_done) struct strv words = STRV_INIT;
	owned(fd_close) int fd = -1;
	char path[PATH_MAX];
	struct error ignored;

	run_result_init(&result);
	if (app_files_lock(call->words.items[1], &fd, err) < 0)
		return -1;
	ssize_t len = pread(fd, path, sizeof(path) - 1, 0);

	if (len > 0) {
		path[len] = '\0';
		strv_add(&words, path);
		/* Where that fails, the next step fails as well, and its error has the reason. */
		if (run_script(call, clear_script, &words, &result, &ignored) == 0)
			(void)!ftruncate(fd, 0);
	}
	*ret_fd = fd_take(&fd);
	return 0;
}

static int read_number(const struct op_call *call, const char *name, int64_t max, int64_t *number,
		       struct error *err)
{
	const char *text = op_arg_text(call, name);

	return text ? units_count(name, text, 0, max, number, err) : 0;
}

static bool wants_base64(const struct op_call *call)
{
	const char *encoding = op_arg_text(call, "encoding");

	return encoding && strcmp(encoding, "base64") == 0;
}

static int read_file(struct op_call *call, struct error *err)
{
	owned(run_result_done) struct run_result result;
	owned(strv_done) struct strv words = STRV_INIT;
	int64_t offset = 0, limit = READ_DEFAULT, size;

	run_result_init(&result);
	if (read_number(call, "offset", INT64_MAX / 2, &offset, err) < 0 ||
	    read_number(call, "limit", READ_MAX, &limit, err) < 0)
		return -1;
	strv_add(&words, call->words.items[2]);
	strv_addf(&words, "%lld", (long long)offset + 1);
	strv_addf(&words, "%lld", (long long)limit);
	if (run_script(call, read_script, &words, &result, err) < 0)
		return -1;
	const struct str *bytes = &result.out.kept;

	size = strtoll(str_cstr(&result.err.kept), NULL, 10);
	call->answer = value_new_map();
	value_add(call->answer, "sandbox", value_new_text(call->words.items[1]));
	value_add(call->answer, "path", value_new_text(call->words.items[2]));
	op_report_content(call, bytes, wants_base64(call));
	value_add(call->answer, "size", value_new_int(size));
	value_add(call->answer, "offset", value_new_int(offset));
	value_add(call->answer, "bytes", value_new_int((int64_t)bytes->len));
	value_add(call->answer, "truncated", value_new_bool(offset + (int64_t)bytes->len < size));
	return 0;
}

static void report_written(struct op_call *call, const char *did)
{
	call->answer = value_new_map();
	value_add(call->answer, "sandbox", value_new_text(call->words.items[1]));
	value_add(call->answer, "path", value_new_text(call->words.items[2]));
	str_addf(&call->text, "%s ", did);
	words_add_path(&call->text, call->words.items[2]);
	str_addf(&call->text, " in %s\n", call->words.items[1]);
}

/* BYTES become our standard input. */
static int feed(const struct str *bytes, struct error *err)
{
	owned(fd_close) int fd = memfd_create("content", MFD_CLOEXEC);

	if (fd < 0 || fd_write_all(fd, bytes->data, bytes->len) < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
	    dup2(fd, STDIN_FILENO) < 0)
		return error_errno(err, ERROR_HOST, "stdin");
	return 0;
}

/* BYTES as the file that the call names: whole, or the one that was there. BEFORE is what that must still be, or NULL. */
static int put_file(struct op_call *call, int lock_fd, const struct str *bytes,
		    const struct str *before, struct error *err)
{
	const char *path = call->words.items[2];
	char sum[SHA256_HEX_SIZE] = "";
	int status;

	owned(run_result_done) struct run_result result;
	owned(strv_done) struct strv words = STRV_INIT;

	run_result_init(&result);
	if (before)
		sha256_hex(str_cstr(before), before->len, sum);
	strv_add(&words, path);
	strv_addf(&words, "%zu", bytes->len);
	strv_add(&words, sum);
	if (feed(bytes, err) < 0)
		return -1;
	/* One that could not be cleared up after may have been longer. */
	(void)!ftruncate(lock_fd, 0);
	(void)!pwrite(lock_fd, path, strlen(path), 0);
	status = run_script(call, write_script, &words, &result, err);
	/* Ended by itself, it has cleaned up by itself. */
	if (status == 0 || result.status == RUN_ERROR)
		(void)!ftruncate(lock_fd, 0);
	return status;
}

/* Lines of base64 as the bytes they stand for. */
static bool decode(const struct str *text, struct str *ret_bytes)
{
	owned(str_done) struct str letters = STR_INIT;

	for (size_t i = 0; i < text->len; i++) {
		if (!strchr("\r\n\t ", text->data[i]) || !text->data[i])
			str_add_char(&letters, text->data[i]);
	}
	return base64_read(ret_bytes, str_cstr(&letters), letters.len);
}

static int write_file(struct op_call *call, struct error *err)
{
	owned(str_done) struct str given = STR_INIT, bytes = STR_INIT;
	owned(fd_close) int lock_fd = -1;

	if (fd_read_all(STDIN_FILENO, WRITE_MAX, &given) < 0)
		return error_advise(err, ERROR_USAGE, "aisbx cp takes files of any size",
				    "the content cannot be read, or is larger than 64 MiB");
	if (wants_base64(call) && !decode(&given, &bytes))
		return error_set(err, ERROR_USAGE,
				 "the content is not base64; nothing was written");
	if (hold_files(call, &lock_fd, err) < 0 ||
	    put_file(call, lock_fd, wants_base64(call) ? &bytes : &given, NULL, err) < 0)
		return -1;
	report_written(call, "wrote");
	return 0;
}

/* How often OLD stands in TEXT, and the text with NEW in its place. */
static size_t replace(const struct str *text, const char *old, const char *new, struct str *out)
{
	const char *at = str_cstr(text), *end = at + text->len;
	size_t len = strlen(old), count = 0;

	while (at < end) {
		const char *found = memmem(at, (size_t)(end - at), old, len);
		const char *stop = found ? found : end;

		str_add_bytes(out, at, (size_t)(stop - at));
		if (!found)
			break;
		str_add(out, new);
		at = found + len;
		count++;
	}
	return count;
}

/* The file's own bytes, all of them. */
static int fetch_file(struct op_call *call, struct str *ret_bytes, struct error *err)
{
	owned(run_result_done) struct run_result result;
	owned(strv_done) struct strv words = STRV_INIT;
	long long size;

	run_result_init(&result);
	strv_add(&words, call->words.items[2]);
	strv_addf(&words, "%d", EDIT_MAX);
	if (run_script(call, fetch_script, &words, &result, err) < 0)
		return -1;
	size = strtoll(str_cstr(&result.err.kept), NULL, 10);
	if (size > EDIT_MAX)
		return error_advise(err, ERROR_USAGE, "write it anew",
				    "the file is too large to edit");
	str_add_bytes(ret_bytes, result.out.kept.data, result.out.kept.len);
	if ((long long)ret_bytes->len != size)
		return error_set(err, ERROR_CONFLICT,
				 "the file changed while it was read, or its content does not come "
				 "out whole (see --output); nothing was written");
	return 0;
}

static int edit_file(struct op_call *call, struct error *err)
{
	const char *old = op_arg_text(call, "old"), *new = op_arg_text(call, "new");
	owned(str_done) struct str before = STR_INIT, text = STR_INIT;
	owned(fd_close) int lock_fd = -1;
	size_t count;

	if (!old || !*old)
		return error_set(err, ERROR_USAGE, "files edit needs --old TEXT, and --new TEXT");
	if (hold_files(call, &lock_fd, err) < 0 || fetch_file(call, &before, err) < 0)
		return -1;
	count = replace(&before, old, new ? new : "", &text);
	if (count == 0)
		return error_advise(err, ERROR_NOT_FOUND, "read it first",
				    "the text to replace is not in the file");
	if (count > 1 && !op_arg_switch(call, "all"))
		return error_advise(err, ERROR_CONFLICT, "give more of it, or all",
				    "the text to replace is there %zu times", count);
	if (put_file(call, lock_fd, &text, &before, err) < 0)
		return -1;
	report_written(call, "edited");
	value_add(call->answer, "replaced", value_new_int((int64_t)count));
	return 0;
}

/* "TYPE SIZE MODE NAME" */
static void add_entry(struct op_call *call, struct value *entries, const char *line)
{
	struct value *row = value_append(entries, value_new_map());
	const char *type = line[0] == 'd'   ? "directory"
			   : line[0] == 'f' ? "file"
			   : line[0] == 'l' ? "link"
					    : "other";
	char *at;
	int64_t size = strtoll(line + 1, &at, 10);
	size_t mode = strspn(at, " ") + strcspn(at + strspn(at, " "), " ");
	owned(free_ptr) char *octal = xstrndup(at + strspn(at, " "), mode - strspn(at, " "));
	const char *name = at[mode] ? at + mode + 1 : "";

	value_add(row, "name", value_new_text(name));
	value_add(row, "type", value_new_text(type));
	value_add(row, "size", value_new_int(size));
	value_add(row, "mode", value_new_text(octal));
	str_addf(&call->text, "%-10s %10lld  ", type, (long long)size);
	words_add_path(&call->text, name);
	str_add_char(&call->text, '\n');
}

static int list_files(struct op_call *call, struct error *err)
{
	owned(run_result_done) struct run_result result;
	owned(strv_done) struct strv words = STRV_INIT;
	const char *path = call->words.count > 2 ? call->words.items[2] : ".";
	struct value *entries;

	run_result_init(&result);
	strv_add(&words, path);
	if (run_script(call, list_script, &words, &result, err) < 0)
		return -1;
	const char *at = str_cstr(&result.out.kept), *end = at + result.out.kept.len;

	call->answer = value_new_map();
	value_add(call->answer, "sandbox", value_new_text(call->words.items[1]));
	value_add(call->answer, "path", value_new_text(path));
	entries = value_add(call->answer, "entries", value_new_list());
	for (; at < end && entries->many.count < ENTRIES_MAX; at += strlen(at) + 1)
		add_entry(call, entries, at);
	value_add(call->answer, "truncated", value_new_bool(at < end));
	return 0;
}

int op_files_run(struct op_call *call, struct error *err)
{
	const char *word = call->words.count > 0 ? call->words.items[0] : "";
	size_t count = call->words.count;

	if (strcmp(word, "read") == 0 && count == 3)
		return read_file(call, err);
	if (strcmp(word, "write") == 0 && count == 3)
		return write_file(call, err);
	if (strcmp(word, "edit") == 0 && count == 3)
		return edit_file(call, err);
	if (strcmp(word, "ls") == 0 && (count == 2 || count == 3))
		return list_files(call, err);
	return error_set(err, ERROR_USAGE,
			 "write aisbx files read NAME PATH, files write NAME PATH, files edit NAME "
			 "PATH or files ls NAME [PATH]");
}
