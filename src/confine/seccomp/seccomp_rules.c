/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The argument checks that syscalls.tsv names, and the variants of the filter.
 *
 * Arguments that the kernel takes as int are compared by their low 32 bits: a 64-bit comparison is
 * passed by setting a bit above them, which the kernel then cuts off.
 */
#include "confine/seccomp/seccomp_rules.h"

#include "confine/seccomp/seccomp.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>

#define ERRNO(number) (SECCOMP_RET_ERRNO | (number))
#define ALL UINT64_MAX

/*
 * The numbers stand here because the generator runs on the build machine, whose headers may differ.
 */
enum {
	CLONE_NEW_ANY = 0x7e020000, /* NEWNS CGROUP UTS IPC USER PID NET */

	FAMILY_UNIX = 1,
	FAMILY_INET = 2,
	FAMILY_INET6 = 10,
	FAMILY_NETLINK = 16,
	TYPE_MASK = 0xf,
	TYPE_STREAM = 1,
	TYPE_DGRAM = 2,
	TYPE_RAW = 3,
	TYPE_PACKET = 10, /* AF_INET with it becomes AF_PACKET */

	LEVEL_SOCKET = 1,
	LEVEL_TCP = 6,
	LEVEL_UDP = 17,
	OPTION_ATTACH_FILTER = 26,
	OPTION_ATTACH_BPF = 50,
	OPTION_REUSEPORT_CBPF = 51,
	OPTION_REUSEPORT_EBPF = 52,
	OPTION_TCP_ULP = 31,
	OPTION_UDP_ENCAP = 100,

	COMMAND_TIOCSTI = 0x5412,
	COMMAND_TIOCLINUX = 0x541c,
	COMMAND_TIOCCONS = 0x541d,
	COMMAND_TIOCSETD = 0x5423,

	MODE_MASK = 0xf000,
	MODE_FIFO = 0x1000,
	MODE_REGULAR = 0x8000,
	MODE_SOCKET = 0xc000,

	RESOURCE_CORE = 4,

	INIT = 1, /* pid 1 of the sandbox, and its process group */
	PRIORITY_PROCESS = 0,
	PRIORITY_GROUP = 1,
	PRIORITY_USER = 2,
	IOPRIO_PROCESS = 1,
	IOPRIO_GROUP = 2,
	IOPRIO_USER = 3,

	FLAG_PROBE = 0x10,
	FLAG_FASTOPEN = 0x20000000,

	OPTION_SNDBUFFORCE = 32,
	OPTION_RCVBUFFORCE = 33,

	COMMAND_SETLEASE = 1024,
	COMMAND_SETPIPE_SZ = 1031,
	PIPE_BYTES = 65536, /* what every pipe has */
	COMMAND_SETDELEG = 1040,
};

#define COND(n, cmp, bits, wanted)                                              \
	{                                                                       \
		.arg = (n), .compare = (cmp), .mask = (bits), .value = (wanted) \
	}
#define IS(n, wanted) COND(n, COMPARE_EQ, ALL, wanted)
#define IS_MASKED(n, bits, wanted) COND(n, COMPARE_EQ, bits, wanted)
#define NOT_NULL(n)                                                                         \
	{                                                                                   \
		.arg = (n), .is_wide = true, .compare = COMPARE_NE, .mask = ALL, .value = 0 \
	}
#define WHEN(what, first)                                             \
	{                                                             \
		.answer = (what), .cond_count = 1, .conds = { first } \
	}
#define WHEN2(what, first, second)                                            \
	{                                                                     \
		.answer = (what), .cond_count = 2, .conds = { first, second } \
	}

static const struct seccomp_clause clone_clauses[] = {
	WHEN(SECCOMP_RET_ALLOW, IS_MASKED(0, CLONE_NEW_ANY, 0)),
};

/*
 * Only stream and datagram pass: with SEQPACKET or DCCP's type and protocol 0 the kernel itself
 * picks SCTP or DCCP, past any check of the protocol.
 */
static const struct seccomp_clause socket_clauses[] = {
	WHEN(SECCOMP_RET_ALLOW, IS(0, FAMILY_UNIX)),
	WHEN2(SECCOMP_RET_ALLOW, IS(0, FAMILY_NETLINK), IS(2, 0)),
	WHEN(ERRNO(EPROTONOSUPPORT), IS(0, FAMILY_NETLINK)),
	{ .answer = ERRNO(EAFNOSUPPORT),
	  .cond_count = 2,
	  .conds = { COND(0, COMPARE_NE, ALL, FAMILY_INET),
		     COND(0, COMPARE_NE, ALL, FAMILY_INET6) } },
	WHEN(ANSWER_DENY, IS_MASKED(1, TYPE_MASK, TYPE_RAW)),
	WHEN(ANSWER_DENY, IS_MASKED(1, TYPE_MASK, TYPE_PACKET)),
	{ .answer = ERRNO(ESOCKTNOSUPPORT),
	  .cond_count = 2,
	  .conds = { COND(1, COMPARE_NE, TYPE_MASK, TYPE_STREAM),
		     COND(1, COMPARE_NE, TYPE_MASK, TYPE_DGRAM) } },
	WHEN(SECCOMP_RET_ALLOW, IS(2, 0)),
	WHEN(SECCOMP_RET_ALLOW, IS(2, 6)),
	WHEN(SECCOMP_RET_ALLOW, IS(2, 17)),
	WHEN(SECCOMP_RET_ALLOW, IS(2, 1)),
	WHEN(SECCOMP_RET_ALLOW, IS(2, 58)),
};

static const struct seccomp_clause socketpair_clauses[] = {
	WHEN(SECCOMP_RET_ALLOW, IS(0, FAMILY_UNIX)),
};

static const struct seccomp_clause setsockopt_clauses[] = {
	WHEN2(ANSWER_DENY, IS(1, LEVEL_SOCKET), IS(2, OPTION_ATTACH_FILTER)),
	WHEN2(ANSWER_DENY, IS(1, LEVEL_SOCKET), IS(2, OPTION_ATTACH_BPF)),
	WHEN2(ANSWER_DENY, IS(1, LEVEL_SOCKET), IS(2, OPTION_REUSEPORT_CBPF)),
	WHEN2(ANSWER_DENY, IS(1, LEVEL_SOCKET), IS(2, OPTION_REUSEPORT_EBPF)),
	/* Beyond net.core.wmem_max; the kernel's own answer to a process without the capability. */
	WHEN2(ERRNO(EPERM), IS(1, LEVEL_SOCKET), IS(2, OPTION_SNDBUFFORCE)),
	WHEN2(ERRNO(EPERM), IS(1, LEVEL_SOCKET), IS(2, OPTION_RCVBUFFORCE)),
	WHEN2(ERRNO(ENOPROTOOPT), IS(1, LEVEL_TCP), IS(2, OPTION_TCP_ULP)),
	WHEN2(ERRNO(ENOPROTOOPT), IS(1, LEVEL_UDP), IS(2, OPTION_UDP_ENCAP)),
};

static const struct seccomp_clause ioctl_clauses[] = {
	WHEN(ANSWER_DENY, IS(1, COMMAND_TIOCSTI)),
	WHEN(ANSWER_DENY, IS(1, COMMAND_TIOCLINUX)),
	WHEN(ANSWER_DENY, IS(1, COMMAND_TIOCCONS)),
	WHEN(ANSWER_DENY, IS(1, COMMAND_TIOCSETD)),
};

/* Linux, Linux32, each with UNAME26; without address randomisation (debuggers); the query. */
static const struct seccomp_clause personality_clauses[] = {
	WHEN(SECCOMP_RET_ALLOW, IS(0, 0)),	 WHEN(SECCOMP_RET_ALLOW, IS(0, 0x8)),
	WHEN(SECCOMP_RET_ALLOW, IS(0, 0x20000)), WHEN(SECCOMP_RET_ALLOW, IS(0, 0x20008)),
	WHEN(SECCOMP_RET_ALLOW, IS(0, 0x40000)), WHEN(SECCOMP_RET_ALLOW, IS(0, 0xffffffff)),
};

/* A type of 0 is a regular file too. */
#define MKNOD_CLAUSES(n)                                                               \
	{                                                                              \
		WHEN(SECCOMP_RET_ALLOW, IS_MASKED(n, MODE_MASK, MODE_REGULAR)),        \
			WHEN(SECCOMP_RET_ALLOW, IS_MASKED(n, MODE_MASK, 0)),           \
			WHEN(SECCOMP_RET_ALLOW, IS_MASKED(n, MODE_MASK, MODE_FIFO)),   \
			WHEN(SECCOMP_RET_ALLOW, IS_MASKED(n, MODE_MASK, MODE_SOCKET)), \
	}
static const struct seccomp_clause mknod_clauses[] = MKNOD_CLAUSES(1);
static const struct seccomp_clause mknodat_clauses[] = MKNOD_CLAUSES(2);

/* Success without effect: a payload that lowers our 1 to 0 would open piped core dumps again. */
static const struct seccomp_clause prlimit64_clauses[] = {
	WHEN2(ERRNO(0), IS(1, RESOURCE_CORE), NOT_NULL(2)),
	WHEN2(ANSWER_DENY, IS(0, INIT), NOT_NULL(2)),
};
static const struct seccomp_clause setrlimit_clauses[] = {
	WHEN(ERRNO(0), IS(0, RESOURCE_CORE)),
};

/*
 * Init has the payload's ids, and nothing else keeps the payload from taking its processor or its descriptors away.
 * "All of this user" includes it.
 */
static const struct seccomp_clause setpriority_clauses[] = {
	WHEN2(ANSWER_DENY, IS(0, PRIORITY_PROCESS), IS(1, INIT)),
	WHEN2(ANSWER_DENY, IS(0, PRIORITY_GROUP), IS(1, INIT)),
	WHEN(ANSWER_DENY, IS(0, PRIORITY_USER)),
};
static const struct seccomp_clause ioprio_clauses[] = {
	WHEN2(ANSWER_DENY, IS(0, IOPRIO_PROCESS), IS(1, INIT)),
	WHEN2(ANSWER_DENY, IS(0, IOPRIO_GROUP), IS(1, INIT)),
	WHEN(ANSWER_DENY, IS(0, IOPRIO_USER)),
};
static const struct seccomp_clause sched_clauses[] = {
	WHEN(ANSWER_DENY, IS(0, INIT)),
};

/*
 * A lease on a program would make init wait when it executes that program. A pipe larger than the default is kernel memory that
 * only a control group would count; EPERM is what the kernel answers beyond its own limit.
 */
static const struct seccomp_clause fcntl_clauses[] = {
	WHEN2(ERRNO(EPERM), IS(1, COMMAND_SETPIPE_SZ), COND(2, COMPARE_GT, ALL, PIPE_BYTES)),
	WHEN(ERRNO(EINVAL), IS(1, COMMAND_SETLEASE)),
	WHEN(ERRNO(EINVAL), IS(1, COMMAND_SETDELEG)),
};

static const struct seccomp_clause sendto_clauses[] = {
	WHEN(ANSWER_OBSERVE, NOT_NULL(4)),
};

/*
 * Its address lies in memory, which a filter cannot read, so each call is observed, except those that fd_send makes
 * before the supervisor holds the listener: with MSG_PROBE IP sends nothing, while a Unix socket ignores the flag.
 */
static const struct seccomp_clause sendmsg_clauses[] = {
	WHEN(SECCOMP_RET_ALLOW, IS_MASKED(2, FLAG_PROBE | FLAG_FASTOPEN, FLAG_PROBE)),
};

#define RULE(word, fallback)                                               \
	{                                                                  \
#word, fallback, word##_clauses,                           \
			sizeof(word##_clauses) / sizeof(word##_clauses[0]) \
	}

static const struct rule {
	const char *name;
	uint32_t otherwise;
	const struct seccomp_clause *clauses;
	size_t clause_count;
} rules[] = {
	RULE(clone, ANSWER_DENY),
	RULE(socket, ERRNO(EPROTONOSUPPORT)),
	RULE(socketpair, ERRNO(EAFNOSUPPORT)),
	RULE(setsockopt, SECCOMP_RET_ALLOW),
	RULE(ioctl, SECCOMP_RET_ALLOW),
	RULE(personality, ANSWER_DENY),
	RULE(mknod, ANSWER_DENY),
	RULE(mknodat, ANSWER_DENY),
	RULE(prlimit64, SECCOMP_RET_ALLOW),
	RULE(setpriority, SECCOMP_RET_ALLOW),
	RULE(ioprio, SECCOMP_RET_ALLOW),
	RULE(sched, SECCOMP_RET_ALLOW),
	RULE(fcntl, SECCOMP_RET_ALLOW),
	RULE(setrlimit, SECCOMP_RET_ALLOW),
	RULE(sendto, SECCOMP_RET_ALLOW),
	RULE(sendmsg, ANSWER_OBSERVE),
	{ "sync", ERRNO(0), NULL, 0 }, /* the writeback would be the whole host's */
	{ "splice", ANSWER_SPLICE, NULL, 0 },
	{ "rename", ANSWER_MOVE, NULL, 0 },
	/* sendmmsg, too: its addresses lie in memory, which a filter cannot read. */
	{ "connect", ANSWER_OBSERVE, NULL, 0 },
};

bool seccomp_rule_apply(const char *class_text, struct seccomp_entry *entry)
{
	entry->clauses = NULL;
	entry->clause_count = 0;
	if (strcmp(class_text, "allow") == 0) {
		entry->otherwise = SECCOMP_RET_ALLOW;
		return true;
	}
	if (strcmp(class_text, "eperm") == 0) {
		entry->otherwise = ANSWER_DENY;
		return true;
	}
	if (strcmp(class_text, "enosys") == 0) {
		entry->otherwise = ERRNO(ENOSYS);
		return true;
	}
	if (strncmp(class_text, "args:", 5) != 0)
		return false;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (strcmp(class_text + 5, rules[i].name) != 0)
			continue;
		entry->otherwise = rules[i].otherwise;
		entry->clauses = rules[i].clauses;
		entry->clause_count = rules[i].clause_count;
		return true;
	}
	return false;
}

void seccomp_policy_variant(struct seccomp_policy *policy, unsigned variant)
{
	bool is_notify = variant & SECCOMP_VARIANT_NOTIFY;
	bool may_splice = variant & SECCOMP_VARIANT_SPLICE;
	bool has_moves = is_notify && variant & SECCOMP_VARIANT_MOVES;

	policy->foreign = SECCOMP_RET_KILL_PROCESS;
	policy->unknown = ERRNO(ENOSYS);
	policy->deny = is_notify ? SECCOMP_RET_USER_NOTIF : ERRNO(EPERM);
	policy->observe = is_notify ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW;
	policy->splice = may_splice ? SECCOMP_RET_ALLOW : ERRNO(EINVAL);
	policy->move = has_moves ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW;
}
