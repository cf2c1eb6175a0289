/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the grammars as kinds and fields of our own, and how the flat tree is read. */
#include "scan/syntax/syntax.h"

#include <stdlib.h>
#include <string.h>

struct name_row {
	const char *name;
	int means;
};

/* Sorted by name: looked up by bisection. */
static const struct name_row kinds[] = {
	{ "ERROR", NODE_ERROR },
	{ "aliased_import", NODE_ALIASED_IMPORT },
	{ "ansi_c_string", NODE_ANSI_STRING },
	{ "argument_list", NODE_ARGUMENTS },
	{ "arguments", NODE_ARGUMENTS },
	{ "array", NODE_LIST },
	{ "array_pattern", NODE_OBJECT_PATTERN },
	{ "arrow_function", NODE_ARROW_FUNCTION },
	{ "as_pattern", NODE_AS_PATTERN },
	{ "assignment", NODE_ASSIGNMENT },
	{ "assignment_expression", NODE_ASSIGNMENT },
	{ "assignment_pattern", NODE_ASSIGNMENT },
	{ "attribute", NODE_ATTRIBUTE },
	{ "augmented_assignment", NODE_AUGMENTED },
	{ "augmented_assignment_expression", NODE_AUGMENTED },
	{ "await", NODE_AWAIT },
	{ "await_expression", NODE_AWAIT },
	{ "binary_expression", NODE_BINARY },
	{ "binary_operator", NODE_BINARY },
	{ "call", NODE_CALL },
	{ "call_expression", NODE_CALL },
	{ "class_declaration", NODE_CLASS },
	{ "class_definition", NODE_CLASS },
	{ "command", NODE_COMMAND },
	{ "command_name", NODE_COMMAND_NAME },
	{ "command_substitution", NODE_COMMAND_SUBSTITUTION },
	{ "comment", NODE_COMMENT },
	{ "comparison_operator", NODE_COMPARISON },
	{ "concatenated_string", NODE_CONCATENATION },
	{ "concatenation", NODE_CONCATENATION },
	{ "conditional_expression", NODE_CONDITIONAL },
	{ "declaration_command", NODE_DECLARATION },
	{ "decorator", NODE_DECORATOR },
	{ "default_parameter", NODE_DEFAULT_PARAMETER },
	{ "dotted_name", NODE_DOTTED_NAME },
	{ "escape_sequence", NODE_ESCAPE },
	{ "exec_statement", NODE_EXEC_STATEMENT },
	{ "expansion", NODE_EXPANSION },
	{ "expression_list", NODE_LIST },
	{ "expression_statement", NODE_EXPRESSION_STATEMENT },
	{ "field_definition", NODE_PAIR },
	{ "file_redirect", NODE_REDIRECT },
	{ "for_in_clause", NODE_FOR },
	{ "for_in_statement", NODE_FOR },
	{ "for_statement", NODE_FOR },
	{ "formal_parameters", NODE_PARAMETERS },
	{ "function_declaration", NODE_FUNCTION },
	{ "function_definition", NODE_FUNCTION },
	{ "function_expression", NODE_FUNCTION },
	{ "generator_function", NODE_FUNCTION },
	{ "generator_function_declaration", NODE_FUNCTION },
	{ "hash_bang_line", NODE_COMMENT },
	{ "heredoc_body", NODE_HEREDOC_BODY },
	{ "heredoc_redirect", NODE_HEREDOC },
	{ "herestring_redirect", NODE_HERESTRING },
	{ "html_comment", NODE_COMMENT },
	{ "identifier", NODE_IDENTIFIER },
	{ "import", NODE_IMPORT_WORD },
	{ "import_clause", NODE_IMPORT_CLAUSE },
	{ "import_from_statement", NODE_IMPORT_FROM },
	{ "import_specifier", NODE_IMPORT_SPECIFIER },
	{ "import_statement", NODE_IMPORT },
	{ "integer", NODE_NUMBER },
	{ "interpolation", NODE_INTERPOLATION },
	{ "keyword_argument", NODE_KEYWORD_ARGUMENT },
	{ "lambda", NODE_ARROW_FUNCTION },
	{ "lambda_parameters", NODE_PARAMETERS },
	{ "list", NODE_LIST },
	{ "list_pattern", NODE_OBJECT_PATTERN },
	{ "list_splat", NODE_SPLAT },
	{ "member_expression", NODE_ATTRIBUTE },
	{ "method_definition", NODE_FUNCTION },
	{ "module", NODE_PROGRAM },
	{ "named_expression", NODE_NAMED_EXPRESSION },
	{ "namespace_import", NODE_NAMESPACE_IMPORT },
	{ "new_expression", NODE_NEW },
	{ "number", NODE_NUMBER },
	{ "object_assignment_pattern", NODE_ASSIGNMENT },
	{ "object_pattern", NODE_OBJECT_PATTERN },
	{ "pair", NODE_PAIR },
	{ "pair_pattern", NODE_PAIR },
	{ "parameters", NODE_PARAMETERS },
	{ "parenthesized_expression", NODE_PARENTHESES },
	{ "pattern_list", NODE_OBJECT_PATTERN },
	{ "pipeline", NODE_PIPELINE },
	{ "process_substitution", NODE_PROCESS_SUBSTITUTION },
	{ "program", NODE_PROGRAM },
	{ "property_identifier", NODE_PROPERTY },
	{ "raw_string", NODE_RAW_STRING },
	{ "redirected_statement", NODE_REDIRECTED },
	{ "return_statement", NODE_RETURN },
	{ "sequence_expression", NODE_SEQUENCE },
	{ "shorthand_property_identifier", NODE_IDENTIFIER },
	{ "shorthand_property_identifier_pattern", NODE_SHORTHAND },
	{ "simple_expansion", NODE_EXPANSION },
	{ "slice", NODE_SLICE },
	{ "spread_element", NODE_SPLAT },
	{ "string", NODE_STRING },
	{ "string_content", NODE_STRING_PART },
	{ "string_fragment", NODE_STRING_PART },
	{ "subscript", NODE_SUBSCRIPT },
	{ "subscript_expression", NODE_SUBSCRIPT },
	{ "subshell", NODE_SUBSHELL },
	{ "template_string", NODE_TEMPLATE },
	{ "template_substitution", NODE_INTERPOLATION },
	{ "ternary_expression", NODE_CONDITIONAL },
	{ "this", NODE_THIS },
	{ "tuple", NODE_LIST },
	{ "tuple_pattern", NODE_OBJECT_PATTERN },
	{ "type", NODE_TYPE },
	{ "unary_expression", NODE_UNARY },
	{ "unary_operator", NODE_UNARY },
	{ "variable_assignment", NODE_ASSIGNMENT },
	{ "variable_declarator", NODE_ASSIGNMENT },
	{ "variable_name", NODE_VARIABLE_NAME },
	{ "wildcard_import", NODE_WILDCARD_IMPORT },
	{ "word", NODE_WORD },
	{ "yield", NODE_RETURN },
	{ "yield_expression", NODE_RETURN },
};

static const struct name_row fields[] = {
	{ "alias", FIELD_ALIAS },
	{ "argument", FIELD_ARGUMENT },
	{ "arguments", FIELD_ARGUMENTS },
	{ "attribute", FIELD_MEMBER },
	{ "body", FIELD_BODY },
	{ "constructor", FIELD_CALLEE },
	{ "destination", FIELD_DESTINATION },
	{ "function", FIELD_CALLEE },
	{ "index", FIELD_INDEX },
	{ "key", FIELD_KEY },
	{ "left", FIELD_LEFT },
	{ "module_name", FIELD_MODULE },
	{ "name", FIELD_NAME },
	{ "object", FIELD_OBJECT },
	{ "operator", FIELD_OPERATOR },
	{ "property", FIELD_MEMBER },
	{ "redirect", FIELD_REDIRECT },
	{ "right", FIELD_RIGHT },
	{ "source", FIELD_MODULE },
	{ "subscript", FIELD_INDEX },
	{ "value", FIELD_VALUE },
	{ "variable", FIELD_VARIABLE },
};

static int compare_names(const void *key, const void *row)
{
	return strcmp(key, ((const struct name_row *)row)->name);
}

enum syntax_kind syntax_kind_of(const char *name)
{
	const struct name_row *row = bsearch(name, kinds, sizeof(kinds) / sizeof(kinds[0]),
					     sizeof(kinds[0]), compare_names);

	return row ? (enum syntax_kind)row->means : NODE_OTHER;
}

enum syntax_field syntax_field_of(const char *name)
{
	const struct name_row *row = bsearch(name, fields, sizeof(fields) / sizeof(fields[0]),
					     sizeof(fields[0]), compare_names);

	return row ? (enum syntax_field)row->means : FIELD_NONE;
}

void syntax_done(struct syntax *syntax)
{
	free(syntax->nodes);
	*syntax = (struct syntax){ 0 };
}

static uint32_t pass_comments(const struct syntax *syntax, uint32_t at, uint32_t end)
{
	while (at < end && syntax->nodes[at].kind == NODE_COMMENT)
		at = syntax->nodes[at].after;
	return at < end ? at : SYNTAX_NONE;
}

uint32_t syntax_first(const struct syntax *syntax, uint32_t node)
{
	return pass_comments(syntax, node + 1, syntax->nodes[node].after);
}

uint32_t syntax_next(const struct syntax *syntax, uint32_t child)
{
	uint32_t parent = syntax->nodes[child].parent;
	uint32_t end = parent == SYNTAX_NONE ? syntax->count : syntax->nodes[parent].after;

	return pass_comments(syntax, syntax->nodes[child].after, end);
}

uint32_t syntax_child(const struct syntax *syntax, uint32_t node, enum syntax_field field)
{
	uint32_t child = syntax_first(syntax, node);

	while (child != SYNTAX_NONE && syntax->nodes[child].field != field)
		child = syntax_next(syntax, child);
	return child;
}

const char *syntax_source(const struct syntax *syntax, uint32_t node, size_t *ret_len)
{
	const struct syntax_node *it = &syntax->nodes[node];

	*ret_len = it->end - it->start;
	return syntax->text + it->start;
}

bool syntax_is(const struct syntax *syntax, uint32_t node, const char *word)
{
	const struct syntax_node *it = &syntax->nodes[node];
	size_t len = strlen(word);

	return it->end - it->start == len && memcmp(syntax->text + it->start, word, len) == 0;
}
