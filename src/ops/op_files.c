/*
 * `files read|write|ls|edit`: files of a named sandbox, by commands inside it.
 *
 * Every path is resolved where the sandbox's own commands resolve theirs: links, masks and `..` lead where they lead for
 * them, and nowhere else.
 */
#include "base/json_write.h"
#include "base/own.h"
#include "base/units.h"
#include "base/utf8.h"
#include "engine/sandbox.h"
#include "ops/rows.h"
#include "ops/words.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_DEFAULT (64 << 10)
#define READ_MAX (1 << 20)
#define EDIT_MAX (1 << 20)
#define ENTRIES_MAX 1000
/* A path may lead to something that never answers. */
#define WAIT_MS 60000

static const char read_script[] = "[ -d \"$1\" ] && { echo 'is a directory' >&2; exit 1; }; "
				  "[ -e \"$1\" ] || { echo 'does not exist' >&2; exit 1; }; "
				  "[ -f \"$1\" ] || { echo 'not a regular file' >&2; exit 1; }; "
				  "size=$(wc -c < \"$1\") || exit 1; echo $size >&2; tail -c "
				  "\"+$2\" < \"$1\" | head -c \"$3\"";
static const char write_script[] =
	"[ -d \"$1\" ] && { echo 'is a directory' >&2; exit 1; }; "
	"case \"$1\" in */*) mkdir -p -- \"${1%/*}/\" || exit 1;; esac; cat > \"$1\"";
static const char decode_script[] =
	"[ -d \"$1\" ] && { echo 'is a directory' >&2; exit 1; }; "
	"case \"$1\" in */*) mkdir -p -- \"${1%/*}/\" || exit 1;; esac; base64 -d > \"$1\"";
static const char list_script[] =
	"cd -- \"$1\" && find . -mindepth 1 -maxdepth 1 -printf '%y %s %m %f\\0'";

/* One script in the sandbox; what it wrote comes back in RESULT. */
static int run_script(struct op_call *call, const char *script, const struct strv *words,
		      struct run_result *result, struct error *err)
{
	const struct engine_run_options options = { .capture = true };
	owned(request_done) struct request request;
	const char *path = words->count > 0 ? words->items[0] : ".";
	char shown[STR_SHOWN_SIZE], place[STR_SHOWN_SIZE];

	request_init(&request);
	if (op_request(call, &request, err) < 0)
		return -1;
	strv_done(&request.command);
	strv_add(&request.command, "sh");
	strv_add(&request.command, "-c");
	strv_add(&request.command, script);
	strv_add(&request.command, "sh");
	strv_copy(&request.command, words);
	request.flags.time_ms = WAIT_MS;
	if (engine_exec(call->words.items[1], &request, &options, result, err) < 0)
		return -1;
	if (result->exit_code == 0)
		return 0;
	/* The last thing the shell said, without its own name in front. */
	owned(free_ptr) char *said =
		xstrndup(str_cstr(&result->err.kept), strcspn(str_cstr(&result->err.kept), "\n"));
	const char *why = *said ? said : run_status_name(result->status);

	return error_set(err, strstr(why, "not exist") ? ERROR_NOT_FOUND : ERROR_USAGE,
			 "%s in %s: %s", str_shown(path, place), call->words.items[1],
			 str_shown(why, shown));
}

static int read_number(const struct op_call *call, const char *name, int64_t max, int64_t *number,
		       struct error *err)
{
	const char *text = op_arg_text(call, name);

	return text ? units_count(name, text, 0, max, number, err) : 0;
}

static bool is_text(const struct str *bytes)
{
	return utf8_valid(str_cstr(bytes), bytes->len) && strlen(str_cstr(bytes)) == bytes->len;
}

static bool wants_base64(const struct op_call *call)
{
	const char *encoding = op_arg_text(call, "encoding");

	return encoding && strcmp(encoding, "base64") == 0;
}

static void add_content(struct op_call *call, const struct str *bytes)
{
	owned(str_done) struct str encoded = STR_INIT;
	bool as_text = !wants_base64(call) && is_text(bytes);

	if (!as_text)
		base64_add(&encoded, bytes->data, bytes->len);
	value_add(call->answer, "content",
		  as_text ? value_new_bytes(str_cstr(bytes), bytes->len)
			  : value_new_text(str_cstr(&encoded)));
	value_add(call->answer, "encoding", value_new_text(as_text ? "utf-8" : "base64"));
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
	add_content(call, bytes);
	value_add(call->answer, "size", value_new_int(size));
	value_add(call->answer, "offset", value_new_int(offset));
	value_add(call->answer, "bytes", value_new_int((int64_t)bytes->len));
	value_add(call->answer, "truncated", value_new_bool(offset + (int64_t)bytes->len < size));
	str_add_bytes(&call->text, str_cstr(bytes), bytes->len);
	call->is_raw = true;
	return 0;
}

static void tell_written(struct op_call *call, const char *did)
{
	call->answer = value_new_map();
	value_add(call->answer, "sandbox", value_new_text(call->words.items[1]));
	value_add(call->answer, "path", value_new_text(call->words.items[2]));
	str_addf(&call->text, "%s ", did);
	words_add_path(&call->text, call->words.items[2]);
	str_addf(&call->text, " in %s\n", call->words.items[1]);
}

static int write_file(struct op_call *call, struct error *err)
{
	owned(run_result_done) struct run_result result;
	owned(strv_done) struct strv words = STRV_INIT;

	run_result_init(&result);
	strv_add(&words, call->words.items[2]);
	if (run_script(call, wants_base64(call) ? decode_script : write_script, &words, &result,
		       err) < 0)
		return -1;
	tell_written(call, "wrote");
	return 0;
}

/* BYTES become our standard input; all of them fit into the pipe, so nobody has to stand by. */
static int feed(const struct str *bytes, struct error *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return error_errno(err, ERROR_HOST, "pipe");
	owned(fd_close) int read_fd = ends[0], write_fd = ends[1];

	(void)fcntl(write_fd, F_SETPIPE_SZ, EDIT_MAX);
	if (bytes->len > 0 && write(write_fd, bytes->data, bytes->len) != (ssize_t)bytes->len)
		return error_set(err, ERROR_HOST,
				 "the file is too large to edit here; use files write");
	if (fcntl(read_fd, F_SETFL, 0) < 0 || dup2(read_fd, STDIN_FILENO) < 0)
		return error_errno(err, ERROR_HOST, "stdin");
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

static int edit_file(struct op_call *call, struct error *err)
{
	owned(run_result_done) struct run_result before, after;
	owned(strv_done) struct strv words = STRV_INIT, path = STRV_INIT;
	const char *old = op_arg_text(call, "old"), *new = op_arg_text(call, "new");
	owned(str_done) struct str text = STR_INIT;
	size_t count;

	run_result_init(&before);
	run_result_init(&after);
	if (!old)
		return error_set(err, ERROR_USAGE, "files edit needs --old TEXT, and --new TEXT");
	strv_add(&path, call->words.items[2]);
	strv_copy(&words, &path);
	strv_add(&words, "1");
	strv_addf(&words, "%d", EDIT_MAX);
	if (run_script(call, read_script, &words, &before, err) < 0)
		return -1;
	if (strtoll(str_cstr(&before.err.kept), NULL, 10) > (long long)before.out.kept.len)
		return error_set(err, ERROR_USAGE, "the file is too large to edit; write it anew");
	count = replace(&before.out.kept, old, new ? new : "", &text);
	if (count == 0)
		return error_set(err, ERROR_NOT_FOUND,
				 "the text to replace is not in the file; read it first");
	if (count > 1 && !op_arg_switch(call, "all"))
		return error_set(err, ERROR_CONFLICT,
				 "the text to replace is there %zu times; give more of it, or all",
				 count);
	if (feed(&text, err) < 0 || run_script(call, write_script, &path, &after, err) < 0)
		return -1;
	tell_written(call, "edited");
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
