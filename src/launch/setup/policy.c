/* SPDX-License-Identifier: Apache-2.0 */
/* The effective policy as a program inside may read it. */
#include "launch/setup/policy.h"

#include "base/text/json_write.h"

static void write_limits(struct json *json, const struct spec_limits *limits)
{
	const struct {
		const char *name;
		uint64_t value;
	} rows[] = {
		{ "cpu_milli", limits->cpu_milli },
		{ "mem_bytes", limits->mem_bytes },
		{ "pids", limits->pids },
		{ "disk_bytes", limits->disk_bytes },
		{ "inodes", limits->inodes },
		{ "time_ms", limits->time_ms },
		{ "cpu_time_ms", limits->cpu_time_ms },
		{ "fsize_bytes", limits->fsize_bytes },
		{ "nofile", limits->nofile },
		{ "output_bytes", limits->output_bytes },
	};

	json_key(json, "limits");
	json_open(json, '{');
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_key(json, rows[i].name);
		if (rows[i].value)
			json_int(json, (int64_t)rows[i].value);
		else
			json_write_null(json);
	}
	json_close(json, '}');
}

void policy_write(const struct spec *spec, struct str *out)
{
	struct json json;

	json_init(&json, out);
	json_open(&json, '{');
	json_key(&json, "run_id");
	json_text(&json, spec->run_id);
	json_key(&json, "sandbox");
	json_text(&json, spec->sandbox);
	json_key(&json, "workspace");
	json_text(&json, spec->workspace);
	json_key(&json, "net");
	json_text(&json, spec->net == NET_ALLOW ? "allow" : "none");
	json_key(&json, "allow");
	json_strv(&json, &spec->allow);
	json_key(&json, "deny");
	json_strv(&json, &spec->deny);
	write_limits(&json, &spec->limits);
	json_close(&json, '}');
	str_add_char(out, '\n');
}
