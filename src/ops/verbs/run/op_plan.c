/* SPDX-License-Identifier: Apache-2.0 */
/* `plan`: what run would launch, as a page for people or as the spec itself. */
#include "base/text/clean_path.h"
#include "base/core/own.h"
#include "base/text/units.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"
#include "spec/codec.h"
#include "spec/mask.h"
#include "spec/spec.h"

#include <string.h>

static void add_row(struct str *out, const char *title, const char *text)
{
	str_addf(out, "%-11s", title);
	words_add_line(out, text);
	str_add_char(out, '\n');
}

static void add_command(struct str *out, const struct strv *command)
{
	str_addf(out, "%-11s", "command");
	for (size_t i = 0; i < command->count; i++) {
		if (i)
			str_add_char(out, ' ');
		/* Quoted where the word would otherwise not be seen as one. */
		bool is_plain = command->items[i][0] && !strpbrk(command->items[i], " \t\n'\"\\$");

		str_add(out, is_plain ? "" : "'");
		words_add_line(out, command->items[i]);
		str_add(out, is_plain ? "" : "'");
	}
	str_add_char(out, '\n');
}

static const char *root_words(const struct spec *spec)
{
	if (spec->image)
		return "an image's, copy-on-write; the workspace copy-on-write; nothing else";
	switch (spec->root) {
	case ROOT_IDMAPPED:
		return "this machine's, copy-on-write as a whole, ids mapped away from root";
	case ROOT_FOREST:
		return "this machine's, copy-on-write by directory";
	case ROOT_PROJECT:
		return "system directories read-only, the workspace copy-on-write, nothing else";
	case ROOT_PROJECT_IDMAPPED:
		return "system directories read-only, the workspace copy-on-write, nothing else, "
		       "ids mapped away from root";
	}
	return "";
}

static void add_trees(struct str *out, const struct spec *spec)
{
	static const char *const words[] = {
		[TREE_OVERLAY] = "copy-on-write",
		[TREE_READONLY] = "read-only",
		[TREE_HIDDEN] = "hidden",
	};

	str_add(out, "\nMounts\n");
	for (size_t i = 0; i < spec->tree_count; i++) {
		const struct spec_tree *tree = &spec->trees[i];

		str_addf(out, "  %-14s", words[tree->kind]);
		words_add_line(out, tree->path);
		if (tree->why)
			str_addf(out, " (%s)", tree->why);
		str_add_char(out, '\n');
	}
	for (size_t i = 0; i < spec->bind_count; i++) {
		const struct spec_bind *bind = &spec->binds[i];

		str_addf(out, "  %-14s",
			 bind->through	  ? "WRITES THROUGH"
			 : bind->writable ? "copy-on-write"
					  : "read-only");
		words_add_line(out, bind->target);
		str_add(out, " (");
		words_add_line(out, bind->source);
		str_add(out, ")\n");
	}
}

/* Masks of some kinds on lines of bounded length. */
static void add_masks(struct str *out, const struct spec *spec, const char *title, unsigned kinds)
{
	size_t column = 0;

	str_addf(out, "\n%s\n", title);
	for (size_t i = 0; i < spec->mask_count; i++) {
		const struct spec_mask *mask = &spec->masks[i];

		if (!(kinds >> mask->kind & 1))
			continue;
		if (column && column + strlen(mask->path) > 96) {
			str_add_char(out, '\n');
			column = 0;
		}
		str_add(out, column ? " " : "  ");
		words_add_line(out, mask->path);
		column += strlen(mask->path) + (column ? 1 : 2);
	}
	str_add(out, column ? "\n" : "  (nothing)\n");
}

static void add_size(struct str *out, const char *name, uint64_t bytes)
{
	char text[32];

	units_format_size((int64_t)bytes, text);
	str_addf(out, "  %s %s", name, bytes ? text : "unlimited");
}

static void add_time(struct str *out, const char *name, uint64_t ms)
{
	char text[32];

	units_format_duration((int64_t)ms, text);
	str_addf(out, "  %s %s", name, ms ? text : "unlimited");
}

static void add_limits(struct str *out, const struct spec_limits *limits)
{
	str_add(out, "\nLimits\n");
	if (limits->cpu_milli)
		str_addf(out, "  cpu %llu.%03llu", (unsigned long long)limits->cpu_milli / 1000,
			 (unsigned long long)limits->cpu_milli % 1000);
	else
		str_add(out, "  cpu all cores at low weight");
	add_size(out, "mem", limits->mem_bytes);
	str_addf(out, "  pids %llu", (unsigned long long)limits->pids);
	add_size(out, "disk", limits->disk_bytes);
	str_addf(out, "  inodes %llu\n", (unsigned long long)limits->inodes);
	add_time(out, "time", limits->time_ms);
	add_time(out, "cpu-time", limits->cpu_time_ms);
	add_size(out, "fsize", limits->fsize_bytes);
	str_addf(out, "  nofile %llu", (unsigned long long)limits->nofile);
	add_size(out, "output", limits->output_bytes);
	str_add_char(out, '\n');
}

static void add_layers(struct str *out, const struct spec *spec)
{
	str_add(out, "\nLayers\n ");
	for (enum layer layer = LAYER_USER; layer < LAYER_COUNT; layer++) {
		str_addf(out, " %s", layer_name(layer));
		if (spec->require >> layer & 1)
			str_add(out, " (required)");
		if (spec->allow_degraded >> layer & 1)
			str_add(out, " (MAY BE MISSING)");
	}
	str_add_char(out, '\n');
}

static void add_rules(struct str *out, const char *word, const struct strv *rules)
{
	for (size_t i = 0; i < rules->count; i++) {
		str_addf(out, "  %-9s", word);
		words_add_line(out, rules->items[i]);
		str_add_char(out, '\n');
	}
}

static void add_network(struct str *out, const struct spec *spec)
{
	if (spec->net == NET_NONE) {
		add_row(out, "network", "none (own loopback)");
		return;
	}
	add_row(out, "network", "by these rules, nothing else");
	add_rules(out, "allow", &spec->allow);
	add_rules(out, "deny", &spec->deny);
	add_rules(out, "publish", &spec->publish);
}

static void write_page(struct str *out, const struct spec *spec)
{
	add_command(out, &spec->command);
	add_row(out, "directory", spec->cwd);
	add_row(out, "workspace", spec->workspace_made ? "an empty one" : spec->workspace);
	add_row(out, "driver", spec->driver);
	add_row(out, "root", root_words(spec));
	str_addf(out, "%-11suid %u, gid %u; on the host %u and %u\n", "ids", spec->ids.uid,
		 spec->ids.gid, spec->ids.host_uid, spec->ids.host_gid);
	add_network(out, spec);
	add_rules(out, "gpu", &spec->gpu);
	add_trees(out, spec);
	add_masks(out, spec, "Hidden, or empty inside",
		  1U << MASK_HIDE | 1U << MASK_EMPTY | 1U << MASK_GLOB | 1U << MASK_GONE);
	add_masks(out, spec, "Visible below those", 1U << MASK_KEEP | 1U << MASK_FILE);
	add_masks(out, spec, "Visible with the entries they have at the start", 1U << MASK_LIST);
	add_limits(out, &spec->limits);
	str_add(out, "\nEnvironment\n");
	for (size_t i = 0; i < spec->env.count; i++) {
		str_add(out, "  ");
		words_add_line(out, spec->env.items[i]);
		str_add_char(out, '\n');
	}
	add_layers(out, spec);
	for (size_t i = 0; i < spec->notes.count; i++)
		add_row(out, "note", spec->notes.items[i]);
}

/* Whether the directory of PATTERN is shown as the list of its entries. */
static bool is_listed_dir(const struct spec *spec, const char *pattern)
{
	size_t len = (size_t)(strrchr(pattern, '/') - pattern);

	for (size_t i = 0; i < spec->mask_count; i++) {
		const struct spec_mask *mask = &spec->masks[i];

		if (mask->kind == MASK_LIST && strncmp(mask->path, pattern, len) == 0 &&
		    mask->path[len] == '\0')
			return true;
	}
	return false;
}

/* A mask layer holds names, and a pattern is turned into names before each command: later ones are in no layer. */
static void note_gaps(struct spec *spec)
{
	for (size_t i = 0; i < spec->mask_count; i++) {
		const struct spec_mask *mask = &spec->masks[i];

		if (mask->kind == MASK_GLOB && mask_parent_shows(spec, mask->path) &&
		    !is_listed_dir(spec, mask->path))
			strv_addf(
				&spec->notes,
				"%s: a file that the host makes under such a name while a command "
				"runs is visible to that command",
				mask->path);
	}
}

int op_plan_run(struct op_call *call, struct error *err)
{
	owned(request_done) struct request request;
	owned(spec_done) struct spec spec;

	request_init(&request);
	spec_init(&spec);
	if (op_request(call, &request, err) < 0 || app_plan(&request, &spec, err) < 0)
		return -1;
	note_gaps(&spec);
	if (call->json)
		call->answer = spec_to_value(&spec);
	else
		write_page(&call->text, &spec);
	return 0;
}
