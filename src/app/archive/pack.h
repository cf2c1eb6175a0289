/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of an archive written with their manifests, and read back. Only in the program with libraries. */
#ifndef APP_ARCHIVE_PACK_H
#define APP_ARCHIVE_PACK_H

#include "app/archive/manifest.h"

/* What a state directory knows of its archive: STATE/archive/last, and beside it ids that stay, a line each, in pins. */
struct archive_self {
	char *dir;    /* STATE/archive */
	char *drafts; /* STATE/archive/drafts */
	int lock_fd;
	char machine[SHA256_HEX_SIZE];
	char last[SHA256_HEX_SIZE]; /* the manifest that was written last; "" for none */
};

/* Makes what is missing. Held by one process at a time: ERROR_BUSY where it is held already. */
int archive_self_open(const char *state_dir, struct archive_self *ret_self, struct error *err);
/* Keeps last. */
int archive_self_write(const struct archive_self *self, struct error *err);
/* Cleanup for owned(archive_self_done) struct archive_self s. */
void archive_self_done(struct archive_self *self);

/* What stays whatever its age: ids of runs, names of sandboxes; sorted. */
int archive_pins_read(const char *state_dir, struct strv *ret_pins, struct error *err);
int archive_pins_write(const struct archive_self *self, struct strv *pins, struct error *err);

struct pack;

int pack_open(struct archive_place *place, struct archive_self *self, struct pack **ret_pack,
	      struct error *err);
/* Cleanup for owned(pack_release) struct pack *p. What was not sealed is gone. */
void pack_release(struct pack **slot);

/* An item begins; its bytes follow. */
void pack_begin(struct pack *pack, enum archive_kind kind, const char *id);
int pack_add(struct pack *pack, const void *bytes, size_t len, struct error *err);
/* The whole file. */
int pack_add_fd(struct pack *pack, int fd, struct error *err);
uint64_t pack_end(struct pack *pack);

/* Whether another item would make it larger than is handy. */
bool pack_is_full(const struct pack *pack);

/* The object and then its manifest are safely in the archive when this returns; how many bytes they take there is added. */
int pack_seal(struct pack *pack, uint64_t *stored, struct error *err);

/* The manifest NAME, DAY/SHA256.json, held to its digest and its day. */
int pack_manifest(struct archive_place *place, const char *name,
		  struct archive_manifest *ret_manifest, struct error *err);

/* Adds the contents of an object to TO_FD, held to its size and all digests: nothing may be used before this has returned. -1: it is only checked. */
int pack_unpack(struct archive_place *place, const struct archive_manifest *manifest, int to_fd,
		struct error *err);

#endif
