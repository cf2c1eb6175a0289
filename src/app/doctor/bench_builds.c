/* SPDX-License-Identifier: Apache-2.0 */
/* Small builds in several languages for `bench`: the same command outside and inside, in turn. */
#include "base/core/own.h"
#include "app/doctor/bench_parts.h"

#include <string.h>

struct language {
	const char *name;
	const char *tool;
	/* Writes the sources, $part being parts that differ; the build must leave its results in the workspace. */
	const char *sources;
	const char *script;
	bool warm; /* built once outside first: its cache is not what is measured */
};

static const struct language languages[] = {
	{ "C", "gcc",
	  "{ echo '#include <stdio.h>'; for part in $(seq 160); do echo \"int part_$part(int "
	  "*cells, int count) "
	  "{ int sum = $part; for (int i = 0; i < count; i++) { cells[i] = cells[i] * ($part + 3) "
	  "+ sum; "
	  "sum += cells[i] ^ i; } return sum; }\"; done; } >unit.c",
	  "exec gcc -O2 -c unit.c -o unit.o", false },
	{ "Python", "python3",
	  "mkdir -p py; for part in $(seq 40); do echo \"def part_$part(cells):\n"
	  "    return [cell * $part + 3 for cell in cells if cell % 3]\"; done >py/module_1.py; "
	  "for part in $(seq 2 40); do cp py/module_1.py py/module_$part.py; done",
	  "exec python3 -m compileall -q -f py", false },
	{ "Node", "node",
	  "{ echo \"const vm = require('vm'), fs = require('fs'); let whole = '';\"; for part in "
	  "$(seq 40); do "
	  "echo \"whole += 'function part_$part(cells) { return cells.map(c => c * $part + 3); }; "
	  "';\"; done; "
	  "echo 'new vm.Script(whole, { produceCachedData: true }).runInThisContext();'; "
	  "echo \"fs.writeFileSync('bundle.js', whole);\"; } >build.js",
	  "exec node build.js", false },
	{ "Go", "go",
	  "mkdir -p go; { printf 'package main\\nimport \"fmt\"\\n'; for part in $(seq 40); do "
	  "echo \"func part$part(cells []int) (sum int) {\nfor i, cell := range cells {\nsum += "
	  "cell*$part + i\n}\n"
	  "return\n}\"; done; printf 'func main() {\\nfmt.Println(part1([]int{1, 2, 3}))\\n}\\n'; "
	  "} >go/main.go; "
	  "printf 'module example.org/small\\n\\ngo 1.18\\n' >go/go.mod",
	  "cd go && rm -f small && GOCACHE=$PWD/.go-cache GOPROXY=off GOFLAGS=-mod=mod "
	  "GOTOOLCHAIN=local exec "
	  "go build -o small .",
	  true },
};

/* One build; its words become the reason when it fails. */
static int build_once(const struct bench *bench, const char *script, bool inside, double *ret_ms,
		      struct error *err)
{
	owned(strv_done) struct strv words = STRV_INIT;
	owned(bench_done_release) struct bench_done done = { .out = STR_INIT, .err = STR_INIT };

	if (inside) {
		strv_add(&words, bench->program);
		strv_add(&words, "run");
		strv_add(&words, "--");
	}
	strv_add(&words, "/bin/sh");
	strv_add(&words, "-c");
	strv_add(&words, script);
	if (bench_exec(bench, words.items, &done, err) < 0)
		return -1;
	if (done.exit_code != 0)
		return error_set(err, ERROR_HOST, "exit %d %s: %.300s", done.exit_code,
				 inside ? "inside" : "outside", str_cstr(&done.err));
	*ret_ms = done.ms;
	return 0;
}

static int measure(const struct bench *bench, const struct language *language, double *outside,
		   double *inside, struct error *err)
{
	double unused;

	if (build_once(bench, language->sources, false, &unused, err) < 0 ||
	    (language->warm && build_once(bench, language->script, false, &unused, err) < 0))
		return -1;
	for (unsigned i = 0; i < bench->options->builds; i++) {
		if (build_once(bench, language->script, false, &outside[i], err) < 0 ||
		    build_once(bench, language->script, true, &inside[i], err) < 0)
			return -1;
	}
	return 0;
}

static void keep(struct bench *bench, const struct language *language, double outside,
		 double inside)
{
	struct value *row = value_append(bench->builds, value_new_map());

	value_set(row, "name", value_new_text(language->name));
	value_set(row, "state", value_new_text("measured"));
	value_set(row, "outside_ms", bench_real(outside));
	value_set(row, "inside_ms", bench_real(inside));
	value_set(row, "ratio", bench_real(inside / outside));
	value_set(row, "detail", value_new_null());
}

static void keep_reason(struct bench *bench, const char *name, const char *state,
			const char *reason)
{
	struct value *row = value_append(bench->builds, value_new_map());

	value_set(row, "name", value_new_text(name));
	value_set(row, "state", value_new_text(state));
	value_set(row, "outside_ms", value_new_null());
	value_set(row, "inside_ms", value_new_null());
	value_set(row, "ratio", value_new_null());
	value_set(row, "detail", value_new_text(reason));
	if (strcmp(state, "broken") == 0)
		bench->broken++;
	else
		bench->skipped++;
}

int bench_builds(struct bench *bench, struct error *err)
{
	size_t count = bench->options->builds;
	owned(free_ptr) double *outside = xcalloc(count, sizeof(double));
	owned(free_ptr) double *inside = xcalloc(count, sizeof(double));

	(void)err;
	for (size_t i = 0; i < sizeof(languages) / sizeof(languages[0]); i++) {
		const struct language *language = &languages[i];
		owned(free_ptr) char *words = xasprintf("building with %s", language->tool);
		struct error reason;

		bench_progress(bench, words);
		if (!bench_has_tool(bench, language->tool)) {
			owned(free_ptr) char *absent =
				xasprintf("%s is not installed", language->tool);

			keep_reason(bench, language->name, "skipped", absent);
		} else if (measure(bench, language, outside, inside, &reason) < 0) {
			/* A build that fails outside too proves nothing. */
			keep_reason(bench, language->name,
				    strstr(reason.text, " inside:") ? "broken" : "skipped",
				    reason.text);
		} else {
			keep(bench, language, bench_percentile(outside, count, 0.5),
			     bench_percentile(inside, count, 0.5));
		}
	}
	return 0;
}
