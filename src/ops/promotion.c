/* SPDX-License-Identifier: Apache-2.0 */
/* What came of a promotion, in words a person can act on. */
#include "ops/promotion.h"
#include "ops/promotion_asked.h"

#include "base/text/json_write.h"
#include "base/core/own.h"
#include "ops/text/fold.h"
#include "ops/text/words.h"

#include <string.h>

#define HASH_TOLD 16
#define SHOWN_MAX 20
#define MESSAGE_TOLD 300
#define IGNORED_TOLD 3

void promotion_add_path(struct str *out, const struct value *item)
{
	owned(free_ptr) char *path = promotion_read_path(item);

	words_add_path(out, path);
}

/* The same as a word for a shell. */
static void add_shell_path(struct str *out, const struct value *item)
{
	owned(free_ptr) char *path = promotion_read_path(item);

	words_add_shell(out, path);
}

static void add_paths(struct str *out, const struct value *answer, const char *key,
		      const char *label)
{
	const struct value *list = value_get(answer, key);
	size_t count = value_list_count(answer, key);
	/* What was not done must not push what was done off the screen. */
	size_t shown = *label && count > SHOWN_MAX ? SHOWN_MAX : count;

	for (size_t i = 0; i < shown; i++) {
		str_addf(out, "  %s", label);
		promotion_add_path(out, list->many.items[i]);
		str_add_char(out, '\n');
	}
	if (shown < count)
		str_addf(out, "  %sand %zu more\n", label, count - shown);
}

/* Conflicts that the strategy decided: which way, and where the other version is. */
static void add_resolved(struct str *out, const struct value *answer)
{
	const struct value *conflicts = value_get(answer, "conflicts");

	for (size_t i = 0; i < value_list_count(answer, "conflicts"); i++) {
		const struct value *one = conflicts->many.items[i];
		const char *kept = value_get_text(one, "kept_as");

		if (!value_get_text(one, "resolution"))
			continue;
		str_add(out, "  ");
		promotion_add_path(out, one);
		str_addf(out, ": %s conflict decided by %s", value_get_text(one, "kind"),
			 value_get_text(one, "resolution"));
		if (kept) {
			str_add(out, "; the other version is kept as ");
			words_add_path(out, kept);
		}
		str_add_char(out, '\n');
	}
}

/* The same promotion, of paths and with flags that follow. */
static void add_promote(struct str *out, const struct value *answer)
{
	static const char *const flags[] = { "target", "snap" };
	const struct value *repeat = value_get(answer, "repeat");

	str_addf(out, "aisbx promote %s", value_get_text(answer, "sandbox"));
	for (size_t i = 0; repeat && i < sizeof(flags) / sizeof(flags[0]); i++) {
		const char *word = value_get_text(repeat, flags[i]);

		if (!word)
			continue;
		str_addf(out, " --%s ", flags[i]);
		words_add_shell(out, word);
	}
	if (repeat && value_is_true(repeat, "swap"))
		str_add(out, " --swap");
}

void promotion_report_ignored(struct str *out, const struct value *answer)
{
	int64_t count = answer ? value_int_of(answer, "ignored") : 0;
	const struct value *at = answer ? value_get(answer, "ignored_at") : NULL;

	if (count <= 0 || !at)
		return;
	str_addf(out, "left out %lld change%s that git ignores (", (long long)count,
		 count == 1 ? "" : "s");
	for (size_t i = 0; i < at->many.count && i < IGNORED_TOLD; i++) {
		str_add(out, i > 0 ? ", " : "");
		promotion_add_path(out, at->many.items[i]);
	}
	str_addf(out, "%s): ", at->many.count > IGNORED_TOLD ? ", ..." : "");
	add_promote(out, answer);
	str_addf(out, " --ignored applies %s\n", count == 1 ? "it" : "them");
}

/* What was applied, folded unless all of it is wanted; sizes are known once it lies there. */
static void add_applied(struct str *out, const struct value *answer, bool is_all)
{
	const struct value *list = value_get(answer, "applied");
	const char *target = value_get_text(answer, "target");
	bool is_there = !value_is_true(answer, "dry_run") && value_get_text(answer, "promotion_id");
	owned(strv_done) struct strv paths = STRV_INIT;

	for (size_t i = 0; i < value_list_count(answer, "applied"); i++)
		strv_take(&paths, promotion_read_path(list->many.items[i]));
	fold_add_paths(out, &paths, is_all ? 0 : FOLD_LINES, is_there ? target : NULL);
}

void promotion_report(struct str *out, const struct value *answer, bool is_all)
{
	size_t applied = value_list_count(answer, "applied"),
	       merged = value_list_count(answer, "merged");
	const char *name = value_get_text(answer, "sandbox");
	const char *undo = value_get_text(answer, "undo");
	const char *target = value_get_text(answer, "target");

	if (applied + merged == 0) {
		str_addf(out, "nothing to promote from %s\n", value_get_text(answer, "sandbox"));
	} else if (value_is_true(answer, "into_sandbox")) {
		str_addf(
			out,
			"%s %zu change%s of the host into the sandbox %s; the host is as it was:\n",
			value_is_true(answer, "dry_run") ? "would lay" : "laid", applied + merged,
			applied + merged == 1 ? "" : "s", value_get_text(answer, "sandbox"));
	} else {
		str_addf(out, "%s %zu change%s to ",
			 value_is_true(answer, "dry_run") ? "would promote" : "promoted",
			 applied + merged, applied + merged == 1 ? "" : "s");
		words_add_path(out, target ? target : "");
		str_add(out, ":\n");
	}
	add_applied(out, answer, is_all);
	add_paths(out, answer, "merged", "merged ");
	add_paths(out, answer, "skipped", "left as the host has it: ");
	add_resolved(out, answer);
	promotion_report_ignored(out, answer);
	if (undo)
		str_addf(out, "take it back with: %s\n", undo);
	if (name && value_is_true(answer, "commits_waiting"))
		str_addf(out, COMMITS_WAIT, name, name, name);
}

static void add_way(struct str *out, const struct value *stages)
{
	for (size_t i = 0; stages && stages->kind == VALUE_LIST && i < stages->many.count; i++) {
		const struct value *stage = stages->many.items[i];
		const char *name = value_get_text(stage, "name");
		const char *target = value_get_text(stage, "target");

		str_addf(out, "%s %s (", i > 0 ? "," : "", name ? name : "?");
		words_add_path(out, target ? target : "");
		str_add_char(out, ')');
	}
}

void promotion_report_ask(struct str *out, const struct value *ask)
{
	const char *kind = value_get_text(ask, "kind"), *bundle = value_get_text(ask, "bundle");
	const char *target = value_get_text(ask, "target"), *branch = value_get_text(ask, "branch");
	const char *sandbox = value_get_text(ask, "sandbox");
	const char *message = value_get_text(ask, "message");

	str_addf(out, "%lld files of %sthe sandbox %s ", (long long)value_int_of(ask, "files"),
		 value_is_true(ask, "is_commits") ? "git, which are commits of " : "",
		 sandbox ? sandbox : "?");
	if (kind && strcmp(kind, "stages") == 0) {
		str_add(out, "through the stages");
		add_way(out, value_get(ask, "stages"));
	} else {
		str_add(out, kind && strcmp(kind, "commit") == 0 ? "as a commit in " : "to ");
		words_add_path(out, target ? target : "?");
	}
	if (bundle)
		str_addf(out, ", bundle %.16s", bundle);
	if (branch)
		str_addf(out, ", branch %s", branch);
	if (message) {
		str_add(out, ", message ");
		words_add_quoted(out, message, MESSAGE_TOLD);
	}
}

static bool is_whole(const char *asked)
{
	return *asked && asked[strlen(asked) - 1] == '/';
}

static void add_agreement(struct str *out, const struct value *consents,
			  const struct strv *all_asked)
{
	owned(strv_done) struct strv said = STRV_INIT;

	for (size_t i = 0; i < consents->many.count; i++) {
		const struct value *one = consents->many.items[i];
		const char *flag = value_get_text(one, "flag");
		owned(free_ptr) char *asked = xstrdup(all_asked->items[i]);
		owned(str_done) struct str words = STR_INIT;

		if (!flag)
			continue;
		if (is_whole(asked))
			asked[strlen(asked) - 1] = '\0';
		str_add(&words, flag);
		if (promotion_names_path(flag)) {
			str_add_char(&words, ' ');
			words_add_shell(&words, asked);
		}
		/* A path may be asked about for several reasons. */
		if (strv_has(&said, str_cstr(&words)))
			continue;
		strv_add(&said, str_cstr(&words));
		str_addf(out, " %s", str_cstr(&words));
	}
}

static void add_cells(struct strv *cells, const char *indent, const char *path, const char *why,
		      const char *flag)
{
	struct str cell = STR_INIT;

	str_add(&cell, indent);
	words_add_path(&cell, path);
	strv_take(cells, str_detach(&cell));
	strv_add(cells, why);
	strv_add(cells, flag ? flag : "");
}

/* One question for directory ASKED, and what is in it that runs by itself. */
static void add_whole(struct strv *cells, const struct value *consents,
		      const struct strv *all_asked, const char *asked, bool is_all)
{
	bool is_short = !is_all && consents->many.count > PROMOTION_ASKED_MAX;
	size_t header = cells->count + 1, count = 0, shown = 0;
	owned(strv_done) struct strv kinds = STRV_INIT;

	add_cells(cells, "  ", asked, "", "--allow-path");
	for (size_t i = 0; i < consents->many.count; i++) {
		const struct value *one = consents->many.items[i];
		const char *why = value_get_text(one, "why");
		owned(free_ptr) char *path = NULL;

		if (strcmp(all_asked->items[i], asked) != 0)
			continue;
		path = promotion_read_path(one);
		count++;
		if (is_short && strv_has(&kinds, why))
			continue;
		strv_add(&kinds, why);
		add_cells(cells, "    ", path, why, NULL);
		shown++;
	}
	free(cells->items[header]);
	cells->items[header] =
		xasprintf("%zu that could run by %s%s", count, count == 1 ? "itself" : "themselves",
			  shown < count ? "; one of each kind, --all lists them:" : ":");
}

void promotion_read_agreed(const struct value *answer, struct strv *ret_agreed)
{
	const struct value *consents = value_get(answer, "consent");

	for (size_t i = 0; i < value_list_count(answer, "consent"); i++) {
		owned(free_ptr) char *path = promotion_read_path(consents->many.items[i]);
		strv_addf(ret_agreed, "%s %s", value_get_text(consents->many.items[i], "why"),
			  path);
	}
}

void promotion_report_consent(struct str *out, const struct value *answer, const char *again,
			      bool is_all)
{
	const struct value *consents = value_get(answer, "consent");
	owned(strv_done) struct strv cells = STRV_INIT, all_asked = STRV_INIT, said = STRV_INIT;

	str_add(out,
		"these could run or grant something on this machine, so they need your word:\n");
	promotion_find_asked(answer, &all_asked);
	for (size_t i = 0; i < all_asked.count; i++) {
		const struct value *one = consents->many.items[i];
		const char *asked = all_asked.items[i];

		if (!is_whole(asked)) {
			add_cells(&cells, "  ", asked, value_get_text(one, "why"),
				  value_get_text(one, "flag"));
		} else if (!strv_has(&said, asked)) {
			strv_add(&said, asked);
			add_whole(&cells, consents, &all_asked, asked, is_all);
		}
	}
	words_add_table(out, &cells, 3);
	if (!again || str_starts(again, "aisbx promote "))
		str_addf(out, "look at them: aisbx diff %s\n", value_get_text(answer, "sandbox"));
	if (again)
		str_addf(out, "agree:        %s", again);
	else {
		str_add(out, "agree:        ");
		add_promote(out, answer);
	}
	add_agreement(out, consents, &all_asked);
	str_add_char(out, '\n');
}

static void add_side(struct str *out, const char *title, const struct value *side)
{
	const char *hash = value_get_text(side, "sha256");
	const char *type = value_get_text(side, "type");
	int64_t size = 0;

	str_addf(out, "    %-8s ", title);
	if (!value_is_true(side, "exists")) {
		str_add(out, "not there\n");
		return;
	}
	(void)value_get_int(side, "size", &size);
	str_addf(out, "%s, %lld bytes, changed ", type ? type : "?", (long long)size);
	words_add_age(out, words_moment(side, "changed"));
	if (hash)
		str_addf(out, ", sha256 %.*s", HASH_TOLD, hash);
	str_add_char(out, '\n');
}

static void add_lines(struct str *out, const struct value *conflict)
{
	const struct value *hunks = value_get(conflict, "hunks");

	for (size_t i = 0; i < value_list_count(conflict, "hunks"); i++) {
		const struct value *ours = value_get(hunks->many.items[i], "ours");
		const struct value *theirs = value_get(hunks->many.items[i], "theirs");

		str_addf(out,
			 "    overlap  line %lld of the host (%lld lines), line %lld of the "
			 "sandbox (%lld lines)\n",
			 (long long)ours->many.items[0]->integer,
			 (long long)ours->many.items[1]->integer,
			 (long long)theirs->many.items[0]->integer,
			 (long long)theirs->many.items[1]->integer);
	}
}

/* What each kind means, for people. */
static const char *meaning_of(const char *kind)
{
	static const char *const rows[][2] = {
		{ "content", "both changed the same lines" },
		{ "binary", "both changed it, and it is not text" },
		{ "delete/modify", "the sandbox deleted it, the host changed it" },
		{ "modify/delete", "the sandbox changed it, the host deleted it" },
		{ "add/add", "both made it, differently" },
		{ "type", "it became another kind of thing on one side and changed on the other" },
		{ "dir-delete",
		  "the sandbox deleted the directory, the host put something into it" },
		{ "parent-gone", "the host no longer has the directory it belongs in" },
		{ "mount-point", "something is mounted there that the sandbox never saw" },
		{ "rename/rename", "both renamed it, differently" },
		{ "base-lost", "the host changed it, and what it was before is not known" },
		{ "busy", "a process has it open for writing" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i][0], kind) == 0)
			return rows[i][1];
	}
	return "the host changed it";
}

static void add_command(struct str *out, const char *label, const struct value *answer,
			const struct value *item, const char *flags)
{
	str_addf(out, "    %s ", label);
	add_promote(out, answer);
	str_add_char(out, ' ');
	add_shell_path(out, item);
	str_addf(out, "%s\n", flags);
}

static void add_choices(struct str *out, const struct value *answer, const struct value *conflict)
{
	static const struct {
		const char *choice, *label, *flags;
	} rows[] = {
		{ "theirs", "the sandbox's:", " --strategy theirs" },
		{ "ours", "the host's:    ", " --strategy ours" },
		{ "approx-base", "from git's:   ", " --strategy merge --approx-base" },
		{ "into-sandbox", "by hand:      ", " --strategy merge --into-sandbox" },
		{ "retry", "when closed:  ", "" },
	};
	const struct value *choices = value_get(conflict, "choices");

	for (size_t i = 0; choices && i < choices->many.count; i++) {
		for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
			if (strcmp(choices->many.items[i]->text.bytes, rows[r].choice) == 0)
				add_command(out, rows[r].label, answer, conflict, rows[r].flags);
		}
	}
}

void promotion_report_conflicts(struct str *out, const struct value *answer)
{
	const struct value *conflicts = value_get(answer, "conflicts");
	const char *sandbox = value_get_text(answer, "sandbox");

	for (size_t i = 0; i < value_list_count(answer, "conflicts"); i++) {
		const struct value *one = conflicts->many.items[i];
		const char *kind = value_get_text(one, "kind");

		if (value_get_text(one, "resolution"))
			continue;
		promotion_add_path(out, one);
		str_addf(out, ": %s (%s)\n", meaning_of(kind), kind);
		add_side(out, "host", value_get(one, "ours"));
		add_side(out, "sandbox", value_get(one, "theirs"));
		add_lines(out, one);
		add_paths(out, one, "names", "  the host has ");
		if (!value_is_true(answer, "is_commits"))
			add_choices(out, answer, one);
	}
	/* The sandbox's branch on top of the host's is no conflict any more. */
	if (value_is_true(answer, "is_commits"))
		str_addf(out,
			 "rebase inside: aisbx exec %s -- git rebase \"$(git rev-parse HEAD)\"\n"
			 "then:          aisbx promote %s --commits\n",
			 sandbox, sandbox);
}
