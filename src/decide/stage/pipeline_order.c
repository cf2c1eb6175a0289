/* SPDX-License-Identifier: Apache-2.0 */
/* Which stage comes after which: names resolved, circles and double targets refused, an order found. */
#include "decide/stage/pipeline.h"

#include "base/text/suggest.h"
#include "base/core/own.h"

#include <string.h>

static int at(const char *origin, const struct pipeline_stage *stage, struct error *err)
{
	return error_context(err, "%s:%u", origin, stage->line);
}

static size_t index_of(const struct pipeline *pipeline, const char *name)
{
	size_t i = 0;

	while (i < pipeline->count && strcmp(pipeline->stages[i].name, name) != 0)
		i++;
	return i < pipeline->count ? i : PIPELINE_NONE;
}

size_t pipeline_find(const struct pipeline *pipeline, const char *name, struct error *err)
{
	size_t found = index_of(pipeline, name);
	char shown[STR_SHOWN_SIZE];
	struct suggest suggest;

	if (found != PIPELINE_NONE)
		return found;
	suggest_init(&suggest, name);
	for (size_t i = 0; i < pipeline->count; i++)
		suggest_try(&suggest, pipeline->stages[i].name);
	error_set(err, ERROR_NOT_FOUND, "there is no stage '%s'", str_shown(name, shown));
	(void)suggest_add_hint(suggest.best, err);
	return PIPELINE_NONE;
}

static int resolve(struct pipeline *pipeline, size_t i, const char *origin, struct error *err)
{
	struct pipeline_stage *stage = &pipeline->stages[i];

	stage->after = i > 0 ? i - 1 : PIPELINE_NONE;
	if (!stage->after_name)
		return 0;
	stage->after = pipeline_find(pipeline, stage->after_name, err);
	if (stage->after == PIPELINE_NONE) {
		err->code = ERROR_INPUT;
		error_context(err, "after");
		return at(origin, stage, err);
	}
	return 0;
}

/* "a -> b -> a": following it from any of its stages comes back there. */
static int refuse_circle(const struct pipeline *pipeline, size_t start, const char *origin,
			 struct error *err)
{
	owned(str_done) struct str way = STR_INIT;
	size_t i = start;

	/* The start may only lead into the circle. */
	for (size_t steps = 0; steps < pipeline->count; steps++)
		i = pipeline->stages[i].after;
	start = i;
	do {
		str_addf(&way, "%s after ", pipeline->stages[i].name);
		i = pipeline->stages[i].after;
	} while (i != start);
	error_set(err, ERROR_INPUT,
		  "a circle: %s%s; one of them must come after none (move it to the top, without "
		  "'after')",
		  str_cstr(&way), pipeline->stages[start].name);
	return at(origin, &pipeline->stages[start], err);
}

static int check_circles(const struct pipeline *pipeline, const char *origin, struct error *err)
{
	for (size_t start = 0; start < pipeline->count; start++) {
		size_t steps = 0;

		for (size_t i = start; i != PIPELINE_NONE; i = pipeline->stages[i].after)
			if (steps++ > pipeline->count)
				return refuse_circle(pipeline, start, origin, err);
	}
	return 0;
}

static int check_targets(const struct pipeline *pipeline, const char *origin, struct error *err)
{
	for (size_t i = 0; i < pipeline->count; i++) {
		for (size_t j = 0; j < i; j++) {
			if (strcmp(pipeline->stages[i].target, pipeline->stages[j].target) != 0)
				continue;
			error_advise(err, ERROR_INPUT, "each stage needs a directory of its own",
				     "stage '%s' has the target of stage '%s' (line %u)",
				     pipeline->stages[i].name, pipeline->stages[j].name,
				     pipeline->stages[j].line);
			return at(origin, &pipeline->stages[i], err);
		}
	}
	return 0;
}

static unsigned depth_of(const struct pipeline *pipeline, size_t i)
{
	unsigned depth = 0;

	while ((i = pipeline->stages[i].after) != PIPELINE_NONE)
		depth++;
	return depth;
}

int pipeline_arrange(struct pipeline *pipeline, const char *origin, struct error *err)
{
	size_t placed = 0;

	for (size_t i = 0; i < pipeline->count; i++)
		if (resolve(pipeline, i, origin, err) < 0)
			return -1;
	if (check_circles(pipeline, origin, err) < 0 || check_targets(pipeline, origin, err) < 0)
		return -1;
	pipeline->order = xcalloc(pipeline->count + 1, sizeof(pipeline->order[0]));
	for (unsigned depth = 0; placed < pipeline->count; depth++)
		for (size_t i = 0; i < pipeline->count; i++)
			if (depth_of(pipeline, i) == depth)
				pipeline->order[placed++] = i;
	return 0;
}
