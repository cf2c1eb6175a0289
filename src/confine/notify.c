/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor's end of a filter with a listener: answers what the payload waits for. */
#include "confine/notify.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/text/shell_quote.h"
#include "confine/seccomp/seccomp.h"
#include "confine/seccomp/seccomp_set.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* A newer kernel may use longer structs than our headers know; it reports their sizes. */
#define MESSAGE_MAX 512
#define TEXT_PAGE 4096	  /* the smallest there is */
#define MESSAGES_MAX 1024 /* the kernel takes no more of sendmmsg at once */
#define MESSAGES_READ 16
#define NAMESERVER_PORT 53

union request {
	struct seccomp_notif notif;
	char room[MESSAGE_MAX];
};

union response {
	struct seccomp_notif_resp resp;
	char room[MESSAGE_MAX];
};

static const struct reason {
	int nr;
	const char *rule;
} reasons[] = {
	{ SYS_clone, "no new namespaces" },
	{ SYS_unshare, "no new namespaces" },
	{ SYS_setns, "no other namespaces" },
	{ SYS_socket, "no raw sockets" },
	{ SYS_setsockopt, "no programs on sockets" },
	{ SYS_ioctl, "no control over terminals" },
	{ SYS_mknodat, "no device nodes" },
	{ SYS_prlimit64, "init is left alone" },
	{ SYS_setpriority, "init is left alone" },
	{ SYS_ioprio_set, "init is left alone" },
	{ SYS_sched_setparam, "init is left alone" },
	{ SYS_sched_setscheduler, "init is left alone" },
	{ SYS_sched_setaffinity, "init is left alone" },
	{ SYS_sched_setattr, "init is left alone" },
#ifdef SYS_mknod
	{ SYS_mknod, "no device nodes" },
#endif
};

static const char *reason_of(int nr)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (reasons[i].nr == nr)
			return reasons[i].rule;
	}
	return "not permitted in a sandbox";
}

/* Reads the payload's memory. Length, or -1. */
ssize_t notify_read_bytes(pid_t pid, uint64_t address, void *buffer, size_t len)
{
	struct iovec local = { .iov_base = buffer, .iov_len = len };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)address, .iov_len = len };
	ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
	char path[32];

	/* Kernels can be built without that call. */
	if (got >= 0 || errno != ENOSYS)
		return got;
	(void)snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	owned(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -1 : pread(fd, buffer, len, (off_t)address);
}

bool notify_is_waiting(int listener_fd, uint64_t id)
{
	return ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

/* Page by page: the text may end just before memory that is not there. */
ssize_t notify_read_text(pid_t pid, uint64_t address, char *buffer, size_t size)
{
	size_t used = 0;

	while (used < size) {
		size_t chunk = TEXT_PAGE - (address + used) % TEXT_PAGE;
		ssize_t got = notify_read_bytes(pid, address + used, buffer + used,
						chunk < size - used ? chunk : size - used);

		if (got <= 0)
			return -1;
		const char *end = memchr(buffer + used, '\0', (size_t)got);

		if (end)
			return end - buffer;
		used += (size_t)got;
	}
	errno = ENAMETOOLONG;
	return -1;
}

/* Where the address of a call lies in the payload's memory. */
struct destination {
	uint64_t address;
	uint32_t len; /* 0: none is given */
};

/* Reads the address itself. Whether it leads out of the sandbox. */
static bool read_destination(struct notify_event *event, const struct destination *where)
{
	struct sockaddr_storage bytes;
	bool is_connect = event->nr == SYS_connect;
	ssize_t got;

	/* The kernel refuses a longer one, or cuts it before it comes here. */
	if (where->len == 0 || where->len > sizeof(bytes))
		return false;
	got = notify_read_bytes(event->pid, where->address, &bytes, where->len);
	if (got <= 0)
		return false;
	/* A UDP socket takes an address without family for IPv4. */
	if (!is_connect && bytes.ss_family == AF_UNSPEC)
		bytes.ss_family = AF_INET;
	peer_decode(&bytes, (size_t)got, &event->peer);
	/* Resolvers "connect" a datagram socket to port 0 to learn the source address; nothing is sent. */
	return (event->peer.family == AF_INET || event->peer.family == AF_INET6) &&
	       !event->peer.is_own && event->peer.port != 0;
}

/* As the kernel reads it: no name, no length; one that is too long is cut. */
static struct destination destination_of(const struct msghdr *message)
{
	struct destination where = { (uint64_t)(uintptr_t)message->msg_name, message->msg_namelen };

	if (!message->msg_name || (int32_t)message->msg_namelen < 0)
		where.len = 0;
	else if (where.len > sizeof(struct sockaddr_storage))
		where.len = sizeof(struct sockaddr_storage);
	return where;
}

static bool read_message(struct notify_event *event)
{
	struct destination where;
	struct msghdr message;

	if (notify_read_bytes(event->pid, event->args[1], &message, sizeof(message)) !=
	    (ssize_t)sizeof(message))
		return false;
	where = destination_of(&message);
	return read_destination(event, &where);
}

/* The first message that leads out: the kernel stops there, with what it sent before. */
static bool read_messages(struct notify_event *event)
{
	uint32_t count =
		(uint32_t)event->args[2] < MESSAGES_MAX ? (uint32_t)event->args[2] : MESSAGES_MAX;
	struct mmsghdr messages[MESSAGES_READ];

	for (uint32_t done = 0; done < count; done += MESSAGES_READ) {
		size_t wanted = count - done < MESSAGES_READ ? count - done : MESSAGES_READ;
		ssize_t got =
			notify_read_bytes(event->pid, event->args[1] + done * sizeof(messages[0]),
					  messages, wanted * sizeof(messages[0]));

		for (size_t i = 0; got > 0 && i < (size_t)got / sizeof(messages[0]); i++) {
			struct destination where = destination_of(&messages[i].msg_hdr);

			if (read_destination(event, &where))
				return true;
		}
		if (got != (ssize_t)(wanted * sizeof(messages[0])))
			break;
	}
	return false;
}

/* Whether the call names a destination outside the sandbox; event->peer is it. */
static bool leads_out(struct notify_event *event)
{
	const struct destination connects = { event->args[1], (uint32_t)event->args[2] };
	const struct destination sends = { event->args[4], (uint32_t)event->args[5] };

	switch (event->nr) {
	case SYS_connect:
		return read_destination(event, &connects);
	case SYS_sendto:
		return read_destination(event, &sends);
	case SYS_sendmsg:
		return read_message(event);
	default:
		return read_messages(event);
	}
}

/* A send with MSG_FASTOPEN opens a TCP connection. */
static bool is_datagram(const struct notify_event *event)
{
	return event->nr != SYS_connect &&
	       !(event->args[event->nr == SYS_sendmsg ? 2 : 3] & MSG_FASTOPEN);
}

static void describe_net(struct notify_event *event)
{
	owned(str_done) struct str word = STR_INIT;
	char where[80];

	if (!leads_out(event))
		return;
	/*
	 * Whether a connect is TCP or UDP only the socket knows. It is not fetched: the payload could let go of it and
	 * leave us the last reference, and closing a lingering socket can take for ever.
	 */
	peer_format(&event->peer, is_datagram(event), where, sizeof(where));
	(void)snprintf(event->what, sizeof(event->what), "%s %s", event->name, where);
	shell_quote_add(&word, where);
	/* No rule can be about nameservers: the names asked there are what rules are about. */
	if (event->peer.port != NAMESERVER_PORT)
		(void)snprintf(event->hint, sizeof(event->hint), "--allow %s", str_cstr(&word));
	event->rule = "default deny";
	event->kind = NOTIFY_NET;
}

static void describe_refusal(struct notify_event *event)
{
	if (event->name)
		(void)snprintf(event->what, sizeof(event->what), "%s(2)", event->name);
	else
		(void)snprintf(event->what, sizeof(event->what), "system call %d", event->nr);
	event->rule = reason_of(event->nr);
	event->kind = NOTIFY_SYSCALL;
}

/* Whether RECV would find something. Without asking first it would wait. */
static int check_pending(int listener_fd)
{
	int ready = fd_wait(listener_fd, POLLIN, 0);

	if (ready < 0)
		return -1;
	if (ready & POLLIN)
		return 0;
	errno = ready & (POLLHUP | POLLERR | POLLNVAL) ? ENOTCONN : EAGAIN;
	return -1;
}

static int check_sizes(void)
{
	struct seccomp_notif_sizes sizes;

	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0)
		return -1;
	if (sizes.seccomp_notif <= MESSAGE_MAX && sizes.seccomp_notif_resp <= MESSAGE_MAX)
		return 0;
	errno = E2BIG;
	return -1;
}

int notify_answer(int listener_fd, uint64_t id, int errnum)
{
	union response response;

	memset(&response, 0, sizeof(response));
	response.resp.id = id;
	if (errnum)
		response.resp.error = -errnum;
	else
		response.resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	/* Its caller may have been killed meanwhile. */
	return ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_SEND, &response) < 0 && errno != ENOENT ? -1
											      : 0;
}

static enum notify_kind kind_of(int nr)
{
	switch (nr) {
#ifdef SYS_rename
	case SYS_rename:
#endif
#ifdef SYS_renameat
	case SYS_renameat:
#endif
	case SYS_renameat2:
		return NOTIFY_MOVE;
	default:
		return seccomp_is_observed(nr) ? NOTIFY_NET : NOTIFY_SYSCALL;
	}
}

int notify_finish(int listener_fd, uint64_t id, int errnum)
{
	union response response;

	memset(&response, 0, sizeof(response));
	response.resp.id = id;
	response.resp.error = -errnum;
	return ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_SEND, &response) < 0 && errno != ENOENT ? -1
											      : 0;
}

int notify_receive(int listener_fd, struct notify_event *ret_event)
{
	union request request;
	const struct seccomp_notif *notif = &request.notif;

	if (check_pending(listener_fd) < 0 || check_sizes() < 0)
		return -1;
	memset(ret_event, 0, sizeof(*ret_event));
	memset(&request, 0, sizeof(request));
	if (ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0) {
		/* Its caller was killed between poll and here. */
		if (errno == ENOENT)
			return 0;
		errno = errno == EINTR ? EAGAIN : errno;
		return -1;
	}
	ret_event->id = notif->id;
	ret_event->pid = (pid_t)notif->pid;
	ret_event->nr = notif->data.nr;
	ret_event->name = seccomp_syscall_name(notif->data.nr);
	for (size_t i = 0; i < 6; i++)
		ret_event->args[i] = notif->data.args[i];
	return 0;
}

/* Whether the profile refuses what the filter built in would permit. */
static bool is_outside(const struct notify_rules *rules, int nr)
{
	enum seccomp_class class = seccomp_classify(nr);

	return rules->permitted && nr >= 0 && nr < SECCOMP_ENTRIES_MAX &&
	       (class == SECCOMP_CLASS_ALLOW || class == SECCOMP_CLASS_ARGS) &&
	       !rules->permitted->has[nr];
}

static int refuse_outside(int listener_fd, struct notify_event *event)
{
	describe_refusal(event);
	event->rule = "not among the syscalls of the profile";
	(void)snprintf(event->hint, sizeof(event->hint),
		       "add %s to its syscalls, or run aisbx profile learn again",
		       event->name ? event->name : "it");
	return notify_answer(listener_fd, event->id, EPERM);
}

int notify_handle(int listener_fd, const struct notify_rules *rules, struct notify_event *ret_event)
{
	if (notify_receive(listener_fd, ret_event) < 0)
		return -1;
	if (!ret_event->id)
		return 0;
	enum notify_kind kind = kind_of(ret_event->nr);

	if (is_outside(rules, ret_event->nr))
		return refuse_outside(listener_fd, ret_event);
	if (rules->seen && ret_event->nr >= 0 && ret_event->nr < SECCOMP_ENTRIES_MAX) {
		rules->seen->has[ret_event->nr] = true;
		if (kind == NOTIFY_SYSCALL)
			return notify_answer(listener_fd, ret_event->id, 0);
	}
	if (kind == NOTIFY_MOVE) {
		ret_event->kind = kind;
		return 0;
	}
	if (kind == NOTIFY_NET)
		describe_net(ret_event);
	else
		describe_refusal(ret_event);
	/* The process may have died and its number been given to another while we read. */
	if (!notify_is_waiting(listener_fd, ret_event->id))
		ret_event->kind = NOTIFY_SILENT;
	if (ret_event->kind == NOTIFY_NET)
		return 0;
	return notify_answer(listener_fd, ret_event->id, kind == NOTIFY_NET ? 0 : EPERM);
}
