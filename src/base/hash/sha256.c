/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4), for telling whether a file is still the one that was trusted. */
#include "base/hash/sha256.h"

#include "base/file/fd.h"
#include "base/hash/sha256_mix.h"

#include <string.h>

const uint32_t sha256_round_constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static uint32_t rotate(uint32_t word, unsigned by)
{
	return (word >> by) | (word << (32 - by));
}

static void expand(const uint8_t *block, uint32_t schedule[static 64])
{
	for (size_t i = 0; i < 16; i++)
		schedule[i] = (uint32_t)block[i * 4] << 24 | (uint32_t)block[i * 4 + 1] << 16 |
			      (uint32_t)block[i * 4 + 2] << 8 | block[i * 4 + 3];
	for (size_t i = 16; i < 64; i++) {
		uint32_t a = schedule[i - 15], b = schedule[i - 2];

		schedule[i] = schedule[i - 16] + schedule[i - 7] +
			      (rotate(a, 7) ^ rotate(a, 18) ^ (a >> 3)) +
			      (rotate(b, 17) ^ rotate(b, 19) ^ (b >> 10));
	}
}

static void mix_block(uint32_t state[static 8], const uint8_t *block)
{
	uint32_t schedule[64];
	/* Named one by one, they stay in registers: this is a part of every start. */
	uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
	uint32_t e = state[4], f = state[5], g = state[6], h = state[7];

	expand(block, schedule);
	for (size_t i = 0; i < 64; i++) {
		uint32_t choice = (e & f) ^ (~e & g), majority = (a & b) ^ (a & c) ^ (b & c);
		uint32_t first = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + choice +
				 sha256_round_constants[i] + schedule[i];
		uint32_t second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority;

		h = g;
		g = f;
		f = e;
		e = d + first;
		d = c;
		c = b;
		b = a;
		a = first + second;
	}
	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
	state[4] += e;
	state[5] += f;
	state[6] += g;
	state[7] += h;
}

void sha256_mix_plain(uint32_t state[static 8], const uint8_t *blocks, size_t count)
{
	for (size_t i = 0; i < count; i++)
		mix_block(state, blocks + i * SHA256_BLOCK);
}

static void mix(uint32_t state[static 8], const uint8_t *blocks, size_t count)
{
	if (!sha256_mix_by_processor(state, blocks, count))
		sha256_mix_plain(state, blocks, count);
}

void sha256_start(struct sha256 *sum)
{
	/* Fractional parts of the square roots of the first 8 primes. */
	static const uint32_t initial[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

	memcpy(sum->state, initial, sizeof(initial));
	sum->len = 0;
}

void sha256_add(struct sha256 *sum, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;
	size_t held = sum->len % SHA256_BLOCK;

	sum->len += len;
	if (held > 0) {
		size_t part = len < SHA256_BLOCK - held ? len : SHA256_BLOCK - held;

		memcpy(sum->block + held, at, part);
		at += part;
		len -= part;
		if (held + part < SHA256_BLOCK)
			return;
		mix(sum->state, sum->block, 1);
	}
	mix(sum->state, at, len / SHA256_BLOCK);
	at += len - len % SHA256_BLOCK;
	if (len % SHA256_BLOCK > 0)
		memcpy(sum->block, at, len % SHA256_BLOCK);
}

void sha256_end(struct sha256 *sum, char ret_hex[static SHA256_HEX_SIZE])
{
	static const char digits[] = "0123456789abcdef";
	uint64_t bits = sum->len * 8;
	uint8_t tail[2 * SHA256_BLOCK] = { 0 };
	size_t rest = sum->len % SHA256_BLOCK;
	size_t tail_len = rest + 9 <= SHA256_BLOCK ? SHA256_BLOCK : 2 * SHA256_BLOCK;

	memcpy(tail, sum->block, rest);
	tail[rest] = 0x80;
	for (size_t i = 0; i < 8; i++)
		tail[tail_len - 1 - i] = (uint8_t)(bits >> (8 * i));
	mix(sum->state, tail, tail_len / SHA256_BLOCK);
	for (size_t i = 0; i < 64; i++)
		ret_hex[i] = digits[sum->state[i / 8] >> (28 - 4 * (i % 8)) & 15];
	ret_hex[64] = '\0';
}

void sha256_hex(const void *bytes, size_t len, char ret_hex[static SHA256_HEX_SIZE])
{
	struct sha256 sum;

	sha256_start(&sum);
	sha256_add(&sum, bytes, len);
	sha256_end(&sum, ret_hex);
}

static uint8_t hex_value(char digit)
{
	return (uint8_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

bool sha256_is_hex(const char *text)
{
	return strlen(text) == SHA256_HEX_SIZE - 1 &&
	       strspn(text, "0123456789abcdef") == SHA256_HEX_SIZE - 1;
}

void sha256_hmac(const uint8_t *key, size_t key_len, const void *bytes, size_t len,
		 char ret_hex[static SHA256_HEX_SIZE])
{
	uint8_t pad[SHA256_BLOCK], inner[(SHA256_HEX_SIZE - 1) / 2];
	struct sha256 sum;

	memset(pad, 0x36, sizeof(pad));
	for (size_t i = 0; i < key_len; i++)
		pad[i] = key[i] ^ 0x36;
	sha256_start(&sum);
	sha256_add(&sum, pad, sizeof(pad));
	sha256_add(&sum, bytes, len);
	sha256_end(&sum, ret_hex);
	for (size_t i = 0; i < sizeof(inner); i++)
		inner[i] =
			(uint8_t)(hex_value(ret_hex[2 * i]) << 4 | hex_value(ret_hex[2 * i + 1]));
	/* From one pad to the other. */
	for (size_t i = 0; i < sizeof(pad); i++)
		pad[i] ^= 0x36 ^ 0x5c;
	sha256_start(&sum);
	sha256_add(&sum, pad, sizeof(pad));
	sha256_add(&sum, inner, sizeof(inner));
	sha256_end(&sum, ret_hex);
}

int sha256_fd(int fd, char ret_hex[static SHA256_HEX_SIZE])
{
	char buffer[32768];
	struct sha256 sum;
	off_t at = 0;

	sha256_start(&sum);
	for (ssize_t got = sizeof(buffer); got == (ssize_t)sizeof(buffer); at += got) {
		got = fd_read_at(fd, buffer, sizeof(buffer), at);
		if (got < 0)
			return -1;
		sha256_add(&sum, buffer, (size_t)got);
	}
	sha256_end(&sum, ret_hex);
	return 0;
}
