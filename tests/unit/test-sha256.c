/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 against published vectors and around the edges of its blocks. */
#include "base/core/own.h"
#include "base/hash/sha256.h"
#include "base/hash/sha256_mix.h"
#include "tests/tap.h"

#include <sys/mman.h>

static void check(const char *text, const char *want)
{
	char hex[SHA256_HEX_SIZE];

	sha256_hex(text, strlen(text), hex);
	tap_is_str(hex, want, "%zu bytes", strlen(text));
}

/* The same in pieces of each size from one byte to two blocks and one. */
static void check_pieces(const char *text, size_t len)
{
	char whole[SHA256_HEX_SIZE], hex[SHA256_HEX_SIZE];
	bool same = true;

	sha256_hex(text, len, whole);
	for (size_t piece = 1; piece <= 129; piece++) {
		struct sha256 sum;

		sha256_start(&sum);
		for (size_t at = 0; at < len; at += piece)
			sha256_add(&sum, text + at, len - at < piece ? len - at : piece);
		sha256_end(&sum, hex);
		same = same && strcmp(hex, whole) == 0;
	}
	tap_ok(same, "%zu bytes in pieces", len);
}

static void check_file(const char *text, size_t len)
{
	char whole[SHA256_HEX_SIZE], hex[SHA256_HEX_SIZE] = "";
	owned(fd_close) int fd = memfd_create("sha256", MFD_CLOEXEC);

	sha256_hex(text, len, whole);
	tap_ok(fd >= 0 && write(fd, text, len) == (ssize_t)len && sha256_fd(fd, hex) == 0 &&
		       strcmp(hex, whole) == 0,
	       "a file of %zu bytes, wherever its position is", len);
	tap_ok(sha256_fd(-1, hex) < 0, "no file is an error");
}

/* What the processor computes is what plain C computes, from any state, over one block and many. */
static void check_processor(const char *text)
{
	uint32_t plain[8] = { 1, 2, 3, 4, 5, 6, 7, 0xffffffff }, fast[8];
	bool same = true;

	memcpy(fast, plain, sizeof(fast));
	if (!sha256_mix_by_processor(fast, (const uint8_t *)text, 0)) {
		tap_skip(1, "this processor has no instructions for SHA-256");
		return;
	}
	for (size_t count = 0; count < 40; count++) {
		sha256_mix_plain(plain, (const uint8_t *)text + count, count);
		same = same &&
		       sha256_mix_by_processor(fast, (const uint8_t *)text + count, count) &&
		       memcmp(plain, fast, sizeof(plain)) == 0;
	}
	tap_ok(same, "plain C and the processor agree");
}

int main(void)
{
	owned(free_ptr) char *million = malloc(1000001);

	if (!million)
		tap_bail("out of memory");
	check("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	check("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	check("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
	      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	check("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmn"
	      "opqr"
	      "lmnopqrsmnopqrstnopqrstu",
	      "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
	memset(million, 'a', 1000000);
	million[1000000] = '\0';
	check(million, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	check_pieces(million, 1000);
	check_pieces(million, 128);
	check_file(million, 100000);
	for (size_t i = 0; i < 4096; i++)
		million[i] = (char)(i * i * 7919 >> 5);
	check_processor(million);
	memset(million, 'a', 4096);
	million[55] = '\0';
	check(million, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
	million[55] = 'a';
	million[56] = '\0';
	check(million, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
	million[56] = 'a';
	million[64] = '\0';
	check(million, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
	return tap_done();
}
