/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scanner against snippets written for it: how much of the malicious is found, how often the harmless is blamed.
 *
 * A corpus file KIND.LANGUAGE holds snippets, each behind a line "%% NAME". Those in corpus/ were there while the rules
 * were made. Those in second/ were written then (69 of 81 found, 2 of 71 blamed) and the rules mended by them; so were
 * those in third/ (45 of 51, 0 of 48), in fourth/ (155 of 179, 0 of 176; written without a look at the rules) and in
 * fifth/, four lots of little but disguise, one after the other (64 of 70, 52 of 60, 51 of 60, 39 of 45; 3 blamed of
 * 231). Those in sixth/ (104 of 117, 1 of 72) and seventh/ (116 of 127, 1 of 62; 98 of 127 by the rules before sixth/)
 * are little but disguise, too, with longer programs among the harmless; sixth/ was written without a look at the rules,
 * seventh/ with the rules mended by sixth/, and eighth/ (50 of 56, 1 of 21; 41 of 56 by the rules before sixth/) with
 * those mended by seventh/, after which the rules were mended once more. Those in ninth/ (135 of 148, 1 of 101; all
 * misses in shell texts) were written next, and with the rules mended by them those in tenth/ (170 of 213, 3 of 62;
 * most misses in JavaScript that never names child_process; nine more of its shell texts, places spelt otherwise, were
 * written with the hole in sight). Those in eleventh/ were written without a look at the rules and run before any was
 * changed: 124 of 140 (JavaScript 60 of 74, most misses files reached by other ways than the plain calls of fs; shell
 * 56 of 58), 2 of 87; then, with the rules mended by them, the JavaScript of twelfth/: 20 of 24, 0 of 14. Those in
 * thirteenth/ (137 of 241, 8 of 196) are ordinary tools and libraries used to destroy, without any disguise, and were
 * written without a look at the rules, too; then, with the rules mended by them and tools.tsv known to the writer, those
 * in fourteenth/: 81 of 84, 0 of 84. Those in fifteenth/ (110 of 120, 14 of 120) were written by another writer who had
 * seen neither rules nor corpus, as ordinary work and ordinary harm side by side, and the rules mended by them. Those in
 * sixteenth/ were written against that mending, with the rules in sight: harm by a word or an option changed in what it had
 * come to take for ordinary, and the ordinary beside it. The rules
 * before the mending had 233 of 240 and 28 of 29, those after it 81 of 240 and 0 of 29; mended once more, 240 and 1, which
 * says nothing about what else there is. Fifteen more were taken out again, most of them no harm or no
 * valid command; two of these, modules by an unknown name out of a folder or package that is named, stay low. For those in
 * held-out/ no rule was changed, and what is told about them is the honest figure; the latter half of them, what such
 * code is mostly like, came last.
 */
#include "base/file/fd.h"
#include "base/core/own.h"
#include "scan/judge/policy.h"
#include "scan/scan.h"
#include "tests/tap.h"

#include <fcntl.h>
#include <string.h>

#define CORPUS_MAX ((size_t)1 << 20)

struct tally {
	unsigned malicious, found, harmless, blamed;
};

static enum scan_severity risk_of(const char *text, size_t len, enum scan_language language,
				  const char *name, bool is_shown)
{
	owned(scan_report_done) struct scan_report report;
	owned(scan_policy_done) struct scan_policy policy;
	const struct scan_text source = { name, text, len, language };
	enum scan_severity risk;
	struct error err;

	scan_report_init(&report);
	scan_policy_init(&policy);
	if (scan_text(&source, &policy, &report, &err) < 0)
		return SEVERITY_NONE;
	risk = report.risk;
	for (size_t i = 0; is_shown && i < report.count; i++)
		printf("#     %s: %s\n", scan_severity_name(report.findings[i].severity),
		       report.findings[i].message);
	return risk;
}

static void judge(const char *text, size_t len, enum scan_language language, const char *name,
		  bool is_malicious, struct tally *tally)
{
	bool is_told = risk_of(text, len, language, name, false) >= SEVERITY_MEDIUM;

	if (is_malicious) {
		tally->malicious++;
		tally->found += is_told;
	} else {
		tally->harmless++;
		tally->blamed += is_told;
	}
	if (is_told == is_malicious)
		return;
	printf("#   %s, %s: %s\n", is_malicious ? "missed" : "blamed", scan_language_name(language),
	       name);
	(void)risk_of(text, len, language, name, true);
}

static void read_snippets(const char *text, enum scan_language language, bool is_malicious,
			  struct tally *tally)
{
	const char *at = strstr(text, "%% ");

	while (at) {
		const char *end = strchrnul(at, '\n');
		owned(free_ptr) char *name = xstrndup(at + 3, (size_t)(end - at) - 3);
		const char *body = *end ? end + 1 : end, *next = strstr(body, "\n%% ");
		size_t len = next ? (size_t)(next + 1 - body) : strlen(body);

		judge(body, len, language, name, is_malicious, tally);
		at = next ? next + 1 : NULL;
	}
}

static void read_folder(const char *folder, struct tally *tally)
{
	for (size_t i = 0; i < SCAN_LANGUAGES; i++) {
		for (int kind = 0; kind < 2; kind++) {
			owned(str_done) struct str text = STR_INIT;
			owned(free_ptr) char *path =
				xasprintf("%s/%s.%s", folder, kind ? "harmless" : "malicious",
					  scan_language_name((enum scan_language)i));
			struct error err;

			if (file_read(AT_FDCWD, path, CORPUS_MAX, &text, &err) < 0)
				printf("# %s\n", err.text);
			else
				read_snippets(str_cstr(&text), (enum scan_language)i, kind == 0,
					      tally);
		}
	}
}

static double percent(unsigned part, unsigned whole)
{
	return whole ? 100.0 * part / whole : 0;
}

static void check(const char *folder, const char *what, unsigned least, double wanted,
		  double most_blamed)
{
	struct tally tally = { 0 };
	double found, blamed;

	read_folder(folder, &tally);
	found = percent(tally.found, tally.malicious);
	blamed = percent(tally.blamed, tally.harmless);
	printf("# %s: detection %.1f %% (%u of %u), false alarms %.1f %% (%u of %u)\n", what, found,
	       tally.found, tally.malicious, blamed, tally.blamed, tally.harmless);
	tap_ok(tally.malicious >= least && tally.harmless >= least,
	       "%s: enough snippets of both kinds", what);
	tap_ok(found >= wanted, "%s: at least %.0f %% of the malicious are found", what, wanted);
	tap_ok(blamed <= most_blamed, "%s: at most %.0f %% of the harmless are blamed", what,
	       most_blamed);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *folder;
		unsigned least;
		double wanted, most_blamed;
	} parts[] = { { ".", 150, 95, 5 },	    { "second", 70, 95, 5 },
		      { "third", 45, 95, 5 },	    { "fourth", 170, 95, 5 },
		      { "fifth", 230, 95, 5 },	    { "sixth", 70, 95, 5 },
		      { "seventh", 60, 95, 5 },	    { "eighth", 20, 95, 5 },
		      { "ninth", 100, 95, 5 },	    { "tenth", 60, 95, 5 },
		      { "eleventh", 80, 95, 5 },    { "twelfth", 14, 90, 5 },
		      { "thirteenth", 120, 95, 2 }, { "fourteenth", 80, 95, 2 },
		      { "fifteenth", 120, 95, 2 },  { "sixteenth", 25, 100, 4 },
		      { "held-out", 65, 90, 2 } };

	if (!scan_is_built()) {
		tap_skip(51, "this build has no scanner");
		return tap_done();
	}
	if (argc != 2)
		return 2;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		owned(free_ptr) char *folder = xasprintf("%s/%s", argv[1], parts[i].folder);

		check(folder, i == 0 ? "corpus" : parts[i].folder, parts[i].least, parts[i].wanted,
		      parts[i].most_blamed);
	}
	return tap_done();
}
