/* SPDX-License-Identifier: Apache-2.0 */
/* Pipeline files: YAML in, stages out; every mistake with its line. */
#include "decide/stage/pipeline.h"

#include "base/text/suggest.h"
#include "base/core/own.h"
#include "base/text/units.h"
#include "base/text/value_reader.h"
#include "base/text/yaml.h"
#include "decide/gate/gate.h"

#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyz0123456789"
#define TARGET_MAX 4000

struct pipeline_reader {
	struct value_reader file;
	struct pipeline *pipeline;
};

void pipeline_init(struct pipeline *pipeline)
{
	memset(pipeline, 0, sizeof(*pipeline));
}

void pipeline_done(struct pipeline *pipeline)
{
	for (size_t i = 0; i < pipeline->count; i++) {
		struct pipeline_stage *stage = &pipeline->stages[i];

		free(stage->name);
		free(stage->after_name);
		free(stage->target);
		free(stage->strategy);
		strv_done(&stage->pre);
		strv_done(&stage->post);
	}
	free(pipeline->stages);
	free(pipeline->order);
	pipeline_init(pipeline);
}

/* WORD as one of CHOICES ("a|b|c"), or the nearest of them in the refusal. */
static int read_choice(const struct pipeline_reader *reader, const struct value *item,
		       const char *key, const char *const *choices, const char **ret_choice)
{
	const char *word = value_is_word(item) ? item->text.bytes : "";
	char shown[STR_SHOWN_SIZE];
	owned(str_done) struct str all = STR_INIT;
	struct suggest suggest;

	suggest_init(&suggest, word);
	for (; *choices; choices++) {
		if (strcmp(*choices, word) == 0) {
			*ret_choice = *choices;
			return 0;
		}
		suggest_try(&suggest, *choices);
		str_addf(&all, "%s%s", all.len ? ", " : "", *choices);
	}
	error_set(reader->file.err, ERROR_INPUT, "'%s: %s'", key, str_shown(word, shown));
	(void)error_add_hint(reader->file.err, "%s %s",
			     suggest.best ? "did you mean" : "use one of",
			     suggest.best ? suggest.best : str_cstr(&all));
	return value_reader_at(&reader->file, item);
}

static int read_gate(const struct pipeline_reader *reader, const struct value *item,
		     const char *key, struct strv *gates)
{
	struct gate gate;

	if (!value_is_word(item)) {
		error_set(reader->file.err, ERROR_INPUT,
			  "'%s' must be a list of conditions: [\"tests==pass\", \"cmd:make test\"]",
			  key);
		return value_reader_at(&reader->file, item);
	}
	if (gate_parse(item->text.bytes, &gate, reader->file.err) < 0) {
		reader->file.err->code = ERROR_INPUT;
		return value_reader_at(&reader->file, item);
	}
	gate_done(&gate);
	strv_add(gates, item->text.bytes);
	return 0;
}

static int read_gates(const struct pipeline_reader *reader, const struct value *item,
		      const char *key, struct strv *gates)
{
	if (item->kind != VALUE_LIST)
		return read_gate(reader, item, key, gates);
	for (size_t i = 0; i < item->many.count; i++) {
		if (read_gate(reader, item->many.items[i], key, gates) < 0)
			return -1;
	}
	return 0;
}

static int read_number(const struct pipeline_reader *reader, const struct value *item,
		       const char *key, int64_t min, int64_t max, unsigned *ret_number)
{
	int64_t number;

	if (units_count(key, value_is_word(item) ? item->text.bytes : "", min, max, &number,
			reader->file.err) < 0) {
		reader->file.err->code = ERROR_INPUT;
		return value_reader_at(&reader->file, item);
	}
	*ret_number = (unsigned)number;
	return 0;
}

static int read_timeout(const struct pipeline_reader *reader, const struct value *item,
			struct pipeline_stage *stage)
{
	int64_t ms;

	if (units_duration("timeout", value_is_word(item) ? item->text.bytes : "", &ms,
			   reader->file.err) < 0) {
		reader->file.err->code = ERROR_INPUT;
		return value_reader_at(&reader->file, item);
	}
	stage->timeout_ms = (uint64_t)ms;
	return 0;
}

static int read_target(const struct pipeline_reader *reader, const struct value *item,
		       struct pipeline_stage *stage)
{
	size_t len = value_is_word(item) ? item->text.len : 0;

	if (len == 0 || len > TARGET_MAX)
		return value_reader_refuse(&reader->file, item,
					   "'target' must be a directory: /srv/staging");
	while (len > 1 && item->text.bytes[len - 1] == '/')
		len--;
	free(stage->target);
	stage->target = xstrndup(item->text.bytes, len);
	return 0;
}

/* Words of as many accounts, each of which counts once. */
static int read_approvals(const struct pipeline_reader *reader, const struct value *item,
			  struct pipeline_stage *stage)
{
	unsigned wanted = 0;

	if (read_number(reader, item, "approvals", 0, PIPELINE_APPROVALS_MAX, &wanted) < 0)
		return -1;
	stage->approvals = wanted;
	return 0;
}

static const char *const stage_keys[] = { "name",     "after", "target",  "mode",
					  "pre",      "post",  "timeout", "approvals",
					  "strategy", "keep",  "where",	  NULL };
static const char *const modes[] = { "in-place", "swap", NULL };
static const char *const places[] = { "sandbox", "host", NULL };
static const char *const strategies[] = { "fail", "merge",	"ours",		"theirs",
					  "lww",  "merge+ours", "merge+theirs", NULL };

static int read_word_key(const struct pipeline_reader *reader, const struct value *item,
			 const char *key, struct pipeline_stage *stage)
{
	const char *word;

	if (strcmp(key, "mode") == 0) {
		if (read_choice(reader, item, key, modes, &word) < 0)
			return -1;
		stage->swap = strcmp(word, "swap") == 0;
		return 0;
	}
	if (strcmp(key, "where") == 0) {
		if (read_choice(reader, item, key, places, &word) < 0)
			return -1;
		stage->on_host = strcmp(word, "host") == 0;
		return 0;
	}
	if (strcmp(key, "strategy") == 0) {
		if (read_choice(reader, item, key, strategies, &word) < 0)
			return -1;
		free(stage->strategy);
		stage->strategy = xstrdup(word);
		return 0;
	}
	if (strcmp(key, "after") == 0)
		return value_reader_text(&reader->file, item, key, &stage->after_name);
	return value_reader_unknown(&reader->file, item, key, suggest_of(key, stage_keys));
}

static int read_key(const struct pipeline_reader *reader, const struct value *item, const char *key,
		    struct pipeline_stage *stage)
{
	if (strcmp(key, "name") == 0)
		return 0;
	if (strcmp(key, "target") == 0)
		return read_target(reader, item, stage);
	if (strcmp(key, "pre") == 0)
		return read_gates(reader, item, key, &stage->pre);
	if (strcmp(key, "post") == 0)
		return read_gates(reader, item, key, &stage->post);
	if (strcmp(key, "timeout") == 0)
		return read_timeout(reader, item, stage);
	if (strcmp(key, "approvals") == 0)
		return read_approvals(reader, item, stage);
	if (strcmp(key, "keep") == 0)
		return read_number(reader, item, key, 1, PIPELINE_KEEP_MAX, &stage->keep);
	return read_word_key(reader, item, key, stage);
}

static bool is_name(const char *name)
{
	return strlen(name) <= PIPELINE_NAME_MAX && strchr(LETTERS, name[0]) && name[0] &&
	       strspn(name, LETTERS "._-") == strlen(name);
}

/* Room for one more stage, its name checked. */
static int add_stage(const struct pipeline_reader *reader, const struct value *map,
		     struct pipeline_stage **ret_stage)
{
	struct pipeline *pipeline = reader->pipeline;
	const struct value *name = map->kind == VALUE_MAP ? value_get(map, "name") : NULL;

	if (!name || !value_is_word(name))
		return value_reader_refuse(
			&reader->file, map,
			"a stage is a map with a name and a target: {name: dev, target: .}");
	if (!is_name(name->text.bytes))
		return value_reader_refuse(
			&reader->file, name,
			"a stage's name is made of a-z, 0-9, '.', '_' and '-', 40 at most");
	for (size_t i = 0; i < pipeline->count; i++)
		if (strcmp(pipeline->stages[i].name, name->text.bytes) == 0)
			return value_reader_refuse(&reader->file, name, "two stages of this name");
	if (pipeline->count == PIPELINE_STAGES_MAX)
		return value_reader_refuse(&reader->file, map, "more than 64 stages");
	pipeline->stages =
		xrealloc(pipeline->stages, pipeline->count + 1, sizeof(pipeline->stages[0]));
	*ret_stage = &pipeline->stages[pipeline->count++];
	**ret_stage = (struct pipeline_stage){ .name = xstrdup(name->text.bytes),
					       .after = PIPELINE_NONE,
					       .timeout_ms = PIPELINE_TIMEOUT_MS,
					       .line = map->line };
	return 0;
}

static int read_stage(const struct pipeline_reader *reader, const struct value *map)
{
	struct pipeline_stage *stage = NULL;

	if (add_stage(reader, map, &stage) < 0 || !stage)
		return -1;
	for (size_t i = 0; i < map->many.count; i++) {
		if (read_key(reader, map->many.items[i], map->many.keys[i], stage) < 0)
			return -1;
	}
	if (!stage->target)
		return value_reader_refuse(&reader->file, map,
					   "this stage has no target: add target: DIRECTORY");
	return 0;
}

static int read_stages(const struct pipeline_reader *reader, const struct value *list)
{
	if (list->kind != VALUE_LIST || list->many.count == 0)
		return value_reader_refuse(&reader->file, list,
					   "'stages' must be a list of stages");
	for (size_t i = 0; i < list->many.count; i++) {
		if (read_stage(reader, list->many.items[i]) < 0)
			return -1;
	}
	return 0;
}

int pipeline_read(const char *bytes, size_t len, const char *origin, struct pipeline *pipeline,
		  struct error *err)
{
	const struct pipeline_reader reader = { { origin, err }, pipeline };
	owned(value_release) struct value *tree = NULL;

	if (yaml_read(bytes, len, origin, YAML_TEXT, &tree, err) < 0)
		return -1;
	if (tree->kind != VALUE_MAP)
		return error_set(err, ERROR_INPUT,
				 "%s: a pipeline file is a map with the key stages", origin);
	for (size_t i = 0; i < tree->many.count; i++) {
		const char *key = tree->many.keys[i];

		if (strcmp(key, "stages") != 0) {
			char shown[STR_SHOWN_SIZE];

			error_set(err, ERROR_INPUT,
				  "unknown key '%s': a pipeline file has one key, 'stages'",
				  str_shown(key, shown));
			return value_reader_at(&reader.file, tree->many.items[i]);
		}
		if (read_stages(&reader, tree->many.items[i]) < 0)
			return -1;
	}
	if (pipeline->count == 0)
		return error_set(err, ERROR_INPUT, "%s: no stages in it", origin);
	return pipeline_arrange(pipeline, origin, err);
}
