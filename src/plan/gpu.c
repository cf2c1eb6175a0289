/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --gpu: which of the NVIDIA driver's device nodes the sandbox has. They are found by their names and by what the driver
 * tells below /proc; numbers of devices are never assumed.
 */
#include "base/core/own.h"
#include "base/file/dir.h"
#include "base/file/fd.h"
#include "plan/gpu.h"
#include "plan/parts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DRIVER_DIR "/proc/driver/nvidia"
#define INFORMATION_MAX ((size_t)64 << 10)
#define NODES_MAX 64u

/* Of every GPU: control, and memory that it shares with the processor. Without the second no program finds a device. */
static const char *const common[] = { "nvidiactl", "nvidia-uvm" };

static int no_gpu(const char *word, struct error *err)
{
	error_set(err, ERROR_DENIED, "--gpu %s: there is no such GPU here", word);
	return error_add_hint(err, "ls /dev/nvidia* shows those of the NVIDIA driver; "
				   "nvidia-smi makes the nodes where they are missing");
}

/* Sandboxed commands have no group of the host's: the node must be open to others, or be the caller's own. */
static int add_node(const struct planning *planning, const char *name, const char *word,
		    struct error *err)
{
	owned(free_ptr) char *path = xasprintf("/dev/%s", name);
	uid_t uid = planning->host->uid;
	struct stat st;

	if (lstat(path, &st) < 0 || !S_ISCHR(st.st_mode))
		return no_gpu(word, err);
	mode_t needed = str_starts(name, SPEC_GPU_PARTS) ? 04 : 06;

	if ((st.st_mode & needed) != needed &&
	    !(uid != 0 && st.st_uid == uid && (st.st_mode & 0600)))
		return error_advise(err, ERROR_DENIED,
				    "the driver's parameter NVreg_DeviceFileMode=0666 opens it",
				    "--gpu: %s is closed to other accounts", path);
	if (!strv_has(&planning->spec->gpu, name))
		strv_add(&planning->spec->gpu, name);
	return 0;
}

/* The value behind "KEY:" in TEXT, a file of the driver's; NULL when there is none. */
static char *value_behind(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, len) != 0 || line[len] != ':')
			continue;
		line += len + 1;
		line += strspn(line, " \t");
		return xstrndup(line, strcspn(line, " \t\n"));
	}
	return NULL;
}

/* The number of the node that belongs to the GPU with that UUID, as text; NULL when the driver knows none. */
static char *minor_of(const char *uuid)
{
	owned(dir_close) DIR *dir = dir_open(AT_FDCWD, DRIVER_DIR "/gpus");
	struct dirent *entry;
	struct error ignored;

	while (dir && dir_next(dir, &entry) > 0) {
		owned(free_ptr) char *path =
			xasprintf(DRIVER_DIR "/gpus/%s/information", entry->d_name);
		owned(str_done) struct str text = STR_INIT;

		if (file_read(AT_FDCWD, path, INFORMATION_MAX, &text, &ignored) < 0)
			continue;
		owned(free_ptr) char *its_uuid = value_behind(str_cstr(&text), "GPU UUID");

		if (its_uuid && strcmp(its_uuid, uuid) == 0)
			return value_behind(str_cstr(&text), "Device Minor");
	}
	return NULL;
}

/* The node that stands for a part of a GPU: the right to open it is the right to use that part. */
static int add_capability(const struct planning *planning, const char *part, const char *word,
			  struct error *err)
{
	owned(free_ptr) char *path = xasprintf(DRIVER_DIR "/capabilities/%s/access", part);
	owned(str_done) struct str text = STR_INIT;

	if (file_read(AT_FDCWD, path, INFORMATION_MAX, &text, err) < 0)
		return no_gpu(word, err);
	owned(free_ptr) char *minor = value_behind(str_cstr(&text), "DeviceFileMinor");
	owned(free_ptr) char *name = xasprintf("nvidia-caps/nvidia-cap%s", minor ? minor : "");

	return add_node(planning, name, word, err);
}

static bool is_number(const char *text, size_t len)
{
	return len > 0 && len <= 4 && strspn(text, "0123456789") >= len;
}

/* GPU/INSTANCE/COMPUTE, the numbers that nvidia-smi calls GPU, GI and CI. */
static int add_part(const struct planning *planning, const char *word, struct error *err)
{
	const char *instance = strchr(word, '/') + 1, *compute = strchr(instance, '/');
	size_t gpu_len = (size_t)(instance - 1 - word);

	if (!compute || !is_number(word, gpu_len) ||
	    !is_number(instance, (size_t)(compute - instance)) ||
	    !is_number(compute + 1, strlen(compute + 1)))
		return error_set(err, ERROR_USAGE, "--gpu %s: a part is GPU/INSTANCE/COMPUTE",
				 word);
	owned(free_ptr) char *node = xasprintf("nvidia%.*s", (int)gpu_len, word);
	owned(free_ptr) char *whole = xasprintf("gpu%.*s/mig/gi%.*s", (int)gpu_len, word,
						(int)(compute - instance), instance);
	owned(free_ptr) char *part = xasprintf("%s/ci%s", whole, compute + 1);

	if (add_node(planning, node, word, err) < 0 ||
	    add_capability(planning, whole, word, err) < 0)
		return -1;
	return add_capability(planning, part, word, err);
}

static int add_one(const struct planning *planning, const char *word, struct error *err)
{
	owned(free_ptr) char *minor = NULL;

	if (strchr(word, '/'))
		return add_part(planning, word, err);
	minor = is_number(word, strlen(word)) ? xstrdup(word) : minor_of(word);
	if (!minor || !is_number(minor, strlen(minor)))
		return no_gpu(word, err);
	owned(free_ptr) char *node = xasprintf("nvidia%s", minor);

	return add_node(planning, node, word, err);
}

static int compare_names(const void *one, const void *other)
{
	return strcmp(*(char *const *)one, *(char *const *)other);
}

void gpu_list(struct strv *ret_names)
{
	owned(dir_close) DIR *dir = dir_open(AT_FDCWD, "/dev");
	struct dirent *entry;

	while (dir && dir_next(dir, &entry) > 0) {
		if (str_starts(entry->d_name, "nvidia") &&
		    is_number(entry->d_name + 6, strlen(entry->d_name + 6)) &&
		    ret_names->count < NODES_MAX)
			strv_add(ret_names, entry->d_name);
	}
	if (ret_names->count > 1)
		qsort(ret_names->items, ret_names->count, sizeof(ret_names->items[0]),
		      compare_names);
}

static int add_all(const struct planning *planning, struct error *err)
{
	owned(strv_done) struct strv names = STRV_INIT;

	gpu_list(&names);
	if (names.count == 0)
		return no_gpu("all", err);
	for (size_t i = 0; i < names.count; i++) {
		if (add_node(planning, names.items[i], "all", err) < 0)
			return -1;
	}
	return 0;
}

int plan_gpu(const struct planning *planning, struct error *err)
{
	const char *words = planning->settings->gpu;
	struct spec *spec = planning->spec;

	if (!words || strcmp(words, "none") == 0)
		return 0;
	if (strcmp(words, "all") == 0 && add_all(planning, err) < 0)
		return -1;
	for (const char *at = words; strcmp(words, "all") != 0 && *at;) {
		size_t len = strcspn(at, ",");
		owned(free_ptr) char *word = xstrndup(at, len);

		if (add_one(planning, word, err) < 0)
			return -1;
		at += len + (at[len] == ',');
	}
	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++) {
		if (add_node(planning, common[i], words, err) < 0)
			return -1;
	}
	if (spec->gpu.count > NODES_MAX)
		return error_set(err, ERROR_USAGE, "--gpu: more than %u nodes", NODES_MAX);
	return 0;
}
