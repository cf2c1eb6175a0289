/* SPDX-License-Identifier: Apache-2.0 */
/* Names that carry the owner of a temporary object. */
#include "confine/owner.h"

#include "base/core/clock.h"
#include "base/core/id.h"
#include "base/process/process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is not in use yet is young: making a group and entering it takes milliseconds. */
#define CLOCK_SLACK_MS 5000
#define FOREIGN_OLD_MS (3600u * 1000)
#define YOUNG_MS (10u * 1000)

/* The inode of our pid namespace; 0, which none has, when it is unknown. */
static unsigned long long pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

void owner_name(const char *run_id, char ret_name[static OWNER_NAME_SIZE])
{
	(void)snprintf(ret_name, OWNER_NAME_SIZE, OWNER_PREFIX "%llu-%d-%s", pid_namespace(),
		       getpid(), run_id);
}

/* A name without a run's id has no age, and counts as neither. */
static bool is_old(const char *run_id)
{
	uint64_t made_ms = id_run_epoch_ms(run_id);

	return made_ms && clock_epoch_ms() > made_ms + FOREIGN_OLD_MS;
}

bool owner_is_young(const char *name)
{
	const char *run_id = strrchr(name, '-');
	uint64_t made_ms = run_id ? id_run_epoch_ms(run_id + 1) : 0;

	uint64_t now_ms = clock_epoch_ms();

	/* What is of tomorrow was made before the clock was set back, and would stay young until then. */
	return made_ms && made_ms <= now_ms + CLOCK_SLACK_MS && now_ms <= made_ms + YOUNG_MS;
}

bool owner_is_gone(const char *name)
{
	unsigned long long namespace;
	uint64_t made_ms;
	int pid, run_at = 0;

	if (sscanf(name, OWNER_PREFIX "%llu-%d-%n", &namespace, &pid, &run_at) != 2 ||
	    run_at == 0 || name[strlen(OWNER_PREFIX)] == '-' || pid <= 0)
		return false;
	if (namespace == 0 || namespace != pid_namespace())
		return is_old(name + run_at);
	if (kill(pid, 0) < 0 && errno == ESRCH)
		return true;
	/* On a busy machine the number may be another's by now. */
	made_ms = id_run_epoch_ms(name + run_at);
	return made_ms && !process_is_of(pid, made_ms, CLOCK_SLACK_MS);
}
