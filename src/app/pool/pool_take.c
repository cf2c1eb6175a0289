/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's side of the pool: one question, answered in time or not at all. */
#include "app/pool/pool.h"
#include "base/core/clock.h"
#include "base/file/fd.h"
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "base/core/value.h"
#include "launch/ready.h"
#include "spec/codec.h"

#include <poll.h>
#include <sys/socket.h>

/* For the next call. What does not fit is none for the pool. */
static void send_plan(int fd, const struct spec *spec)
{
	owned(value_release) struct value *value = spec_to_value(spec);
	owned(str_done) struct str text = STR_INIT;

	json_write(&text, value, 0);
	if (text.len <= POOL_PLAN_MAX)
		(void)send(fd, text.data, text.len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

struct launch_prestart *pool_take(struct pool_slot *slot, struct spec *spec)
{
	uint64_t until_ns = clock_now_ns() + (uint64_t)POOL_PATIENCE_MS * 1000000;
	struct pool_ask ask = { .version = POOL_VERSION, .kind = POOL_ASK };
	struct pool_answer answer;

	if (slot->fd < 0 || !pool_suits(spec))
		return NULL;
	pool_digest(spec, ask.digest);
	pool_around(ask.around);
	if (send(slot->fd, &ask, sizeof(ask), MSG_NOSIGNAL | MSG_DONTWAIT) !=
		    (ssize_t)sizeof(ask) ||
	    !pool_receive(slot, until_ns, &answer, sizeof(answer)))
		return NULL;
	if (answer.kind == POOL_WANTS)
		send_plan(slot->fd, spec);
	if (answer.kind != POOL_GIVEN || fd_wait_until(slot->fd, POLLIN, until_ns) <= 0)
		return NULL;
	return ready_receive(slot->fd, spec);
}
