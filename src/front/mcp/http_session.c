/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions over HTTP: found, made, ended, and kept as long as anything refers to them. */
#include "front/mcp/http_session.h"

#include "base/core/own.h"

#include <stdlib.h>

#define SESSIONS_MAX 256

struct web_session *web_session_find(const struct web_sessions *all, const char *id)
{
	struct web_session *at = all->first;

	while (at && !(at->id[0] && token_is_same(id, at->id)))
		at = at->next;
	return at;
}

static bool is_in_use(const struct web_sessions *all, const struct web_session *session)
{
	const struct call *call = all->server->calls;

	while (call && call->session != &session->session)
		call = call->next;
	return call || session->users > 0;
}

static void drop(struct web_session **slot)
{
	struct web_session *gone = *slot;

	*slot = gone->next;
	free(gone);
}

/* Those that have ended go first; then, when there are too many, the oldest idle one. */
static void make_room(struct web_sessions *all)
{
	struct web_session **slot = &all->first, **oldest = NULL;
	size_t count = 0;

	while (*slot) {
		bool is_used = is_in_use(all, *slot);

		if (!is_used && !(*slot)->id[0]) {
			drop(slot);
			continue;
		}
		count++;
		if (!is_used)
			oldest = slot;
		slot = &(*slot)->next;
	}
	if (count >= SESSIONS_MAX && oldest)
		drop(oldest);
}

struct web_session *web_session_add(struct web_sessions *all)
{
	struct web_session *session = xcalloc(1, sizeof(*session));
	struct error ignored;

	make_room(all);
	session_init(&session->session, all->server);
	if (token_make(session->id, &ignored) < 0) {
		free(session);
		return NULL;
	}
	session->next = all->first;
	all->first = session;
	return session;
}

void web_session_end(struct web_sessions *all, struct web_session *session)
{
	for (struct call *call = all->server->calls; call; call = call->next) {
		if (call->session == &session->session)
			call_cancel(call);
	}
	for (struct exchange *stream = session->streams; stream; stream = stream->next)
		http_stream_end(stream->request, NULL);
	session->id[0] = '\0';
}

void web_sessions_done(struct web_sessions *all)
{
	while (all->first)
		drop(&all->first);
}

void exchange_join(struct exchange *exchange, struct web_session *session)
{
	exchange->session = session;
	session->users++;
}

bool exchange_listen(struct exchange *exchange)
{
	struct web_session *session = exchange->session;
	unsigned count = 0;

	for (const struct exchange *at = session->streams; at; at = at->next)
		count++;
	if (count >= STREAMS_MAX)
		return false;
	exchange->is_listening = true;
	exchange->next = session->streams;
	session->streams = exchange;
	return true;
}

void exchange_leave(struct web_sessions *all, struct exchange *exchange)
{
	struct web_session *session = exchange->session;

	if (!session)
		return;
	if (exchange->is_listening) {
		struct exchange **slot = &session->streams;

		while (*slot && *slot != exchange)
			slot = &(*slot)->next;
		if (*slot)
			*slot = exchange->next;
	}
	if (exchange->is_alone)
		web_session_end(all, session);
	session->users--;
	exchange->session = NULL;
}
