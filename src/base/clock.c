/* Readings of two clocks at the same moment. */
#include "base/clock.h"

#define READINGS 16
#define QUICK_NS 2000

static int64_t read_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t clock_offset_ns(void)
{
	int64_t offset = 0, took = INT64_MAX;

	for (int i = 0; i < READINGS && took > QUICK_NS; i++) {
		int64_t before = read_ns(CLOCK_BOOTTIME);
		int64_t wall = read_ns(CLOCK_REALTIME);
		int64_t after = read_ns(CLOCK_BOOTTIME);

		if (after - before >= took)
			continue;
		took = after - before;
		offset = wall - before - took / 2;
	}
	return offset;
}
