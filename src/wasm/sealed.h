/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of ours that must not have been changed: each has a seal beside it, NAME.seal, with the hash of its content and
 * its identity (device, inode, size, times). A file with the same identity is not read again; any other is hashed anew,
 * and only the same content is taken. Folder and file must belong to the caller and be writable to no other user.
 *
 * A seal is authenticated with a secret of the data folder: a file and a seal that came to lie in the cache by any other
 * way than through aisbx are not trusted.
 */
#ifndef WASM_SEALED_H
#define WASM_SEALED_H

#include "base/core/error.h"
#include "base/hash/sha256.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEAL_KEY_SIZE 32

struct seal_key {
	uint8_t bytes[SEAL_KEY_SIZE];
};

/* Reads the secret of DATA_DIR; makes it where there is none. */
int seal_key_read(const char *data_dir, struct seal_key *ret_key, struct error *err);

struct sealed {
	char *path;	   /* resolved as far as our own folders go */
	uint64_t dev, ino; /* of the file that was looked at: what is opened later must be it */
	char sha256[SHA256_HEX_SIZE];
	uint64_t bytes;
};

#define SEALED_INIT                  \
	{                            \
		NULL, 0, 0, { 0 }, 0 \
	}

void sealed_done(struct sealed *sealed);

/* Opens the private folder PARENT/NAME, or with MAKE makes it. *ret_fd stays -1 where it is absent. */
int sealed_folder(const char *parent, const char *name, bool make, int *ret_fd, struct error *err);

/*
 * Looks at FILE below DIR_FD, which is DIR. 1 with *ret filled; 0 when it is not there; -1 with the sentence when it is not
 * to be trusted: then it changed, or its seal did.
 */
int sealed_look(int dir_fd, const char *dir, const char *file, const struct seal_key *key,
		struct sealed *ret, struct error *err);

/* Writes the seal of FILE, whose content has the hash SHA256. */
int sealed_write(int dir_fd, const char *file, const char *sha256, const struct seal_key *key,
		 struct error *err);

/* Seals FILE anew when it is private and its content has the hash SHA256, which the caller knows from elsewhere. */
bool sealed_renew(int dir_fd, const char *file, const char *sha256, const struct seal_key *key);

/* A seal's content; for sealed.c and its fuzzer. */
struct file_seal {
	char mac[SHA256_HEX_SIZE]; /* over the file's name and what follows */
	char sha256[SHA256_HEX_SIZE];
	uint64_t dev, ino, size, mtime_ns, ctime_ns;
};

/* 0, or -1 when TEXT (LEN bytes) is no seal. */
int file_seal_parse(const char *text, size_t len, struct file_seal *ret_seal);

#endif
