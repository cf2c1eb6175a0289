/* SPDX-License-Identifier: Apache-2.0 */
/* Limits in force: what the settings say, and a default for everything they leave open. */
#include "plan/parts.h"
#include "wasm/language.h"

#include <string.h>

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* settings_limit, and a note when an untrusted profile asked for more than silence gives. */
static uint64_t limit(const struct planning *planning, const char *name, const int64_t *number,
		      uint64_t otherwise)
{
	uint64_t value = settings_limit(planning->settings, number, otherwise);

	if (*number != SETTING_UNSET && value < (uint64_t)*number)
		strv_addf(&planning->spec->notes,
			  "workspace profile: '%s' ignored: an untrusted profile can only narrow",
			  name);
	return value;
}

/* Under the wasm driver a language brings its own; NULL for every other command. */
static const struct wasm_limits *wasm_limits(const struct spec *spec)
{
	const struct wasm_language *language;

	if (strcmp(spec->driver, "wasm") != 0)
		return NULL;
	language = wasm_language_find(spec->command.items[0]);
	return language && !wasm_is_engine(language) ? &language->limits : &wasm_module_limits;
}

void plan_limits(const struct planning *planning)
{
	const struct settings *settings = planning->settings;
	const struct host *host = planning->host;
	struct spec_limits *limits = &planning->spec->limits;
	/* Unknown memory must not become "no limit". */
	uint64_t half = host->memory_bytes ? host->memory_bytes / 2 : 512 * MIB;
	const struct wasm_limits *wasm = wasm_limits(planning->spec);
	uint64_t memory = wasm && wasm->mem_bytes ? wasm->mem_bytes : 4 * GIB;
	uint64_t disk = wasm && wasm->disk_bytes ? wasm->disk_bytes : 10 * GIB;
	uint64_t time_ms = wasm && wasm->time_ms ? wasm->time_ms : 600000;

	limits->cpu_milli =
		settings_limit(settings, &settings->cpu_milli, wasm ? wasm->cpu_milli : 0);
	limits->mem_bytes = limit(planning, "mem", &settings->mem_bytes, least(memory, half));
	limits->pids = limit(planning, "pids", &settings->pids, 512);
	/* The writable layer is a tmpfs, charged to the memory limit: more would kill where ENOSPC is due. */
	limits->disk_bytes =
		limit(planning, "disk", &settings->disk_bytes, least(disk, limits->mem_bytes / 2));
	limits->inodes = limit(planning, "inodes", &settings->inodes, 1024 * KIB);
	limits->tmp_bytes = least(1 * GIB, limits->mem_bytes / 2);
	limits->shm_bytes = least(256 * MIB, limits->mem_bytes / 2);
	limits->time_ms = limit(planning, "time", &settings->time_ms,
				planning->request->interactive ? 0 : time_ms);
	limits->cpu_time_ms = settings_limit(settings, &settings->cpu_time_ms, 0);
	limits->grace_ms = settings_limit(settings, &settings->grace_ms, 2000);
	/* Time is a limit: only the caller may let a command go beyond it. */
	limits->time_grace_ms =
		settings_is_own(settings, &settings->grace_ms) ? limits->grace_ms : 0;
	limits->fsize_bytes = limit(planning, "fsize", &settings->fsize_bytes, 4 * GIB);
	limits->nofile = limit(planning, "nofile", &settings->nofile, 65536);
	limits->nofile_soft = settings_limit(settings, &settings->nofile, 4096);
	limits->memlock_bytes = 64 * MIB;
	limits->output_bytes = limit(planning, "output", &settings->output_bytes, 1 * MIB);
	limits->log_bytes = 64 * MIB;
	limits->fuel = wasm ? limit(planning, "fuel", &settings->fuel, wasm->fuel) : 0;
}
