/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines, bundles and the record of stages: what can be written, what is refused and with which words. */
#include "decide/stage/pipeline.h"

#include "base/text/json_write.h"
#include "base/core/own.h"
#include "decide/stage/bundle.h"
#include "decide/stage/record.h"
#include "decide/stage/tar.h"
#include "tests/tap.h"

#define HASH_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HASH_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define HASH_C "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"

static void test_whole(void)
{
	static const char text[] =
		"stages:\n"
		"  - {name: dev, target: ., mode: in-place, pre: [\"tests==pass\"], post: "
		"[\"cmd:make test\"]}\n"
		"  - {name: staging, after: dev, target: /srv/staging/, mode: swap, pre: "
		"\"cmd:make check\","
		" timeout: 120s, strategy: merge, keep: 5}\n"
		"  - {name: production, target: /srv/app, approvals: 1, where: host}\n"
		"  - {name: beta, after: dev, target: /srv/beta}\n";
	owned(pipeline_done) struct pipeline pipeline;
	struct error err = { 0 };

	pipeline_init(&pipeline);
	if (!tap_ok(pipeline_read(text, strlen(text), "p.yaml", &pipeline, &err) == 0,
		    "a whole pipeline %s", err.text))
		return;
	tap_is_int((int64_t)pipeline.count, 4, "all stages");
	tap_ok(pipeline.stages[0].after == PIPELINE_NONE && pipeline.stages[1].after == 0 &&
		       pipeline.stages[2].after == 1 && pipeline.stages[3].after == 0,
	       "each comes after the one it names, or the entry before");
	tap_is_str(pipeline.stages[1].target, "/srv/staging", "no slash at the end of a target");
	tap_ok(pipeline.stages[1].swap && !pipeline.stages[0].swap, "mode");
	tap_ok(pipeline.stages[1].timeout_ms == 120000 &&
		       pipeline.stages[0].timeout_ms == PIPELINE_TIMEOUT_MS,
	       "no check without an end");
	tap_ok(pipeline.stages[2].approvals == 1 && pipeline.stages[2].on_host &&
		       pipeline.stages[1].keep == 5,
	       "approvals, where, keep");
	tap_ok(pipeline.order[0] == 0 && pipeline.order[3] == 2, "an order of the tree");
	tap_ok(pipeline_find(&pipeline, "stagin", &err) == PIPELINE_NONE &&
		       strstr(err.text, "did you mean 'staging'"),
	       "an unknown stage: %s", err.text);
}

static void is_refused(const char *text, const char *where, const char *words)
{
	owned(pipeline_done) struct pipeline pipeline;
	struct error err = { 0 };

	pipeline_init(&pipeline);
	tap_ok(pipeline_read(text, strlen(text), "p.yaml", &pipeline, &err) < 0 &&
		       err.code == ERROR_INPUT && str_starts(err.text, where) &&
		       strstr(err.text, words),
	       "refused: %s", err.text);
}

static void test_mistakes(void)
{
	is_refused("", "p.yaml", "stages");
	is_refused("stages: []\n", "p.yaml:1", "list of stages");
	is_refused("stages: x\n", "p.yaml:1", "list of stages");
	is_refused("stage: []\n", "p.yaml:1", "'stages'");
	is_refused("stages:\n- x\n", "p.yaml:2", "map with a name");
	is_refused("stages:\n- {target: .}\n", "p.yaml:2", "map with a name");
	is_refused("stages:\n- {name: Dev, target: .}\n", "p.yaml:2", "a-z");
	is_refused("stages:\n- {name: a}\n", "p.yaml:2", "target: DIRECTORY");
	is_refused("stages:\n- {name: a, target: .}\n- {name: a, target: /b}\n", "p.yaml:3",
		   "two stages");
	is_refused("stages:\n- {name: a, taget: .}\n", "p.yaml:2", "did you mean 'target'");
	is_refused("stages:\n- name: a\n  target: .\n  mode: swop\n", "p.yaml:4",
		   "did you mean swap");
	is_refused("stages:\n- {name: a, target: ., strategy: x}\n", "p.yaml:2", "fail, merge");
	is_refused("stages:\n- {name: a, target: ., timeout: 0s}\n", "p.yaml:2", "timeout");
	is_refused("stages:\n- {name: a, target: ., timeout: never}\n", "p.yaml:2", "timeout");
	is_refused("stages:\n- {name: a, target: ., keep: 21}\n", "p.yaml:2", "keep");
	is_refused("stages:\n- {name: a, target: ., approvals: 65}\n", "p.yaml:2", "64");
	is_refused("stages:\n- {name: a, target: ., pre: [\"diff.files<<1\"]}\n", "p.yaml:2",
		   "diff.files");
	is_refused("stages:\n- {name: a, target: ., pre: [[x]]}\n", "p.yaml:2",
		   "list of conditions");
	is_refused("stages:\n- {name: dev, target: .}\n- {name: b, after: dve, target: /b}\n",
		   "p.yaml:3", "did you mean 'dev'");
	is_refused("stages:\n- {name: a, after: b, target: .}\n- {name: b, after: a, target: /b}\n",
		   "p.yaml:", "a circle");
	is_refused("stages:\n- {name: a, after: a, target: .}\n", "p.yaml:2", "a after a");
	is_refused("stages:\n- {name: x, after: b, target: /x}\n- {name: a, after: c, target: .}\n"
		   "- {name: b, after: a, target: /b}\n- {name: c, after: b, target: /c}\n",
		   "p.yaml:", "circle");
	is_refused("stages:\n- {name: a, target: /b}\n- {name: b, target: /b/}\n", "p.yaml:3",
		   "directory of its own");
}

static void test_states(void)
{
	enum stage_state state;

	for (int i = 0; i < STAGE_STATES; i++)
		tap_ok(stage_state_find(stage_state_name((enum stage_state)i), &state) &&
			       state == (enum stage_state)i,
		       "state %s", stage_state_name((enum stage_state)i));
	tap_ok(!stage_state_find("lively", &state), "no state");
	tap_ok(!stage_may_move(STAGE_WAITING, STAGE_LIVE), "nothing goes live unchecked");
	tap_ok(!stage_may_move(STAGE_PRECHECKING, STAGE_POSTCHECKING), "nor unapplied");
	tap_ok(!stage_may_move(STAGE_UNDOING, STAGE_LIVE), "an undo is not given up");
	tap_ok(stage_may_move(STAGE_REFUSED, STAGE_PRECHECKING),
	       "a refused one may be tried again");
}

static void fill(struct bundle_side *side, char type, unsigned mode, const char *sha256)
{
	side->type = type;
	side->mode = mode;
	(void)snprintf(side->sha256, sizeof(side->sha256), "%s", sha256);
}

static void test_bundle(void)
{
	owned(bundle_done) struct bundle bundle, again;
	owned(str_done) struct str text = STR_INIT, twice = STR_INIT;
	struct bundle_change *change;
	struct error err = { 0 };

	bundle_init(&bundle);
	bundle_init(&again);
	tap_ok(bundle_add(&bundle, "dir/a b\n\xff", &change, &err) == 0, "a path of any bytes");
	fill(&change->old, 'f', 0644, HASH_A);
	fill(&change->new, 'f', 0755, HASH_B);
	tap_ok(bundle_add(&bundle, "link", &change, &err) == 0, "a link");
	change->new.type = 'l';
	change->new.link = xstrdup("to there");
	bundle_write(&bundle, &text);
	tap_ok(bundle_read(str_cstr(&text), text.len, &again, &err) == 0, "read again %s",
	       err.text);
	bundle_write(&again, &twice);
	tap_is_str(str_cstr(&twice), str_cstr(&text), "as it was");
	for (size_t len = 0; len + 1 < text.len; len += 7) {
		owned(bundle_done) struct bundle cut;

		bundle_init(&cut);
		if (bundle_read(str_cstr(&text), len, &cut, &err) == 0 && cut.count == bundle.count)
			tap_ok(false, "a bundle cut at %zu is not whole", len);
	}
}

static void test_bundle_paths(void)
{
	static const char *const paths[] = { "../x", "/x", "a//b", "a/..", "a/./b", "." };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		owned(bundle_done) struct bundle bundle, again;
		owned(str_done) struct str text = STR_INIT;
		struct bundle_change *change;
		struct error err = { 0 };

		bundle_init(&bundle);
		bundle_init(&again);
		(void)bundle_add(&bundle, paths[i], &change, &err);
		bundle_write(&bundle, &text);
		tap_ok(bundle_read(str_cstr(&text), text.len, &again, &err) < 0, "no way out: %s",
		       paths[i]);
	}
}

static void decides(const char *now, unsigned mode, const char *strategy, enum bundle_take want,
		    const char *what)
{
	struct bundle_change change = { .path = NULL };
	struct bundle_side there = { .type = 0 };

	fill(&change.old, 'f', 0644, HASH_A);
	fill(&change.new, 'f', 0644, HASH_B);
	if (now)
		fill(&there, 'f', mode, now);
	tap_is_int(bundle_decide(&change, &there, strategy), want, "%s", what);
}

static void test_decide(void)
{
	decides(HASH_A, 0644, NULL, BUNDLE_NEW, "the target is as the base was");
	decides(HASH_A, 0600, NULL, BUNDLE_NEW, "its own permissions are no conflict");
	decides(HASH_B, 0644, NULL, BUNDLE_NOTHING, "the target has it");
	decides(HASH_C, 0644, NULL, BUNDLE_CONFLICT, "the target drifted");
	decides(NULL, 0, "fail", BUNDLE_CONFLICT, "the target has it no more");
	decides(HASH_C, 0644, "ours", BUNDLE_KEEP, "ours");
	decides(HASH_C, 0644, "theirs", BUNDLE_NEW, "theirs");
	decides(HASH_C, 0644, "merge", BUNDLE_MERGE, "merge");
	decides(NULL, 0, "merge", BUNDLE_CONFLICT, "nothing to merge with");
}

static void test_record(void)
{
	owned(stage_record_done) struct stage_record record, again;
	owned(value_release) struct value *value = NULL;
	owned(str_done) struct str text = STR_INIT;
	struct stage_entry *entry;
	struct error err = { 0 };

	stage_record_init(&record);
	stage_record_init(&again);
	memcpy(record.bundle, HASH_A, SHA256_HEX_SIZE);
	record.sandbox = xstrdup("fix");
	record.sandbox_id = xstrdup("id");
	record.snapshot = xstrdup("s1");
	record.workspace = xstrdup("/w");
	record.pipeline = xstrdup("/w/pipeline.yaml");
	entry = stage_record_add(&record, "dev", "/w");
	tap_ok(stage_entry_move(entry, STAGE_LIVE, NULL, &err) < 0, "no leap: %s", err.text);
	tap_ok(stage_entry_move(entry, STAGE_PRECHECKING, NULL, &err) == 0, "a step");
	tap_ok(stage_entry_move(entry, STAGE_REFUSED, "no", &err) == 0, "and another");
	value = stage_record_write(&record);
	json_write(&text, value, 0);
	tap_ok(stage_record_read(str_cstr(&text), text.len, &again, &err) == 0, "read again %s",
	       err.text);
	tap_ok(again.count == 1 && again.entries[0].state == STAGE_REFUSED, "its state");
	tap_is_str(again.entries[0].reason, "no", "and why");
	stage_record_done(&again);
	tap_ok(stage_record_read("{\"bundle\":\"x\"}", 14, &again, &err) < 0, "damaged: %s",
	       err.text);
}

static void test_tar(void)
{
	owned(str_done) struct str out = STR_INIT;
	char name[151];
	struct tar_entry entry = { .path = "a", .type = 'f', .mode = 0644, .size = 3 };

	tar_add_header(&out, &entry);
	tap_is_int((int64_t)out.len, 512, "one block");
	tap_is_str(out.data + 124, "00000000003", "its size");
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	entry.path = name;
	tar_add_header(&out, &entry);
	tap_is_int((int64_t)out.len, 512 + 3 * 512, "a long name goes ahead");
	tap_is_int((int64_t)tar_padding(3), 509, "padding");
	tap_is_int((int64_t)tar_padding(512), 0, "none");
}

int main(void)
{
	test_whole();
	test_mistakes();
	test_states();
	test_bundle();
	test_bundle_paths();
	test_decide();
	test_record();
	test_tar();
	return tap_done();
}
