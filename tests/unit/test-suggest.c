/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": near words are found, far ones are not, long ones cost nothing. */
#include "base/text/suggest.h"
#include "tests/tap.h"

static const char *best_of(const char *given)
{
	static const char *const names[] = {
		"mem", "memory", "net", "pids", "workspace-secrets", "require", "run"
	};
	struct suggest suggest;

	suggest_init(&suggest, given);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		suggest_try(&suggest, names[i]);
	return suggest.best;
}

int main(void)
{
	char long_word[100000];

	tap_is_str(best_of("mem"), "mem", "the word itself is nearest");
	tap_is_str(best_of("meme"), "mem", "a letter too many");
	tap_is_str(best_of("emm"), "mem", "two letters swapped");
	tap_is_str(best_of("memroy"), "memory", "swapped in a longer word");
	tap_is_str(best_of("requires"), "require", "a plural");
	tap_is_str(best_of("workspace-secret"), "workspace-secrets", "a letter missing");
	tap_is_str(best_of("nte"), "net", "the nearest of several");
	tap_is_str(best_of("zzzzzz"), NULL, "nothing is near nonsense");
	tap_is_str(best_of("kubernetes"), NULL, "nothing is near another word");
	memset(long_word, 'm', sizeof(long_word) - 1);
	long_word[sizeof(long_word) - 1] = '\0';
	tap_is_str(best_of(long_word), NULL, "a hostile word is near nothing");
	return tap_done();
}
