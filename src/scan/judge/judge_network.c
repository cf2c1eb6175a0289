/* SPDX-License-Identifier: Apache-2.0 */
/* Python and JavaScript: outgoing and incoming connections. */
#include "base/core/own.h"
#include "scan/follow/fold.h"
#include "scan/follow/in_list.h"
#include "scan/judge/judge.h"

#include <string.h>

bool judge_gives_away(const struct scan_job *job, uint32_t node)
{
	const struct syntax *syntax = job->syntax;

	if (node == SYNTAX_NONE)
		return false;
	for (uint32_t at = node; at < syntax->nodes[node].after; at++) {
		const struct abstract_value *path =
			abstract_of_kind(job->follow->of[at], ABSTRACT_PATH);
		uint32_t parent = syntax->nodes[syntax->nodes[at].parent].kind;

		if (!path || syntax->nodes[at].field == FIELD_OBJECT || parent == NODE_SUBSCRIPT)
			continue;
		if (strcmp(path->text, "os.environ") == 0 ||
		    strcmp(path->text, "process.env") == 0 ||
		    strcmp(path->text, "document.cookie") == 0 ||
		    str_starts(path->text, "os.environ.copy") || str_starts(path->text, "open()") ||
		    str_starts(path->text, "fs.readFileSync()") ||
		    str_starts(path->text, "process.env.toString") ||
		    str_starts(path->text, "Deno.env.toObject") ||
		    str_starts(path->text, "localStorage"))
			return true;
	}
	return false;
}

static bool is_here(const char *url)
{
	/* To where the page came from. */
	if (url[0] == '/' && url[1] != '/')
		return true;
	if (strcmp(url, "localhost") == 0 || strcmp(url, "127.0.0.1") == 0)
		return true;
	return strstr(url, "//localhost") || strstr(url, "//127.0.0.1") || strstr(url, "//[::1]");
}

/* Whether the name at AT is that of an option: { name: ... }, name=... */
static bool is_option_name(const struct use *use, uint32_t at)
{
	const struct syntax *syntax = use->job->syntax;
	uint32_t above = syntax->nodes[at].parent;

	return syntax_first(syntax, above) == at &&
	       syntax->nodes[above].kind ==
		       (use->job->language == SCAN_PYTHON ? NODE_KEYWORD_ARGUMENT : NODE_PAIR);
}

/* Whether all that is sent along stands in the text itself, word for word. */
static bool has_plain_body(const struct use *use)
{
	const struct syntax *syntax = use->job->syntax;
	uint32_t arguments = syntax_child(syntax, use->node, FIELD_ARGUMENTS);
	uint32_t first = arguments == SYNTAX_NONE ? SYNTAX_NONE : syntax_first(syntax, arguments);
	uint32_t second = first == SYNTAX_NONE ? SYNTAX_NONE : syntax_next(syntax, first);

	if (strcmp(use->path, "WebSocket().send") == 0)
		second = first;
	for (uint32_t at = second; at != SYNTAX_NONE && at < syntax->nodes[arguments].after; at++) {
		bool is_name = syntax->nodes[at].kind == NODE_IDENTIFIER ||
			       syntax->nodes[at].kind == NODE_ATTRIBUTE ||
			       syntax->nodes[at].kind == NODE_SUBSCRIPT ||
			       syntax->nodes[at].kind == NODE_SHORTHAND ||
			       syntax->nodes[at].kind == NODE_THIS;

		if (is_name && !is_option_name(use, at) && !syntax_is(syntax, at, "JSON") &&
		    !syntax_is(syntax, at, "stringify") && !syntax_is(syntax, at, "JSON.stringify"))
			return false;
	}
	return second != SYNTAX_NONE &&
	       in_list("requests.post requests.put requests.patch httpx.post httpx.put fetch "
		       "node-fetch axios.post axios.put axios got.post WebSocket().send",
		       use->path);
}

static void judge_sending(const struct use *use, enum scan_severity severity)
{
	const struct abstract_value *url = use_text(use, 0);

	if (url && place_is_metadata(url->text))
		job_find(use->job, use->at, RULE_SECRET_READ, SEVERITY_HIGH, url->text);
	if (url && is_here(url->text) && severity <= SEVERITY_MEDIUM)
		severity = SEVERITY_LOW;
	else if (judge_gives_away(use->job,
				  syntax_child(use->job->syntax, use->node, FIELD_ARGUMENTS)))
		severity = SEVERITY_HIGH;
	else if (severity == SEVERITY_MEDIUM && has_plain_body(use))
		severity = SEVERITY_LOW;
	use_report(use, severity > use->row->severity ? RULE_SEND : use->row->rule, severity);
}

/* An option KEY: true among the call's arguments. */
bool use_has_option(const struct use *use, const char *key)
{
	const struct syntax *syntax = use->job->syntax;
	uint32_t arguments = syntax_child(syntax, use->node, FIELD_ARGUMENTS);

	for (uint32_t at = arguments;
	     arguments != SYNTAX_NONE && at < syntax->nodes[arguments].after; at++) {
		uint32_t above = syntax->nodes[at].parent;
		uint32_t name = syntax->nodes[at].kind == NODE_PAIR
					? syntax_child(syntax, at, FIELD_KEY)
					: SYNTAX_NONE;
		uint32_t value =
			name == SYNTAX_NONE ? SYNTAX_NONE : syntax_child(syntax, at, FIELD_VALUE);

		if (value != SYNTAX_NONE && syntax_is(syntax, name, key) &&
		    !syntax_is(syntax, value, "false"))
			return true;
		/* { body } is { body: body }. */
		if (syntax->nodes[at].kind == NODE_IDENTIFIER && above != arguments &&
		    syntax->nodes[above].parent == arguments &&
		    syntax->nodes[above].kind == NODE_OTHER && syntax_is(syntax, at, key))
			return true;
	}
	return false;
}

/* { body: ... } as an option, or data=... as a keyword: not only getting. */
static bool has_body(const struct use *use)
{
	return follow_keyword(use->job->follow, use->node, "data") != SYNTAX_NONE ||
	       use_has_option(use, "body");
}

/* Whether what is fetched goes where it may be run: to a place that is not known, a home, the system, or as code. */
static bool is_kept_as_code(const struct use *use)
{
	const struct abstract_value *file = use_text(use, 1);
	const char *end = file ? strrchr(file->text, '.') : NULL;
	enum place_kind place = file ? place_of(file->text) : PLACE_PLAIN;

	return !end || place_is_home(file->text) ||
	       (place != PLACE_PLAIN && place != PLACE_TEMPORARY) || strpbrk(end, "/\x01") ||
	       in_list(".py .pyc .pyd .pth .so .dll .whl .js .sh .exe .deb .rpm", end);
}

void judge_url(const struct use *use)
{
	const struct abstract_value *url = use_text(use, 0);
	enum scan_severity severity = use->row->severity;

	if (strcmp(use->path, "urllib.request.urlretrieve") == 0 && is_kept_as_code(use))
		severity = SEVERITY_MEDIUM;
	if (has_body(use)) {
		use->job->traits |= TRAIT_SENDS;
		severity = SEVERITY_MEDIUM;
	}
	/* What is put into an address leaves with it. */
	if (url && strchr(url->text, FOLD_GAP) && strchr(url->text, '?'))
		severity = SEVERITY_MEDIUM;
	judge_sending(use, severity);
}

/* A name to be resolved that is made from data carries it away. */
void judge_lookup(const struct use *use)
{
	const struct abstract_value *name = use_text(use, 0);
	bool is_made = name && strchr(name->text, FOLD_GAP) && strchr(name->text, '.');

	use_report(use, use->row->rule, is_made ? SEVERITY_MEDIUM : use->row->severity);
}

/* Open to all: the address of all interfaces among the arguments. */
void judge_listen(const struct use *use)
{
	const struct syntax *syntax = use->job->syntax;
	uint32_t arguments = syntax_child(syntax, use->node, FIELD_ARGUMENTS);
	bool is_open = false;

	for (uint32_t at = arguments;
	     arguments != SYNTAX_NONE && at < syntax->nodes[arguments].after; at++) {
		const struct abstract_value *text = follow_text(use->job->follow, at);

		is_open = is_open || (text && (strcmp(text->text, "0.0.0.0") == 0 ||
					       strcmp(text->text, "::") == 0));
	}
	use_report(use, use->row->rule, is_open ? SEVERITY_MEDIUM : use->row->severity);
}

/* connection.request("GET", path): it is only asked for. */
void judge_method(const struct use *use)
{
	const struct abstract_value *method = use_text(use, 0);
	bool is_get = judge_is_known(method) && in_list("GET HEAD OPTIONS", method->text) &&
		      use_argument(use, 2) == SYNTAX_NONE &&
		      follow_keyword(use->job->follow, use->node, "body") == SYNTAX_NONE;

	judge_sending(use, is_get ? SEVERITY_LOW : use->row->severity);
}

/* This machine, by name, and no other; or by the address of a server that the program has itself. */
void judge_connect(const struct use *use)
{
	const struct syntax *syntax = use->job->syntax;
	uint32_t arguments = syntax_child(syntax, use->node, FIELD_ARGUMENTS);
	uint32_t first = use_argument(use, 0);
	owned(free_ptr) char *source = first == SYNTAX_NONE ? NULL : judge_source(use->job, first);
	bool is_local = source && str_ends(source, ".getsockname()"), is_other = false;

	for (uint32_t at = arguments;
	     arguments != SYNTAX_NONE && at < syntax->nodes[arguments].after; at++) {
		const struct abstract_value *text = follow_text(use->job->follow, at);

		/* What is done once the connection stands. */
		if (syntax->nodes[at].kind == NODE_FUNCTION ||
		    syntax->nodes[at].kind == NODE_ARROW_FUNCTION) {
			at = syntax->nodes[at].after - 1;
			continue;
		}
		is_other = is_other || syntax_is(syntax, at, "localAddress") ||
			   syntax_is(syntax, at, "source_address");
		for (; text; text = abstract_next(text)) {
			bool is_here = in_list("127.0.0.1 localhost ::1", text->text);

			is_local = is_local || is_here;
			is_other = is_other || !is_here;
		}
	}
	use_report(use, use->row->rule, is_local && !is_other ? SEVERITY_LOW : use->row->severity);
}

void judge_send(const struct use *use)
{
	judge_sending(use, use->row->severity);
}
