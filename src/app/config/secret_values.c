/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets as a spec names them, with their values. */
#include "app/config/secret_values.h"

#include "app/config/profile_load.h"
#include "app/config/secret_keyring.h"
#include "app/config/secret_store.h"
#include "base/core/id.h"
#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/text/clean_path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* In aisbx-full only. */
#pragma weak secret_store_open
#pragma weak secret_store_close
#pragma weak secret_store_find

const char *secret_word_stored(const char *word)
{
	const char *equals = strchr(word, '=');

	if (word[0] == '$' || word[0] == '@')
		return equals ? equals + 1 : NULL;
	return equals ? NULL : word;
}

/* Of a word that begins with '@'. */
static char *injected_host(const char *word)
{
	const char *host = word + 1;

	host += str_starts(host, "http:") ? strlen("http:") : 0;
	return xstrndup(host, strcspn(host, ":"));
}

struct value *secret_word_way(const char *word)
{
	owned(free_ptr) char *way = NULL, *host = NULL;

	if (word[0] != '@')
		return value_new_text(word[0] == '$' ? "variable" : "file");
	host = injected_host(word);
	way = xasprintf("injected for %s", host);
	return value_new_text(way);
}

enum secret_lock secret_lock_look(const char *config_dir)
{
	owned(free_ptr) char *path = xasprintf("%s/" SECRET_STORE_FILE, config_dir);
	owned(fd_close) int fd = file_open(AT_FDCWD, path, O_NOFOLLOW, NULL);
	unsigned char key[CRYPTO_KEY];
	struct secret_head head;
	bool is_cached;

	if (fd < 0)
		return errno == ENOENT ? SECRET_LOCK_NONE : SECRET_LOCK_BROKEN;
	if (fd_read_at(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
	    memcmp(head.magic, SECRET_STORE_MAGIC, sizeof(head.magic)) != 0)
		return SECRET_LOCK_BROKEN;
	if (head.kind != SECRET_KEY_PASSPHRASE)
		return SECRET_LOCK_FILE;
	is_cached = secret_keyring_get(head.salt, CRYPTO_SALT, key, CRYPTO_KEY);
	explicit_bzero(key, sizeof(key));
	return is_cached ? SECRET_LOCK_CACHED : SECRET_LOCK_PASSPHRASE;
}

/* Whether one of the scopes of KIND holds, or there is none; *ret_first is the first of them. */
static bool scope_holds(const struct strv *scopes, const char *kind, const char *value,
			const char **ret_first)
{
	bool is_path = strcmp(kind, "workspace ") == 0;

	*ret_first = NULL;
	for (size_t i = 0; i < scopes->count; i++) {
		const char *scope = scopes->items[i] + strlen(kind);

		if (!str_starts(scopes->items[i], kind))
			continue;
		if (value && (is_path ? path_is_within(value, scope) : strcmp(value, scope) == 0))
			return true;
		*ret_first = *ret_first ? *ret_first : scope;
	}
	return !*ret_first;
}

static int check_scopes(const char *name, const struct strv *scopes, const struct secret_use *use,
			struct error *err)
{
	const struct {
		const char *kind, *value, *hint;
		bool is_asked;
	} rows[] = {
		{ "host ", use->host,
		  "--inject HOST:HEADER=NAME sends it there, and the command never holds it",
		  true },
		{ "workspace ", use->workspace, "aisbx secret set sets other scopes",
		  use->workspace != NULL },
		{ "profile ", use->profile, "aisbx secret set sets other scopes",
		  use->profile != NULL },
	};
	char shown[STR_SHOWN_SIZE];
	const char *first;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!rows[i].is_asked || scope_holds(scopes, rows[i].kind, rows[i].value, &first))
			continue;
		return error_advise(err, ERROR_DENIED, rows[i].hint,
				    "the secret %s is only for the %s%s", name, rows[i].kind,
				    str_shown(first, shown));
	}
	return 0;
}

static int add_stored(struct secret_store *store, const char *word, const struct secret_use *use,
		      struct secrets *secrets, struct error *err)
{
	const char *name = secret_word_stored(word);
	/* One that is injected is called by all of its word: several of them may be one secret. */
	owned(free_ptr) char *as =
		xstrndup(word, word[0] == '@' ? strlen(word) : strcspn(word, "="));
	owned(free_ptr) char *host = word[0] == '@' ? injected_host(word) : NULL;
	struct secret_use there;
	size_t place = secret_store_find(store, name);
	const struct secret *found;
	char shown[STR_SHOWN_SIZE];

	if (place == SIZE_MAX)
		return error_advise(
			err, ERROR_NOT_FOUND,
			"aisbx secret ls lists them; a sandbox that was made with it needs "
			"it set again, or aisbx rm",
			"no secret is called '%s'", str_shown(name, shown));
	found = &store->values.items[place];
	if (use)
		there = (struct secret_use){ use->workspace, use->profile, host };
	if (use && check_scopes(found->name, &store->notes[place].scopes, &there, err) < 0)
		return -1;
	return secrets_add(secrets, as, found->bytes, found->len, err);
}

static bool is_any_stored(const struct strv *words)
{
	for (size_t i = 0; i < words->count; i++) {
		if (secret_word_stored(words->items[i]))
			return true;
	}
	return false;
}

static int open_store(struct secret_store *store, struct error *err)
{
	owned(free_ptr) char *config = app_config_dir((const char *const *)environ);

	if (!config)
		return error_advise(err, ERROR_USAGE, "set it", "no HOME to find secrets in");
	if (!secret_store_open)
		return error_set(err, ERROR_LIBRARIES, "this needs aisbx-full");
	return secret_store_open(config, NULL, store, err);
}

int secret_values_all(struct secrets *ret_secrets, struct error *err)
{
	owned(free_ptr) char *config = app_config_dir((const char *const *)environ);
	struct secret_store store = { 0 };

	*ret_secrets = (struct secrets){ 0 };
	if (!config || secret_lock_look(config) == SECRET_LOCK_NONE)
		return 0;
	if (open_store(&store, err) < 0)
		return -1;
	*ret_secrets = store.values;
	for (size_t i = 0; i < store.values.count; i++)
		strv_done(&store.notes[i].scopes);
	store.values = (struct secrets){ 0 };
	secret_store_close(&store);
	return 0;
}

/* Where the variable of a placeholder begins, at its '$'; NULL for another word. */
static const char *placeholder_of(const char *word)
{
	const char *at = word[0] == '@' ? strstr(word, ":$") : NULL;

	return at ? at + 1 : NULL;
}

const char *secret_word_variable(const char *word, size_t *ret_len)
{
	const char *at = word[0] == '$' ? word : placeholder_of(word);

	*ret_len = at ? strcspn(at + 1, "~=") : 0;
	return at ? at + 1 : NULL;
}

/* The random part in WORDS of the placeholder that AT begins; its length in *RET_LEN. */
static const char *find_drawn(const struct strv *words, const char *at, size_t *ret_len)
{
	size_t name_len = strcspn(at, "=");

	for (size_t i = 0; i < words->count; i++) {
		const char *other = placeholder_of(words->items[i]);

		if (!other || strncmp(other, at, name_len) != 0 || other[name_len] != '~')
			continue;
		*ret_len = strcspn(other + name_len, "=");
		if (strcmp(other + name_len + *ret_len, at + name_len) == 0)
			return other + name_len;
	}
	return NULL;
}

int secret_words_draw(struct strv *words, const struct strv *before, struct error *err)
{
	for (size_t i = 0; i < words->count; i++) {
		const char *word = words->items[i], *at = placeholder_of(word), *equals, *drawn;
		char random[ID_RUN_SIZE + 1] = "~", *made;
		size_t len = ID_RUN_SIZE;

		if (!at || memchr(at, '~', strcspn(at, "=")))
			continue;
		drawn = find_drawn(words, at, &len);
		if (!drawn && before)
			drawn = find_drawn(before, at, &len);
		if (!drawn && id_run(random + 1, err) < 0)
			return -1;
		equals = strchr(at, '=');
		made = xasprintf("%.*s%.*s%s", (int)(equals - word), word, (int)len,
				 drawn ? drawn : random, equals);
		free(words->items[i]);
		words->items[i] = made;
	}
	return 0;
}

void secret_words_injected(const struct strv *words, struct strv *ret_list)
{
	for (size_t i = 0; i < words->count; i++) {
		const char *word = words->items[i];

		if (word[0] == '@')
			strv_addf(ret_list, "%.*s%s", (int)strcspn(word + 1, "~="), word + 1,
				  strchrnul(word, '='));
	}
}

int secret_values_stamp(const struct strv *words, uint64_t *ret_set_ms, struct error *err)
{
	struct secret_store store = { 0 };
	bool is_any = false;

	*ret_set_ms = 0;
	for (size_t i = 0; i < words->count; i++)
		is_any |= words->items[i][0] == '@';
	if (!is_any)
		return 0;
	if (open_store(&store, err) < 0)
		return -1;
	for (size_t i = 0; i < words->count; i++) {
		const char *name = secret_word_stored(words->items[i]);
		size_t place =
			words->items[i][0] == '@' ? secret_store_find(&store, name) : SIZE_MAX;

		if (place != SIZE_MAX && store.notes[place].set_ms > *ret_set_ms)
			*ret_set_ms = store.notes[place].set_ms;
	}
	secret_store_close(&store);
	return 0;
}

int secret_values_read(const struct strv *words, const struct secret_use *use,
		       struct secrets *ret_secrets, struct error *err)
{
	struct secret_store store = { 0 };
	struct secrets secrets = { 0 };
	int status = is_any_stored(words) ? open_store(&store, err) : 0;

	for (size_t i = 0; status == 0 && i < words->count; i++)
		status = secret_word_stored(words->items[i])
				 ? add_stored(&store, words->items[i], use, &secrets, err)
				 : secrets_read_file(&secrets, words->items[i], err);
	if (secret_store_close)
		secret_store_close(&store);
	if (status < 0)
		secrets_done(&secrets);
	*ret_secrets = secrets;
	return status;
}
