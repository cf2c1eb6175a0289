/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments and answers of tools as JSON schemas. */
#include "ops/tools/tool.h"

#include "base/core/own.h"

#include <string.h>

static struct value *typed(const char *type)
{
	struct value *schema = value_new_map();

	value_add(schema, "type", value_new_text(type));
	return schema;
}

static struct value *texts(void)
{
	struct value *schema = typed("array");

	value_add(schema, "items", typed("string"));
	return schema;
}

/* Types in a list are what several clients do not read; alternatives they do. */
static struct value *command_or_script(void)
{
	struct value *schema = value_new_map();
	struct value *ways = value_add(schema, "anyOf", value_new_list());

	value_append(ways, texts());
	value_append(ways, typed("string"));
	return schema;
}

static struct value *attempts(void)
{
	struct value *schema = typed("array"), *item = typed("object");
	struct value *properties = value_add(item, "properties", value_new_map());

	value_add(properties, "name", typed("string"));
	value_add(properties, "script", typed("string"));
	value_add(properties, "command", command_or_script());
	value_append(value_add(item, "required", value_new_list()), value_new_text("name"));
	value_add(schema, "items", item);
	return schema;
}

static struct value *schema_of_type(enum tool_type type)
{
	struct value *pairs;

	switch (type) {
	case TOOL_INT:
		return typed("integer");
	case TOOL_NUMBER:
		return typed("number");
	case TOOL_BOOL:
		return typed("boolean");
	case TOOL_TEXTS:
		return texts();
	case TOOL_PAIRS:
		pairs = typed("object");
		value_add(pairs, "additionalProperties", typed("string"));
		return pairs;
	case TOOL_ATTEMPTS:
		return attempts();
	case TOOL_COMMAND:
		return command_or_script();
	case TOOL_TEXT:
		break;
	}
	return typed("string");
}

static void add_choices(struct value *schema, const char *choices)
{
	struct value *list = value_add(schema, "enum", value_new_list());

	while (*choices) {
		size_t len = strcspn(choices, "|");

		value_append(list, value_new_bytes(choices, len));
		choices += len + (choices[len] == '|');
	}
}

static struct value *schema_of(const struct tool_arg *arg, const struct op_ceiling *ceiling)
{
	struct value *schema = schema_of_type(arg->type);

	value_add(schema, "description", value_new_text(arg->help));
	if (arg->choices)
		add_choices(schema, arg->choices);
	if (arg->to == TOOL_TO_PROFILE && ceiling)
		value_add(schema, "enum", value_from_strv(&ceiling->profiles.words));
	return schema;
}

struct value *tool_input_schema(const struct tool *tool, const struct op_ceiling *ceiling)
{
	struct value *schema = typed("object");
	struct value *properties = value_add(schema, "properties", value_new_map());
	struct value *required = value_new_list();

	for (const struct tool_arg *arg = tool->args; arg && arg->name; arg++) {
		/* With one profile there is nothing to choose. */
		if (arg->to == TOOL_TO_PROFILE && ceiling && ceiling->profiles.words.count == 1)
			continue;
		value_add(properties, arg->name, schema_of(arg, ceiling));
		if (arg->required)
			value_append(required, value_new_text(arg->name));
	}
	if (required->many.count > 0)
		value_add(schema, "required", required);
	else
		value_free(required);
	value_add(schema, "additionalProperties", value_new_bool(false));
	return schema;
}

/* Clients check answers against it, refusals too: so nothing is required, and what is not left out may be null. */
static struct value *answered(const struct tool_field *field, bool is_nullable)
{
	struct value *schema = is_nullable ? value_new_map() : typed(field->type);

	if (is_nullable) {
		struct value *types = value_add(schema, "type", value_new_list());

		value_append(types, value_new_text(field->type));
		value_append(types, value_new_text("null"));
	}
	if (field->help)
		value_add(schema, "description", value_new_text(field->help));
	return schema;
}

struct value *tool_output_schema(const struct tool *tool)
{
	struct value *schema = typed("object");
	struct value *properties = value_add(schema, "properties", value_new_map());

	for (const struct tool_field *field = tool->fields; field && field->name; field++) {
		if (field->type)
			value_add(properties, field->name,
				  answered(field, !(tool->flags & TOOL_RUNS)));
	}
	if (tool->list)
		value_set(properties, tool->list, typed("array"));
	value_set(properties, "ok", typed("boolean"));
	value_set(properties, "error", typed("object"));
	return schema;
}
