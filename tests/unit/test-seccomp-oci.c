/* SPDX-License-Identifier: Apache-2.0 */
/* Docker and OCI profiles: what they compile to, and what is refused with which words. */
#include "tests/tap.h"
#include "tests/unit/bpf_run.h"

#include "base/core/str.h"
#include "confine/seccomp/oci_seccomp.h"
#include "confine/seccomp/seccomp.h"
#include "confine/seccomp/seccomp_build.h"

#include <errno.h>

#if defined(__x86_64__)
#define NATIVE seccomp_build_x86_64
#define ARCH "SCMP_ARCH_X86_64"
#define GO_ARCH "amd64"
#else
#define NATIVE seccomp_build_aarch64
#define ARCH "SCMP_ARCH_AARCH64"
#define GO_ARCH "arm64"
#endif

#define ALLOW SECCOMP_RET_ALLOW
#define FAIL(number) (SECCOMP_RET_ERRNO | (number))
#define HIGH ((uint64_t)1 << 32)

struct question {
	const char *call;
	uint64_t args[3];
	uint32_t answer;
};

static uint32_t ask(const struct sock_fprog *prog, int nr, const uint64_t *args)
{
	struct seccomp_data data = { .arch = NATIVE.arch, .nr = nr };

	for (size_t i = 0; i < 3; i++)
		data.args[i] = args[i];
	return bpf_run(prog->filter, prog->len, &data);
}

/* Compiles the profile and asks until a question without a call. */
static void check(const char *title, const char *json, const struct question *questions)
{
	struct sock_fprog prog = { 0, NULL };
	struct error err = { .code = ERROR_NONE };

	if (!tap_ok(oci_seccomp_compile(json, strlen(json), &prog, &err) == 0, "%s", title)) {
		printf("# %s\n", err.text);
		return;
	}
	tap_ok(bpf_is_valid(prog.filter, prog.len), "%s: %u instructions", title, prog.len);
	for (; questions->call; questions++) {
		int nr = seccomp_syscall_number(questions->call);

		tap_is_int(ask(&prog, nr, questions->args), questions->answer,
			   "%s: %s(%llx, %llx, %llx)", title, questions->call,
			   (unsigned long long)questions->args[0],
			   (unsigned long long)questions->args[1],
			   (unsigned long long)questions->args[2]);
	}
	free(prog.filter);
}

static void test_lists(void)
{
	check("allow list",
	      "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"architectures\":[\"" ARCH "\"],"
	      "\"syscalls\":[{\"names\":[\"read\",\"write\",\"_llseek\",\"no_such_thing\"],"
	      "\"action\":\"SCMP_ACT_ALLOW\"},"
	      "{\"name\":\"close\",\"action\":\"SCMP_ACT_ALLOW\",\"args\":[]}]}",
	      (const struct question[]){ { "read", { 0 }, ALLOW },
					 { "close", { 0 }, ALLOW },
					 { "openat", { 0 }, FAIL(EPERM) },
					 { "clone3", { 0 }, FAIL(ENOSYS) },
					 { NULL, { 0 }, 0 } });
	check("deny list",
	      "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[\"ptrace\","
	      "\"socketcall\"],\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":38},"
	      "{\"names\":[\"kill\"],\"action\":\"SCMP_ACT_KILL_PROCESS\"},"
	      "{\"names\":[\"tkill\"],\"action\":\"SCMP_ACT_TRAP\"},"
	      "{\"names\":[\"getpid\"],\"action\":\"SCMP_ACT_LOG\"}]}",
	      (const struct question[]){ { "ptrace", { 0 }, FAIL(38) },
					 { "kill", { 0 }, SECCOMP_RET_KILL_PROCESS },
					 { "tkill", { 0 }, SECCOMP_RET_TRAP },
					 { "getpid", { 0 }, SECCOMP_RET_LOG },
					 { "read", { 0 }, ALLOW },
					 { "clone3", { 0 }, ALLOW },
					 { NULL, { 0 }, 0 } });
	check("default errno",
	      "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"defaultErrnoRet\":13,\"syscalls\":null}",
	      (const struct question[]){ { "read", { 0 }, FAIL(13) }, { NULL, { 0 }, 0 } });
}

static void test_arguments(void)
{
	check("comparisons",
	      "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":["
	      "{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":["
	      "{\"index\":0,\"value\":3,\"op\":\"SCMP_CMP_LE\"},"
	      "{\"index\":2,\"value\":4294967296,\"op\":\"SCMP_CMP_GT\"}]},"
	      "{\"names\":[\"write\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":["
	      "{\"index\":0,\"value\":1,\"op\":\"SCMP_CMP_EQ\"},"
	      "{\"index\":0,\"value\":2,\"op\":\"SCMP_CMP_EQ\"}]},"
	      "{\"names\":[\"clone\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":["
	      "{\"index\":0,\"value\":2114060288,\"valueTwo\":0,\"op\":\"SCMP_CMP_MASKED_EQ\"}]},"
	      "{\"names\":[\"socket\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":["
	      "{\"index\":0,\"value\":40,\"op\":\"SCMP_CMP_NE\"}]}]}",
	      (const struct question[]){ { "read", { 3, 0, HIGH + 1 }, ALLOW },
					 { "read", { 3, 0, HIGH }, FAIL(EPERM) },
					 { "read", { 4, 0, HIGH + 1 }, FAIL(EPERM) },
					 { "write", { 1 }, ALLOW },
					 { "write", { 2 }, ALLOW },
					 { "write", { 3 }, FAIL(EPERM) },
					 { "clone", { 0x11 }, ALLOW },
					 { "clone", { 0x10000011 }, FAIL(EPERM) },
					 { "socket", { 2 }, ALLOW },
					 { "socket", { 40 }, FAIL(EPERM) },
					 { "socket", { 40 | HIGH }, FAIL(EPERM) },
					 { NULL, { 0 }, 0 } });
	check("the strictest rule that matches counts",
	      "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":["
	      "{\"names\":[\"ioctl\"],\"action\":\"SCMP_ACT_ALLOW\"},"
	      "{\"names\":[\"ioctl\"],\"action\":\"SCMP_ACT_ERRNO\",\"args\":["
	      "{\"index\":1,\"value\":21522,\"op\":\"SCMP_CMP_EQ\"}]},"
	      "{\"names\":[\"ioctl\"],\"action\":\"SCMP_ACT_KILL\",\"args\":["
	      "{\"index\":1,\"value\":21522,\"op\":\"SCMP_CMP_EQ\"},"
	      "{\"index\":0,\"value\":9,\"op\":\"SCMP_CMP_GE\"}]}]}",
	      (const struct question[]){ { "ioctl", { 0, 0x5412 }, FAIL(EPERM) },
					 { "ioctl", { 0, 0x5412 | HIGH }, FAIL(EPERM) },
					 { "ioctl", { 9, 0x5412 }, SECCOMP_RET_KILL_THREAD },
					 { "ioctl", { 9, 0x5413 }, ALLOW },
					 { NULL, { 0 }, 0 } });
}

static void test_conditions(void)
{
	check("includes and excludes",
	      "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"archMap\":[{\"architecture\":\"" ARCH
	      "\",\"subArchitectures\":[]}],\"syscalls\":["
	      "{\"names\":[\"mount\"],\"action\":\"SCMP_ACT_ALLOW\","
	      "\"includes\":{\"caps\":[\"CAP_SYS_ADMIN\"]}},"
	      "{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ALLOW\","
	      "\"excludes\":{\"caps\":[\"CAP_SYS_ADMIN\"]}},"
	      "{\"names\":[\"write\"],\"action\":\"SCMP_ACT_ALLOW\","
	      "\"includes\":{\"arches\":[\"" GO_ARCH "\"],\"minKernel\":\"4.8\"}},"
	      "{\"names\":[\"close\"],\"action\":\"SCMP_ACT_ALLOW\","
	      "\"includes\":{\"minKernel\":\"99.0\"}},"
	      "{\"names\":[\"dup\"],\"action\":\"SCMP_ACT_ALLOW\","
	      "\"excludes\":{\"arches\":[\"" GO_ARCH "\"]}}]}",
	      (const struct question[]){ { "mount", { 0 }, FAIL(EPERM) },
					 { "read", { 0 }, ALLOW },
					 { "write", { 0 }, ALLOW },
					 { "close", { 0 }, FAIL(EPERM) },
					 { "dup", { 0 }, FAIL(EPERM) },
					 { NULL, { 0 }, 0 } });
}

#define RULE(text) "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[" text "]}"
#define NAMED(text) RULE("{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ERRNO\"," text "}")

static void test_refusals(void)
{
	const struct {
		const char *json, *words;
	} cases[] = {
		{ "", "seccomp profile" },
		{ "[]", "not a JSON object" },
		{ "{}", "defaultAction is missing" },
		{ "{\"defaultAction\":\"SCMP_ACT_ALOW\"}", "did you mean 'SCMP_ACT_ALLOW'?" },
		{ "{\"defaultAction\":\"SCMP_ACT_NOTIFY\"}", "not possible" },
		{ "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"defaultErrnoRet\":5000}",
		  "defaultErrnoRet: not a whole number" },
		{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"sycalls\":[]}",
		  "unknown key 'sycalls'; did you mean 'syscalls'?" },
		{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":{}}",
		  "syscalls: not a list" },
		{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"listenerPath\":\"/x\"}",
		  "listenerPath" },
		{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"architectures\":[\"SCMP_ARCH_S390X\"]}",
		  "not for this machine" },
		{ "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"architectures\":\"x\"}",
		  "architectures: not a list" },
		{ RULE("3"), "syscalls[0]: not an object" },
		{ RULE("{\"action\":\"SCMP_ACT_ALLOW\"}"), "syscalls[0]: names is missing" },
		{ RULE("{\"names\":[\"read\"]}"), "syscalls[0]: action is missing" },
		{ RULE("{\"names\":[7],\"action\":\"SCMP_ACT_ALLOW\"}"), "not a text" },
		{ RULE("{\"names\":[\"conect\"],\"action\":\"SCMP_ACT_ERRNO\"}"),
		  "no system call 'conect'; did you mean 'connect'?" },
		{ NAMED("\"args\":3"), "args: not a list" },
		{ NAMED("\"args\":[3]"), "args[0]: op is missing" },
		{ NAMED("\"args\":[{\"op\":\"SCMP_CMP_EQ\"}]"), "index is missing" },
		{ NAMED("\"args\":[{\"index\":6,\"op\":\"SCMP_CMP_EQ\"}]"), "index: not a whole" },
		{ NAMED("\"args\":[{\"index\":0,\"value\":-1,\"op\":\"SCMP_CMP_EQ\"}]"),
		  "value: not a whole" },
		{ NAMED("\"args\":[{\"index\":0,\"op\":\"SCMP_CMP_EG\"}]"), "unknown comparison" },
		{ NAMED("\"args\":[{},{},{},{},{},{},{}]"), "args: more than 6" },
		{ NAMED("\"includes\":3"), "includes: not an object" },
		{ NAMED("\"includes\":{\"minKernel\":\"new\"}"), "minKernel: not a version" },
		{ NAMED("\"includes\":{\"cap\":[]}"), "unknown key 'cap'" },
		{ NAMED("\"extra\":1"), "unknown key 'extra'" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sock_fprog prog = { 77, NULL };
		struct error err = { .code = ERROR_NONE };
		int failed = oci_seccomp_compile(cases[i].json, strlen(cases[i].json), &prog, &err);
		bool good = failed < 0 && err.code == ERROR_INPUT && prog.len == 77 &&
			    strstr(err.text, cases[i].words);

		if (!tap_ok(good, "refused: %s", cases[i].words))
			printf("# %s\n", failed < 0 ? err.text : "accepted");
		if (failed == 0)
			free(prog.filter);
	}
}

/* More rules than a program can hold end in an error, not in a filter that was cut off. */
static void test_too_many(void)
{
	struct str json = STR_INIT;
	struct sock_fprog prog = { 0, NULL };
	struct error err = { .code = ERROR_NONE };

	str_add(&json, "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[");
	for (unsigned i = 0; i < 5000; i++)
		str_addf(&json,
			 "%s{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ERRNO\",\"args\":[{"
			 "\"index\":1,\"value\":%u,\"op\":\"SCMP_CMP_EQ\"}]}",
			 i ? "," : "", i);
	str_add(&json, "]}");
	tap_ok(oci_seccomp_compile(json.data, json.len, &prog, &err) < 0 &&
		       strstr(err.text, "too many rules"),
	       "5,000 comparisons do not fit (%s)", err.text);
	str_done(&json);
}

int main(void)
{
	test_lists();
	test_arguments();
	test_conditions();
	test_refusals();
	test_too_many();
	return tap_done();
}
