/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one door to tree-sitter: bytes in, a flat list of nodes out.
 *
 * Hostile text is bounded three ways. The parser's memory is counted (syntax_memory.h) and it is stopped at the limit; it
 * has a deadline; and the list of nodes has a most length and depth. Whatever is beyond is not analysable.
 */
#include "scan/syntax/syntax.h"

#include "base/core/own.h"
#include "base/core/str.h"
#include "scan/syntax/syntax_memory.h"

#include <stdlib.h>
#include <string.h>
#include <tree_sitter/api.h>

const TSLanguage *tree_sitter_python(void);
const TSLanguage *tree_sitter_javascript(void);
const TSLanguage *tree_sitter_bash(void);

const bool syntax_is_built = true;

static _Thread_local size_t is_over; /* the parser's cancellation flag */

static const TSLanguage *grammar_of(enum scan_language language)
{
	switch (language) {
	case SCAN_PYTHON:
		return tree_sitter_python();
	case SCAN_JAVASCRIPT:
		return tree_sitter_javascript();
	case SCAN_SHELL:
		return tree_sitter_bash();
	case SCAN_UNKNOWN:
		break;
	}
	return NULL;
}

/* More than any of the grammars has; what is beyond has no meaning here. */
#define SYMBOLS_MAX 1024u
#define FIELDS_MAX 256u

/* The names of a grammar as kinds and fields of ours, looked up once: one process parses many texts. */
struct tables {
	bool is_filled;
	uint16_t kinds[SYMBOLS_MAX];
	uint8_t fields[FIELDS_MAX];
};

static const struct tables *tables_of(enum scan_language language, const TSLanguage *grammar)
{
	static _Thread_local struct tables all[SCAN_LANGUAGES];
	struct tables *tables = &all[language];
	uint32_t symbols = ts_language_symbol_count(grammar);
	uint32_t fields = ts_language_field_count(grammar);

	if (tables->is_filled)
		return tables;
	for (uint32_t i = 0; i < symbols && i < SYMBOLS_MAX; i++)
		tables->kinds[i] =
			(uint16_t)syntax_kind_of(ts_language_symbol_name(grammar, (TSSymbol)i));
	for (uint32_t i = 1; i <= fields && i < FIELDS_MAX; i++)
		tables->fields[i] = (uint8_t)syntax_field_of(
			ts_language_field_name_for_id(grammar, (TSFieldId)i));
	tables->is_filled = true;
	return tables;
}

struct builder {
	struct syntax *syntax;
	const struct tables *tables;
	size_t capacity;
	uint32_t open; /* the node being filled */
	unsigned depth;
};

static void note_broken(struct syntax *syntax, uint32_t at)
{
	if (!syntax->is_broken || at < syntax->broken_at)
		syntax->broken_at = at;
	syntax->is_broken = true;
}

static enum syntax_kind kind_of(const struct builder *builder, TSNode node)
{
	TSSymbol symbol = ts_node_symbol(node);

	if (symbol == (TSSymbol)-1)
		return NODE_ERROR;
	return symbol < SYMBOLS_MAX ? builder->tables->kinds[symbol] : NODE_OTHER;
}

/* Adds the cursor's node; tokens without a name count only where they are operators. */
static bool add_node(struct builder *builder, const TSTreeCursor *cursor)
{
	struct syntax *syntax = builder->syntax;
	TSNode node = ts_tree_cursor_current_node(cursor);
	TSFieldId id = ts_tree_cursor_current_field_id(cursor);
	uint8_t field = id < FIELDS_MAX ? builder->tables->fields[id] : FIELD_NONE;
	bool is_named = ts_node_is_named(node);
	enum syntax_kind kind = is_named ? kind_of(builder, node) : NODE_OPERATOR;

	if (ts_node_is_missing(node) || kind == NODE_ERROR)
		note_broken(syntax, ts_node_start_byte(node));
	if (!is_named && field != FIELD_OPERATOR)
		return false;
	if (syntax->count == builder->capacity) {
		builder->capacity = builder->capacity ? builder->capacity * 2 : 1024;
		syntax->nodes = xrealloc(syntax->nodes, builder->capacity, sizeof(*syntax->nodes));
	}
	syntax->nodes[syntax->count] = (struct syntax_node){
		.kind = (uint16_t)kind,
		.field = field,
		.is_code = is_named,
		.start = ts_node_start_byte(node),
		.end = ts_node_end_byte(node),
		.parent = builder->open,
		.after = syntax->count + 1,
	};
	builder->open = syntax->count++;
	return true;
}

static void close_node(struct builder *builder)
{
	struct syntax_node *node = &builder->syntax->nodes[builder->open];

	node->after = builder->syntax->count;
	builder->open = node->parent;
}

/* Up to the next node that has a sibling to the right; false at the end of the tree. */
static bool climb(struct builder *builder, TSTreeCursor *cursor)
{
	while (ts_tree_cursor_goto_parent(cursor)) {
		builder->depth--;
		close_node(builder);
		if (ts_tree_cursor_goto_next_sibling(cursor))
			return true;
	}
	return false;
}

/* Walks without recursion: the tree's depth is the text's choice. */
static int flatten(struct builder *builder, TSNode root, struct error *err)
{
	TSTreeCursor cursor = ts_tree_cursor_new(root);
	bool goes_on = true;
	int result = 0;

	while (goes_on && result == 0) {
		bool is_added = add_node(builder, &cursor);

		if (builder->syntax->count > SYNTAX_MAX_NODES)
			result = error_set(err, ERROR_INPUT, "more than %zu parts",
					   SYNTAX_MAX_NODES);
		else if (builder->depth > SYNTAX_MAX_DEPTH)
			result = error_set(err, ERROR_INPUT, "nested deeper than %u levels",
					   SYNTAX_MAX_DEPTH);
		if (is_added && ts_tree_cursor_goto_first_child(&cursor)) {
			builder->depth++;
			continue;
		}
		if (is_added)
			close_node(builder);
		goes_on = ts_tree_cursor_goto_next_sibling(&cursor) || climb(builder, &cursor);
	}
	while (builder->open != SYNTAX_NONE)
		close_node(builder);
	ts_tree_cursor_delete(&cursor);
	return result;
}

static void parser_release(TSParser **parser)
{
	ts_parser_delete(*parser);
}

static int parse(TSParser *parser, enum scan_language language, struct syntax *syntax,
		 struct error *err)
{
	const TSLanguage *grammar = grammar_of(language);
	TSTree *tree;
	struct builder builder = { .syntax = syntax, .open = SYNTAX_NONE };

	if (!ts_parser_set_language(parser, grammar))
		return error_set(err, ERROR_INTERNAL, "the grammar is of another version");
	ts_parser_set_timeout_micros(parser, SYNTAX_MAX_MICROSECONDS);
	ts_parser_set_cancellation_flag(parser, &is_over);
	/* Never deleted: that goes through all of it once more, and its memory is given back whole. */
	tree = ts_parser_parse_string(parser, NULL, syntax->text, (uint32_t)syntax->len);
	if (!tree)
		return error_set(err, ERROR_INPUT, "%s",
				 is_over ? "parsing takes too much memory"
					 : "parsing takes too long");
	builder.tables = tables_of(language, grammar);
	return flatten(&builder, ts_tree_root_node(tree), err);
}

static int parse_alone(enum scan_language language, struct syntax *syntax, struct error *err)
{
	owned(parser_release) TSParser *parser = ts_parser_new();

	return parse(parser, language, syntax, err);
}

int syntax_parse(enum scan_language language, const char *text, size_t len,
		 struct syntax *ret_syntax, struct error *err)
{
	int result;

	*ret_syntax = (struct syntax){ .text = text, .len = len };
	if (!grammar_of(language))
		return error_set(err, ERROR_INPUT, "the language is not known");
	if (len > SYNTAX_MAX_BYTES)
		return error_set(err, ERROR_INPUT, "longer than %zu bytes", SYNTAX_MAX_BYTES);
	is_over = 0;
	syntax_memory_begin(SYNTAX_MAX_MEMORY, &is_over);
	ts_set_allocator(syntax_malloc, syntax_calloc, syntax_realloc, syntax_free);
	result = parse_alone(language, ret_syntax, err);
	/* Nothing of the library's is in use now. */
	syntax_memory_end();
	if (result < 0)
		syntax_done(ret_syntax);
	return result;
}
