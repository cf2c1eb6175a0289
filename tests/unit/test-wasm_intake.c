/* SPDX-License-Identifier: Apache-2.0 */
/* What the wasm driver believes of a runner's reports. */
#include "base/core/own.h"
#include "driver/wasm/intake.h"
#include "scratch.h"
#include "tests/tap.h"

static void add(struct str *stream, uint32_t kind, uint32_t outcome, const char *body)
{
	const struct wasm_report report = {
		.kind = kind, .outcome = outcome, .length = strlen(body), .fuel_consumed = 7
	};

	str_add_bytes(stream, &report, sizeof(report));
	str_add(stream, body);
}

/* In portions of STEP bytes. */
static void feed(struct intake *intake, const struct str *stream, size_t step)
{
	for (size_t at = 0; at < stream->len; at += step)
		intake_take(intake, stream->data + at,
			    stream->len - at < step ? stream->len - at : step);
}

static bool is_kept(const struct scratch *at, const char *key)
{
	struct sealed found = SEALED_INIT;
	struct seal_key seal_key;
	struct error err;
	bool removed;
	int status = seal_key_read(at->dir, &seal_key, &err) < 0
			     ? -1
			     : wasm_cache_find(at->dir, key, &seal_key, &found, &removed, &err);

	sealed_done(&found);
	return status == 1;
}

static void test_order(void)
{
	owned(str_done) struct str stream = STR_INIT;
	struct intake intake;
	struct scratch at;

	scratch_open(&at);
	add(&stream, WASM_REPORT_COMPILED, 0, "the compiled module");
	add(&stream, WASM_REPORT_END, WASM_TRAPPED, "words");
	add(&stream, WASM_REPORT_END, WASM_EXITED, "more words");
	for (size_t step = 1; step < stream.len; step += 13) {
		char key[SHA256_HEX_SIZE];

		sha256_hex(&step, sizeof(step), key);
		intake_init(&intake, &(struct wasm_places){ at.dir, at.dir, NULL }, key, true);
		feed(&intake, &stream, step);
		tap_ok(is_kept(&at, key) && intake.has_end && intake.end.outcome == WASM_TRAPPED &&
			       intake.end.fuel_consumed == 7 && strcmp(intake.text, "words") == 0,
		       "%zu bytes at a time: the first of each", step);
		intake_done(&intake);
	}
	scratch_close(&at);
}

static void test_refused(void)
{
	static const char unwanted[] = "unwanted";
	owned(str_done) struct str twice = STR_INIT, wrong = STR_INIT;
	struct wasm_report huge = { .kind = WASM_REPORT_COMPILED, .length = WASM_COMPILED_MAX + 1 };
	struct intake intake;
	struct scratch at;

	scratch_open(&at);
	add(&twice, WASM_REPORT_COMPILED, 0, unwanted);
	intake_init(&intake, &(struct wasm_places){ at.dir, at.dir, NULL }, unwanted, false);
	feed(&intake, &twice, 5);
	tap_ok(!is_kept(&at, unwanted) && intake.is_closed, "a module nobody asked for");
	intake_done(&intake);
	intake_init(&intake, &(struct wasm_places){ at.dir, at.dir, NULL }, unwanted, true);
	intake_take(&intake, &huge, sizeof(huge));
	tap_ok(intake.is_closed, "one that is too large");
	intake_done(&intake);
	add(&wrong, 99, 0, "");
	intake_init(&intake, &(struct wasm_places){ at.dir, at.dir, NULL }, unwanted, true);
	feed(&intake, &wrong, 100);
	tap_ok(intake.is_closed && !intake.has_end, "a report of no kind");
	intake_done(&intake);
	str_clear(&twice);
	add(&twice, WASM_REPORT_COMPILED, 0, "half of");
	intake_init(&intake, &(struct wasm_places){ at.dir, at.dir, NULL }, "half", true);
	intake_take(&intake, twice.data, twice.len - 3);
	intake_done(&intake);
	tap_ok(!is_kept(&at, "half"), "a module that is not whole");
	scratch_close(&at);
}

int main(void)
{
	test_order();
	test_refused();
	return tap_done();
}
