/* SPDX-License-Identifier: Apache-2.0 */
/* The result object: its fields and their order, streams that are not text, denials counted once. */
#include "base/core/clock.h"
#include "base/text/json_read.h"
#include "base/core/own.h"
#include "observe/result.h"
#include "tests/tap.h"

static void sample(struct run_result *result)
{
	run_result_init(result);
	result->run_id = xstrdup("01JX");
	result->sandbox = xstrdup("s-7f3a91");
	result->driver = xstrdup("linux");
	strv_add(&result->command, "pytest");
	strv_add(&result->command, "-q");
	str_add(&result->out.kept, "ok\n");
	result->out.bytes = 120;
	result->truncated = true;
	result->started_ms = UINT64_C(1794700800000);
	result->duration_ms = 41.2;
	result->cpu_ms = 38;
	result->start_ms = 1.25;
	result->peak_memory_bytes = 31457280;
	result->isolation = "namespaces";
	strv_add(&result->layers, "user");
	strv_add(&result->layers, "mount");
	denials_add(&result->denials, "net", "connect 1.2.3.4:443", "default deny",
		    "--allow example.org:443");
	result->changes = (struct change_counts){ 1, 2, 0 };
	result->changes_outside = (struct change_counts){ 0, 0, 3 };
	strv_add(&result->notes, "note");
}

static const char whole[] =
	"{\"run_id\":\"01JX\",\"trace_id\":null,\"sandbox\":\"s-7f3a91\",\"command\":[\"pytest\","
	"\"-q\"],"
	"\"status\":\"success\",\"exit_code\":0,\"signal\":null,"
	"\"stdout\":\"ok\\n\",\"stderr\":\"\",\"stdout_bytes\":120,\"stderr_bytes\":0,"
	"\"truncated\":true,"
	"\"started\":\"2026-11-15T00:00:00.000Z\",\"duration_ms\":41.2,\"cpu_ms\":38.0,"
	"\"peak_memory_bytes\":31457280,"
	"\"isolation\":\"namespaces\",\"layers\":[\"user\",\"mount\"],\"degraded\":[],"
	"\"limits_hit\":[],\"denials\":[{\"layer\":\"net\",\"what\":\"connect 1.2.3.4:443\","
	"\"rule\":\"default deny\",\"hint\":\"--allow example.org:443\",\"count\":1}],"
	"\"fuel_consumed\":null,\"changes\":{\"added\":1,\"modified\":2,\"deleted\":0},"
	"\"driver\":\"linux\","
	"\"changes_outside\":{\"added\":0,\"modified\":0,\"deleted\":3},"
	"\"stdout_encoding\":\"utf-8\",\"stderr_encoding\":\"utf-8\",\"denials_beyond\":0,"
	"\"start_ms\":1.25,\"message\":null,\"warnings\":[],\"samples\":[],\"notes\":[\"note\"]}";

static void test_object(void)
{
	owned(run_result_done) struct run_result result;
	owned(str_done) struct str out = STR_INIT, record = STR_INIT;
	owned(value_release) struct value *value = NULL;
	struct error err = { 0 };

	sample(&result);
	run_result_write(&result, &out);
	tap_is_str(str_cstr(&out), whole, "every field in its place");
	run_result_write_record(&result, &record);
	tap_ok(json_read(record.data, record.len, NULL, &value, &err) == 0, "the record is JSON");
	tap_ok(!value_get(value, "stdout") && !value_get(value, "stderr_encoding"),
	       "the record has no streams");
	tap_ok(value_get(value, "stdout_bytes") && value_get(value, "notes"), "but all the rest");
}

/* Writes RESULT and returns the value of KEY as JSON. */
static char *member(const struct run_result *result, const char *key)
{
	owned(str_done) struct str out = STR_INIT;
	owned(value_release) struct value *value = NULL;
	struct str text = STR_INIT;
	struct error err = { 0 };

	run_result_write(result, &out);
	if (json_read(out.data, out.len, NULL, &value, &err) < 0)
		tap_bail(err.text);
	json_write(&text, value_get(value, key), 0);
	return str_detach(&text);
}

static void has_member(const struct run_result *result, const char *key, const char *want)
{
	owned(free_ptr) char *got = member(result, key);

	tap_is_str(got, want, "%s is %.50s", key, want);
}

static void test_endings(void)
{
	static const char *const names[] = { "success", "error", "timeout", "oom",
					     "killed",	"limit", "denied",  "internal" };
	owned(run_result_done) struct run_result result;

	sample(&result);
	for (int status = RUN_SUCCESS; status <= RUN_INTERNAL; status++)
		tap_is_str(run_status_name((enum run_status)status), names[status], "status %d",
			   status);
	result.status = RUN_KILLED;
	result.exit_code = 137;
	result.signal = 9;
	has_member(&result, "exit_code", "137");
	has_member(&result, "signal", "9");
	result.status = RUN_DENIED;
	has_member(&result, "exit_code", "125");
	result.status = RUN_INTERNAL;
	has_member(&result, "exit_code", "125");
	result.started_ms = 0;
	result.peak_memory_bytes = 0;
	has_member(&result, "started", "null");
	has_member(&result, "peak_memory_bytes", "null");
	result.has_fuel = true;
	result.fuel_consumed = UINT64_MAX;
	has_member(&result, "fuel_consumed", "9223372036854775807");
	result.message = xstrdup("why");
	has_member(&result, "message", "\"why\"");
}

static void set_stream(struct captured *stream, const char *bytes, size_t len, uint64_t all)
{
	str_clear(&stream->kept);
	str_add_bytes(&stream->kept, bytes, len);
	stream->bytes = all;
}

static void test_streams(void)
{
	owned(run_result_done) struct run_result result;

	sample(&result);
	set_stream(&result.out, "\xff\x00\x01", 3, 3);
	has_member(&result, "stdout", "\"/wAB\"");
	has_member(&result, "stdout_encoding", "\"base64\"");
	has_member(&result, "stderr_encoding", "\"utf-8\"");
	set_stream(&result.err, "caf\xc3\xa9", 4, 5);
	has_member(&result, "stderr", "\"caf\"");
	has_member(&result, "stderr_encoding", "\"utf-8\"");
	set_stream(&result.err, "x\xf0\x9f\x98\x80", 4, 5);
	has_member(&result, "stderr", "\"x\"");
	set_stream(&result.err, "caf\xc3", 4, 4);
	has_member(&result, "stderr_encoding", "\"base64\"");
	set_stream(&result.err, "\xff\xff\xff\xff\xc3", 5, 9);
	has_member(&result, "stderr_encoding", "\"base64\"");
	set_stream(&result.err, "abc\xff", 4, 9);
	has_member(&result, "stderr", "\"abc\"");
}

static void test_denials(void)
{
	struct denials denials = { 0 };
	char what[32];

	denials_add(&denials, "seccomp", "mount(2)", NULL, NULL);
	denials_add(&denials, "seccomp", "mount(2)", NULL, "a hint");
	denials_add(&denials, "seccomp", "mount(2)", "rule", NULL);
	denials_add(&denials, "net", "mount(2)", NULL, NULL);
	tap_is_int((long long)denials.count, 3, "equal ones are counted up");
	tap_is_int((long long)denials.items[0].count, 2, "twice");
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(what, sizeof(what), "connect :%d", i);
		denials_add(&denials, "net", what, NULL, NULL);
	}
	tap_is_int((long long)denials.count, DENIALS_KEPT, "a hundred are kept");
	tap_is_int((long long)denials.beyond, 903, "the rest is counted");
	denials_add(&denials, "net", "connect :0", NULL, NULL);
	tap_is_int((long long)denials.beyond, 903, "known ones are not");
	denials_done(&denials);
	tap_ok(!denials.items && denials.count == 0, "nothing is left");
}

int main(void)
{
	test_object();
	test_endings();
	test_streams();
	test_denials();
	return tap_done();
}
