/* SPDX-License-Identifier: Apache-2.0 */
/* Recipes: rows found, placeholders replaced, facts asked for. */
#include "services/service.h"

#include "base/core/clock.h"
#include "base/core/own.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FACT_NS UINT64_C(2000000000)
#define EXPAND_DEPTH 3
#define VALUE_MAX 4096

static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = words; len > 0 && (at = strstr(at, word)); at += len) {
		if ((at == words || at[-1] == ' ') && (!at[len] || at[len] == ' '))
			return true;
	}
	return false;
}

const char *recipe_match(const char *comm)
{
	for (const struct recipe_row *row = recipe_rows; row->recipe; row++) {
		if (strcmp(row->field, "match") == 0 && has_word(row->words, comm))
			return row->recipe;
	}
	return NULL;
}

const char *recipe_get(const char *recipe, const char *field, size_t at)
{
	for (const struct recipe_row *row = recipe_rows; recipe && row->recipe; row++) {
		if (strcmp(row->recipe, recipe) == 0 && strcmp(row->field, field) == 0 && at-- == 0)
			return row->words;
	}
	return NULL;
}

static const char *fact_get(const struct service *service, const char *name)
{
	for (size_t i = 0; i + 1 < service->facts.count; i += 2) {
		if (strcmp(service->facts.items[i], name) == 0)
			return service->facts.items[i + 1];
	}
	return NULL;
}

/* The value of one name; empty where it is not known. */
static void add_value(const struct service *service, const char *name, struct str *out)
{
	const char *fact = fact_get(service, name);

	if (fact)
		str_add(out, fact);
	else if (strcmp(name, "port") == 0)
		str_addf(out, "%u", service->port);
	else if (strcmp(name, "host") == 0)
		str_add(out, service->host);
	else if (strcmp(name, "dir") == 0 && service->dir)
		str_add(out, service->dir);
	else if (strcmp(name, "place") == 0 && service->place)
		str_add(out, service->place);
	else if (strcmp(name, "cwd") == 0 && service->cwd)
		str_add(out, service->cwd);
	else if (strcmp(name, "exe") == 0 && service->exe)
		str_add(out, service->exe);
	else if (strcmp(name, "bin") == 0 && service->exe)
		str_add_bytes(out, service->exe,
			      (size_t)(strrchr(service->exe, '/') - service->exe));
	else if (strcmp(name, "comm") == 0)
		str_add(out, service->comm);
	else if (strcmp(name, "stem") == 0)
		str_add_bytes(out, service->comm, strcspn(service->comm, "-"));
}

/* Of the names between bars the first that is known. */
static void add_first(const struct service *service, const char *names, size_t len, struct str *out)
{
	size_t before = out->len;

	while (len > 0 && out->len == before) {
		size_t part = strcspn(names, "|}");
		owned(free_ptr) char *name = xstrndup(names, part < len ? part : len);

		add_value(service, name, out);
		names += part + 1;
		len -= part < len ? part + 1 : len;
	}
}

static int expand(const struct service *service, const char *words, unsigned depth,
		  struct strv *ret_words, struct error *err);

/* One word: a list of words where it stands for one, and none where it is a placeholder without a value. */
static int expand_word(const struct service *service, const char *word, unsigned depth,
		       struct strv *ret_words, struct error *err)
{
	owned(str_done) struct str out = STR_INIT;

	if (strcmp(word, "{args}") == 0) {
		strv_copy(ret_words, &service->args);
		return 0;
	}
	if (strcmp(word, "{client}") == 0) {
		const char *client = recipe_get(service->recipe, "client", 0);

		return client ? expand(service, client, depth + 1, ret_words, err) : 0;
	}
	for (const char *at = word; *at;) {
		const char *open = strchr(at, '{'), *close = open ? strchr(open, '}') : NULL;

		if (!close) {
			str_add(&out, at);
			break;
		}
		str_add_bytes(&out, at, (size_t)(open - at));
		add_first(service, open + 1, (size_t)(close - open - 1), &out);
		at = close + 1;
	}
	if (out.len > VALUE_MAX)
		return error_set(err, ERROR_INPUT, "%s: a word of its recipe is too long",
				 service->name);
	if (out.len > 0)
		strv_add(ret_words, str_cstr(&out));
	return 0;
}

static int expand(const struct service *service, const char *words, unsigned depth,
		  struct strv *ret_words, struct error *err)
{
	if (depth > EXPAND_DEPTH)
		return error_set(err, ERROR_INTERNAL, "a recipe stands for itself");
	while (*words) {
		size_t len = strcspn(words, " ");
		owned(free_ptr) char *word = xstrndup(words, len);

		if (len > 0 && expand_word(service, word, depth, ret_words, err) < 0)
			return -1;
		words += len + (words[len] == ' ');
	}
	return 0;
}

int recipe_expand(const struct service *service, const char *words, struct strv *ret_words,
		  struct error *err)
{
	return expand(service, words, 0, ret_words, err);
}

/* What KEY means in the answer: its number of a line, or a line's beginning. */
static char *find_fact(const char *answer, const char *key)
{
	unsigned long number = strtoul(key, NULL, 10);

	for (const char *line = answer; *line;) {
		size_t len = strcspn(line, "\r\n");

		if (number > 0 && --number == 0)
			return xstrndup(line, len);
		if (number == 0 && strncmp(line, key, strlen(key)) == 0)
			return xstrndup(line + strlen(key), len - strlen(key));
		line += len;
		line += *line == '\r';
		line += *line == '\n';
	}
	return xstrdup("");
}

/* What the words behind the AT-th, which is the key, answer. */
static int ask_value(const struct service *service, const struct strv *words, size_t at,
		     char **ret_value, struct error *err)
{
	owned(strv_done) struct strv argv = STRV_INIT;
	owned(service_answer_done) struct service_answer answer = { .code = 0 };

	for (size_t i = at + 1; i < words->count; i++)
		strv_add(&argv, words->items[i]);
	if (service_ask(service, &argv, -1, clock_now_ns() + FACT_NS, &answer, err) < 0)
		return -1;
	/* A client of redis reports a refusal with success. */
	if (answer.code != 0 || str_starts(str_cstr(&answer.text), "NOAUTH"))
		return error_set(err, ERROR_DENIED, "%s does not answer: %.200s", service->name,
				 str_cstr(&answer.text));
	*ret_value = find_fact(str_cstr(&answer.text), words->items[at]);
	return 0;
}

int recipe_ask(const struct service *service, const char *row, char **ret_value, struct error *err)
{
	owned(strv_done) struct strv words = STRV_INIT;

	return recipe_expand(service, row, &words, err) < 0
		       ? -1
		       : ask_value(service, &words, 0, ret_value, err);
}

static int ask_fact(struct service *service, const char *row, struct error *err)
{
	owned(strv_done) struct strv words = STRV_INIT;
	char *value;

	if (recipe_expand(service, row, &words, err) < 0 ||
	    ask_value(service, &words, 1, &value, err) < 0)
		return -1;
	strv_add(&service->facts, words.items[0]);
	strv_take(&service->facts, value);
	return 0;
}

int recipe_facts(struct service *service, struct error *err)
{
	const char *row;

	for (size_t i = 0; (row = recipe_get(service->recipe, "fact", i)); i++) {
		if (ask_fact(service, row, err) < 0)
			return -1;
	}
	return 0;
}
