/* The two appends a run leaves in the spool. */
#include "engine/record.h"

#include "base/json_write.h"
#include "base/own.h"
#include "history/spool.h"

#include <time.h>
#include <unistd.h>

int record_start(const struct spec *spec, int *ret_fd, struct error *err)
{
	owned(str_done) struct str body = STR_INIT;
	owned(fd_close) int fd = -1;
	struct timespec now;
	struct json json;
	char started[32];

	if (spool_open(spec->state_dir, &fd, err) < 0)
		return -1;
	clock_gettime(CLOCK_REALTIME, &now);
	time_format_utc((uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000, started);
	json_init(&json, &body);
	json_open(&json, '{');
	json_key(&json, "run_id");
	json_text(&json, spec->run_id);
	json_key(&json, "trace_id");
	json_text(&json, spec->trace_id);
	json_key(&json, "sandbox");
	json_text(&json, spec->sandbox);
	json_key(&json, "command");
	json_strv(&json, &spec->command);
	json_key(&json, "workspace");
	json_text(&json, spec->workspace);
	json_key(&json, "driver");
	json_text(&json, spec->driver);
	json_key(&json, "started");
	json_text(&json, started);
	/* Whoever folds the spool tells a killed supervisor by it: START without END and no such process. */
	json_key(&json, "supervisor");
	json_int(&json, getpid());
	json_close(&json, '}');
	if (spool_append(fd, SPOOL_START, body.data, body.len, err) < 0)
		return -1;
	*ret_fd = fd_take(&fd);
	return 0;
}

int record_end(const struct run_result *result, int fd, struct error *err)
{
	owned(str_done) struct str body = STR_INIT;

	run_result_write_record(result, &body);
	return spool_append(fd, SPOOL_END, body.data, body.len, err);
}
