/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that only read and print: nothing here can write, run another program or use the network. */
#include "decide/guard/readers.h"

#include <string.h>

/* Ended by a row without a name; sorted. */
static const struct reader_row rows[] = {
	{ "arch", "", "", "", OPERANDS_NONE },
	{ "basename", "az", "s", " --multiple --zero ", OPERANDS_WORDS },
	{ "cat", "AbeEnstTuv", "", " --number --show-all --show-ends --show-tabs ",
	  OPERANDS_FILES },
	{ "cksum", "", "", "", OPERANDS_FILES },
	{ "cmp", "bls", "in", " --silent --quiet --verbose --print-bytes ", OPERANDS_PAIRS },
	{ "comm", "123z", "", " --check-order --nocheck-order ", OPERANDS_FILES },
	{ "cut", "snz", "bcdf", " --complement --only-delimited ", OPERANDS_FILES },
	{ "date", "uR", "d", " --utc --iso-8601 --rfc-email ", OPERANDS_NONE },
	{ "df", "ahHiklPT", "tx", " --all --human-readable --inodes --local --total ",
	  OPERANDS_FILES },
	{ "diff", "abBcdeEiNpqrstuwyZ", "UCI",
	  " --brief --recursive --unified --side-by-side --ignore-all-space --new-file ",
	  OPERANDS_PAIRS },
	{ "dirname", "z", "", " --zero ", OPERANDS_WORDS },
	{ "du", "0abchHkLlmsSx", "dBt",
	  " --all --apparent-size --human-readable --summarize --total ", OPERANDS_FILES },
	{ "echo", "neE", "", "", OPERANDS_WORDS },
	{ "egrep", "acEFGhHiIlLnoqrRsvwxZ", "eABCm", " --count --ignore-case --line-number ",
	  OPERANDS_TREES },
	{ "expr", "", "", "", OPERANDS_WORDS },
	{ "false", "", "", "", OPERANDS_NONE },
	{ "fgrep", "acEFGhHiIlLnoqrRsvwxZ", "eABCm", " --count --ignore-case --line-number ",
	  OPERANDS_TREES },
	{ "find", "P", "",
	  " -a -o -not -and -or -print -print0 -name -iname -path -ipath -type -size -mtime -mmin "
	  "-newer -maxdepth -mindepth -empty -perm -user -group -prune -xdev -mount -links -inum "
	  "-ls ",
	  OPERANDS_FILES },
	{ "free", "bkmghltw", "", " --human --total --wide ", OPERANDS_NONE },
	{ "grep", "acEFGhHiIlLnoPqrRsvwxzZ", "eABCm",
	  " --count --ignore-case --line-number --recursive --color --files-with-matches "
	  "--only-matching "
	  "--invert-match --word-regexp --fixed-strings --extended-regexp ",
	  OPERANDS_TREES },
	{ "groups", "", "", "", OPERANDS_WORDS },
	{ "head", "qvz", "nc", " --quiet --verbose ", OPERANDS_FILES },
	{ "id", "gGnruz", "", " --user --group --groups --name --real ", OPERANDS_WORDS },
	{ "join", "iz", "12aejotv", "", OPERANDS_FILES },
	{ "ls", "1aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ", "IwT",
	  " --all --almost-all --human-readable --recursive --reverse --size --color --full-time "
	  "--group-directories-first --inode --directory --classify ",
	  OPERANDS_FILES },
	{ "md5sum", "bt", "", " --binary --text --tag ", OPERANDS_FILES },
	{ "nl", "p", "bdfhilnsvw", "", OPERANDS_FILES },
	{ "nproc", "", "", " --all ", OPERANDS_NONE },
	{ "od", "abcdfilosxv", "AjNSt", "", OPERANDS_FILES },
	{ "paste", "sz", "d", "", OPERANDS_FILES },
	{ "printf", "", "", "", OPERANDS_WORDS },
	{ "pwd", "LP", "", " --logical --physical ", OPERANDS_NONE },
	{ "readlink", "efmnqsvz", "", " --canonicalize ", OPERANDS_FILES },
	{ "realpath", "emLPqsz", "", "", OPERANDS_FILES },
	{ "seq", "w", "fs", " --equal-width ", OPERANDS_WORDS },
	{ "sha1sum", "bt", "", " --binary --text --tag ", OPERANDS_FILES },
	{ "sha256sum", "bt", "", " --binary --text --tag ", OPERANDS_FILES },
	{ "sha512sum", "bt", "", " --binary --text --tag ", OPERANDS_FILES },
	{ "sort", "bcCdfghiMnrRsuVz", "kt",
	  " --reverse --numeric-sort --human-numeric-sort --unique --version-sort --key "
	  "--field-separator ",
	  OPERANDS_FILES },
	{ "stat", "fLt", "c", " --dereference --file-system --terse ", OPERANDS_FILES },
	{ "tac", "br", "s", "", OPERANDS_FILES },
	{ "tail", "qvz", "nc", " --quiet --verbose ", OPERANDS_FILES },
	{ "test", "bcdefgGhkLNnOprsStuwxz", "", "", OPERANDS_WORDS },
	{ "tr", "cCdst", "", " --complement --delete --squeeze-repeats ", OPERANDS_WORDS },
	{ "true", "", "", "", OPERANDS_NONE },
	{ "tsort", "", "", "", OPERANDS_FILES },
	{ "uname", "asnrvmpio", "", " --all --kernel-name --kernel-release --machine ",
	  OPERANDS_NONE },
	{ "uniq", "cdDiuz", "fsw", " --count --repeated --unique --ignore-case ", OPERANDS_NONE },
	{ "uptime", "ps", "", " --pretty --since ", OPERANDS_NONE },
	{ "wc", "clmLw", "", " --bytes --chars --lines --words --max-line-length ",
	  OPERANDS_FILES },
	{ "whoami", "", "", "", OPERANDS_NONE },
	{ .name = NULL },
};

const struct reader_row *reader_find(const char *name)
{
	for (const struct reader_row *row = rows; row->name; row++) {
		if (strcmp(row->name, name) == 0)
			return row;
	}
	return NULL;
}

static bool has_word(const struct reader_row *row, const char *option)
{
	size_t len = strcspn(option, "=");

	for (const char *at = row->words; (at = strstr(at, " ")) && at[1]; at++) {
		if (strncmp(at + 1, option, len) == 0 && at[1 + len] == ' ')
			return true;
	}
	return false;
}

/* What a short option's value is; 0: the option is not listed, 1: it needs none, 2: it is the next word. */
static int weigh_letters(const struct reader_row *row, const char *option)
{
	/* head -20, tail -5: a number is a value without its letter. */
	if (strchr(row->valued, 'n') && *row->valued && option[1] >= '0' && option[1] <= '9')
		return option[1 + strspn(option + 1, "0123456789")] ? 0 : 1;
	for (const char *at = option + 1; *at; at++) {
		if (strchr(row->letters, *at))
			continue;
		if (!strchr(row->valued, *at))
			return 0;
		return at[1] ? 1 : 2;
	}
	return 1;
}

/* The same for any word: an option, or what is none. */
static int weigh_word(const struct reader_row *row, const char *word)
{
	/* date +%F only prints. */
	if (word[0] != '-' || !word[1])
		return row->operands != OPERANDS_NONE || word[0] == '+';
	if (has_word(row, word))
		return 1;
	return word[1] == '-' ? 0 : weigh_letters(row, word);
}

bool reader_knows_words(const struct reader_row *row, const struct strv *command,
			const char **ret_odd)
{
	for (size_t i = 1; i < command->count; i++) {
		*ret_odd = command->items[i];
		if (strcmp(*ret_odd, "--") == 0)
			return row->operands != OPERANDS_NONE;
		int weight = weigh_word(row, *ret_odd);

		if (weight == 0)
			return false;
		i += weight == 2;
	}
	return true;
}
