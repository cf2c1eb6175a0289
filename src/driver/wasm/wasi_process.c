/* SPDX-License-Identifier: Apache-2.0 */
/* WASI preview 1 of our own: words, clocks, randomness, waiting and the end. */
#include "driver/wasm/wasi.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define SUBSCRIPTION_SIZE 48u
#define EVENT_SIZE 32u
#define EVENTS_MAX 64u

static uint32_t put_sizes(struct wasi_call *call, const char *const *list, size_t skip)
{
	uint32_t count = 0, bytes = 0;

	for (; list[count]; count++)
		bytes += (uint32_t)(strlen(list[count] + skip) + 1);
	if (wasi_store32(call, wasi_word(call, 0), count))
		return WASI_FAULT;
	return wasi_store32(call, wasi_word(call, 1), bytes);
}

static uint32_t put_list(struct wasi_call *call, const char *const *list, size_t skip)
{
	uint32_t pointers = wasi_word(call, 0), at = wasi_word(call, 1);

	for (; *list; list++) {
		uint32_t len = (uint32_t)(strlen(*list + skip) + 1);
		uint8_t *to = wasi_bytes(call, at, len);

		if (!to || wasi_store32(call, pointers, at))
			return WASI_FAULT;
		memcpy(to, *list + skip, len);
		pointers += 4;
		at += len;
	}
	return WASI_SUCCESS;
}

static uint32_t args_sizes_get(struct wasi_call *call)
{
	return put_sizes(call, call->runner->job.argv, 0);
}

static uint32_t args_get(struct wasi_call *call)
{
	return put_list(call, call->runner->job.argv, 0);
}

static uint32_t environ_sizes_get(struct wasi_call *call)
{
	return put_sizes(call, call->runner->variables, 1);
}

static uint32_t environ_get(struct wasi_call *call)
{
	return put_list(call, call->runner->variables, 1);
}

static int clock_of(uint32_t id)
{
	static const int clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID,
				      CLOCK_THREAD_CPUTIME_ID };

	return id < 4 ? clocks[id] : -1;
}

static uint32_t clock_res_get(struct wasi_call *call)
{
	int clock = clock_of(wasi_word(call, 0));
	struct timespec time;

	if (clock < 0 || clock_getres(clock, &time) < 0)
		return WASI_INVAL;
	return wasi_store64(call, wasi_word(call, 1), wasi_nanoseconds(&time));
}

static uint32_t clock_time_get(struct wasi_call *call)
{
	int clock = clock_of(wasi_word(call, 0));
	struct timespec time;

	if (clock < 0 || clock_gettime(clock, &time) < 0)
		return WASI_INVAL;
	return wasi_store64(call, wasi_word(call, 2), wasi_nanoseconds(&time));
}

/* From the kernel each time: a generator in our memory would be the same in every fork. */
static uint32_t random_get(struct wasi_call *call)
{
	uint32_t left = wasi_word(call, 1);
	uint8_t *to = wasi_bytes(call, wasi_word(call, 0), left);

	if (!to)
		return WASI_FAULT;
	while (left > 0) {
		ssize_t got = getrandom(to, left, 0);

		if (got < 0 && errno != EINTR)
			return wasi_error();
		to += got > 0 ? got : 0;
		left -= got > 0 ? (uint32_t)got : 0;
	}
	return WASI_SUCCESS;
}

static uint32_t yield(struct wasi_call *call)
{
	(void)call;
	(void)sched_yield();
	return WASI_SUCCESS;
}

static uint32_t proc_exit(struct wasi_call *call)
{
	runner_exit(call->runner, (int)(wasi_word(call, 0) & 0xff));
}

static uint32_t proc_raise(struct wasi_call *call)
{
	(void)call;
	return WASI_NOTSUP;
}

enum { TAG_CLOCK, TAG_INPUT, TAG_OUTPUT, TAG_COUNT };

struct subscription {
	uint64_t userdata;
	uint8_t tag;
	uint32_t id; /* of the clock, or the descriptor */
	uint64_t timeout;
	bool is_absolute;
	bool is_due;
	uint8_t error; /* there is nothing to wait for */
};

static void take_subscription(const uint8_t *from, struct subscription *ret)
{
	uint16_t flags;

	*ret = (struct subscription){ .tag = from[8] };
	memcpy(&ret->userdata, from, 8);
	memcpy(&ret->id, from + 16, 4);
	memcpy(&ret->timeout, from + 24, 8);
	memcpy(&flags, from + 40, 2);
	ret->is_absolute = flags & 1;
}

/* How long from now, in nanoseconds. */
static uint64_t wait_of(struct subscription *one)
{
	int clock = clock_of(one->id);
	struct timespec now;

	if (clock < 0 || clock_gettime(clock, &now) < 0) {
		one->error = WASI_INVAL;
		return 0;
	}
	if (!one->is_absolute)
		return one->timeout;
	return one->timeout > wasi_nanoseconds(&now) ? one->timeout - wasi_nanoseconds(&now) : 0;
}

/* What poll is to look at for it; how long it may wait, at most. */
static uint64_t prepare(const struct wasi_call *call, struct subscription *one,
			struct pollfd *ret_poll)
{
	*ret_poll = (struct pollfd){ .fd = -1 };
	if (one->tag == TAG_CLOCK)
		return one->timeout = wait_of(one);
	ret_poll->fd = wasi_host(call, one->id);
	ret_poll->events = one->tag == TAG_INPUT ? POLLIN : POLLOUT;
	one->error = ret_poll->fd < 0 ? WASI_BADF : WASI_SUCCESS;
	return one->error ? 0 : UINT64_MAX;
}

/* Waits until one of COUNT is there: descriptors by poll, the nearest clock by its timeout. */
static int wait_for(const struct wasi_call *call, struct subscription *list, uint32_t count)
{
	uint64_t suggest = UINT64_MAX;
	struct pollfd polls[EVENTS_MAX];
	struct timespec wait;
	int ready;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t at_most = prepare(call, &list[i], &polls[i]);

		suggest = at_most < suggest ? at_most : suggest;
	}
	wait = (struct timespec){ (time_t)(suggest / 1000000000u), (long)(suggest % 1000000000u) };
	ready = ppoll(polls, count, suggest == UINT64_MAX ? NULL : &wait, NULL);
	/* Those clocks have come that are not behind the one that was waited for. */
	for (uint32_t i = 0; i < count; i++)
		list[i].is_due =
			list[i].error ||
			(list[i].tag == TAG_CLOCK ? ready == 0 && list[i].timeout <= suggest
						  : polls[i].revents != 0);
	return ready;
}

static void put_event(uint8_t *to, const struct subscription *one)
{
	memset(to, 0, EVENT_SIZE);
	memcpy(to, &one->userdata, 8);
	to[8] = one->error;
	to[10] = one->tag;
	/* How much can be moved is not known; something can. */
	to[16] = one->tag != TAG_CLOCK && !one->error;
}

static uint32_t poll_oneoff(struct wasi_call *call)
{
	uint32_t count = wasi_word(call, 2), told = 0;
	struct subscription list[EVENTS_MAX];
	const uint8_t *in;
	uint8_t *out;

	if (count == 0 || count > EVENTS_MAX)
		return WASI_INVAL;
	in = wasi_bytes(call, wasi_word(call, 0), count * SUBSCRIPTION_SIZE);
	out = wasi_bytes(call, wasi_word(call, 1), count * EVENT_SIZE);
	if (!in || !out)
		return WASI_FAULT;
	for (uint32_t i = 0; i < count; i++) {
		take_subscription(in + (size_t)i * SUBSCRIPTION_SIZE, &list[i]);
		if (list[i].tag >= TAG_COUNT)
			return WASI_INVAL;
	}
	if (wait_for(call, list, count) < 0)
		return wasi_error();
	for (uint32_t i = 0; i < count; i++) {
		if (list[i].is_due)
			put_event(out + (size_t)told++ * EVENT_SIZE, &list[i]);
	}
	return wasi_store32(call, wasi_word(call, 3), told);
}

const struct wasi_function wasi_process_functions[] = {
	{ "args_sizes_get", "ii", args_sizes_get },
	{ "args_get", "ii", args_get },
	{ "environ_sizes_get", "ii", environ_sizes_get },
	{ "environ_get", "ii", environ_get },
	{ "clock_res_get", "ii", clock_res_get },
	{ "clock_time_get", "iIi", clock_time_get },
	{ "random_get", "ii", random_get },
	{ "sched_yield", "", yield },
	{ "poll_oneoff", "iiii", poll_oneoff },
	{ "proc_exit", "i", proc_exit },
	{ "proc_raise", "i", proc_raise },
	{ NULL, NULL, NULL },
};
