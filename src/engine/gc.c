/* Housekeeping: control groups and layers whose janitor was killed too. */
#include "engine/engine.h"

#include "base/own.h"
#include "confine/cgroup.h"
#include "host/host.h"
#include "launch/storage.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Removing a group that has processes fails, so a living sandbox is never touched. */
static void remove_stale_groups(const char *path, struct value *answer)
{
	DIR *dir = path ? opendir(path) : NULL;

	if (!dir)
		return;
	for (struct dirent *entry; (entry = readdir(dir));) {
		if (!cgroup_is_stale(entry->d_name) ||
		    unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR) < 0)
			continue;
		struct value *row = value_append(answer, value_new_map());
		owned(free_ptr) char *name = xasprintf("%s/%s", path, entry->d_name);

		value_set(row, "kind", value_new_text("cgroup"));
		value_set(row, "path", value_new_text(name));
		value_set(row, "detail", value_new_text("its supervisor is gone"));
	}
	closedir(dir);
}

static void remove_stale_layers(const char *state_dir, struct value *answer)
{
	owned(strv_done) struct strv removed = STRV_INIT;

	storage_sweep(state_dir, &removed);
	for (size_t i = 0; i < removed.count; i++) {
		struct value *row = value_append(answer, value_new_map());

		value_set(row, "kind", value_new_text("layers"));
		value_set(row, "path", value_new_text(removed.items[i]));
		value_set(row, "detail", value_new_text("its processes are gone"));
	}
}

int engine_gc(struct value **ret_answer, struct error *err)
{
	owned(host_done) struct host host;

	memset(&host, 0, sizeof(host));
	if (host_read(&host, err) < 0)
		return -1;
	struct value *answer = value_new_list();
	const char *const paths[] = { host.cgroup.v2_path, host.cgroup.memory_path,
				      host.cgroup.pids_path, host.cgroup.cpu_path,
				      host.cgroup.cpuacct_path };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		remove_stale_groups(paths[i], answer);
	remove_stale_layers(host.state_dir, answer);
	*ret_answer = answer;
	return 0;
}
