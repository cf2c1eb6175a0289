/* SPDX-License-Identifier: Apache-2.0 */
/* The user's named secrets: read, decrypted, written. */
#include "app/config/secret_store.h"

#include "app/config/own_key.h"
#include "app/config/own_list.h"
#include "app/config/secret_keyring.h"
#include "base/core/own.h"
#include "base/file/dir.h"
#include "base/file/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define KEY_FILE "secrets.key"
#define STORE_BYTES_MAX ((size_t)8 << 20)

void secret_store_close(struct secret_store *store)
{
	for (size_t i = 0; store->notes && i < store->values.count; i++)
		strv_done(&store->notes[i].scopes);
	free(store->notes);
	secrets_done(&store->values);
	explicit_bzero(store, sizeof(*store));
}

size_t secret_store_find(const struct secret_store *store, const char *name)
{
	for (size_t i = 0; i < store->values.count; i++) {
		if (strcmp(store->values.items[i].name, name) == 0)
			return i;
	}
	return SIZE_MAX;
}

int secret_store_set(struct secret_store *store, const char *name, const void *bytes, size_t len,
		     struct error *err)
{
	size_t count = store->values.count;

	if (secrets_add(&store->values, name, bytes, len, err) < 0)
		return -1;
	if (store->values.count > count) {
		store->notes = xrealloc(store->notes, count + 1, sizeof(*store->notes));
		store->notes[count] = (struct secret_note){ 0 };
	}
	return 0;
}

void secret_store_remove(struct secret_store *store, size_t place)
{
	size_t behind = store->values.count - place - 1;

	strv_done(&store->notes[place].scopes);
	memmove(&store->notes[place], &store->notes[place + 1], behind * sizeof(*store->notes));
	secrets_remove(&store->values, place);
}

/* The decrypted content, from where it was read to its end. */
struct content {
	const unsigned char *at, *end;
};

static bool take(struct content *content, void *ret_bytes, size_t len)
{
	if ((size_t)(content->end - content->at) < len)
		return false;
	memcpy(ret_bytes, content->at, len);
	content->at += len;
	return true;
}

/* A length and so many bytes, which stay where they are. */
static bool take_text(struct content *content, size_t max, const char **ret_text, size_t *ret_len)
{
	uint32_t len;

	if (!take(content, &len, sizeof(len)) || len > max ||
	    (size_t)(content->end - content->at) < len)
		return false;
	*ret_text = (const char *)content->at;
	*ret_len = len;
	content->at += len;
	return true;
}

static bool take_scopes(struct content *content, struct strv *ret_scopes)
{
	const char *text;
	uint32_t count;
	size_t len;

	if (!take(content, &count, sizeof(count)) || count > SECRET_SCOPES_MAX)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		if (!take_text(content, SECRET_SCOPE_SIZE, &text, &len) ||
		    memchr(text, '\0', len) || !memchr(text, ' ', len))
			return false;
		strv_take(ret_scopes, xstrndup(text, len));
	}
	return true;
}

static bool take_secret(struct content *content, struct secret_store *store)
{
	owned(free_ptr) char *name = NULL;
	owned(strv_done) struct strv scopes = STRV_INIT;
	const char *text, *value;
	struct error ignored;
	uint64_t set_ms;
	size_t len;

	if (!take_text(content, SECRET_NAME_MAX, &text, &len) || memchr(text, '\0', len))
		return false;
	name = xstrndup(text, len);
	if (!secret_name_is_valid(name) || secret_store_find(store, name) != SIZE_MAX ||
	    !take(content, &set_ms, sizeof(set_ms)) || !take_scopes(content, &scopes) ||
	    !take_text(content, SECRET_BYTES_MAX, &value, &len) ||
	    secret_store_set(store, name, value, len, &ignored) < 0)
		return false;
	store->notes[store->values.count - 1] =
		(struct secret_note){ .set_ms = set_ms, .scopes = scopes };
	scopes = (struct strv)STRV_INIT;
	return true;
}

int secret_store_parse(const unsigned char *bytes, size_t len, struct secret_store *store,
		       struct error *err)
{
	struct content content = { bytes, bytes + len };

	while (content.at < content.end) {
		if (!take_secret(&content, store))
			return error_set(err, ERROR_INPUT,
					 "byte %zu of the decrypted secrets makes no sense",
					 (size_t)(content.at - bytes));
	}
	return 0;
}

static void put(unsigned char *bytes, size_t *at, const void *from, size_t len)
{
	if (bytes && len > 0)
		memcpy(bytes + *at, from, len);
	*at += len;
}

static void put_text(unsigned char *bytes, size_t *at, const char *text, size_t len)
{
	uint32_t number = (uint32_t)len;

	put(bytes, at, &number, sizeof(number));
	put(bytes, at, text, len);
}

size_t secret_store_format(const struct secret_store *store, unsigned char *ret_bytes)
{
	size_t at = 0;

	for (size_t i = 0; i < store->values.count; i++) {
		const struct secret *secret = &store->values.items[i];
		const struct strv *scopes = &store->notes[i].scopes;
		uint32_t count = (uint32_t)scopes->count;

		put_text(ret_bytes, &at, secret->name, strlen(secret->name));
		put(ret_bytes, &at, &store->notes[i].set_ms, sizeof(store->notes[i].set_ms));
		put(ret_bytes, &at, &count, sizeof(count));
		for (size_t k = 0; k < scopes->count; k++)
			put_text(ret_bytes, &at, scopes->items[k], strlen(scopes->items[k]));
		put_text(ret_bytes, &at, secret->bytes, secret->len);
	}
	return at;
}

int secret_store_lock(const char *config_dir, int *ret_fd, struct error *err)
{
	owned(fd_close) int fd = -1;

	if (dir_make_all(config_dir) == 0)
		fd = open(config_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (fd >= 0 && flock(fd, LOCK_EX) < 0) {
		if (errno != EINTR)
			fd_close(&fd);
	}
	if (fd < 0)
		return error_errno(err, ERROR_HOST, "%s", config_dir);
	*ret_fd = fd_take(&fd);
	return 0;
}

/* 1, or 0 when there is none. */
static int read_file(const char *path, struct str *ret_bytes, struct error *err)
{
	owned(fd_close) int fd = -1;
	int found = own_key_open(path, &fd, err);

	if (found <= 0)
		return found;
	if (fd_read_all(fd, STORE_BYTES_MAX, ret_bytes) < 0)
		return error_errno(err, ERROR_INPUT, "%s", path);
	return 1;
}

static int refuse_damaged(const char *path, struct error *err)
{
	return error_advise(
		err, ERROR_INPUT,
		"put back both files as they were, or remove them and set the secrets "
		"again",
		"%s is damaged, or encrypted with another key than " KEY_FILE " beside it", path);
}

/* The key of the store's head, from where it is kept. */
static int find_key(const char *config_dir, struct secret_store *store,
		    const struct secret_asker *asker, struct error *err)
{
	char passphrase[SECRET_PASSPHRASE_SIZE];
	bool is_given;

	if (store->head.kind == SECRET_KEY_FILE) {
		int found = own_key_read(config_dir, KEY_FILE, store->key, CRYPTO_KEY, err);

		return found != 0 ? found
				  : error_advise(err, ERROR_NOT_FOUND,
						 "put it back, or remove " SECRET_STORE_FILE
						 " beside it and set the secrets again",
						 "%s/" KEY_FILE " is gone: the secrets cannot be "
						 "decrypted",
						 config_dir);
	}
	if (secret_keyring_get(store->head.salt, CRYPTO_SALT, store->key, CRYPTO_KEY))
		return 0;
	if (!asker || !asker->ask ||
	    !asker->ask(asker->cookie, "passphrase of your secrets: ", passphrase,
			sizeof(passphrase)))
		return error_advise(
			err, ERROR_DENIED,
			"run `aisbx secret ls` on a terminal: it asks for the passphrase",
			"your secrets are locked");
	is_given = crypto_derive(passphrase, store->head.salt, store->key);
	explicit_bzero(passphrase, sizeof(passphrase));
	return is_given
		       ? 0
		       : error_set(err, ERROR_HOST,
				   "the passphrase needs 256 MiB of memory for a moment, and there "
				   "is less");
}

static int decrypt(const char *path, const struct str *file, struct secret_store *store,
		   struct error *err)
{
	const unsigned char *sealed = (const unsigned char *)file->data + sizeof(store->head);
	size_t len = file->len - sizeof(store->head), plain_len = len - CRYPTO_MORE;
	unsigned char *plain = secret_alloc(plain_len);
	int status = -1;

	if (crypto_decrypt(store->key, &store->head, sizeof(store->head), sealed, len, plain))
		status = secret_store_parse(plain, plain_len, store, err);
	else if (store->head.kind == SECRET_KEY_FILE)
		refuse_damaged(path, err);
	else
		error_set(err, ERROR_DENIED, "the passphrase is another one, or %s is damaged",
			  path);
	secret_free(plain, plain_len);
	/* Ask again the next time. */
	if (status < 0)
		secret_keyring_drop(store->head.salt, CRYPTO_SALT);
	return status;
}

int secret_store_open(const char *config_dir, const struct secret_asker *asker,
		      struct secret_store *ret_store, struct error *err)
{
	owned(free_ptr) char *path = xasprintf("%s/" SECRET_STORE_FILE, config_dir);
	owned(str_done) struct str file = STR_INIT;
	int found;

	*ret_store = (struct secret_store){ 0 };
	found = read_file(path, &file, err);
	if (found <= 0)
		return found;
	if (file.len < sizeof(ret_store->head) + CRYPTO_MORE)
		return refuse_damaged(path, err);
	memcpy(&ret_store->head, file.data, sizeof(ret_store->head));
	if (memcmp(ret_store->head.magic, SECRET_STORE_MAGIC, sizeof(ret_store->head.magic)) != 0 ||
	    (ret_store->head.kind != SECRET_KEY_FILE &&
	     ret_store->head.kind != SECRET_KEY_PASSPHRASE))
		return refuse_damaged(path, err);
	if (!crypto_random(ret_store->key, CRYPTO_KEY))
		return error_set(err, ERROR_HOST, "the library for encryption does not start");
	if (find_key(config_dir, ret_store, asker, err) < 0 ||
	    decrypt(path, &file, ret_store, err) < 0) {
		secret_store_close(ret_store);
		return -1;
	}
	if (ret_store->head.kind == SECRET_KEY_PASSPHRASE)
		(void)secret_keyring_put(ret_store->head.salt, CRYPTO_SALT, ret_store->key,
					 CRYPTO_KEY);
	return 0;
}

static int make_head(struct secret_store *store, enum secret_key_kind kind, struct error *err)
{
	memcpy(store->head.magic, SECRET_STORE_MAGIC, sizeof(store->head.magic));
	store->head.kind = (unsigned char)kind;
	return crypto_random(store->head.salt, CRYPTO_SALT)
		       ? 0
		       : error_set(err, ERROR_HOST, "the library for encryption does not start");
}

int secret_store_take_passphrase(struct secret_store *store, const struct secret_asker *asker,
				 struct error *err)
{
	char one[SECRET_PASSPHRASE_SIZE], other[SECRET_PASSPHRASE_SIZE];
	bool is_asked = asker && asker->ask &&
			asker->ask(asker->cookie, "new passphrase for all your secrets: ", one,
				   sizeof(one)) &&
			asker->ask(asker->cookie, "the same again: ", other, sizeof(other));
	bool is_same = is_asked && strcmp(one, other) == 0;
	int status = -1;

	if (!is_asked)
		error_set(err, ERROR_USAGE, "--passphrase: there is no terminal to ask for it on");
	else if (!is_same || strlen(one) < SECRET_LEAST)
		error_set(err, ERROR_USAGE, "--passphrase: %s",
			  is_same ? "it needs 8 bytes" : "the second one was another");
	else if (make_head(store, SECRET_KEY_PASSPHRASE, err) == 0 &&
		 !crypto_derive(one, store->head.salt, store->key))
		error_set(err, ERROR_HOST, "--passphrase: it needs 256 MiB of memory for a moment");
	else
		status = 0;
	explicit_bzero(one, sizeof(one));
	explicit_bzero(other, sizeof(other));
	return status;
}

/* The key file of a store that has none yet. One that is there is used: its store was removed. */
static int make_key(const char *config_dir, struct secret_store *store, struct error *err)
{
	int found;

	if (make_head(store, SECRET_KEY_FILE, err) < 0)
		return -1;
	found = own_key_read(config_dir, KEY_FILE, store->key, CRYPTO_KEY, err);
	if (found != 0)
		return found;
	(void)crypto_random(store->key, CRYPTO_KEY);
	return own_key_keep(config_dir, KEY_FILE, store->key, CRYPTO_KEY, err);
}

int secret_store_save(const char *config_dir, int lock_fd, struct secret_store *store,
		      struct error *err)
{
	owned(str_done) struct str file = STR_INIT;
	size_t len = secret_store_format(store, NULL);
	unsigned char *plain, *sealed;
	int status = 0;

	if (store->head.kind == SECRET_KEY_NONE && make_key(config_dir, store, err) < 0)
		return -1;
	plain = secret_alloc(len);
	sealed = xmalloc(len + CRYPTO_MORE);
	(void)secret_store_format(store, plain);
	crypto_encrypt(store->key, &store->head, sizeof(store->head), plain, len, sealed);
	secret_free(plain, len);
	str_add_bytes(&file, &store->head, sizeof(store->head));
	str_add_bytes(&file, sealed, len + CRYPTO_MORE);
	free(sealed);
	if (own_list_replace(lock_fd, SECRET_STORE_FILE, &file) < 0 || fsync(lock_fd) < 0)
		status = error_errno(err, ERROR_HOST, "%s/" SECRET_STORE_FILE, config_dir);
	/* A key that opens no store any more would still open an old copy. */
	if (status == 0 && store->head.kind == SECRET_KEY_PASSPHRASE) {
		(void)unlinkat(lock_fd, KEY_FILE, 0);
		(void)secret_keyring_put(store->head.salt, CRYPTO_SALT, store->key, CRYPTO_KEY);
	}
	return status;
}
