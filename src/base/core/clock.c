/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of two clocks at the same moment, and moments as text. */
#include "base/core/clock.h"

#include "base/core/own.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

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

uint64_t clock_stamp_ns(void)
{
	uint64_t coarse_ns = (uint64_t)read_ns(CLOCK_REALTIME_COARSE);
	owned(fd_close) int fd = memfd_create("aisbx", MFD_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || fchmod(fd, 0600) < 0 || fstat(fd, &st) < 0)
		return coarse_ns;
	return (uint64_t)st.st_ctim.tv_sec * 1000000000u + (uint64_t)st.st_ctim.tv_nsec;
}

/* By hand: gmtime_r reads the time zone's file on its first call. */
void time_format_utc(uint64_t epoch_ms, char out[static 32])
{
	uint64_t seconds = epoch_ms / 1000, day_seconds = seconds % 86400;
	/* Days since 1 March of year 0, in eras of 400 years: leap days then stand at the end of a year. */
	uint64_t days = seconds / 86400 + 719468;
	uint64_t era = days / 146097, day_of_era = days % 146097;
	uint64_t year_of_era =
		(day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	uint64_t day_of_year =
		day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	uint64_t shifted = (5 * day_of_year + 2) / 153;
	uint64_t day = day_of_year - (153 * shifted + 2) / 5 + 1;
	uint64_t month = shifted < 10 ? shifted + 3 : shifted - 9;
	uint64_t year = year_of_era + era * 400 + (month <= 2);

	/* What lies beyond four digits of a year is no time of a run. */
	if (year > 9999)
		year = 9999;
	uint64_t rest[] = { year,
			    month,
			    day,
			    day_seconds / 3600,
			    day_seconds / 60 % 60,
			    day_seconds % 60,
			    epoch_ms % 1000 };
	/* Each digit of the form names its part; filled from the right. */
	static const char form[] = "0000-11-22T33:44:55.666Z";

	memcpy(out, form, sizeof(form));
	for (size_t i = sizeof(form) - 1; i-- > 0;) {
		unsigned part = (unsigned)(unsigned char)form[i] - '0';

		if (part > 6)
			continue;
		out[i] = (char)('0' + rest[part] % 10);
		rest[part] /= 10;
	}
}
