/* SPDX-License-Identifier: Apache-2.0 */
/* The messages around a sandbox that stays. */
#include "launch/exec/attach.h"

#include "base/file/fd.h"
#include "base/core/own.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_SIZE offsetof(struct attach_message, exec)
/* Of the messages: a supervisor may be of a program that has been replaced since, and one side must say so. */
#define VERSION 4
/* Both sides need not have the same C library, nor the same compiler: where one of these changes, so does VERSION. */
_Static_assert(HEAD_SIZE == 16, "of every message");
_Static_assert(sizeof(struct attach_exec) == 48, "of VERSION");
_Static_assert(sizeof(struct attach_figures) == 88, "of VERSION");
_Static_assert(sizeof(struct attach_denied) == 312, "of VERSION");
_Static_assert(sizeof(struct attach_network) == 32, "of VERSION");
_Static_assert(sizeof(struct attach_rule) == 514, "of VERSION");
_Static_assert(sizeof(struct error) == 512, "of VERSION");
_Static_assert(sizeof(((struct attach_message *)NULL)->ended) == 24, "of VERSION");
_Static_assert(sizeof(struct attach_message) == 536, "of VERSION");
/* As much as the kernel takes for one exec, and a little. */
#define WORDS_MAX (8u << 20)

static size_t fixed_size(enum attach_kind kind)
{
	const struct attach_message *any = NULL;

	switch (kind) {
	case ATTACH_EXEC:
		return HEAD_SIZE + sizeof(any->exec);
	case ATTACH_FIGURES:
		return HEAD_SIZE + sizeof(any->figures);
	case ATTACH_DENIED:
		return HEAD_SIZE + sizeof(any->denied);
	case ATTACH_ENDED:
		return HEAD_SIZE + sizeof(any->ended);
	case ATTACH_STARTED:
		return HEAD_SIZE + sizeof(any->pid);
	case ATTACH_NETWORK:
		return HEAD_SIZE + sizeof(any->network);
	case ATTACH_RULE:
		return HEAD_SIZE + sizeof(any->rule);
	case ATTACH_FAILED:
		return HEAD_SIZE + sizeof(any->error);
	case ATTACH_SIGNAL:
	case ATTACH_END:
		return HEAD_SIZE + sizeof(any->signal);
	case ATTACH_KILL:
	case ATTACH_FREEZE:
	case ATTACH_THAW:
	case ATTACH_STOP:
	case ATTACH_STOP_IDLE:
	case ATTACH_LOOK:
	case ATTACH_TERMINAL:
	case ATTACH_RUNNING:
	case ATTACH_IDLE:
	case ATTACH_DONE:
		break;
	}
	return HEAD_SIZE;
}

int attach_send(int socket_fd, const struct attach_message *message, const int *fds, size_t count)
{
	return fd_send(socket_fd, message, fixed_size(message->kind), fds, count);
}

static void add_words(struct str *body, const struct strv *words)
{
	for (size_t i = 0; i < words->count; i++)
		str_add_bytes(body, words->items[i], strlen(words->items[i]) + 1);
}

static int send_outside(int socket_fd, struct attach_message *message, const struct str *body,
			const int *fds, size_t count)
{
	owned(fd_close) int file = memfd_create("words", MFD_CLOEXEC);
	int all[ATTACH_FDS_MAX];

	if (file < 0 || fd_write_all(file, body->data, body->len) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		all[i] = fds[i];
	all[count] = file;
	message->exec.is_outside = true;
	return attach_send(socket_fd, message, all, count + 1);
}

int attach_send_exec(int socket_fd, struct attach_message *message,
		     const struct strv words[ATTACH_GROUPS], const int *fds, size_t count)
{
	owned(str_done) struct str packet = STR_INIT, body = STR_INIT;

	for (size_t i = 0; i < ATTACH_GROUPS; i++)
		add_words(&body, &words[i]);
	if (words[ATTACH_DIRECTORY].count != 1 || words[ATTACH_COMMAND].count == 0 ||
	    count >= ATTACH_FDS_MAX || body.len > WORDS_MAX) {
		errno = E2BIG;
		return -1;
	}
	message->kind = ATTACH_EXEC;
	message->exec.version = VERSION;
	for (size_t i = 0; i < ATTACH_GROUPS; i++)
		message->exec.counts[i] = (uint32_t)words[i].count;
	message->exec.body_len = (uint32_t)body.len;
	int status;

	if (body.len > ATTACH_BODY_MAX) {
		status = send_outside(socket_fd, message, &body, fds, count);
	} else {
		str_add_bytes(&packet, message, fixed_size(ATTACH_EXEC));
		str_add_bytes(&packet, body.data, body.len);
		status = fd_send(socket_fd, packet.data, packet.len, fds, count);
	}
	if (words[ATTACH_SECRETS].count > 0) {
		explicit_bzero(body.data, body.len);
		if (packet.data)
			explicit_bzero(packet.data, packet.len);
	}
	return status;
}

/* What came from outside may hold any byte where only two are a truth value. */
static bool are_truths(const bool *values, size_t count)
{
	const unsigned char *bytes = (const unsigned char *)values;

	for (size_t i = 0; i < count; i++) {
		if (bytes[i] > 1)
			return false;
	}
	return true;
}

static bool has_truths(const struct attach_message *message)
{
	const struct attach_figures *figures = &message->figures;

	if (message->kind == ATTACH_EXEC)
		return are_truths(message->exec.tty, 3) && are_truths(&message->exec.is_outside, 1);
	if (message->kind == ATTACH_FIGURES)
		return are_truths(&figures->has_group, 1) && are_truths(&figures->is_idle, 1) &&
		       are_truths(&figures->has_quota, 1);
	if (message->kind == ATTACH_RULE)
		return are_truths(&message->rule.is_deny, 1) &&
		       are_truths(&message->rule.is_removal, 1);
	if (message->kind == ATTACH_NETWORK)
		return are_truths(&message->network.has_gateway, 1);
	return message->kind != ATTACH_ENDED || (are_truths(&message->ended.pids_hit, 1) &&
						 are_truths(&message->ended.is_stopped, 1));
}

static bool is_whole(const struct attach_packet *packet, size_t got)
{
	const struct attach_message *message = &packet->message;

	if (got < HEAD_SIZE || message->kind < ATTACH_EXEC || message->kind > ATTACH_STOP_IDLE)
		return false;
	size_t fixed = fixed_size(message->kind);

	if (got < fixed || !has_truths(message))
		return false;
	if (message->kind == ATTACH_FAILED && !error_is_sane(&message->error))
		return false;
	if (message->kind != ATTACH_EXEC)
		return got == fixed && packet->fd_count <= (message->kind == ATTACH_TERMINAL);
	if (message->exec.version != VERSION)
		return false;
	if (message->exec.is_outside)
		return got == fixed && packet->fd_count > 0 && message->exec.body_len <= WORDS_MAX;
	return got == fixed + message->exec.body_len && message->exec.body_len <= ATTACH_BODY_MAX;
}

int attach_receive(int socket_fd, struct attach_packet *ret_packet)
{
	char *bytes = (char *)&ret_packet->message;
	size_t fixed = fixed_size(ATTACH_EXEC), size = offsetof(struct attach_packet, fds);
	ssize_t got = fd_receive(socket_fd, bytes, size, ret_packet->fds, ATTACH_FDS_MAX,
				 &ret_packet->fd_count);

	if (got <= 0)
		return (int)got;
	if (!is_whole(ret_packet, (size_t)got)) {
		attach_close(ret_packet);
		errno = EBADMSG;
		return -1;
	}
	/* The words lie right behind the shorter form of the message. */
	if (ret_packet->message.kind == ATTACH_EXEC && !ret_packet->message.exec.is_outside)
		memmove(ret_packet->body, bytes + fixed, ret_packet->message.exec.body_len);
	return 1;
}

int attach_lost(int got, struct error *err)
{
	if (got < 0 && errno == EBADMSG)
		return error_advise(
			err, ERROR_HOST, "`aisbx stop` ends it, and the next exec starts it anew",
			"another version of aisbx supervises the sandbox, and is not understood");
	if (got < 0 && errno == EMFILE)
		return error_errno(err, ERROR_HOST, "what the sandbox's supervisor sent");
	return error_set(err, ERROR_HOST, "the sandbox's supervisor has ended");
}

void attach_close(struct attach_packet *packet)
{
	while (packet->fd_count > 0)
		close(packet->fds[--packet->fd_count]);
}

/* Takes COUNT words off the text. Whether they were there. */
static bool take_words(const char **at, const char *end, uint32_t count, struct strv *ret_words)
{
	for (uint32_t i = 0; i < count; i++) {
		size_t len = strnlen(*at, (size_t)(end - *at));

		if (*at + len >= end)
			return false;
		strv_add(ret_words, *at);
		*at += len + 1;
	}
	return true;
}

int attach_words(const struct attach_packet *packet, struct strv ret_words[ATTACH_GROUPS],
		 struct error *err)
{
	const struct attach_exec *exec = &packet->message.exec;
	owned(str_done) struct str text = STR_INIT;
	const char *at = packet->body, *end;

	if (exec->is_outside) {
		int fd = packet->fds[packet->fd_count - 1];

		if (lseek(fd, 0, SEEK_SET) < 0 || fd_read_all(fd, exec->body_len, &text) < 0)
			return error_errno(err, ERROR_HOST, "cannot read the command");
		at = str_cstr(&text);
	}
	end = at + (exec->is_outside ? text.len : exec->body_len);
	bool is_good = exec->counts[ATTACH_DIRECTORY] == 1 && exec->counts[ATTACH_COMMAND] > 0;

	for (size_t i = 0; is_good && i < ATTACH_GROUPS; i++)
		is_good = take_words(&at, end, exec->counts[i], &ret_words[i]);
	if (!is_good || at != end) {
		for (size_t i = 0; i < ATTACH_GROUPS; i++)
			strv_done(&ret_words[i]);
		return error_set(err, ERROR_INTERNAL, "the command is not what it says it is");
	}
	if (exec->counts[ATTACH_SECRETS] > 0 && text.data)
		explicit_bzero(text.data, text.len);
	return 0;
}
