/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's named secrets: one encrypted file, ~/.config/aisbx/secrets, replaced as a whole.
 *
 * Everything in it is encrypted, names too. The key is in secrets.key beside it, a file of mode 0600 made at the first
 * secret, or derived from a passphrase, which the kernel's keyring caches. Damage of any kind is an error: no secret is
 * given out of a file that is not whole, and none is written over it. Only in the program with libraries.
 */
#ifndef APP_SECRET_STORE_H
#define APP_SECRET_STORE_H

#include "base/core/error.h"
#include "base/hash/crypto.h"
#include "base/hash/secrets.h"

#include <stdint.h>

#define SECRET_STORE_FILE "secrets"
/* 16 bytes without the NUL. */
#define SECRET_STORE_MAGIC "aisbx secrets 1\n"
#define SECRET_SCOPES_MAX 16
#define SECRET_SCOPE_SIZE 4096

/* What is known of a secret beside its value. */
struct secret_note {
	uint64_t set_ms;
	struct strv
		scopes; /* "host NAME", "profile NAME", "workspace PATH"; of a kind that has none, all are meant */
};

enum secret_key_kind { SECRET_KEY_NONE = 0, SECRET_KEY_FILE = 'k', SECRET_KEY_PASSPHRASE = 'p' };

/* As the file begins. */
struct secret_head {
	char magic[16];
	unsigned char kind; /* enum secret_key_kind */
	unsigned char salt[CRYPTO_SALT];
};

struct secret_store {
	struct secrets values;
	struct secret_note *notes; /* one of each value */
	struct secret_head head;   /* its kind is SECRET_KEY_NONE while there is no file */
	unsigned char key[CRYPTO_KEY];
};

/* How a passphrase is had: ASK is NULL where there is no person; false when none was given. */
struct secret_asker {
	bool (*ask)(void *cookie, const char *question, char *ret_answer, size_t size);
	void *cookie;
};

#define SECRET_PASSPHRASE_SIZE 1024

/* Held from reading to writing by a process that changes the store. The caller closes it. */
int secret_store_lock(const char *config_dir, int *ret_fd, struct error *err);

/* Reads and decrypts it; an empty one where there is none. To be released in any case. */
int secret_store_open(const char *config_dir, const struct secret_asker *asker,
		      struct secret_store *ret_store, struct error *err);
void secret_store_close(struct secret_store *store);

/* From now on its key is that of a passphrase, which is asked for. */
int secret_store_take_passphrase(struct secret_store *store, const struct secret_asker *asker,
				 struct error *err);

/* Writes it, under the lock LOCK_FD; the first time this makes the key. */
int secret_store_save(const char *config_dir, int lock_fd, struct secret_store *store,
		      struct error *err);

/* Place of NAME among the values, or SIZE_MAX. */
size_t secret_store_find(const struct secret_store *store, const char *name);
/* Adds it or puts it in the place of the one of that name, whose note it keeps. */
int secret_store_set(struct secret_store *store, const char *name, const void *bytes, size_t len,
		     struct error *err);
void secret_store_remove(struct secret_store *store, size_t place);

/* The decrypted content. FORMAT returns its length and writes nothing where RET_BYTES is NULL. */
int secret_store_parse(const unsigned char *bytes, size_t len, struct secret_store *store,
		       struct error *err);
size_t secret_store_format(const struct secret_store *store, unsigned char *ret_bytes);

#endif
