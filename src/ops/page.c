/* SPDX-License-Identifier: Apache-2.0 */
/* Which calls the page may make: each row's `page`, held against what was asked for. */
#include "ops/page.h"

#include "base/core/own.h"

#include <string.h>

#define WORDS_MAX 1024
#define TEXT_MAX 8192

/* The alternative of OFFER that begins with FIRST, the first word given; NULL when there is none. */
static const char *find_offer(const char *offer, const char *first)
{
	while (offer) {
		size_t len = strcspn(offer, " ;");

		if ((len == 1 && *offer == (first ? '*' : '-')) ||
		    (first && strlen(first) == len && strncmp(offer, first, len) == 0))
			return offer;
		offer = strchr(offer, ';');
		offer += offer ? 1 + strspn(offer + 1, " ") : 0;
	}
	return NULL;
}

/* Where the flag NAME stands in OFFER; NULL when it does not. */
static const char *find_flag(const char *offer, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = offer; *at && *at != ';'; at += strcspn(at, " ;"), at += *at == ' ') {
		if (strncmp(at, "--", 2) == 0 && strcspn(at + 2, " ;!") == len &&
		    strncmp(at + 2, name, len) == 0)
			return at;
	}
	return NULL;
}

static int add_text(const char *prefix, const struct value *text, struct strv *words,
		    struct error *err)
{
	if (!text || text->kind != VALUE_TEXT || text->text.len > TEXT_MAX ||
	    words->count > WORDS_MAX)
		return error_set(err, ERROR_USAGE,
				 "words and flags are texts of up to %d bytes, %d together",
				 TEXT_MAX, WORDS_MAX);
	strv_take(words, xasprintf("%s%s", prefix, text->text.bytes));
	return 0;
}

static bool is_switch(const struct op *op, const char *name)
{
	for (const struct op_param *at = op->params; at && at->name; at++) {
		if (strcmp(at->name, name) == 0)
			return at->kind == PARAM_SWITCH;
	}
	return false;
}

/* A switch is true or false, and nothing else is: a flag that lacks its value would take the next word for it. */
static int add_flag(const struct op *op, const char *name, const struct value *value,
		    struct strv *words, struct error *err)
{
	owned(free_ptr) char *prefix = xasprintf("--%s=", name);

	if (is_switch(op, name) != (value->kind == VALUE_BOOL))
		return error_set(err, ERROR_USAGE, "%s: --%s is %s", op->name, name,
				 is_switch(op, name) ? "true or false" : "a text");
	if (value->kind == VALUE_BOOL) {
		if (value->truth)
			strv_addf(words, "--%s", name);
		return 0;
	}
	if (value->kind != VALUE_LIST)
		return add_text(prefix, value, words, err);
	for (size_t i = 0; i < value->many.count; i++) {
		if (add_text(prefix, value->many.items[i], words, err) < 0)
			return -1;
	}
	return 0;
}

/* Flags marked with a ! have to be there: what a person decides on is what was shown. */
static int check_needed(const struct op *op, const char *offer, const struct value *flags,
			struct error *err)
{
	for (const char *at = strstr(offer, " --"); at && at < offer + strcspn(offer, ";");
	     at = strstr(at + 1, " --")) {
		size_t len = strcspn(at + 3, " ;!");
		owned(free_ptr) char *name = xstrndup(at + 3, len);
		const struct value *given = flags ? value_get(flags, name) : NULL;

		if (at[3 + len] == '!' && (!given || given->kind != VALUE_TEXT))
			return error_set(err, ERROR_USAGE, "%s on the page needs --%s", op->name,
					 name);
	}
	return 0;
}

int page_words(const struct op *op, const struct value *asked, struct strv *ret_words,
	       struct error *err)
{
	const struct value *words = value_get(asked, "words"), *flags = value_get(asked, "flags");
	const struct value *first = words && words->kind == VALUE_LIST && words->many.count
					    ? words->many.items[0]
					    : NULL;
	const char *offer =
		op->page ? find_offer(op->page,
				      first && first->kind == VALUE_TEXT ? first->text.bytes : NULL)
			 : NULL;

	if (!offer || (words && words->kind != VALUE_LIST) || (flags && flags->kind != VALUE_MAP))
		return error_set(err, ERROR_USAGE, "%s: no such call on the page", op->name);
	if (check_needed(op, offer, flags, err) < 0)
		return -1;
	strv_add(ret_words, op->name);
	strv_add(ret_words, "--json");
	for (size_t i = 0; flags && i < flags->many.count; i++) {
		if (!find_flag(offer, flags->many.keys[i]))
			return error_set(err, ERROR_USAGE, "%s: no such flag on the page",
					 op->name);
		if (add_flag(op, flags->many.keys[i], flags->many.items[i], ret_words, err) < 0)
			return -1;
	}
	/* No word is ever taken for a flag. */
	strv_add(ret_words, "--");
	for (size_t i = 0; words && i < words->many.count; i++) {
		if (add_text("", words->many.items[i], ret_words, err) < 0)
			return -1;
	}
	return 0;
}
