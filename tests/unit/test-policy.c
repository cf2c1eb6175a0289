/* SPDX-License-Identifier: Apache-2.0 */
/* The policy file: one JSON object, and nothing in it that the sandbox does not see anyway. */
#include "launch/setup/policy.h"

#include "base/text/json_read.h"
#include "base/core/own.h"
#include "base/core/value.h"
#include "tests/tap.h"
#include "tests/unit/sample_spec.h"

static struct value *parse(const struct str *text)
{
	struct error err = { 0 };
	struct value *value = NULL;

	if (json_read(text->data, text->len, NULL, &value, &err) < 0)
		printf("# %s\n", err.text);
	return value;
}

static void test_sample(void)
{
	owned(spec_done) struct spec spec;
	owned(str_done) struct str text = STR_INIT;

	sample_spec(&spec);
	policy_write(&spec, &text);
	owned(value_release) struct value *policy = parse(&text);
	const struct value *limits = policy ? value_get(policy, "limits") : NULL;
	int64_t number = 0;

	tap_ok(policy != NULL, "it is JSON");
	tap_ok(str_ends(str_cstr(&text), "}\n"), "one object, one newline");
	if (!limits)
		tap_bail("no limits");
	tap_is_str(value_get_text(policy, "run_id"), spec.run_id, "run_id");
	tap_is_str(value_get_text(policy, "workspace"), spec.workspace, "workspace");
	tap_ok(value_get_int(limits, "mem_bytes", &number) && number == 1 << 30, "a limit");
	tap_ok(value_get(limits, "nofile") && value_get_int(limits, "nofile", &number), "another");
	tap_ok(!strstr(str_cstr(&text), spec.state_dir) &&
		       !strstr(str_cstr(&text), "/sys/fs/cgroup"),
	       "no path of the host's own");
}

static void test_unlimited(void)
{
	owned(spec_done) struct spec spec;
	owned(str_done) struct str text = STR_INIT;

	spec_init(&spec);
	spec.run_id = xstrdup("R");
	spec.sandbox = xstrdup("s");
	spec.workspace = xstrdup("/w\"\n");
	policy_write(&spec, &text);
	owned(value_release) struct value *policy = parse(&text);
	const struct value *limits = policy ? value_get(policy, "limits") : NULL;
	const struct value *time = limits ? value_get(limits, "time_ms") : NULL;

	tap_is_str(policy ? value_get_text(policy, "workspace") : NULL, "/w\"\n",
		   "text is escaped");
	tap_ok(time && time->kind == VALUE_NULL, "no limit is null, not 0");
	tap_is_str(policy ? value_get_text(policy, "net") : NULL, "none", "no network");
}

int main(void)
{
	test_sample();
	test_unlimited();
	return tap_done();
}
