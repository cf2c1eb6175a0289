/* SPDX-License-Identifier: Apache-2.0 */
/* Agents set up and taken back: which entries, in which files, and the record of them. */
#include "app/agent/setup.h"

#include "base/file/dir.h"
#include "base/text/json_read.h"
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "base/process/own_program.h"
#include "app/agent/setup_edit.h"
#include "app/agent/setup_file.h"
#include "app/config/own_list.h"
#include "host/host.h"
#include "workspace/text/textdiff.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#define RECORD "setup"

static const char *const part_names[SETUP_PARTS] = { "mcp", "hook" };

struct work {
	const struct setup *wish;
	struct host host;
	int dir_fd;	       /* of the record; -1 on a dry run without one */
	struct value *records; /* as they are to be afterwards */
	size_t kept;	       /* how many of them were there before */
	struct value *dropped; /* those of before that go */
	struct setup_files files;
};

static void work_done(struct work *work)
{
	value_free(work->records);
	value_free(work->dropped);
	setup_files_done(&work->files);
	host_done(&work->host);
	fd_close(&work->dir_fd);
}

static int open_record(struct work *work, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;

	if (host_read_caller(&work->host, err) < 0)
		return -1;
	if (dir_make_all(work->host.state_dir) < 0)
		return error_errno(err, ERROR_HOST, "%s", work->host.state_dir);
	work->dir_fd = open(work->host.state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (work->dir_fd < 0 || flock(work->dir_fd, LOCK_EX) < 0 ||
	    own_list_read(work->dir_fd, RECORD, &text) < 0)
		return error_errno(err, ERROR_HOST, "%s/" RECORD, work->host.state_dir);
	if (text.len == 0)
		work->records = value_new_list();
	else if (json_read(text.data, text.len, NULL, &work->records, err) < 0)
		return error_context(err, "%s/" RECORD, work->host.state_dir);
	if (work->records->kind != VALUE_LIST)
		return error_set(err, ERROR_INPUT, "%s/" RECORD " is damaged",
				 work->host.state_dir);
	return 0;
}

/* The record is there before what it speaks of, and until that is gone. */
static int write_record(const struct work *work, bool with_dropped, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;
	struct value all = { .kind = VALUE_LIST };
	size_t count = work->records->many.count;
	size_t more = with_dropped ? work->dropped->many.count : 0;
	owned(free_ptr) struct value **items = xcalloc(count + more + 1, sizeof(*items));

	if (more)
		memcpy(items, work->dropped->many.items, more * sizeof(*items));
	if (count)
		memcpy(items + more, work->records->many.items, count * sizeof(*items));
	all.many.items = items;
	all.many.count = count + more;
	json_write(&text, &all, 0);
	return own_list_replace(work->dir_fd, RECORD, &text) < 0
		       ? error_errno(err, ERROR_HOST, "%s/" RECORD, work->host.state_dir)
		       : 0;
}

/* Where ROW's agent reads the entry; owned by the caller. */
static char *row_path(const struct work *work, const struct setup_row *row)
{
	const char *moved = row->env ? getenv(row->env) : NULL;

	if (work->wish->is_project)
		return xasprintf("%s/%s", work->host.cwd, row->project_file);
	if (moved && moved[0] == '/')
		return xasprintf("%s/%s", moved, row->env_file);
	return xasprintf("%s/%s", work->host.home, row->user_file);
}

static bool is_wanted(const struct work *work, const struct setup_row *row)
{
	const struct setup *wish = work->wish;

	if (!str_same(row->agent, wish->agent))
		return false;
	if (wish->is_project && !row->project_file)
		return false;
	return (!wish->parts[SETUP_MCP] && !wish->parts[SETUP_HOOK]) || wish->parts[row->part];
}

/* Whether what EDIT speaks of is to go: asked for, or about to be written anew. */
static bool is_replaced(const struct work *work, const struct value *edit)
{
	const struct setup *wish = work->wish;
	const char *part = value_get_text(edit, "part");
	bool any = !wish->parts[SETUP_MCP] && !wish->parts[SETUP_HOOK];

	if (wish->agent && !str_same(value_get_text(edit, "agent"), wish->agent))
		return false;
	if (wish->is_removal)
		return any || (part && wish->parts[strcmp(part, part_names[SETUP_HOOK]) == 0]);
	for (const struct setup_row *row = setup_rows; row->agent; row++) {
		owned(free_ptr) char *path = is_wanted(work, row) ? row_path(work, row) : NULL;

		if (path && str_same(part, part_names[row->part]) &&
		    str_same(value_get_text(edit, "path"), path))
			return true;
	}
	return false;
}

/* The file EDIT speaks of; in a project a link that came since is not followed. */
static int get_file(struct work *work, const struct value *edit, struct setup_file **ret_file,
		    struct error *err)
{
	const char *path = value_get_text(edit, "path");

	/* The project's directory was recorded without links: one anywhere on the way is new. */
	if (value_is_true(edit, "project") && setup_check_links("", path + 1, err) < 0)
		return -1;
	return setup_files_get(&work->files, path, ret_file, err);
}

static int take_back(struct work *work, struct error *err)
{
	struct value *kept = value_new_list();

	/* The newest first: it may lie in what an older one made. */
	for (size_t i = work->records->many.count; i-- > 0;) {
		struct value *edit = work->records->many.items[i];
		const char *path = value_get_text(edit, "path");
		struct setup_file *file;

		if (!path || path[0] != '/' || !is_replaced(work, edit))
			continue;
		if (get_file(work, edit, &file, err) < 0 ||
		    (file->exists && setup_take(edit, &file->after, err) < 0)) {
			value_free(kept);
			return error_context(err, "%s", path);
		}
		file->is_made |= value_is_true(edit, "made");
	}
	for (size_t i = 0; i < work->records->many.count; i++) {
		struct value *edit = work->records->many.items[i];

		value_append(is_replaced(work, edit) ? work->dropped : kept, edit);
	}
	work->records->many.count = 0;
	value_free(work->records);
	work->records = kept;
	work->kept = kept->many.count;
	return 0;
}

static int put_row(struct work *work, const struct setup_row *row, const char *program,
		   struct error *err)
{
	owned(free_ptr) char *path = row_path(work, row);
	size_t first = work->records->many.count;
	struct setup_file *file;
	bool is_made;

	if (work->wish->is_project && setup_check_links(work->host.cwd, row->project_file, err) < 0)
		return -1;
	if (setup_files_get(&work->files, path, &file, err) < 0)
		return -1;
	/* What was made before and is written anew now was made all the same. */
	is_made = !file->exists || file->is_made;
	if (is_made && setup_file_is_over(file))
		str_clear(&file->after);
	if (setup_put(row, program, work->wish->writes ? " --write workspace" : "", &file->after,
		      work->records, err) < 0)
		return error_context(err, "%s", path);
	for (size_t i = first; i < work->records->many.count; i++) {
		struct value *edit = work->records->many.items[i];

		value_add(edit, "agent", value_new_text(row->agent));
		value_add(edit, "part", value_new_text(part_names[row->part]));
		value_add(edit, "path", value_new_text(path));
		value_add(edit, "made", value_new_bool(is_made));
		value_add(edit, "project", value_new_bool(work->wish->is_project));
	}
	return 0;
}

static int put_all(struct work *work, struct error *err)
{
	owned(free_ptr) char *program = own_program("aisbx");
	unsigned count = 0;

	if (!program)
		return error_advise(err, ERROR_HOST, "install it again",
				    "aisbx is not beside aisbx-full");
	for (const struct setup_row *row = setup_rows; row->agent; row++) {
		if (!is_wanted(work, row))
			continue;
		count++;
		if (put_row(work, row, program, err) < 0)
			return -1;
	}
	if (count)
		return 0;
	return error_advise(err, ERROR_USAGE, "leave out --mcp, --hook or --project",
			    "%s reads no such file%s", work->wish->agent,
			    work->wish->is_project ? " in a project" : "");
}

static bool is_changed(const struct setup_file *file)
{
	return (file->exists && setup_file_is_over(file)) || file->before.len != file->after.len ||
	       memcmp(str_cstr(&file->before), str_cstr(&file->after), file->before.len) != 0;
}

static void report_file(const struct setup_file *file, const struct setup *wish, struct value *list)
{
	const struct unified_options options = { .context = 3 };
	struct value *row = value_append(list, value_new_map());
	bool is_over = setup_file_is_over(file);
	struct text before, after;
	owned(str_done) struct str diff = STR_INIT;

	text_split(&before, str_cstr(&file->before), file->before.len);
	text_split(&after, str_cstr(&file->after), is_over ? 0 : file->after.len);
	textdiff_unified(&before, &after, &options, &diff);
	text_done(&before);
	text_done(&after);
	value_add(row, "file", value_new_text(file->path));
	value_add(row, "state",
		  value_new_text(!is_changed(file)  ? "unchanged"
				 : wish->is_removal ? "removed"
						    : "written"));
	value_add(row, "dry_run", value_new_bool(wish->dry_run));
	value_add(row, "diff", value_new_text(str_cstr(&diff)));
}

/* Edits that may be in their files or not, for as long as the record says so. */
static void set_unfinished(struct value *edits, size_t first, bool is_unfinished)
{
	for (size_t i = first; i < edits->many.count; i++)
		value_set(edits->many.items[i], "unfinished", value_new_bool(is_unfinished));
}

static int write_all(const struct work *work, struct error *err)
{
	set_unfinished(work->dropped, 0, true);
	set_unfinished(work->records, work->kept, true);
	if (write_record(work, true, err) < 0)
		return -1;
	set_unfinished(work->records, work->kept, false);
	for (size_t i = 0; i < work->files.count; i++) {
		const struct setup_file *file = &work->files.items[i];

		setup_file_sweep(file);
		if (is_changed(file) && setup_file_write(file, err) < 0)
			return -1;
	}
	return write_record(work, false, err);
}

int setup_agent(const struct setup *setup, struct value **ret_answer, struct error *err)
{
	owned(work_done) struct work work = { .wish = setup, .dir_fd = -1 };
	struct value *list;

	work.dropped = value_new_list();
	if (open_record(&work, err) < 0 || take_back(&work, err) < 0 ||
	    (!setup->is_removal && put_all(&work, err) < 0) ||
	    (!setup->dry_run && write_all(&work, err) < 0))
		return -1;
	list = value_new_list();
	for (size_t i = 0; i < work.files.count; i++)
		report_file(&work.files.items[i], setup, list);
	*ret_answer = list;
	return 0;
}
