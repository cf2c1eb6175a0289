/* SPDX-License-Identifier: Apache-2.0 */
/* `cp`: a file or directory into a sandbox, or out of one; out is a promotion like any other. */
#include "base/core/own.h"
#include "app/sandbox/copy_in.h"
#include "app/change/workspace.h"
#include "base/file/fd.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Written there by the sandbox's own shell, with nothing but what a command in it may do. $4 is "sparse" for a file with
 * holes: dd leaves them out where it can.
 */
static const char write_script[] =
	"if [ -d \"$1\" ]; then set -- \"$1/$2\" \"$2\" \"$3\" \"$4\"; fi; "
	"if [ \"$4\" = sparse ] && dd if=/dev/null of=/dev/null conv=sparse 2>/dev/null; "
	"then dd of=\"$1\" bs=64k conv=sparse status=none; else cat > \"$1\"; fi && "
	"chmod \"$3\" \"$1\"";

/* NAME:PATH taken apart; false for a path of the host. A colon behind a slash belongs to a name of the host's. */
static bool split_place(const char *word, char **ret_name, const char **ret_path)
{
	size_t len = strcspn(word, ":/");

	if (word[len] != ':' || len == 0)
		return false;
	*ret_name = xstrndup(word, len);
	*ret_path = word + len + 1;
	return true;
}

static int copy_out(struct op_call *call, const char *name, const char *from, const char *to,
		    struct error *err)
{
	struct app_promote promote = { .sandbox = name,
				       .request.artifact = from,
				       .request.to = to };
	owned(str_done) struct str again = STR_INIT;
	int outcome, status;

	if (op_quiet(call, &promote.how, err) < 0)
		return -1;
	outcome = app_promote(&promote, &call->answer, err);
	str_addf(&again, "aisbx promote %s --artifact ", name);
	words_add_shell(&again, from);
	str_add(&again, " --to ");
	words_add_shell(&again, to);
	status = op_promotion(call, call->answer, outcome, str_cstr(&again), err);
	if (status < 0)
		return -1;
	call->exit_status = status;
	return 0;
}

/* The file becomes our stdin, and so the command's: it is passed on as any file, read-only. */
static int open_source(const char *path, struct stat *ret_st, struct error *err)
{
	owned(fd_close) int fd = file_open(AT_FDCWD, path, 0, ret_st);

	if (fd < 0 && file_is_other_kind(errno))
		return error_set(err, ERROR_USAGE, "%s is not a file", path);
	if (fd < 0)
		return error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_USAGE, "%s",
				   path);
	return dup2(fd, STDIN_FILENO) < 0 ? error_errno(err, ERROR_HOST, "%s", path) : 0;
}

static void add_command(struct request *request, const char *from, const char *to,
			const struct stat *st)
{
	const char *slash = strrchr(from, '/');
	/* A name that begins with a dash is no option of chmod's. */
	const char *before = to[0] == '-' ? "./" : "";

	strv_done(&request->command);
	strv_add(&request->command, "/bin/sh");
	strv_add(&request->command, "-c");
	strv_add(&request->command, write_script);
	strv_add(&request->command, "sh");
	strv_addf(&request->command, "%s%s", before, *to ? to : ".");
	strv_add(&request->command, slash ? slash + 1 : from);
	strv_addf(&request->command, "%o", (unsigned)st->st_mode & 0777);
	strv_add(&request->command, st->st_blocks * 512 < st->st_size ? "sparse" : "");
}

/* The first line that the shell inside printed. */
static int refuse(const char *name, const char *to, const char *said, struct error *err)
{
	owned(free_ptr) char *line = xstrndup(said, strcspn(said, "\n"));
	char shown[STR_SHOWN_SIZE], place[STR_SHOWN_SIZE];

	return error_set(err, ERROR_USAGE, "cannot write %s in %s: %s", str_shown(to, place), name,
			 str_shown(line, shown));
}

static int copy_in(struct op_call *call, const char *name, const char *from, const char *to,
		   struct error *err)
{
	owned(run_result_done) struct run_result result;
	owned(request_done) struct request request;
	struct app_run_options options = { .capture = true };
	struct stat st;

	run_result_init(&result);
	request_init(&request);
	if (open_source(from, &st, err) < 0 || op_request(call, &request, err) < 0)
		return -1;
	add_command(&request, from, to, &st);
	if (app_exec(name, &request, &options, &result, err) < 0)
		return -1;
	if (result.exit_code != 0)
		return refuse(name, to, str_cstr(&result.err.kept), err);
	call->answer = value_new_map();
	value_add(call->answer, "sandbox", value_new_text(name));
	value_add(call->answer, "path", value_new_text(to));
	str_add(&call->text, "copied ");
	words_add_path(&call->text, from);
	str_addf(&call->text, " to %s:", name);
	words_add_path(&call->text, to);
	str_add_char(&call->text, '\n');
	return 0;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int copy_directory_in(struct op_call *call, const char *name, const char *from,
			     const char *to, struct error *err)
{
	const struct app_copy_in copy = { name, from, to, call->environ };
	struct copied copied;

	if (app_copy_in(&copy, &copied, err) < 0)
		return -1;
	call->answer = value_new_map();
	value_add(call->answer, "sandbox", value_new_text(name));
	value_add(call->answer, "path", value_new_text(to));
	value_add(call->answer, "files", value_new_int((int64_t)copied.files));
	value_add(call->answer, "directories", value_new_int((int64_t)copied.directories));
	value_add(call->answer, "links", value_new_int((int64_t)copied.links));
	value_add(call->answer, "bytes", value_new_int((int64_t)copied.bytes));
	value_add(call->answer, "left_out", value_new_int((int64_t)copied.left_out));
	str_add(&call->text, "copied ");
	words_add_path(&call->text, from);
	str_addf(&call->text, " to %s:", name);
	words_add_path(&call->text, to);
	str_addf(&call->text, ": %llu files, ", (unsigned long long)copied.files);
	words_add_size(&call->text, (int64_t)copied.bytes);
	str_add_char(&call->text, '\n');
	if (copied.left_out > 0)
		str_addf(&call->notes, "%llu sockets, pipes or devices were left out\n",
			 (unsigned long long)copied.left_out);
	return 0;
}

int op_cp_run(struct op_call *call, struct error *err)
{
	owned(free_ptr) char *from_name = NULL;
	owned(free_ptr) char *to_name = NULL;
	const char *from, *to;

	if (op_want_words(call, 2, 2, err) < 0)
		return -1;
	bool is_out = split_place(call->words.items[0], &from_name, &from);
	bool is_in = split_place(call->words.items[1], &to_name, &to);

	if (is_out == is_in)
		return error_advise(err, ERROR_USAGE, "./a:b is a file called a:b",
				    "one of the two is in a sandbox: aisbx cp NAME:SRC DST, or "
				    "aisbx cp SRC NAME:DST");
	if (is_out)
		return copy_out(call, from_name, from, call->words.items[1], err);
	if (is_directory(call->words.items[0]))
		return copy_directory_in(call, to_name, call->words.items[0], to, err);
	return copy_in(call, to_name, call->words.items[0], to, err);
}
