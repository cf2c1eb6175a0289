/* The script of a command, as the sandbox would see it: from its layers, or from the host. */
#include "engine/vet_source.h"

#include "base/clean_path.h"
#include "base/fd.h"
#include "base/own.h"
#include "confine/mask.h"
#include "engine/workspace_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void vet_source_done(struct vet_source *source)
{
	free_ptr(&source->path);
	free_ptr(&source->real);
	str_done(&source->bytes);
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

/* A file of a named sandbox, -1 when its layers have none; links are not followed there. */
static int open_in_layers(const struct spec *spec, const char *path, bool *ret_is_own)
{
	owned(opened_close) struct opened opened;
	struct view_object object;
	struct view_stack stack;
	struct error ignored;
	int fd = -1;

	opened_init(&opened);
	if (opened_open(&opened, spec->sandbox, SANDBOX_UNLOCKED, &ignored) < 0 ||
	    engine_view(&opened.sandbox, NULL, &stack, &ignored) < 0)
		return -1;
	if (view_lookup(&stack, 0, path, &object, &ignored) == 0) {
		*ret_is_own = object.kind == VIEW_LAYER;
		if (object.kind != VIEW_ABSENT)
			fd = view_open_file(&object);
		view_object_done(&object);
	}
	view_close(&stack);
	return fd;
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

static int open_one(const struct vet_view *view, const char *path, bool *ret_is_own)
{
	owned(free_ptr) char *host = behind_binds(view->spec, path);

	*ret_is_own = strcmp(host, path) != 0;
	if (view->has_layers && !*ret_is_own)
		return open_in_layers(view->spec, path, ret_is_own);
	/* What is hidden inside is not what would be run. */
	if (!*ret_is_own && !mask_shows(view->spec, path)) {
		errno = ENOENT;
		return -1;
	}
	return open(host, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
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
		int fd = open_one(view, path, &source->is_own);

		if (fd >= 0) {
			source->path = ptr_take(&path);
			return fd;
		}
	}
	return -1;
}

int vet_source_read(const struct vet_view *view, const char *name, bool is_program,
		    struct vet_source *ret_source, struct error *err)
{
	owned(fd_close) int fd = -1;
	struct stat st;

	*ret_source = (struct vet_source){ .path = NULL };
	if (is_program && !strchr(name, '/')) {
		fd = open_program(view, name, ret_source);
	} else {
		ret_source->path = absolute(view->spec->cwd, name);
		fd = open_one(view, ret_source->path, &ret_source->is_own);
	}
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	ret_source->mode = st.st_mode;
	ret_source->owner = st.st_uid;
	ret_source->real = realpath(ret_source->path, NULL);
	ret_source->is_plain =
		view->has_layers ||
		(ret_source->real && strcmp(ret_source->real, ret_source->path) == 0);
	if (fd_read_all(fd, VET_MAX_BYTES, &ret_source->bytes) < 0)
		return error_errno(err, ERROR_DENIED, "%s cannot be read to be vetted",
				   ret_source->path);
	return 1;
}

bool vet_program_is_system(const struct vet_view *view, const char *name)
{
	static const char *const roots[] = { "/usr/", "/bin/", "/sbin/", "/opt/" };
	owned(vet_source_done) struct vet_source source = { .path = NULL };
	owned(free_ptr) char *real = NULL;
	owned(fd_close) int fd = -1;
	struct stat st;

	if (strchr(name, '/')) {
		source.path = absolute(view->spec->cwd, name);
		fd = open_one(view, source.path, &source.is_own);
		/* /usr/bin/python3 is a link, and layers are looked at without following any. */
		if (fd < 0 && !source.is_own)
			fd = open(source.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	} else {
		fd = open_program(view, name, &source);
	}
	real = source.path ? realpath(source.path, NULL) : NULL;
	if (fd < 0 || source.is_own || !real || fstat(fd, &st) < 0)
		return false;
	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		if (str_starts(real, roots[i]))
			return st.st_uid == 0 && !(st.st_mode & 022);
	}
	return false;
}
