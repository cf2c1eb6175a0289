/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets: small files of the caller's, in memory. */
#include "base/hash/secrets.h"

#include "base/core/die.h"
#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/hash/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

void *secret_alloc(size_t len)
{
	void *bytes =
		mmap(NULL, len + !len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (bytes == MAP_FAILED)
		die("out of memory");
	(void)madvise(bytes, len + !len, MADV_DONTDUMP);
	(void)mlock(bytes, len + !len);
	return bytes;
}

void secret_free(void *bytes, size_t len)
{
	if (!bytes)
		return;
	explicit_bzero(bytes, len);
	(void)munmap(bytes, len + !len);
}

void secrets_keep_in_memory(void)
{
	const struct rlimit none = { 0, 0 };

	(void)setrlimit(RLIMIT_CORE, &none);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

static void wipe(struct secret *secret)
{
	secret_free(secret->bytes, secret->len);
	free(secret->name);
	*secret = (struct secret){ 0 };
}

void secrets_done(struct secrets *secrets)
{
	for (size_t i = 0; i < secrets->count; i++)
		wipe(&secrets->items[i]);
	free(secrets->items);
	*secrets = (struct secrets){ 0 };
}

void secrets_remove(struct secrets *secrets, size_t place)
{
	wipe(&secrets->items[place]);
	secrets->count--;
	memmove(&secrets->items[place], &secrets->items[place + 1],
		(secrets->count - place) * sizeof(*secrets->items));
}

void secrets_append(struct secrets *secrets, struct secret *secret)
{
	secrets->items = xrealloc(secrets->items, secrets->count + 1, sizeof(*secret));
	secrets->items[secrets->count++] = *secret;
	*secret = (struct secret){ 0 };
}

struct secrets secrets_both(const struct secrets *first, const struct secrets *second)
{
	size_t count = first ? first->count : 0, more = second ? second->count : 0;
	struct secrets both = { .items = xcalloc(count + more + 1, sizeof(*both.items)),
				.count = count + more };

	for (size_t i = 0; i < count; i++)
		both.items[i] = first->items[i];
	for (size_t i = 0; i < more; i++)
		both.items[count + i] = second->items[i];
	return both;
}

/* A name becomes a file's or a variable's: letters, digits and underscores only. */
static bool is_name(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_";
	size_t len = strlen(name);

	return len > 0 && len <= SECRET_NAME_MAX && strspn(name, letters) == len;
}

bool secret_name_is_valid(const char *name)
{
	return is_name(name) && !(name[0] >= '0' && name[0] <= '9');
}

static size_t length_of_text(const char *bytes, size_t len)
{
	while (len > 0 && (bytes[len - 1] == '\n' || bytes[len - 1] == '\r'))
		len--;
	return len;
}

static size_t total_without(const struct secrets *secrets, const struct secret *left_out)
{
	size_t total = 0;

	for (size_t i = 0; i < secrets->count; i++)
		total += &secrets->items[i] == left_out ? 0 : secrets->items[i].len;
	return total;
}

static struct secret *find(const struct secrets *secrets, const char *name)
{
	for (size_t i = 0; i < secrets->count; i++) {
		if (strcmp(secrets->items[i].name, name) == 0)
			return &secrets->items[i];
	}
	return NULL;
}

static int check(const char *name, const char *bytes, size_t len, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	if (name[0] != '@' && !is_name(name + (name[0] == '$')))
		return error_set(err, ERROR_USAGE,
				 "secret '%s': a name has up to %d letters, digits and underscores",
				 str_shown(name, shown), SECRET_NAME_MAX);
	if (len > SECRET_BYTES_MAX)
		return error_set(err, ERROR_USAGE, "secret %s: more than the %u KiB it may have",
				 name, SECRET_BYTES_MAX >> 10);
	if (length_of_text(bytes, len) < SECRET_BYTES_MIN) {
		error_set(err, ERROR_USAGE, "secret %s: %s", name,
			  len == 0 ? "the file is empty" : "too short");
		return error_add_hint(
			err, "with less than %d bytes it could not be kept out of the output",
			SECRET_BYTES_MIN);
	}
	if (name[0] == '$' && memchr(bytes, '\0', len))
		return error_advise(err, ERROR_USAGE, "give it as a file",
				    "secret %s: a null byte cannot be in a variable", name + 1);
	return 0;
}

int secret_check_length(const char *name, const char *bytes, size_t len, struct error *err)
{
	if (check(name, bytes, len, err) < 0)
		return -1;
	if (length_of_text(bytes, len) >= SECRET_LEAST)
		return 0;
	error_set(err, ERROR_USAGE, "secret %s: too short", name);
	return error_add_hint(err, "with less than %d bytes it could not be kept out of the output",
			      SECRET_LEAST);
}

int secrets_add(struct secrets *secrets, const char *name, const void *bytes, size_t len,
		struct error *err)
{
	struct secret *slot = find(secrets, name);

	if (check(name, bytes, len, err) < 0)
		return -1;
	if (total_without(secrets, slot) + len > SECRETS_TOTAL_MAX)
		return error_set(err, ERROR_USAGE,
				 "secret %s: all together are more than the %u KiB they may have",
				 name, SECRETS_TOTAL_MAX >> 10);
	if (slot) {
		wipe(slot);
	} else if (secrets->count == SECRETS_MAX) {
		return error_set(err, ERROR_USAGE, "secret %s: more than %d of them", name,
				 SECRETS_MAX);
	} else {
		secrets->items = xrealloc(secrets->items, secrets->count + 1, sizeof(*slot));
		slot = &secrets->items[secrets->count++];
	}
	*slot = (struct secret){ .name = xstrdup(name), .bytes = secret_alloc(len), .len = len };
	memcpy(slot->bytes, bytes, len);
	slot->text_len = length_of_text(slot->bytes, len);
	return 0;
}

/* The file as it is now. */
static int read_file(struct secrets *secrets, const char *name, const char *path, struct error *err)
{
	owned(fd_close) int fd = file_open(AT_FDCWD, path, 0, NULL);
	char shown[STR_SHOWN_SIZE];
	char *bytes;
	ssize_t len;

	if (fd < 0 && file_is_other_kind(errno))
		return error_set(err, ERROR_USAGE, "secret %.*s: %s is no plain file",
				 SECRET_NAME_MAX, name, str_shown(path, shown));
	if (fd < 0)
		return error_errno(err, ERROR_USAGE, "secret %.*s: %s", SECRET_NAME_MAX, name,
				   str_shown(path, shown));
	bytes = secret_alloc(SECRET_BYTES_MAX + 1);
	len = fd_read_at(fd, bytes, SECRET_BYTES_MAX + 1, 0);
	int status = len < 0 ? error_errno(err, ERROR_USAGE, "secret %.*s: %s", SECRET_NAME_MAX,
					   name, str_shown(path, shown))
			     : secret_check_length(name, bytes, (size_t)len, err);

	if (status == 0)
		status = secrets_add(secrets, name, bytes, (size_t)len, err);
	secret_free(bytes, SECRET_BYTES_MAX + 1);
	return status;
}

int secrets_read_file(struct secrets *secrets, const char *word, struct error *err)
{
	const char *equals = strchr(word, '=');
	owned(free_ptr) char *name = xstrndup(word, strcspn(word, "="));

	return equals ? read_file(secrets, name, equals + 1, err)
		      : error_set(err, ERROR_USAGE, "a secret is NAME=FILE");
}

bool secret_is_injected(const struct secret *secret)
{
	return secret->name[0] == '@';
}

const char *secret_shown(const char *name)
{
	const char *equals = strchr(name, '=');

	return name[0] == '@' && equals ? equals + 1 : name;
}

/* Of an injected secret: its variable and the random part, ":$NAME~RANDOM=SECRET"; NULL: it has no placeholder. */
static const char *placeholder_variable(const struct secret *secret)
{
	return secret_is_injected(secret) ? strstr(secret->name, ":$") : NULL;
}

/* Made of the random part of its word, not of the value: nothing can be learned from it but the length. */
char *secret_placeholder(const struct secret *secret)
{
	const char *word = placeholder_variable(secret);
	char *text = xmalloc(secret->text_len + 1), digest[SHA256_HEX_SIZE];

	for (size_t i = 0; i < secret->text_len; i++) {
		if (i % (SHA256_HEX_SIZE - 1) == 0)
			sha256_hmac((const uint8_t *)&i, sizeof(i), word, strlen(word), digest);
		text[i] = digest[i % (SHA256_HEX_SIZE - 1)];
	}
	text[secret->text_len] = '\0';
	return text;
}

/* "VARIABLE=VALUE"; NULL for a file. Without the line ends behind it, as a shell's $(cat FILE) has it. */
static char *pair_of(const struct secret *secret)
{
	const char *variable = placeholder_variable(secret);
	owned(free_ptr) char *placeholder = NULL;

	if (secret->name[0] == '$')
		return xasprintf("%s=%.*s", secret->name + 1, (int)secret->text_len, secret->bytes);
	if (!variable)
		return NULL;
	placeholder = secret_placeholder(secret);
	return xasprintf("%.*s=%s", (int)strcspn(variable + 2, "~="), variable + 2, placeholder);
}

void secrets_add_variables(const struct secrets *secrets, struct strv *env)
{
	for (size_t i = 0; i < secrets->count; i++) {
		const struct secret *secret = &secrets->items[i];
		owned(free_ptr) char *pair = pair_of(secret);
		size_t name_len = pair ? strcspn(pair, "=") : 0, at = 0;

		if (!pair)
			continue;
		while (at < env->count && (strncmp(env->items[at], pair, name_len + 1) != 0))
			at++;
		if (at == env->count) {
			strv_take(env, ptr_take(&pair));
			continue;
		}
		free(env->items[at]);
		env->items[at] = ptr_take(&pair);
	}
}

/* Values may hold any byte, words may not. */
static char *encode(const char *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	char *word = xmalloc(len * 2 + 1);

	for (size_t i = 0; i < len; i++) {
		unsigned char byte = (unsigned char)bytes[i];

		word[2 * i] = digits[byte >> 4];
		word[2 * i + 1] = digits[byte & 15];
	}
	word[len * 2] = '\0';
	return word;
}

static void add_placeholder(const struct secret *secret, struct strv *words)
{
	owned(free_ptr) char *pair = pair_of(secret);
	char *equals = pair ? strchr(pair, '=') : NULL;

	if (!equals)
		return;
	strv_addf(words, "$%.*s", (int)(equals - pair), pair);
	strv_take(words, encode(equals + 1, strlen(equals + 1)));
}

void secrets_to_words(const struct secrets *secrets, bool injected, struct strv *ret_words)
{
	for (size_t i = 0; i < secrets->count; i++) {
		const struct secret *secret = &secrets->items[i];

		if (secret_is_injected(secret) != injected) {
			if (!injected)
				add_placeholder(secret, ret_words);
			continue;
		}
		strv_add(ret_words, secret->name);
		strv_take(ret_words, encode(secret->bytes, secret->len));
	}
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Length, or -1. BYTES has room for half of the word. */
static ssize_t decode(const char *word, char *bytes)
{
	size_t len = 0;

	for (; word[0]; word += 2, len++) {
		int high = digit_of(word[0]), low = high < 0 ? -1 : digit_of(word[1]);

		if (low < 0 || len == SECRET_BYTES_MAX)
			return -1;
		bytes[len] = (char)(high << 4 | low);
	}
	return (ssize_t)len;
}

int secrets_from_words(const struct strv *words, struct secrets *ret_secrets, struct error *err)
{
	owned(free_ptr) char *bytes = xmalloc(SECRET_BYTES_MAX);
	struct secrets secrets = { 0 };
	int status = 0;

	if (words->count % 2)
		return error_set(err, ERROR_INTERNAL, "a secret without a value");
	for (size_t i = 0; status == 0 && i < words->count; i += 2) {
		ssize_t len = decode(words->items[i + 1], bytes);

		status = len < 0 ? error_set(err, ERROR_INTERNAL,
					     "a secret is not what it should be")
				 : secrets_add(&secrets, words->items[i], bytes, (size_t)len, err);
	}
	explicit_bzero(bytes, SECRET_BYTES_MAX);
	if (status < 0)
		secrets_done(&secrets);
	*ret_secrets = secrets;
	return status;
}

void secrets_words_done(struct strv *words)
{
	for (size_t i = 0; i < words->count; i++)
		explicit_bzero(words->items[i], strlen(words->items[i]));
	strv_done(words);
}
