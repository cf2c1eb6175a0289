/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 by the SHA extensions of x86. */
#include "base/hash/sha256_mix.h"

#ifdef __x86_64__

#include <immintrin.h>
#if __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#else
#include <cpuid.h>
#endif

#define FOR_SHA __attribute__((target("sha,sse4.1,ssse3")))

/*
 * The instructions want the state as two vectors that hold, from the highest word down, A B E F and C D G H; memory has
 * A to H from the lowest word up.
 */
struct halves {
	__m128i abef, cdgh;
};

FOR_SHA static struct halves load(const uint32_t state[static 8])
{
	__m128i badc = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xb1);
	__m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1b);

	return (struct halves){ _mm_alignr_epi8(badc, hgfe, 8), _mm_blend_epi16(hgfe, badc, 0xf0) };
}

FOR_SHA static void store(uint32_t state[static 8], struct halves halves)
{
	__m128i feba = _mm_shuffle_epi32(halves.abef, 0x1b);
	__m128i dchg = _mm_shuffle_epi32(halves.cdgh, 0xb1);

	_mm_storeu_si128((__m128i *)state, _mm_blend_epi16(feba, dchg, 0xf0));
	_mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

/* The next four words of the schedule, over the oldest four of the sixteen. */
FOR_SHA static __m128i extend(const __m128i words[static 4], unsigned step)
{
	__m128i last = words[(step + 3) % 4];
	__m128i seventh = _mm_alignr_epi8(last, words[(step + 2) % 4], 4);
	__m128i first = _mm_sha256msg1_epu32(words[step % 4], words[(step + 1) % 4]);

	return _mm_sha256msg2_epu32(_mm_add_epi32(first, seventh), last);
}

FOR_SHA static struct halves mix(struct halves halves, const uint8_t *block)
{
	const __m128i big_endian =
		_mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
	struct halves before = halves;
	__m128i words[4] = { 0 };

#pragma GCC unroll 16
	for (unsigned step = 0; step < 16; step++) {
		const void *constants = sha256_round_constants + 4 * step;

		words[step % 4] =
			step < 4 ? _mm_shuffle_epi8(
					   _mm_loadu_si128((const __m128i *)(block + 16 * step)),
					   big_endian)
				 : extend(words, step);
		__m128i sums = _mm_add_epi32(words[step % 4], _mm_loadu_si128(constants));

		halves.cdgh = _mm_sha256rnds2_epu32(halves.cdgh, halves.abef, sums);
		halves.abef = _mm_sha256rnds2_epu32(halves.abef, halves.cdgh,
						    _mm_shuffle_epi32(sums, 0x0e));
	}
	halves.abef = _mm_add_epi32(halves.abef, before.abef);
	halves.cdgh = _mm_add_epi32(halves.cdgh, before.cdgh);
	return halves;
}

FOR_SHA static void mix_all(uint32_t state[static 8], const uint8_t *blocks, size_t count)
{
	struct halves halves = load(state);

	for (size_t i = 0; i < count; i++)
		halves = mix(halves, blocks + 64 * i);
	store(state, halves);
}

#ifdef CPU_FEATURE_ACTIVE
/* What the C library found out when it started: asking the processor is dear in a virtual machine. */
static bool has_instructions(size_t count)
{
	(void)count;
	return CPU_FEATURE_ACTIVE(SHA) && CPU_FEATURE_ACTIVE(SSE4_1);
}
#else
/* A few blocks are mixed sooner than the answer would be there. */
#define WORTH_ASKING 32

/* This C library has found out nothing: asked by hand, and once. */
static bool has_instructions(size_t count)
{
	static enum { UNKNOWN, PRESENT, ABSENT } answer;
	unsigned eax, ebx = 0, ecx = 0, edx, more;

	if (answer == UNKNOWN && count >= WORTH_ASKING) {
		bool is_there = __get_cpuid_count(7, 0, &eax, &ebx, &more, &edx) &&
				(ebx & bit_SHA) && __get_cpuid(1, &eax, &ebx, &ecx, &edx) &&
				(ecx & bit_SSE4_1);

		answer = is_there ? PRESENT : ABSENT;
	}
	return answer == PRESENT;
}
#endif

bool sha256_mix_by_processor(uint32_t state[static 8], const uint8_t *blocks, size_t count)
{
	if (!has_instructions(count))
		return false;
	mix_all(state, blocks, count);
	return true;
}

#else

bool sha256_mix_by_processor(uint32_t state[static 8], const uint8_t *blocks, size_t count)
{
	(void)state;
	(void)blocks;
	(void)count;
	return false;
}

#endif
