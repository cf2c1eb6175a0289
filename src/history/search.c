/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to the index: words in, the best runs and events out. */
#include "history/search.h"

#include "base/core/own.h"
#include "history/search_parts.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#define WORDS_MAX 32
#define WORD_BYTES 64
/* So many of the newest that match are ranked; all of them only where filters left too few of those. */
#define NEWEST 5000

/* Words that a question has and an answer need not. */
static const char *const idle[] = {
	"a",	   "about", "all",  "an",   "and", "any", "are",  "as",	  "at",	   "be",
	"because", "been",  "but",  "by",   "did", "do",  "does", "for",  "from",  "had",
	"has",	   "have",  "how",  "i",    "in",  "is",  "it",	  "its",  "last",  "me",
	"my",	   "not",   "of",   "on",   "or",  "our", "that", "the",  "their", "then",
	"they",	   "this",  "time", "to",   "was", "we",  "were", "what", "when",  "where",
	"which",   "who",   "why",  "with", "you",
};

static bool is_idle(const char *word)
{
	for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++) {
		if (strcmp(idle[i], word) == 0)
			return true;
	}
	return false;
}

/* Letters, digits and all that is not ASCII; anything else ends a word. */
static bool is_letter(char c)
{
	return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

/* In lower case, without the idle ones unless there are no others. */
static void split_words(const char *text, struct strv *ret_words)
{
	owned(strv_done) struct strv all = STRV_INIT;

	while (*text && all.count < WORDS_MAX) {
		char word[WORD_BYTES + 1];
		size_t len = 0;

		for (; *text && !is_letter(*text); text++)
			;
		for (; is_letter(*text); text++) {
			if (len < WORD_BYTES)
				word[len++] = (char)tolower((unsigned char)*text);
		}
		word[len] = '\0';
		if (len > 0)
			strv_add(&all, word);
	}
	for (size_t i = 0; i < all.count; i++) {
		if (!is_idle(all.items[i]) && !strv_has(ret_words, all.items[i]))
			strv_add(ret_words, all.items[i]);
	}
	if (ret_words->count == 0)
		strv_copy(ret_words, &all);
}

/* FTS5's expression; words have letters alone, so that quotes keep them from being operators. */
static void write_match(const struct strv *words, const char *between, struct str *ret_match)
{
	for (size_t i = 0; i < words->count; i++)
		str_addf(ret_match, "%s\"%s\"", i ? between : "", words->items[i]);
}

static const char find_sql[] =
	"SELECT j.kind,j.key,r.started_ms,r.status,r.exit_code,r.command,r.workspace,r.sandbox,"
	"e.at_ms,e.kind,e.sandbox,e.subject FROM (SELECT rowid AS seq,"
	"bm25(words,4,2,1,2) AS rank FROM search.words WHERE words MATCH ?1"
	" ORDER BY rowid DESC LIMIT ?2) w JOIN journal j ON j.seq=w.seq"
	" LEFT JOIN runs r ON j.kind=2 AND r.run_id=j.key"
	" LEFT JOIN events e ON j.kind=3 AND e.id=CAST(j.key AS INTEGER)"
	" WHERE (r.run_id IS NOT NULL OR e.id IS NOT NULL)"
	" AND (?3 IS NULL OR r.owner=?3) AND (?4 IS NULL OR r.workspace=?4)"
	" AND (?5 IS NULL OR ?5=ifnull(e.kind,'run'))"
	" AND (NOT ?6 OR r.status<>'success') AND ifnull(r.started_ms,e.at_ms)>=?7"
	" ORDER BY w.rank LIMIT ?8";

enum find_column {
	AT_KIND,
	AT_KEY,
	AT_STARTED,
	AT_STATUS,
	AT_EXIT,
	AT_COMMAND,
	AT_WORKSPACE,
	AT_SANDBOX,
	AT_TIME,
	AT_EVENT,
	AT_EVENT_SANDBOX,
	AT_SUBJECT,
};

/* How many of the words are in LINE, by their beginnings: "fail" is in "failed". */
static size_t count_words(const char *line, const struct strv *words)
{
	size_t count = 0;

	for (size_t i = 0; i < words->count; i++) {
		size_t len = strlen(words->items[i]);

		/* Endings differ: of longer words all but the last two letters count. */
		owned(free_ptr) char *stem = xstrndup(words->items[i], len > 5 ? len - 2 : len);

		count += strcasestr(line, stem) != NULL;
	}
	return count;
}

/* Lines that a row of the errors' table knows say more than others. */
static bool has_error(const char *line)
{
	for (const struct meaning *row = error_meanings; row->text; row++) {
		if (strcasestr(line, row->text))
			return true;
	}
	return false;
}

/* The line of the kept output to show: the last of those with most of the words. */
static struct value *best_line(struct history *history, const char *run_id,
			       const struct strv *words)
{
	owned(str_done) struct str text = STR_INIT;
	const char *best = NULL;
	size_t most = 0;
	char *rest, *line;

	search_read_output(history, run_id, &text);
	rest = text.data;
	while ((line = strsep(&rest, "\n"))) {
		size_t count = *line ? 1 + 2 * count_words(line, words) + has_error(line) : 0;

		if (count > 0 && count >= most) {
			most = count;
			best = line;
		}
	}
	return value_new_text(best);
}

static struct value *describe(struct history *history, struct db_statement *row,
			      const struct strv *words)
{
	struct value *found = value_new_map();
	bool is_run = db_int(row, AT_KIND) == 2;

	value_add(found, "kind", value_new_text(is_run ? "run" : db_text(row, AT_EVENT)));
	value_add(found, "run_id", value_new_text(is_run ? db_text(row, AT_KEY) : NULL));
	value_add(found, "subject", value_new_text(db_text(row, AT_SUBJECT)));
	value_add(found, "time", history_time(db_int(row, is_run ? AT_STARTED : AT_TIME)));
	value_add(found, "status", value_new_text(db_text(row, AT_STATUS)));
	value_add(found, "exit_code", history_number(row, AT_EXIT, false));
	value_add(found, "command",
		  is_run ? history_words(db_text(row, AT_COMMAND)) : value_new_list());
	value_add(found, "workspace", value_new_text(db_text(row, AT_WORKSPACE)));
	value_add(found, "sandbox",
		  value_new_text(db_text(row, is_run ? AT_SANDBOX : AT_EVENT_SANDBOX)));
	value_add(found, "line",
		  is_run ? best_line(history, db_text(row, AT_KEY), words) : value_new_null());
	return found;
}

struct question {
	struct history *history;
	const struct strv *words;
	const struct search_filter *filter;
	struct value *list;
	struct strv had; /* places that are in the list */
};

/* Adds what matches; NEWEST < 0: of all. *ret_cut: there may be more. */
static int find(struct question *question, const char *match, int64_t newest, bool *ret_cut,
		struct error *err)
{
	const struct search_filter *filter = question->filter;
	owned(db_statement_release) struct db_statement *row = NULL;
	int got = 0;

	if (db_prepare(question->history->db, find_sql, &row, err) < 0)
		return -1;
	db_bind_text(row, 1, match);
	db_bind_int(row, 2, newest);
	db_bind_text(row, 3, filter->owner);
	db_bind_text(row, 4, filter->workspace);
	db_bind_text(row, 5, filter->kind);
	db_bind_int(row, 6, filter->is_failed);
	db_bind_int(row, 7, (int64_t)filter->since_ms);
	db_bind_int(row, 8, (int64_t)filter->limit);
	while (question->list->many.count < filter->limit && (got = db_step(row, err)) > 0) {
		owned(free_ptr) char *place =
			xasprintf("%" PRId64 " %s", db_int(row, AT_KIND), db_text(row, AT_KEY));

		if (strv_has(&question->had, place))
			continue;
		strv_add(&question->had, place);
		value_append(question->list, describe(question->history, row, question->words));
	}
	*ret_cut = question->list->many.count < filter->limit && newest > 0;
	return got < 0 ? -1 : 0;
}

static bool has_filter(const struct search_filter *filter)
{
	return filter->owner || filter->workspace || filter->kind || filter->is_failed ||
	       filter->since_ms;
}

static int find_joined(struct question *question, const char *between, struct error *err)
{
	owned(str_done) struct str match = STR_INIT;
	bool is_cut;

	write_match(question->words, between, &match);
	if (find(question, match.data, NEWEST, &is_cut, err) < 0)
		return -1;
	return is_cut && has_filter(question->filter) ? find(question, match.data, -1, &is_cut, err)
						      : 0;
}

int history_search(struct history *history, const char *words, const struct search_filter *filter,
		   struct value **ret_list, struct error *err)
{
	owned(value_release) struct value *list = value_new_list();
	owned(strv_done) struct strv split = STRV_INIT;
	struct question question = { history, &split, filter, list, STRV_INIT };
	int status;

	split_words(words, &split);
	if (split.count == 0)
		return error_set(err, ERROR_USAGE, "search: there is no word to look for");
	if (search_index_open(history, err) < 0)
		return -1;
	status = find_joined(&question, " AND ", err);
	if (status == 0 && split.count > 1 && list->many.count < filter->limit)
		status = find_joined(&question, " OR ", err);
	strv_done(&question.had);
	if (status < 0)
		return -1;
	*ret_list = ptr_take(&list);
	return 0;
}
