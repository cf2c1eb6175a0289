/* SPDX-License-Identifier: Apache-2.0 */
/* Which pipeline applies, whether the user trusts it, and where its targets are. */
#include "app/stage/stage_file.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/text/shell_quote.h"
#include "base/file/real_path.h"
#include "base/hash/sha256.h"
#include "base/text/yaml.h"
#include "app/config/profile_load.h"
#include "app/config/trust.h"
#include "workspace/disk/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_NAME "pipeline.yaml"

void stage_file_init(struct stage_file *file)
{
	memset(file, 0, sizeof(*file));
	pipeline_init(&file->pipeline);
}

void stage_file_done(struct stage_file *file)
{
	for (size_t i = 0; file->targets && i < file->pipeline.count; i++)
		free(file->targets[i]);
	free(file->targets);
	free(file->path);
	pipeline_done(&file->pipeline);
	stage_file_init(file);
}

static int find_file(struct stage_file *file, const char *given, const char *workspace,
		     const char *config_dir, struct error *err)
{
	owned(free_ptr) char *beside = xasprintf("%s/" FILE_NAME, workspace);
	owned(free_ptr) char *own = config_dir ? xasprintf("%s/" FILE_NAME, config_dir) : NULL;

	file->path = path_real(given ? given : beside);
	if (!file->path && !given && own)
		file->path = path_real(own);
	if (file->path)
		return 0;
	if (given)
		return error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_HOST, "%s",
				   given);
	return error_advise(err, ERROR_NOT_FOUND, "name one with -f",
			    "no " FILE_NAME " in %s, nor one of yours in ~/.config/aisbx",
			    workspace);
}

static bool lies_in(const char *path, const char *directory)
{
	const char *relative = target_relative(directory, path);

	return relative && *relative;
}

static int check_trust(const struct stage_file *file, const struct str *text, const char *workspace,
		       const char *config_dir, struct error *err)
{
	if (file->is_own || !lies_in(file->path, workspace))
		return 0;
	if (config_dir && trust_has(config_dir, file->path, str_cstr(text), text->len))
		return 0;
	error_set(err, ERROR_CONSENT, "%s lies in the workspace and is not trusted as it is now",
		  file->path);
	return error_add_hint(err, "read it, then: aisbx profile trust %s", file->path);
}

/* Checks on the host itself are for pipelines that only the user can write. */
static int check_places(const struct stage_file *file, struct error *err)
{
	for (size_t i = 0; i < file->pipeline.count; i++) {
		const struct pipeline_stage *stage = &file->pipeline.stages[i];

		if (!stage->on_host || file->is_own)
			continue;
		return error_advise(err, ERROR_DENIED, "elsewhere checks run in a sandbox",
				    "%s:%u: 'where: host' is for pipelines in your own "
				    "configuration (~/.config/aisbx)",
				    file->path, stage->line);
	}
	return 0;
}

int stage_file_read(struct stage_file *file, const struct app_stage *wish, const char *workspace,
		    struct error *err)
{
	owned(free_ptr) char *config_dir = app_config_dir(wish->environ);
	owned(free_ptr) char *own_dir = config_dir ? path_real(config_dir) : NULL;
	owned(str_done) struct str text = STR_INIT;

	if (find_file(file, wish->file, workspace, config_dir, err) < 0)
		return -1;
	file->is_own = own_dir && lies_in(file->path, own_dir);
	if (file_read(AT_FDCWD, file->path, YAML_MAX_BYTES, &text, err) < 0 ||
	    check_trust(file, &text, workspace, config_dir, err) < 0 ||
	    pipeline_read(str_cstr(&text), text.len, wish->file ? wish->file : file->path,
			  &file->pipeline, err) < 0)
		return -1;
	return check_places(file, err);
}

bool stage_file_is_wanted(const struct pipeline *pipeline, size_t index, size_t to)
{
	if (to == PIPELINE_NONE)
		return true;
	while (to != PIPELINE_NONE && to != index)
		to = pipeline->stages[to].after;
	return to == index;
}

static int find_target(struct stage_file *file, size_t index, const char *workspace,
		       struct error *err)
{
	const struct pipeline_stage *stage = &file->pipeline.stages[index];
	owned(free_ptr) char *path = stage->target[0] == '/'
					     ? xstrdup(stage->target)
					     : xasprintf("%s/%s", workspace, stage->target);
	char shown[STR_SHOWN_SIZE];
	struct stat st;

	file->targets[index] = path_real(path);
	if (!file->targets[index] || stat(path, &st) < 0)
		return error_advise(err, ERROR_NOT_FOUND, "make the directory first",
				    "%s:%u: the target '%s' of stage '%s' is not there", file->path,
				    stage->line, str_shown(path, shown), stage->name);
	if (!S_ISDIR(st.st_mode) || strcmp(file->targets[index], "/") == 0)
		return error_set(err, ERROR_INPUT,
				 "%s:%u: the target '%s' of stage '%s' is no directory to put "
				 "changes into",
				 file->path, stage->line, str_shown(path, shown), stage->name);
	for (size_t i = 0; i < file->pipeline.count; i++)
		if (i != index && file->targets[i] &&
		    strcmp(file->targets[i], file->targets[index]) == 0)
			return error_advise(err, ERROR_INPUT, "each needs a directory of its own",
					    "%s:%u: stages '%s' and '%s' have one target, '%s'",
					    file->path, stage->line, file->pipeline.stages[i].name,
					    stage->name, str_shown(file->targets[i], shown));
	return 0;
}

int stage_file_find_targets(struct stage_file *file, const char *to, const char *workspace,
			    struct error *err)
{
	const struct pipeline *pipeline = &file->pipeline;
	size_t last = to ? pipeline_find(pipeline, to, err) : PIPELINE_NONE;

	if (to && last == PIPELINE_NONE)
		return -1;
	file->targets = xcalloc(pipeline->count + 1, sizeof(file->targets[0]));
	for (size_t i = 0; i < pipeline->count; i++)
		if (stage_file_is_wanted(pipeline, i, last) &&
		    find_target(file, i, workspace, err) < 0)
			return -1;
	return 0;
}

int stage_file_check_bundle(const struct stage_file *file, const struct bundle *bundle,
			    const char *workspace, struct error *err)
{
	const char *pipeline = target_relative(workspace, file->path);

	for (size_t i = 0; i < bundle->count; i++) {
		const char *path = bundle->items[i].path;

		owned(str_done) struct str word = STR_INIT;

		if ((!pipeline || strcmp(path, pipeline) != 0) &&
		    strcmp(path, WORKSPACE_PROFILE) != 0)
			continue;
		shell_quote_add(&word, path);
		return error_set(err, ERROR_CONSENT,
				 "the bundle changes %s, which decides about it; apply that "
				 "file by itself (aisbx promote NAME %s), read it, and trust it "
				 "(aisbx profile trust)",
				 path, str_cstr(&word));
	}
	return 0;
}

int app_pipeline_trust(const char *file, const char *const *env, bool *ret_is_pipeline,
		       struct value **ret_answer, struct error *err)
{
	owned(free_ptr) char *config_dir = app_config_dir(env);
	owned(free_ptr) char *path = path_real(file);
	owned(pipeline_done) struct pipeline pipeline;
	owned(value_release) struct value *tree = NULL;
	owned(str_done) struct str text = STR_INIT;
	struct error ignored;
	char hex[SHA256_HEX_SIZE];

	pipeline_init(&pipeline);
	*ret_is_pipeline =
		path && config_dir &&
		file_read(AT_FDCWD, path, YAML_MAX_BYTES, &text, &ignored) == 0 &&
		yaml_read(str_cstr(&text), text.len, file, YAML_TEXT, &tree, &ignored) == 0 &&
		tree->kind == VALUE_MAP && value_get(tree, "stages");
	if (!*ret_is_pipeline)
		return 0;
	if (pipeline_read(str_cstr(&text), text.len, file, &pipeline, err) < 0 ||
	    trust_add(config_dir, path, str_cstr(&text), text.len, err) < 0)
		return -1;
	sha256_hex(str_cstr(&text), text.len, hex);
	*ret_answer = value_new_map();
	value_add(*ret_answer, "path", value_new_text(path));
	value_add(*ret_answer, "sha256", value_new_text(hex));
	return 0;
}
