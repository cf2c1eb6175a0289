/* SPDX-License-Identifier: Apache-2.0 */
/* The script of a command, as the sandbox would see it: from its layers, or from the host. */
#include "app/vet/vet_source.h"

#include "base/text/clean_path.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/file/real_path.h"
#include "confine/mask/mask.h"
#include "app/change/workspace_parts.h"
#include "plan/cache.h"
#include "workspace/store/cache.h"
#include "workspace/txn/txn_mount.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As the kernel has it. */
#define LINKS_MAX 40u

void vet_source_done(struct vet_source *source)
{
	free_ptr(&source->path);
	free_ptr(&source->real);
	str_done(&source->bytes);
}

/* Whether its last start laid warm caches. Also true when that cannot be seen. */
static bool has_laid_caches(const struct spec *spec)
{
	owned(opened_close) struct opened opened;
	struct error ignored;

	opened_init(&opened);
	return opened_open(&opened, spec->sandbox, SANDBOX_UNLOCKED, &ignored) < 0 ||
	       cache_is_laid(opened.sandbox.dir_fd);
}

void vet_view_init(const struct spec *spec, bool lives, struct vet_view *ret_view)
{
	/* All layers of such a run are warm caches. */
	bool is_run = !lives && spec->cache && spec->upper_dir &&
		      cache_is_top(spec->upper_dir, spec->run_id);
	bool is_named = lives || (!is_run && (spec->upper_dir || spec->layers.count > 0));

	*ret_view = (struct vet_view){ spec, is_named, is_run };
	if (is_named)
		ret_view->has_caches = has_laid_caches(spec);
}

static const char *path_of(const struct spec *spec)
{
	const char *path = SETTINGS_PATH_DEFAULT;

	for (size_t i = 0; i < spec->env.count; i++) {
		if (str_starts(spec->env.items[i], "PATH="))
			path = spec->env.items[i] + strlen("PATH=");
	}
	return path;
}

/* PATH without "." and ".."; what stands before a ".." has no link in it any more. */
static void normalise(const char *path, struct str *out)
{
	str_clear(out);
	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 2 && strncmp(path, "..", 2) == 0) {
			while (out->len > 0 && out->data[out->len - 1] != '/')
				str_truncate(out, out->len - 1);
			str_truncate(out, out->len > 0 ? out->len - 1 : 0);
		} else if (len > 0 && !(len == 1 && *path == '.')) {
			str_add_char(out, '/');
			str_add_bytes(out, path, len);
		}
		path += len;
		path += *path == '/';
	}
}

/* The link at OBJECT in the first UP_TO bytes of PATH, put in their place. False when it cannot be read. */
static bool turn(const struct view_object *object, size_t up_to, struct str *path)
{
	owned(str_done) struct str turned = STR_INIT;
	char target[PATH_MAX];
	ssize_t len = readlinkat(object->dir_fd, object->name, target, sizeof(target) - 1);
	size_t directory = up_to;

	if (len <= 0)
		return false;
	target[len] = '\0';
	while (directory > 0 && path->data[directory - 1] != '/')
		directory--;
	if (target[0] != '/')
		str_add_bytes(&turned, path->data, directory);
	str_add(&turned, target);
	str_add(&turned, path->data + up_to);
	normalise(str_cstr(&turned), path);
	return true;
}

/* Whether a part of the sandbox is mounted below: then the way there is made of directories, whatever the host has. */
static bool leads_to_unit(const struct view_stack *stack, const char *prefix)
{
	for (size_t i = 0; i < stack->units->count; i++) {
		if (path_is_within(stack->units->items[i].path, prefix))
			return true;
	}
	return false;
}

enum step { STEP_ABSENT, STEP_TURNED, STEP_ON, STEP_THERE };

/* Looks at the part of PATH up to END. The object is the caller's to free with STEP_THERE and STEP_ON. */
static enum step look_at(const struct view_stack *stack, struct str *path, size_t end,
			 struct view_object *object)
{
	owned(free_ptr) char *prefix = xstrndup(path->data, end);
	enum step step = STEP_ABSENT;
	struct error ignored;

	if (view_lookup(stack, 0, prefix, object, &ignored) < 0)
		return STEP_ABSENT;
	if (object->kind != VIEW_ABSENT && !S_ISLNK(object->st.st_mode))
		return end == path->len ? STEP_THERE : STEP_ON;
	if (object->kind == VIEW_ABSENT)
		step = leads_to_unit(stack, prefix) ? STEP_ON : STEP_ABSENT;
	else if (turn(object, end, path))
		step = STEP_TURNED;
	view_object_done(object);
	return step;
}

/* Looks at PATH from its beginning, up to the first link, which is put in its place, or to its end. */
static enum step look(const struct view_stack *stack, struct str *path, struct view_object *object)
{
	for (size_t end = 1; end <= path->len; end++) {
		enum step step;

		if (end < path->len && path->data[end] != '/')
			continue;
		step = look_at(stack, path, end, object);
		if (step != STEP_ON)
			return step;
		view_object_done(object);
	}
	return STEP_ABSENT;
}

/*
 * Whether a warm cache may show something at PATH. What was left there earlier is another file than the host's, if that
 * has one: what would run is not known here. Those of a workspace are for runs only, not for named sandboxes.
 */
static bool is_cached(const struct vet_view *view, const char *path)
{
	owned(free_ptr) char *real = view->has_caches ? path_real(path) : NULL;

	for (const struct plan_cache *row = plan_caches; view->has_caches && row->tool; row++) {
		owned(free_ptr) char *directory = plan_cache_path(view->spec, row);

		if (view->has_layers && plan_cache_is_inside(row))
			continue;
		if (path_is_within(path, directory) || (real && path_is_within(real, directory)))
			return true;
	}
	return false;
}

/* Follows the links of PATH as they are inside, and opens what is there; -1 when nothing is, or it is not known. */
static int open_in_stack(const struct vet_view *view, const struct view_stack *stack,
			 struct str *path, struct vet_source *source)
{
	struct view_object object;
	enum step step = STEP_TURNED;
	int fd;

	for (unsigned i = 0; i < LINKS_MAX && step == STEP_TURNED; i++) {
		if (is_cached(view, str_cstr(path)))
			return -1;
		step = look(stack, path, &object);
	}
	if (step != STEP_THERE)
		return -1;
	source->is_own = object.kind == VIEW_LAYER;
	fd = view_open_file(&object);
	view_object_done(&object);
	return fd;
}

/*
 * Whether no layer can have anything of PATH. Each mount of the host has a unit from the moment the sandbox starts with it,
 * which may be this very moment; but no process runs there before the last of them is listed. Where links lead, layers may
 * have a say again; and outside of the workspace a sandbox has places that are in no layer.
 */
static bool is_untouched(const struct view_stack *stack, const struct spec *spec, const char *path)
{
	const struct layer_units *units = stack->units;
	owned(free_ptr) char *real = NULL;
	uint64_t mount;

	if (units->count == 0)
		return true;
	if (!path_is_within(path, spec->workspace))
		return false;
	real = path_real(path);
	if (!real || strcmp(real, path) != 0 || mount_of(AT_FDCWD, path, &mount) < 0)
		return false;
	for (size_t i = 0; i < units->count; i++) {
		uint64_t other;

		if (path_is_within(path, units->items[i].path) &&
		    (mount_of(AT_FDCWD, units->items[i].path, &other) < 0 || other == mount))
			return false;
	}
	return true;
}

/* A file of a named sandbox, -1 when its layers have none. False where no layer has a say: it is the host's. */
static bool open_in_layers(const struct vet_view *view, const char *name, struct vet_source *source,
			   int *ret_fd)
{
	const struct spec *spec = view->spec;
	owned(opened_close) struct opened opened;
	owned(str_done) struct str path = STR_INIT;
	struct view_stack stack;
	struct error ignored;
	bool is_theirs;

	*ret_fd = -1;
	opened_init(&opened);
	normalise(name, &path);
	if (path.len == 0 || opened_open(&opened, spec->sandbox, SANDBOX_UNLOCKED, &ignored) < 0 ||
	    app_view(&opened.sandbox, NULL, &stack, &ignored) < 0)
		return true;
	is_theirs = !is_untouched(&stack, spec, str_cstr(&path));
	if (is_theirs)
		*ret_fd = open_in_stack(view, &stack, &path, source);
	view_close(&stack);
	free_ptr(&source->real);
	source->real = *ret_fd < 0 ? NULL : str_detach(&path);
	return is_theirs;
}

/* A mount of the user's that shows another file there. */
static char *behind_binds(const struct spec *spec, const char *path)
{
	for (size_t i = spec->bind_count; i > 0; i--) {
		const struct spec_bind *bind = &spec->binds[i - 1];

		if (path_is_within(path, bind->target))
			return xasprintf("%s%s", bind->source, path + strlen(bind->target));
	}
	return xstrdup(path);
}

static int open_one(const struct vet_view *view, const char *path, struct vet_source *source)
{
	owned(free_ptr) char *host = behind_binds(view->spec, path);
	int fd;

	source->is_own = strcmp(host, path) != 0;
	if (!source->is_own && is_cached(view, path)) {
		errno = ENOENT;
		return -1;
	}
	if (view->has_layers && !source->is_own && open_in_layers(view, path, source, &fd))
		return fd;
	/* What is hidden inside is not what would be run. */
	if (!source->is_own && !mask_shows(view->spec, path)) {
		errno = ENOENT;
		return -1;
	}
	fd = file_open(AT_FDCWD, host, 0, NULL);
	free_ptr(&source->real);
	source->real = fd < 0 ? NULL : path_real(path);
	return fd;
}

/* The same in the layers of a named sandbox and below them. */
static bool layers_have(const struct spec *spec, const char *path)
{
	owned(opened_close) struct opened opened;
	struct view_object object;
	struct view_stack stack;
	struct error ignored;
	bool is_there = true;

	opened_init(&opened);
	if (opened_open(&opened, spec->sandbox, SANDBOX_UNLOCKED, &ignored) < 0 ||
	    app_view(&opened.sandbox, NULL, &stack, &ignored) < 0)
		return true;
	if (view_lookup(&stack, 0, path, &object, &ignored) == 0) {
		is_there = object.kind != VIEW_ABSENT;
		view_object_done(&object);
	}
	view_close(&stack);
	return is_there;
}

bool vet_view_has(const struct vet_view *view, const char *path)
{
	owned(free_ptr) char *host = behind_binds(view->spec, path);
	struct stat st;

	if (lstat(host, &st) == 0)
		return true;
	if (errno != ENOENT && errno != ENOTDIR)
		return true;
	if (strcmp(host, path) != 0)
		return false;
	return is_cached(view, path) || (view->has_layers && layers_have(view->spec, path));
}

static char *absolute(const char *directory, const char *name)
{
	owned(free_ptr) char *joined =
		name[0] == '/' ? xstrdup(name) : xasprintf("%s/%s", directory, name);

	char *clean = path_clean(joined);

	return clean ? clean : ptr_take(&joined);
}

/* The first directory of the PATH that has it. */
static int open_program(const struct vet_view *view, const char *name, struct vet_source *source)
{
	owned(free_ptr) char *list = xstrdup(path_of(view->spec));
	char *rest = NULL;

	for (char *one = strtok_r(list, ":", &rest); one; one = strtok_r(NULL, ":", &rest)) {
		owned(free_ptr) char *directory = absolute(view->spec->cwd, one);
		owned(free_ptr) char *path = absolute(directory, name);
		int fd = open_one(view, path, source);

		if (fd >= 0) {
			source->path = ptr_take(&path);
			return fd;
		}
	}
	return -1;
}

/* A name without a slash is looked for in the PATH, where it is a program's. */
static int open_named(const struct vet_view *view, const char *name, bool is_program,
		      struct vet_source *source)
{
	if (is_program && !strchr(name, '/'))
		return open_program(view, name, source);
	source->path = absolute(view->spec->cwd, name);
	return open_one(view, source->path, source);
}

int vet_source_read(const struct vet_view *view, const char *name, bool is_program,
		    struct vet_source *ret_source, struct error *err)
{
	owned(fd_close) int fd = -1;
	struct stat st;

	*ret_source = (struct vet_source){ .path = NULL };
	fd = open_named(view, name, is_program, ret_source);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	ret_source->mode = st.st_mode;
	ret_source->owner = st.st_uid;
	ret_source->is_plain = ret_source->real && strcmp(ret_source->real, ret_source->path) == 0;
	if (fd_read_all(fd, VET_MAX_BYTES, &ret_source->bytes) < 0)
		return error_errno(err, ERROR_DENIED, "%s cannot be read to be vetted",
				   ret_source->path);
	return 1;
}

bool vet_program_is_system(const struct vet_view *view, const char *name)
{
	static const char *const roots[] = { "/usr/", "/bin/", "/sbin/", "/opt/" };
	owned(vet_source_done) struct vet_source source = { .path = NULL };
	owned(fd_close) int fd = -1;
	struct stat st;

	fd = open_named(view, name, true, &source);
	if (fd < 0 || source.is_own || !source.real || fstat(fd, &st) < 0)
		return false;
	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		if (str_starts(source.real, roots[i]))
			return st.st_uid == 0 && !(st.st_mode & 022);
	}
	return false;
}
