/* SPDX-License-Identifier: Apache-2.0 */
/* Gates: what is a condition, what is not, and how each is decided. */
#include "decide/gate/gate.h"

#include "base/core/own.h"
#include "base/core/str.h"
#include "tests/tap.h"

struct row {
	const char *text;
	bool is_good;
	enum gate_kind kind;
	enum gate_metric metric;
	enum gate_op op;
	int64_t value;
};

static const struct row rows[] = {
	{ "tests==pass", true, GATE_TESTS, 0, 0, 0 },
	{ "no-network-violations", true, GATE_NETWORK, 0, 0, 0 },
	{ "scan==clean", true, GATE_SCAN, 0, 0, 0 },
	{ "cmd:make test", true, GATE_COMMAND, 0, 0, 0 },
	{ "diff.files<=20", true, GATE_METRIC, METRIC_FILES, OP_AT_MOST, 20 },
	{ "diff.files <= 0", true, GATE_METRIC, METRIC_FILES, OP_AT_MOST, 0 },
	{ " diff.lines != 7 ", true, GATE_METRIC, METRIC_LINES, OP_NOT_EQUAL, 7 },
	{ "duration<60s", true, GATE_METRIC, METRIC_DURATION, OP_LESS, 60000 },
	{ "duration>500ms", true, GATE_METRIC, METRIC_DURATION, OP_MORE, 500 },
	{ "peak_memory<512m", true, GATE_METRIC, METRIC_MEMORY, OP_LESS, 512 << 20 },
	{ "exit_code==0", true, GATE_METRIC, METRIC_EXIT, OP_EQUAL, 0 },
	{ "exit_code>=255", true, GATE_METRIC, METRIC_EXIT, OP_AT_LEAST, 255 },
	{ "", false, 0, 0, 0, 0 },
	{ "   ", false, 0, 0, 0, 0 },
	{ "diff.files<=<", false, 0, 0, 0, 0 },
	{ "diff.files", false, 0, 0, 0, 0 },
	{ "diff.files<=", false, 0, 0, 0, 0 },
	{ "diff.files=<3", false, 0, 0, 0, 0 },
	{ "diff.files<=-1", false, 0, 0, 0, 0 },
	{ "diff.files<=1e3", false, 0, 0, 0, 0 },
	{ "diff.files<=20 or true", false, 0, 0, 0, 0 },
	{ "duration<60parsecs", false, 0, 0, 0, 0 },
	{ "exit_code==256", false, 0, 0, 0, 0 },
	{ "tests==fail", false, 0, 0, 0, 0 },
	{ "tests == pass", false, 0, 0, 0, 0 },
	{ "cmd:", false, 0, 0, 0, 0 },
	{ "cmd:  ", false, 0, 0, 0, 0 },
	{ "x\nduration<1s", false, 0, 0, 0, 0 },
};

static void check_row(const struct row *row)
{
	owned(gate_done) struct gate gate = { 0 };
	char shown[STR_SHOWN_SIZE];
	struct error err = { 0 };
	bool is_good = gate_parse(row->text, &gate, &err) == 0;

	tap_ok(is_good == row->is_good, "'%s' %s", str_shown(row->text, shown), err.text);
	if (!is_good)
		tap_ok(err.code == ERROR_USAGE && str_starts(err.text, "gate:"), "and says why");
	else if (row->is_good)
		tap_ok(gate.kind == row->kind && gate.metric == row->metric && gate.op == row->op &&
			       gate.value == row->value,
		       "and means what it says");
}

static void is_decided(const char *text, const struct gate_facts *facts, bool holds,
		       const char *evidence)
{
	owned(gate_done) struct gate gate = { 0 };
	struct gate_verdict verdict = { 0 };
	struct error err = { 0 };

	if (!tap_ok(gate_parse(text, &gate, &err) == 0, "%s is read", text))
		return;
	gate_decide(&gate, facts, &verdict);
	tap_ok(verdict.holds == holds, "%s %s", text, holds ? "holds" : "does not hold");
	tap_is_str(verdict.evidence, evidence, "and that is the evidence");
	free(verdict.evidence);
}

static void test_decisions(void)
{
	struct gate_facts facts = { .has_run = true,
				    .metrics = { 2, 1, 1500, 4096, 3 },
				    .network_denials = 1 };
	struct gate_facts nothing = { .has_run = false };

	is_decided("diff.files<=2", &facts, true, "2 files");
	is_decided("diff.files<2", &facts, false, "2 files");
	is_decided("diff.lines==1", &facts, true, "1 line");
	is_decided("duration<1s", &facts, false, "1500 ms");
	is_decided("duration>=1500ms", &facts, true, "1500 ms");
	is_decided("peak_memory>4k", &facts, false, "4096 bytes");
	is_decided("exit_code!=0", &facts, true, "exit_code 3");
	is_decided("no-network-violations", &facts, false, "1 connection refused");
	is_decided("no-network-violations", &nothing, true, "0 connections refused");
	is_decided("diff.files<=0", &nothing, true, "0 files");
	is_decided("duration<60s", &nothing, false, "nothing ran in this sandbox yet");
	is_decided("exit_code==0", &nothing, false, "nothing ran in this sandbox yet");
}

static void test_words(void)
{
	owned(gate_done) struct gate gate = { 0 };
	owned(free_ptr) char *long_text = NULL;
	struct error err = { 0 };

	tap_ok(gate_parse("diff.file<=2", &gate, &err) < 0 && strstr(err.text, "diff.files"),
	       "a misspelt metric is told the nearest: %s", err.text);
	tap_ok(gate_parse("cmd:a  b", &gate, &err) == 0 && strcmp(gate_command(&gate), "a  b") == 0,
	       "a command is kept to the letter");
	long_text = xasprintf("cmd:%*s", GATE_TEXT_MAX, "x");
	struct gate other = { 0 };

	tap_ok(gate_parse(long_text, &other, &err) < 0, "a text beyond bounds is refused");
}

int main(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_row(&rows[i]);
	test_decisions();
	test_words();
	return tap_done();
}
