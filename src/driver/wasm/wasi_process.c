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

static uint64_t nanoseconds(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

static uint32_t clock_res_get(struct wasi_call *call)
{
	struct timespec time;

	if (clock_getres(clock_of(wasi_word(call, 0)), &time) < 0)
		return wasi_error();
	return wasi_store64(call, wasi_word(call, 1), nanoseconds(&time));
}

static uint32_t clock_time_get(struct wasi_call *call)
{
	struct timespec time;

	if (clock_gettime(clock_of(wasi_word(call, 0)), &time) < 0)
		return wasi_error();
	return wasi_store64(call, wasi_word(call, 2), nanoseconds(&time));
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

struct subscription {
	uint64_t userdata;
	uint8_t tag; /* 0: a clock; 1: input; 2: output */
	uint32_t id; /* of the clock, or the descriptor */
	uint64_t timeout;
	bool is_absolute;
	bool is_due;
};

static void take_subscription(const uint8_t *from, struct subscription *ret)
{
	uint16_t flags;

	memcpy(&ret->userdata, from, 8);
	ret->tag = from[8];
	memcpy(&ret->id, from + 16, 4);
	memcpy(&ret->timeout, from + 24, 8);
	memcpy(&flags, from + 40, 2);
	ret->is_absolute = flags & 1;
	ret->is_due = false;
}

/* How long from now, in nanoseconds. */
static uint64_t wait_of(const struct subscription *one)
{
	struct timespec now;

	if (!one->is_absolute)
		return one->timeout;
	if (clock_gettime(clock_of(one->id), &now) < 0)
		return 0;
	return one->timeout > nanoseconds(&now) ? one->timeout - nanoseconds(&now) : 0;
}

static void put_event(uint8_t *to, const struct subscription *one, bool is_bad)
{
	memset(to, 0, EVENT_SIZE);
	memcpy(to, &one->userdata, 8);
	to[8] = is_bad ? WASI_BADF : 0;
	to[10] = one->tag;
	/* How much can be moved is not known; something can. */
	to[16] = one->tag != 0 && !is_bad;
}

/* Waits until one of COUNT is there: descriptors by poll, the nearest clock by its timeout. */
static int wait_for(const struct wasi_call *call, struct subscription *list, uint32_t count,
		    struct pollfd *polls)
{
	uint64_t nearest = UINT64_MAX;
	struct timespec wait;
	bool is_bad = false;

	for (uint32_t i = 0; i < count; i++) {
		struct subscription *one = &list[i];

		polls[i] = (struct pollfd){ .fd = -1 };
		if (one->tag == 0) {
			one->timeout = wait_of(one);
			one->is_absolute = false;
			nearest = one->timeout < nearest ? one->timeout : nearest;
			continue;
		}
		polls[i].fd = wasi_host(call, one->id);
		polls[i].events = one->tag == 1 ? POLLIN : POLLOUT;
		is_bad |= polls[i].fd < 0;
	}
	if (is_bad)
		nearest = 0;
	wait = (struct timespec){ (time_t)(nearest / 1000000000u), (long)(nearest % 1000000000u) };
	int ready = ppoll(polls, count, nearest == UINT64_MAX ? NULL : &wait, NULL);

	/* Those clocks have come that are not behind the one that was waited for. */
	for (uint32_t i = 0; i < count; i++)
		list[i].is_due = list[i].tag == 0 ? ready == 0 && list[i].timeout <= nearest
						  : polls[i].fd < 0 || polls[i].revents;
	return ready;
}

static uint32_t poll_oneoff(struct wasi_call *call)
{
	uint32_t count = wasi_word(call, 2), told = 0;
	struct subscription list[EVENTS_MAX];
	struct pollfd polls[EVENTS_MAX];
	const uint8_t *in;
	uint8_t *out;

	if (count == 0 || count > EVENTS_MAX)
		return WASI_INVAL;
	in = wasi_bytes(call, wasi_word(call, 0), count * SUBSCRIPTION_SIZE);
	out = wasi_bytes(call, wasi_word(call, 1), count * EVENT_SIZE);
	if (!in || !out)
		return WASI_FAULT;
	for (uint32_t i = 0; i < count; i++)
		take_subscription(in + i * SUBSCRIPTION_SIZE, &list[i]);
	if (wait_for(call, list, count, polls) < 0)
		return wasi_error();
	for (uint32_t i = 0; i < count; i++) {
		if (list[i].is_due)
			put_event(out + told++ * EVENT_SIZE, &list[i],
				  list[i].tag != 0 && polls[i].fd < 0);
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
