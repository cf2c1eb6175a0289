/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML in, as a neutral tree with line numbers; made for bytes that wish us ill.
 *
 * libyaml's events are put together with an explicit stack, so that depth costs a comparison and not
 * a stack frame. Every event is judged before anything is built from it: an anchor, a tag, a level
 * too many ends the reading at once, which bounds time and memory whatever the rest holds.
 */
#include "base/text/yaml.h"

#include "base/core/own.h"
#include "base/text/yaml_scalar.h"

#include <string.h>
#include <yaml.h>

/* Where a key of an open map stood, for the search for repetitions when the map closes. */
struct key_mark {
	char *key;
	size_t line, column;
};

/* An open list or map. */
struct frame {
	struct value *many; /* belongs to the tree */
	struct key_mark *marks;
	size_t mark_count;
	bool has_key; /* the last mark still waits for its value */
};

struct builder {
	const char *origin;
	enum yaml_scalars scalars;
	struct frame frames[YAML_MAX_DEPTH];
	size_t depth;
	size_t nodes;
	size_t documents;
	struct value *root;
	struct error *err;
};

static int place_context(const struct builder *builder, size_t line, size_t column)
{
	return error_context(builder->err, "%s:%zu:%zu", builder->origin, line + 1, column + 1);
}

/* The reason as it is, in front of it the place. */
static int refuse(const struct builder *builder, const yaml_mark_t *mark, const char *reason)
{
	error_set(builder->err, ERROR_INPUT, "%s", reason);
	return place_context(builder, mark->line, mark->column);
}

static void frame_done(struct frame *frame)
{
	for (size_t i = 0; frame->marks && i < frame->mark_count; i++)
		free(frame->marks[i].key);
	free(frame->marks);
	memset(frame, 0, sizeof(*frame));
}

static void builder_done(struct builder *builder)
{
	while (builder->depth > 0)
		frame_done(&builder->frames[--builder->depth]);
	value_free(builder->root);
	builder->root = NULL;
}

static struct frame *top_frame(struct builder *builder)
{
	return builder->depth > 0 ? &builder->frames[builder->depth - 1] : NULL;
}

static bool wants_key(struct builder *builder)
{
	const struct frame *top = top_frame(builder);

	return top && top->many->kind == VALUE_MAP && !top->has_key;
}

static void add_mark(struct frame *frame, char *key, const yaml_mark_t *mark)
{
	size_t count = frame->mark_count;

	/* Doubles at every power of two, so no capacity has to be kept. */
	if ((count & (count - 1)) == 0)
		frame->marks = xrealloc(frame->marks, count ? count * 2 : 1, sizeof(*frame->marks));
	frame->marks[count] = (struct key_mark){ key, mark->line, mark->column };
	frame->mark_count++;
	frame->has_key = true;
}

/* Hangs ITEM where the document has arrived; the tree owns it from here. */
static void place(struct builder *builder, struct value *item, const yaml_mark_t *mark)
{
	struct frame *top = top_frame(builder);

	item->line = (unsigned)mark->line + 1;
	if (!top) {
		builder->root = item;
	} else if (top->many->kind == VALUE_LIST) {
		value_append(top->many, item);
	} else {
		const struct key_mark *key = &top->marks[top->mark_count - 1];

		item->line = (unsigned)key->line + 1;
		value_add(top->many, key->key, item);
		top->has_key = false;
	}
}

static int check_node(struct builder *builder, const yaml_mark_t *mark, const yaml_char_t *anchor,
		      const yaml_char_t *tag)
{
	if (anchor)
		return refuse(builder, mark, "anchors (&name) are not accepted");
	if (tag)
		return refuse(builder, mark, "tags (!name) are not accepted");
	if (++builder->nodes > YAML_MAX_NODES)
		return refuse(builder, mark, "too many values");
	return 0;
}

static int take_key(struct builder *builder, const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;

	if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && strcmp(text, "<<") == 0)
		return refuse(builder, &event->start_mark, "merge keys (<<) are not accepted");
	add_mark(&builder->frames[builder->depth - 1], xstrdup(text), &event->start_mark);
	return 0;
}

static int take_scalar(struct builder *builder, const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;
	size_t len = event->data.scalar.length;
	bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	struct value *item;

	if (check_node(builder, &event->start_mark, event->data.scalar.anchor,
		       event->data.scalar.tag) < 0)
		return -1;
	/* "\0" in quotes: everything behind it would be invisible to readers of C strings. */
	if (memchr(text, '\0', len))
		return refuse(builder, &event->start_mark, "text holds a NUL byte");
	if (wants_key(builder))
		return take_key(builder, event);

	if (plain && yaml_scalar_is_null(text))
		item = value_new_null();
	else if (plain && builder->scalars == YAML_TYPED)
		item = yaml_scalar_typed(text, len);
	else
		item = value_new_bytes(text, len);
	if (!item)
		return refuse(builder, &event->start_mark, "the number is out of range");
	place(builder, item, &event->start_mark);
	return 0;
}

static int open_many(struct builder *builder, const yaml_event_t *event)
{
	bool is_map = event->type == YAML_MAPPING_START_EVENT;
	const yaml_char_t *anchor =
		is_map ? event->data.mapping_start.anchor : event->data.sequence_start.anchor;
	const yaml_char_t *tag =
		is_map ? event->data.mapping_start.tag : event->data.sequence_start.tag;
	struct value *many;

	if (check_node(builder, &event->start_mark, anchor, tag) < 0)
		return -1;
	if (wants_key(builder))
		return refuse(builder, &event->start_mark,
			      "a key must be text, not a list or a map");
	if (builder->depth == YAML_MAX_DEPTH)
		return refuse(builder, &event->start_mark, "too many levels");
	many = is_map ? value_new_map() : value_new_list();
	place(builder, many, &event->start_mark);
	builder->frames[builder->depth++] = (struct frame){ .many = many };
	return 0;
}

static int compare_marks(const void *left, const void *right)
{
	const struct key_mark *a = left, *b = right;
	int order = strcmp(a->key, b->key);

	if (order != 0)
		return order;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return a->column < b->column ? -1 : a->column > b->column;
}

/* Sorted, a map of thousands of keys stays cheap; comparing each with all others is not. */
static int close_many(struct builder *builder)
{
	struct frame *top = &builder->frames[builder->depth - 1];
	char shown[STR_SHOWN_SIZE];

	if (top->marks)
		qsort(top->marks, top->mark_count, sizeof(*top->marks), compare_marks);
	for (size_t i = 1; top->marks && i < top->mark_count; i++) {
		const struct key_mark *mark = &top->marks[i];

		if (strcmp(mark->key, top->marks[i - 1].key) != 0)
			continue;
		error_set(builder->err, ERROR_INPUT, "'%s' stands here twice (first in line %zu)",
			  str_shown(mark->key, shown), top->marks[i - 1].line + 1);
		return place_context(builder, mark->line, mark->column);
	}
	frame_done(top);
	builder->depth--;
	return 0;
}

static int take_event(struct builder *builder, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (builder->documents++ > 0)
			return refuse(builder, &event->start_mark, "more than one document");
		return 0;
	case YAML_ALIAS_EVENT:
		return refuse(builder, &event->start_mark, "aliases (*name) are not accepted");
	case YAML_SCALAR_EVENT:
		return take_scalar(builder, event);
	case YAML_SEQUENCE_START_EVENT:
	case YAML_MAPPING_START_EVENT:
		return open_many(builder, event);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return close_many(builder);
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		break;
	}
	return 0;
}

static int parser_error(const struct builder *builder, const yaml_parser_t *parser)
{
	const char *problem = parser->problem ? parser->problem : "cannot be read";
	const yaml_mark_t *mark = &parser->problem_mark;

	/* Bytes that are not text are met before they have a place; the scanner's is the nearest. */
	if (parser->error == YAML_READER_ERROR || parser->error == YAML_MEMORY_ERROR)
		mark = &parser->mark;
	if (parser->context)
		error_set(builder->err, ERROR_INPUT, "%s (%s)", problem, parser->context);
	else
		error_set(builder->err, ERROR_INPUT, "%s", problem);
	return place_context(builder, mark->line, mark->column);
}

/*
 * libyaml reads all directives before it reports one, comparing each with all others: a megabyte of
 * them takes seconds. They have no use here, so they are looked for first. Lines end where libyaml
 * sees them end.
 */
static int refuse_directives(const struct builder *builder, const char *bytes, size_t len)
{
	yaml_mark_t mark = { 0, 0, 0 };
	bool at_start = true;

	for (size_t i = 0; i < len; i++) {
		const char *end = bytes + i + 1;

		if (at_start && bytes[i] == '%')
			return refuse(builder, &mark, "directives (%) are not accepted");
		at_start = bytes[i] == '\n' || bytes[i] == '\r' ||
			   (i >= 1 && memcmp(end - 2, "\xc2\x85", 2) == 0) ||
			   (i >= 2 && (memcmp(end - 3, "\xe2\x80\xa8", 3) == 0 ||
				       memcmp(end - 3, "\xe2\x80\xa9", 3) == 0));
		if (at_start && !(bytes[i] == '\n' && i > 0 && bytes[i - 1] == '\r'))
			mark.line++;
	}
	return 0;
}

static int read_events(struct builder *builder, yaml_parser_t *parser)
{
	yaml_event_t event;
	bool more = true;
	int result = 0;

	while (more && result == 0) {
		if (!yaml_parser_parse(parser, &event))
			return parser_error(builder, parser);
		result = take_event(builder, &event);
		more = event.type != YAML_STREAM_END_EVENT;
		yaml_event_delete(&event);
	}
	return result;
}

int yaml_read(const char *bytes, size_t len, const char *origin, enum yaml_scalars scalars,
	      struct value **ret_value, struct error *err)
{
	owned(builder_done) struct builder builder = {
		.origin = origin,
		.scalars = scalars,
		.err = err,
	};
	owned(yaml_parser_delete) yaml_parser_t parser;

	memset(&parser, 0, sizeof(parser));
	if (len > YAML_MAX_BYTES)
		return error_set(err, ERROR_INPUT, "%s: larger than %d bytes", origin,
				 YAML_MAX_BYTES);
	if (refuse_directives(&builder, bytes, len) < 0)
		return -1;
	if (!yaml_parser_initialize(&parser))
		return error_set(err, ERROR_HOST, "%s: out of memory", origin);
	/* The encoding is set, not guessed: a byte order mark cannot smuggle another encoding past the check above. */
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)bytes, len);
	if (read_events(&builder, &parser) < 0)
		return -1;
	*ret_value = builder.root ? ptr_take(&builder.root) : value_new_null();
	return 0;
}
