/* SPDX-License-Identifier: Apache-2.0 */
/* The name a TLS client asks for, read from its first bytes. */
#ifndef NET_SNI_H
#define NET_SNI_H

#include "net/rule/policy.h"

#include <stddef.h>
#include <stdint.h>

/* No honest ClientHello is longer. */
#define SNI_BYTES_MAX 32768

enum sni {
	SNI_NOT_TLS, /* some other protocol */
	SNI_MORE,    /* so far a ClientHello, but not all of it */
	SNI_NAME,
	SNI_ABSENT, /* a ClientHello without a name */
	SNI_BROKEN, /* TLS by its first byte, but nothing a client would send */
};

struct sni_hello {
	char name[NET_NAME_SIZE]; /* canonical */
	size_t len;		  /* of its records, all in all */
};

/* BYTES: all that came so far; records may be split anywhere. RET_HELLO is filled with SNI_NAME. No heap. */
enum sni sni_read(const uint8_t *bytes, size_t len, struct sni_hello *ret_hello);

/* The header of a record. */
#define SNI_RECORD_HEADER 5

/* Whether it holds messages of the handshake in plain text, and how long it is with its header. */
bool sni_is_handshake(const uint8_t header[static SNI_RECORD_HEADER], size_t *ret_len);

/* So many bytes of a server's first answer are enough to see whether it wants another ClientHello. */
#define SNI_ANSWER_BYTES 43
bool sni_asks_again(const uint8_t answer[static SNI_ANSWER_BYTES]);

#endif
