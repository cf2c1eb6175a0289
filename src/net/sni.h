/* The name a TLS client asks for, read from its first bytes. */
#ifndef NET_SNI_H
#define NET_SNI_H

#include "net/policy.h"

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

/* BYTES: all that came so far; records may be split anywhere. RET_NAME: canonical. No heap. */
enum sni sni_read(const uint8_t *bytes, size_t len, char ret_name[static NET_NAME_SIZE]);

#endif
