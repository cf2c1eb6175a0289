/* SPDX-License-Identifier: Apache-2.0 */
/* Small builds in several languages for `bench`: the same command outside and inside, in turn. */
#include "base/own.h"
#include "app/doctor/bench_parts.h"

#include <string.h>
#include <sys/stat.h>

#define PARTS 40

struct language {
	const char *name;
	const char *tool;
	/* Writes the sources; the build must leave its results in the workspace. */
	int (*write)(const struct bench *bench, struct error *err);
	const char *script;
	bool warm; /* built once outside first: its cache is not what is measured */
};

static int write_c(const struct bench *bench, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;

	str_add(&text, "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n");
	for (int i = 0; i < PARTS * 4; i++)
		str_addf(&text,
			 "int part_%d(int *cells, int count)\n{\n\tint sum = %d;\n\n\tfor (int i = "
			 "0; i < count; i++) {\n"
			 "\t\tcells[i] = cells[i] * %d + sum;\n\t\tsum += cells[i] ^ "
			 "i;\n\t}\n\treturn sum;\n}\n",
			 i, i, i + 3);
	return bench_write(bench, "unit.c", str_cstr(&text), err);
}

static int write_python(const struct bench *bench, struct error *err)
{
	owned(free_ptr) char *folder = xasprintf("%s/py", bench->work);
	owned(str_done) struct str text = STR_INIT;

	(void)mkdir(folder, 0755);
	for (int i = 0; i < PARTS; i++)
		str_addf(&text,
			 "def part_%d(cells):\n    return [cell * %d + %d for cell in cells if "
			 "cell %% 3]\n\n\n",
			 i, i + 3, i);
	for (int i = 0; i < PARTS; i++) {
		owned(free_ptr) char *path = xasprintf("py/module_%d.py", i);

		if (bench_write(bench, path, str_cstr(&text), err) < 0)
			return -1;
	}
	return 0;
}

static int write_node(const struct bench *bench, struct error *err)
{
	owned(str_done) struct str text = STR_INIT;

	str_add(&text, "const vm = require('vm'), fs = require('fs');\nlet whole = '';\n");
	for (int i = 0; i < PARTS; i++)
		str_addf(&text,
			 "whole += `function part_%d(cells) { return cells.map(c => c * %d + %d); "
			 "}\\n`;\n",
			 i, i + 3, i);
	str_add(&text, "new vm.Script(whole, { produceCachedData: true }).runInThisContext();\n"
		       "fs.writeFileSync('bundle.js', whole);\n");
	return bench_write(bench, "build.js", str_cstr(&text), err);
}

static int write_go(const struct bench *bench, struct error *err)
{
	owned(free_ptr) char *folder = xasprintf("%s/go", bench->work);
	owned(str_done) struct str text = STR_INIT;

	(void)mkdir(folder, 0755);
	str_add(&text, "package main\n\nimport \"fmt\"\n\n");
	for (int i = 0; i < PARTS; i++)
		str_addf(&text,
			 "func part%d(cells []int) (sum int) {\n\tfor i, cell := range cells "
			 "{\n\t\tsum += cell*%d + i\n\t}\n\treturn\n}\n\n",
			 i, i + 3);
	str_add(&text, "func main() {\n\tfmt.Println(part1([]int{1, 2, 3}))\n}\n");
	if (bench_write(bench, "go/main.go", str_cstr(&text), err) < 0)
		return -1;
	return bench_write(bench, "go/go.mod", "module example.org/small\n\ngo 1.18\n", err);
}

static const struct language languages[] = {
	{ "C", "gcc", write_c, "exec gcc -O2 -c unit.c -o unit.o", false },
	{ "Python", "python3", write_python, "exec python3 -m compileall -q -f py", false },
	{ "Node", "node", write_node, "exec node build.js", false },
	{ "Go", "go", write_go,
	  "cd go && rm -f small && GOCACHE=$PWD/.go-cache GOPROXY=off GOFLAGS=-mod=mod "
	  "GOTOOLCHAIN=local exec "
	  "go build -o small .",
	  true },
};

/* One build; its words become the reason when it fails. */
static int build_once(const struct bench *bench, const struct language *language, bool inside,
		      double *ret_ms, struct error *err)
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
	strv_add(&words, language->script);
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

	if (language->write(bench, err) < 0)
		return -1;
	if (language->warm && build_once(bench, language, false, &unused, err) < 0)
		return -1;
	for (unsigned i = 0; i < bench->options->builds; i++) {
		if (build_once(bench, language, false, &outside[i], err) < 0 ||
		    build_once(bench, language, true, &inside[i], err) < 0)
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
