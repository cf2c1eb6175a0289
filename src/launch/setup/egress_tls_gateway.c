/* SPDX-License-Identifier: Apache-2.0 */
/* The process that ends TLS, for requests that are judged or get a secret: started beside the gateway, given what it needs, and asked for its certificate. */
#include "launch/setup/egress.h"

#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/process/child.h"
#include "base/process/own_program.h"
#include "confine/cgroup.h"
#include "net/rule/judge.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define PROGRAM "aisbx-gateway"
#define ANSWER_MAX (16u << 20)
#define WAIT_S 30

static void add_lines(struct str *text, const char *kind, const struct strv *list)
{
	for (size_t i = 0; i < list->count; i++)
		str_addf(text, "%s %s\n", kind, list->items[i]);
}

/* As aisbx-gateway reads it (tls_gateway/main.c). */
static void write_config(const struct start *start, struct str *text)
{
	const struct spec_ids *ids = &start->spec->ids;
	struct strv words = STRV_INIT;

	str_addf(text, "ids %u %u %u %d\n", ids->count > 1, ids->host_uid + ids->count - 1,
		 ids->host_gid + ids->count - 1, getpid());
	add_lines(text, "allow", &start->spec->allow);
	add_lines(text, "deny", &start->spec->deny);
	if (start->io->secrets)
		secrets_to_words(start->io->secrets, true, &words);
	for (size_t i = 0; i < words.count; i++)
		str_addf(text, "%s %s\n", i % 2 ? "value" : "secret", words.items[i]);
	secrets_words_done(&words);
}

/* No certificates but BUNDLE, the caller's own choice of them, no other variable. */
static _Noreturn void tls_gateway_exec(const struct launch *launch, const char *path,
				       const char *bundle, const int fds[3])
{
	const struct cgroup *group = &launch->gateway_group;
	owned(free_ptr) char *variable = xasprintf("SSL_CERT_FILE=%s", bundle ? bundle : "");
	char *words[] = { (char *)(uintptr_t)path, NULL };
	char *variables[] = { bundle ? variable : NULL, NULL };
	int moved[3];

	for (int i = 0; i < 3; i++)
		moved[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
	for (int i = 0; i < 3; i++) {
		if (moved[i] < 0 || dup2(moved[i], i) < 0)
			_exit(1);
	}
	if (cgroup_enter(group->enter, group->count) == 0)
		(void)execve(path, words, variables);
	_exit(1);
}

/* Its certificates, as tls_gateway/main.c sends them, or behind a '!' why it cannot work. */
static int receive_trust(int fd, struct launch *launch, struct error *err)
{
	owned(str_done) struct str answer = STR_INIT;
	char *rest;
	size_t len;

	if (fd_read_all(fd, ANSWER_MAX, &answer) < 0 || answer.len == 0)
		return error_set(err, ERROR_HOST, PROGRAM " does not answer");
	if (answer.data[0] == '!') {
		if (answer.len == 1 + sizeof(*err))
			memcpy(err, answer.data + 1, sizeof(*err));
		if (answer.len != 1 + sizeof(*err) || !error_is_sane(err))
			return error_set(err, ERROR_HOST, PROGRAM " cannot start");
		return -1;
	}
	len = strtoul(answer.data, &rest, 10);
	if (*rest++ != '\n' || len == 0 || len > answer.len - (size_t)(rest - answer.data))
		return error_set(err, ERROR_HOST, PROGRAM " answers in another way");
	str_add_bytes(&launch->bundle, rest, len);
	str_add_bytes(&launch->java_store, rest + len,
		      answer.len - (size_t)(rest + len - answer.data));
	return 0;
}

static int talk(int fd, const struct start *start, struct launch *launch, struct error *err)
{
	const struct timeval patience = { .tv_sec = WAIT_S };
	struct str text = STR_INIT;
	int status;

	write_config(start, &text);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	status = fd_write_all(fd, text.data, text.len);
	explicit_bzero(text.data, text.cap);
	str_done(&text);
	(void)shutdown(fd, SHUT_WR);
	/* Where it has ended already it has said why. */
	(void)status;
	return receive_trust(fd, launch, err);
}

/* Init and the command begin as copies of this memory, and the values are for neither. */
static int keep_from_children(const struct secrets *secrets)
{
	int status = 0;

	for (size_t i = 0; secrets && i < secrets->count; i++) {
		const struct secret *secret = &secrets->items[i];

		if (secret_is_injected(secret))
			status |= madvise(secret->bytes, secret->len, MADV_WIPEONFORK);
	}
	return status;
}

static bool is_wanted(const struct start *start)
{
	const struct secrets *secrets = start->io->secrets;
	owned(strv_done) struct strv hosts = STRV_INIT;

	for (size_t i = 0; secrets && i < secrets->count; i++) {
		if (secret_is_injected(&secrets->items[i]))
			return true;
	}
	judge_tls_hosts(&start->spec->allow, &start->spec->deny, &hosts);
	return hosts.count > 0;
}

int egress_tls_gateway_start(struct launch *launch, const struct start *start,
			     struct gateway_options *options, struct error *err)
{
	owned(free_ptr) char *path = NULL;
	int config[2] = { -1, -1 }, control[2] = { -1, -1 }, status;

	if (!is_wanted(start))
		return 0;
	path = own_program(PROGRAM);
	if (!path)
		return error_advise(
			err, ERROR_DENIED,
			"install OpenSSL's development files (Debian: libssl-dev), then "
			"build and install aisbx again",
			"--inject and rules about requests at port 443 need " PROGRAM
			", which is not installed");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, config) < 0)
		return error_errno(err, ERROR_HOST, "no channel to " PROGRAM);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) == 0)
		launch->tls_gateway_pid = child_fork(CHILD_ALONE, 0, NULL, err);
	else
		launch->tls_gateway_pid = error_errno(err, ERROR_HOST, "no channel to " PROGRAM);
	if (launch->tls_gateway_pid == 0)
		/* A signed script trusts the machine's own. */
		tls_gateway_exec(launch, path,
				 start->spec->signed_only ? NULL : getenv("SSL_CERT_FILE"),
				 (const int[]){ config[1], control[1], options->report_fd });
	fd_close(&config[1]);
	fd_close(&control[1]);
	options->tls_gateway_fd = control[0];
	status = launch->tls_gateway_pid < 0 ? -1 : talk(config[0], start, launch, err);
	fd_close(&config[0]);
	if (status == 0 && keep_from_children(start->io->secrets) < 0)
		return error_errno(err, ERROR_HOST, "secrets cannot be kept from children");
	return status;
}
