/* SPDX-License-Identifier: Apache-2.0 */
/* Which keys the user trusts, and texts that are signed as such: what `push` leaves at a remote. */
#include "app/vet/sign.h"

#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/text/json_write.h"
#include "app/config/profile_load.h"
#include "app/vet/sign_parts.h"
#include "workspace/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRUSTED_KEYS "trusted-keys"
#define TRUSTED_MAX 65536u
#define KEY_LINE "key "
#define SIGNATURE_LINE "signature "

bool sign_read_word(const char *word, size_t len, unsigned char *ret, size_t size)
{
	owned(str_done) struct str bytes = STR_INIT;

	if (!base64_read(&bytes, word, len) || bytes.len != size)
		return false;
	memcpy(ret, bytes.data, size);
	return true;
}

/* Refuse a list that other users can write: they could add keys of their own. */
static int check_list(int fd, const char *path, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_errno(err, ERROR_HOST, "%s", path);
	if (S_ISREG(st.st_mode) && (st.st_uid == geteuid() || st.st_uid == 0) &&
	    !(st.st_mode & 022))
		return 0;
	error_set(err, ERROR_DENIED, "%s must be yours, and no other user may be able to write it",
		  path);
	return error_add_hint(err, "look at it, then chmod 644 %s", path);
}

/* Among the keys in the user's file, one base64 word a line. */
static int is_listed(const char *config_dir, const unsigned char *key, bool *ret_listed,
		     struct error *err)
{
	owned(free_ptr) char *path = xasprintf("%s/" TRUSTED_KEYS, config_dir);
	owned(fd_close) int fd =
		open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	owned(str_done) struct str text = STR_INIT;
	unsigned char one[ED25519_PUBLIC];
	const char *at;

	*ret_listed = false;
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return error_errno(err, ERROR_DENIED, "%s", path);
	if (check_list(fd, path, err) < 0)
		return -1;
	if (fd_read_all(fd, TRUSTED_MAX, &text) < 0)
		return error_errno(err, ERROR_DENIED, "%s", path);
	for (at = str_cstr(&text); *at; at += strcspn(at, "\n"), at += *at == '\n') {
		if (sign_read_word(at, strcspn(at, " \t\n"), one, sizeof(one)) &&
		    memcmp(one, key, sizeof(one)) == 0)
			*ret_listed = true;
	}
	return 0;
}

int sign_trusts(const char *config_dir, const unsigned char *key, bool *ret_trusted,
		struct error *err)
{
	unsigned char secret[ED25519_SECRET];
	int found = sign_read_key(config_dir, secret, err);

	if (found < 0)
		return -1;
	*ret_trusted = found > 0 &&
		       memcmp(secret + ED25519_SECRET - ED25519_PUBLIC, key, ED25519_PUBLIC) == 0;
	explicit_bzero(secret, sizeof(secret));
	return *ret_trusted ? 0 : is_listed(config_dir, key, ret_trusted, err);
}

static char *config_dir(struct error *err)
{
	char *config = app_config_dir((const char *const *)environ);

	if (!config)
		error_advise(err, ERROR_USAGE, "set it", "no HOME to keep the key in");
	return config;
}

int sign_text(const char *kind, struct str *text, struct error *err)
{
	owned(free_ptr) char *config = config_dir(err);
	owned(str_done) struct str message = STR_INIT;
	unsigned char secret[ED25519_SECRET], signature[ED25519_SIGNATURE];

	if (!config || sign_own_key(config, secret, err) < 0)
		return -1;
	str_addf(&message, "aisbx %s\n%s", kind, str_cstr(text));
	ed25519_sign(secret, message.data, message.len, signature);
	str_add(text, KEY_LINE);
	base64_add(text, secret + (ED25519_SECRET - ED25519_PUBLIC), ED25519_PUBLIC);
	str_add(text, "\n" SIGNATURE_LINE);
	base64_add(text, signature, sizeof(signature));
	str_add_char(text, '\n');
	explicit_bzero(secret, sizeof(secret));
	return 0;
}

int sign_text_check(const char *kind, const char *text, size_t *ret_len, struct error *err)
{
	owned(free_ptr) char *config = config_dir(err);
	unsigned char key[ED25519_PUBLIC], bytes[ED25519_SIGNATURE];
	const char *body_end = strstr(text, "\n" KEY_LINE), *word, *word_end;
	owned(str_done) struct str message = STR_INIT;
	bool is_trusted = false;

	if (!config)
		return -1;
	word = body_end ? body_end + strlen("\n" KEY_LINE) : "";
	word_end = strstr(word, "\n" SIGNATURE_LINE);
	if (!word_end || !sign_read_word(word, (size_t)(word_end - word), key, sizeof(key)))
		return error_set(err, ERROR_INPUT, "it is not signed");
	word_end += strlen("\n" SIGNATURE_LINE);
	if (!sign_read_word(word_end, strcspn(word_end, "\n"), bytes, sizeof(bytes)) ||
	    strcmp(word_end + strcspn(word_end, "\n"), "\n") != 0)
		return error_set(err, ERROR_INPUT, "it is not signed");
	if (sign_trusts(config, key, &is_trusted, err) < 0)
		return -1;
	if (!is_trusted) {
		error_set(err, ERROR_DENIED, "it is signed with a key you do not trust: %.*s",
			  (int)strcspn(word, "\n"), word);
		return error_add_hint(err, "if you know whose it is: aisbx key trust %.*s",
				      (int)strcspn(word, "\n"), word);
	}
	*ret_len = (size_t)(body_end + 1 - text);
	str_addf(&message, "aisbx %s\n%.*s", kind, (int)*ret_len, text);
	return ed25519_holds(key, message.data, message.len, bytes)
		       ? 0
		       : error_set(err, ERROR_DENIED, "its signature does not hold");
}

int app_key_show(struct value **ret_answer, struct error *err)
{
	owned(free_ptr) char *config = config_dir(err);
	owned(str_done) struct str key = STR_INIT;
	unsigned char secret[ED25519_SECRET];

	if (!config || sign_own_key(config, secret, err) < 0)
		return -1;
	base64_add(&key, secret + (ED25519_SECRET - ED25519_PUBLIC), ED25519_PUBLIC);
	explicit_bzero(secret, sizeof(secret));
	*ret_answer = value_new_map();
	value_add(*ret_answer, "key", value_new_text(str_cstr(&key)));
	return 0;
}

/* The list as it is, but for KEY's lines. */
static int read_others(const char *config, const unsigned char *key, struct str *ret_text,
		       struct error *err)
{
	owned(free_ptr) char *path = xasprintf("%s/" TRUSTED_KEYS, config);
	owned(str_done) struct str text = STR_INIT;
	unsigned char one[ED25519_PUBLIC];
	bool ignored;

	/* Refuses a list that others may write to. */
	if (is_listed(config, key, &ignored, err) < 0)
		return -1;
	if (access(path, F_OK) == 0 && file_read(AT_FDCWD, path, TRUSTED_MAX, &text, err) < 0)
		return -1;
	for (const char *at = str_cstr(&text); *at; at += strcspn(at, "\n"), at += *at == '\n') {
		if (sign_read_word(at, strcspn(at, " \t\n"), one, sizeof(one)) &&
		    memcmp(one, key, sizeof(one)) == 0)
			continue;
		str_add_bytes(ret_text, at, strcspn(at, "\n"));
		str_add_char(ret_text, '\n');
	}
	return 0;
}

int app_key_change(const char *word, bool trusts, struct value **ret_answer, struct error *err)
{
	owned(free_ptr) char *config = NULL;
	owned(str_done) struct str text = STR_INIT;
	unsigned char key[ED25519_PUBLIC], secret[ED25519_SECRET];
	char shown[STR_SHOWN_SIZE];
	owned(fd_close) int fd = -1;

	if (!sign_read_word(word, strlen(word), key, sizeof(key)))
		return error_advise(err, ERROR_USAGE, "aisbx key prints one where it was made",
				    "'%s' is no key", str_shown(word, shown));
	config = config_dir(err);
	/* Makes the directory, too. */
	if (!config || sign_own_key(config, secret, err) < 0)
		return -1;
	explicit_bzero(secret, sizeof(secret));
	if (read_others(config, key, &text, err) < 0)
		return -1;
	if (trusts)
		str_addf(&text, "%s\n", word);
	fd = open(config, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return error_errno(err, ERROR_HOST, "%s", config);
	if (store_replace(fd, TRUSTED_KEYS, str_cstr(&text), text.len, true, err) < 0)
		return -1;
	*ret_answer = value_new_map();
	value_add(*ret_answer, "key", value_new_text(word));
	value_add(*ret_answer, "trusted", value_new_bool(trusts));
	return 0;
}
