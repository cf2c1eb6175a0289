/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A seccomp profile of Docker or OCI as a second filter.
 *
 * Where the format leaves room, the stricter reading is taken: of several rules that match a call the strictest counts,
 * whatever their order; comparisons of small numbers look at the low 32 bits where that refuses more, because the kernel
 * cuts most arguments off there; and a rule that takes something away from an unknown name is an error, since it is more
 * likely a misspelling.
 *
 * One reading is milder in words only: what a profile refuses by its default errno and we answer
 * ENOSYS stays ENOSYS, so that libraries fall back (clone3).
 */
#include "confine/seccomp/oci_seccomp.h"

#include "base/text/json_read.h"
#include "base/text/suggest.h"
#include "base/core/own.h"
#include "base/core/str.h"
#include "confine/seccomp/oci_rule.h"
#include "confine/seccomp/seccomp.h"
#include "confine/seccomp/seccomp_emit.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <string.h>

#define BYTES_MAX ((size_t)1 << 20)
#define NUMBERS SECCOMP_ENTRIES_MAX
#define CLAUSES_MAX 8192

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#else
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#endif

/* The profile's rules about one system call. */
struct call {
	struct seccomp_clause *clauses;
	size_t count;
};

struct profile {
	uint32_t fallback;	    /* of defaultAction */
	struct call calls[NUMBERS]; /* by number */
	size_t clause_count;
};

static void profile_free(struct profile **slot)
{
	struct profile *profile = *slot;

	for (size_t nr = 0; profile && nr < NUMBERS; nr++)
		free(profile->calls[nr].clauses);
	free(profile);
}

static bool is_stricter(uint32_t answer, uint32_t than)
{
	/* The kernel's own order: as signed numbers, so that KILL_PROCESS comes first. */
	return (int32_t)(answer & SECCOMP_RET_ACTION_FULL) <
	       (int32_t)(than & SECCOMP_RET_ACTION_FULL);
}

/* Keeps the strictest first and, among equals, the order of the file. */
static void insert_clause(struct call *call, const struct seccomp_clause *clause)
{
	size_t at = call->count;

	call->clauses = xrealloc(call->clauses, call->count + 1, sizeof(*call->clauses));
	while (at > 0 && is_stricter(clause->answer, call->clauses[at - 1].answer)) {
		call->clauses[at] = call->clauses[at - 1];
		at--;
	}
	call->clauses[at] = *clause;
	call->count++;
}

static int unknown_name(const char *name, size_t index, struct error *err)
{
	char shown[STR_SHOWN_SIZE];
	struct suggest suggest;

	suggest_init(&suggest, name);
	for (int nr = 0; nr < NUMBERS; nr++) {
		if (seccomp_syscall_name(nr))
			suggest_try(&suggest, seccomp_syscall_name(nr));
	}
	error_set(err, ERROR_INPUT, "syscalls[%zu].names: no system call '%s'", index,
		  str_shown(name, shown));
	return suggest_add_hint(suggest.best, err);
}

static int add_name(struct profile *profile, const struct oci_rule *rule, const char *name,
		    struct error *err)
{
	int nr = seccomp_syscall_number(name);

	if (nr < 0 || nr >= NUMBERS) {
		bool takes_away = is_stricter(rule->answer, profile->fallback);

		if (takes_away && !seccomp_is_elsewhere(name))
			return unknown_name(name, rule->index, err);
		return 0;
	}
	if (profile->clause_count + rule->clause_count > CLAUSES_MAX)
		return error_set(err, ERROR_INPUT, "syscalls[%zu]: more than %d rules in all",
				 rule->index, CLAUSES_MAX);
	for (size_t i = 0; i < rule->clause_count; i++)
		insert_clause(&profile->calls[nr], &rule->clauses[i]);
	profile->clause_count += rule->clause_count;
	return 0;
}

static int add_rule(struct profile *profile, const struct value *value, size_t index,
		    struct error *err)
{
	struct oci_rule rule = { .index = index };

	if (oci_rule_read(value, &rule, err) < 0)
		return -1;
	if (!rule.applies)
		return 0;
	if (rule.name)
		return add_name(profile, &rule, rule.name, err);
	for (size_t i = 0; i < rule.names->many.count; i++) {
		const struct value *name = rule.names->many.items[i];

		if (name->kind != VALUE_TEXT)
			return error_set(err, ERROR_INPUT, "syscalls[%zu].names: not a text",
					 index);
		if (add_name(profile, &rule, name->text.bytes, err) < 0)
			return -1;
	}
	return 0;
}

static int read_profile(const struct value *root, struct profile *profile, struct error *err)
{
	static const char *const keys[] = {
		"defaultAction", "defaultErrnoRet", "architectures",	"archMap", "flags",
		"syscalls",	 "listenerPath",    "listenerMetadata", NULL
	};

	if (root->kind != VALUE_MAP)
		return error_set(err, ERROR_INPUT, "not a JSON object");
	if (oci_check_keys(root, "", keys, err) < 0)
		return -1;
	if (value_get(root, "listenerPath"))
		return error_set(
			err, ERROR_INPUT,
			"listenerPath: a listener of its own is not possible in a sandbox");
	if (oci_action_read(root, "defaultAction", "defaultErrnoRet", &profile->fallback, err) < 0)
		return -1;
	if (oci_check_arch(root, err) < 0)
		return -1;
	const struct value *rules = value_get(root, "syscalls");
	if (rules && rules->kind != VALUE_LIST && rules->kind != VALUE_NULL)
		return error_set(err, ERROR_INPUT, "syscalls: not a list");
	for (size_t i = 0; rules && rules->kind == VALUE_LIST && i < rules->many.count; i++) {
		if (add_rule(profile, rules->many.items[i], i, err) < 0)
			return -1;
	}
	return 0;
}

/* A call that we answer ENOSYS ourselves and the profile leaves to its default. */
static uint32_t answer_unknown(const struct profile *profile)
{
	bool by_errno = (profile->fallback & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO;

	return by_errno ? SECCOMP_RET_ERRNO | ENOSYS : profile->fallback;
}

static void make_entry(const struct profile *profile, uint32_t nr, struct seccomp_entry *ret_entry)
{
	const struct call *call = &profile->calls[nr];
	bool is_unknown = !call->count && seccomp_classify((int)nr) == SECCOMP_CLASS_ENOSYS;

	*ret_entry = (struct seccomp_entry){
		.nr = nr,
		.otherwise = is_unknown ? answer_unknown(profile) : profile->fallback,
		.clauses = call->clauses,
		.clause_count = call->count,
	};
	/* Behind a clause without conditions nothing is reached. */
	for (size_t i = 0; i < call->count; i++) {
		if (call->clauses[i].cond_count > 0)
			continue;
		ret_entry->otherwise = call->clauses[i].answer;
		ret_entry->clause_count = i;
		break;
	}
}

static int emit_profile(const struct profile *profile, struct sock_fprog *ret, struct error *err)
{
	owned(free_ptr) struct seccomp_entry *entries = xcalloc(NUMBERS, sizeof(*entries));
	owned(free_ptr) struct sock_filter *filter = xcalloc(BPF_MAXINSNS, sizeof(*filter));
	struct seccomp_policy policy = {
		.arch = NATIVE_ARCH,
		.foreign = SECCOMP_RET_KILL_PROCESS,
		.unknown = answer_unknown(profile),
		.entries = entries,
		.entry_count = NUMBERS,
	};
	size_t count = 0;

	for (uint32_t nr = 0; nr < NUMBERS; nr++)
		make_entry(profile, nr, &entries[nr]);
	if (seccomp_emit(&policy, filter, BPF_MAXINSNS, &count) < 0)
		return error_set(err, ERROR_INPUT,
				 "too many rules: the kernel takes %d instructions", BPF_MAXINSNS);
	ret->len = (unsigned short)count;
	ret->filter = ptr_take(&filter);
	return 0;
}

int oci_seccomp_compile(const char *bytes, size_t len, struct sock_fprog *ret, struct error *err)
{
	const struct json_limits limits = { .bytes = BYTES_MAX, .depth = 16 };
	owned(value_release) struct value *root = NULL;
	owned(profile_free) struct profile *profile = xcalloc(1, sizeof(*profile));

	if (json_read(bytes, len, &limits, &root, err) < 0 ||
	    read_profile(root, profile, err) < 0 || emit_profile(profile, ret, err) < 0)
		return error_context(err, "seccomp profile");
	return 0;
}
