/* SPDX-License-Identifier: Apache-2.0 */
/* Messages around a sandbox that stays: words there and back, and what is refused. */
#include "launch/exec/attach.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "tests/tap.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int ends[2];
static struct attach_packet packet;

static void fill(struct strv words[ATTACH_GROUPS], size_t count, size_t len)
{
	owned(free_ptr) char *word = xcalloc(1, len + 1);

	memset(word, 'w', len);
	strv_add(&words[ATTACH_DIRECTORY], "/some where");
	for (size_t i = 0; i < count; i++)
		strv_add(&words[ATTACH_COMMAND], word);
	strv_add(&words[ATTACH_ENVIRON], "A=b");
	strv_add(&words[ATTACH_ENVIRON], "");
	strv_add(&words[ATTACH_SET], "C=d");
}

static void done(struct strv words[ATTACH_GROUPS])
{
	for (size_t i = 0; i < ATTACH_GROUPS; i++)
		strv_done(&words[i]);
}

static void test_words(const char *what, size_t count, size_t len, bool is_outside)
{
	struct attach_message message = { .id = 7, .exec = { .tty = { true, false, true } } };
	struct strv sent[ATTACH_GROUPS] = { 0 }, got[ATTACH_GROUPS] = { 0 };
	bool is_same = true;
	struct error err;

	fill(sent, count, len);
	tap_is_int(attach_send_exec(ends[0], &message, sent, ends, 2), 0, "%s: sent", what);
	tap_is_int(attach_receive(ends[1], &packet), 1, "%s: received", what);
	tap_ok(packet.message.id == 7 && packet.message.exec.tty[2] &&
		       packet.message.exec.is_outside == is_outside &&
		       packet.fd_count == 2 + (size_t)is_outside,
	       "%s: with its descriptors", what);
	tap_is_int(attach_words(&packet, got, &err), 0, "%s: taken apart", what);
	for (size_t i = 0; i < ATTACH_GROUPS; i++) {
		is_same &= sent[i].count == got[i].count;
		for (size_t j = 0; is_same && j < sent[i].count; j++)
			is_same &= strcmp(sent[i].items[j], got[i].items[j]) == 0;
	}
	tap_ok(is_same, "%s: every word is the same", what);
	attach_close(&packet);
	done(sent);
	done(got);
}

static void test_refused(void)
{
	struct attach_message message = { .kind = ATTACH_LOOK };
	struct strv words[ATTACH_GROUPS] = { 0 }, got[ATTACH_GROUPS] = { 0 };
	struct error err;

	tap_is_int(attach_send_exec(ends[0], &message, words, NULL, 0), -1, "no words at all");
	message.kind = ATTACH_LOOK;
	tap_ok(fd_send(ends[0], &message, 3, NULL, 0) == 0 &&
		       attach_receive(ends[1], &packet) == -1 && errno == EBADMSG,
	       "half a message");
	message.kind = (enum attach_kind)99;
	tap_ok(fd_send(ends[0], &message, sizeof(message), NULL, 0) == 0 &&
		       attach_receive(ends[1], &packet) == -1 && errno == EBADMSG,
	       "a kind that nobody knows");
	message.kind = ATTACH_LOOK;
	tap_ok(attach_send(ends[0], &message, ends, 1) == 0 &&
		       attach_receive(ends[1], &packet) == -1 && errno == EBADMSG &&
		       packet.fd_count == 0,
	       "a descriptor that no one expects is closed");
	fill(words, 3, 5);
	tap_ok(attach_send_exec(ends[0], &message, words, NULL, 0) == 0 &&
		       attach_receive(ends[1], &packet) == 1,
	       "a good one");
	packet.message.exec.counts[ATTACH_COMMAND] = 1000;
	tap_ok(attach_words(&packet, got, &err) < 0 && got[ATTACH_COMMAND].count == 0,
	       "more words than there are");
	packet.message.exec.counts[ATTACH_COMMAND] = 2;
	tap_ok(attach_words(&packet, got, &err) < 0, "fewer words than there are");
	done(words);
	close(ends[0]);
	tap_is_int(attach_receive(ends[1], &packet), 0, "the end");
	close(ends[1]);
}

int main(void)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return 1;
	test_words("few", 2, 10, false);
	test_words("many", 20000, 1, true);
	test_words("long", 3, 100000, true);
	test_refused();
	return tap_done();
}
