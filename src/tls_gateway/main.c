/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aisbx-gateway: ends TLS for one sandbox, outside of it, to judge the requests inside or put secrets into them. Its supervisor
 * starts it where a sandbox has such a rule or secret and sends what it needs on descriptor 0; the gateway hands connections over on 1; denials go out on 2.
 */
#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/process/parent_end.h"
#include "confine/capability.h"
#include "confine/seccomp/seccomp.h"
#include "net/rule/judge.h"
#include "tls_gateway/link.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#define CONFIG_MAX (4u << 20)
#define EVENTS_MAX 64
#define TICK_MS 500
enum { CONFIG_FD, CONTROL_FD, REPORT_FD };

struct config {
	struct strv allow, deny, secrets;
	unsigned uid, gid, is_root;
	int supervisor;
};

/* KIND TEXT, one a line: `ids`, `allow`, `deny`; `secret` with the word, then a line `value` in hexadecimal digits. */
static int take_line(struct config *config, char *line)
{
	char *text = strchr(line, ' ');

	if (!text)
		return -1;
	*text++ = '\0';
	if (strcmp(line, "ids") == 0)
		return sscanf(text, "%u %u %u %d", &config->is_root, &config->uid, &config->gid,
			      &config->supervisor) == 4
			       ? 0
			       : -1;
	if (strcmp(line, "allow") == 0)
		strv_add(&config->allow, text);
	else if (strcmp(line, "deny") == 0)
		strv_add(&config->deny, text);
	else if (strcmp(line, "secret") == 0 || strcmp(line, "value") == 0)
		strv_add(&config->secrets, text);
	else
		return -1;
	return 0;
}

static int read_config(struct config *config, struct error *err)
{
	struct str text = STR_INIT;
	int status = fd_read_all(CONFIG_FD, CONFIG_MAX, &text);

	for (char *line = text.data, *next; status == 0 && line && *line; line = next) {
		next = strchrnul(line, '\n');
		if (*next)
			*next++ = '\0';
		status = take_line(config, line);
	}
	if (text.data)
		explicit_bzero(text.data, text.cap);
	str_done(&text);
	return status < 0 ? error_set(err, ERROR_INTERNAL, "aisbx-gateway: no configuration") : 0;
}

static int give_up_privileges(const struct config *config)
{
	if (config->is_root && (capability_lock() < 0 || setgroups(0, NULL) < 0 ||
				setresgid(config->gid, config->gid, config->gid) < 0 ||
				setresuid(config->uid, config->uid, config->uid) < 0))
		return -1;
	return capability_drop();
}

static int lock_down(const struct config *config, struct error *err)
{
	if (chdir("/") < 0 || give_up_privileges(config) < 0)
		return error_errno(err, ERROR_HOST, "aisbx-gateway keeps privileges");
	/* Behind the change of ids, which would clear both. */
	secrets_keep_in_memory();
	parent_end_follow(config->supervisor, SIGKILL);
	if (seccomp_load(seccomp_tls_gateway(), false, NULL) < 0)
		return error_errno(err, ERROR_DENIED, "cannot load aisbx-gateway's filter");
	return 0;
}

static int open_tls_gateway(struct tls_gateway *tls_gateway, struct config *config,
			    struct tls_trust *ret_trust, struct error *err)
{
	owned(strv_done) struct strv hosts = STRV_INIT;

	if (read_config(config, err) < 0 ||
	    secrets_from_words(&config->secrets, &tls_gateway->conf.secrets, err) < 0 ||
	    tls_gateway_conf_make(&tls_gateway->conf, err) < 0 ||
	    rule_set_make(&config->allow, &config->deny, &tls_gateway->conf.rules, err) < 0)
		return -1;
	secrets_words_done(&config->secrets);
	for (size_t i = 0; i < tls_gateway->conf.count; i++) {
		const char *host = tls_gateway->conf.entries[i].inject.host;

		if (!strv_has(&hosts, host))
			strv_add(&hosts, host);
	}
	judge_tls_hosts(&config->allow, &config->deny, &hosts);
	if (tls_open(&hosts, &tls_gateway->tls, ret_trust, err) < 0)
		return -1;
	tls_gateway->control_fd = CONTROL_FD;
	tls_gateway->report_fd = REPORT_FD;
	tls_gateway->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (tls_gateway->epoll_fd < 0 || fd_watch(tls_gateway->epoll_fd, CONTROL_FD) < 0)
		return error_errno(err, ERROR_HOST, "aisbx-gateway: epoll");
	return lock_down(config, err);
}

static bool is_sound(const struct tls_gateway_order *order)
{
	return memchr(order->name, '\0', sizeof(order->name)) &&
	       memchr(order->rule, '\0', sizeof(order->rule));
}

static void change_rules(struct tls_gateway *tls_gateway, const struct tls_gateway_order *order)
{
	const struct rule_change change = { .is_deny = order->is_deny,
					    .is_removal = order->is_removal,
					    .rule = order->rule };
	struct error ignored;

	(void)rule_set_change(&tls_gateway->conf.rules, &change, &ignored);
	/* Which of them the rule was about is not worth a second judge: clients connect again. */
	if (order->is_deny != order->is_removal)
		link_end_all(tls_gateway);
}

/* One order of the gateway's. False when the gateway is gone. */
static bool take_order(struct tls_gateway *tls_gateway)
{
	struct tls_gateway_order order;
	int fds[2];
	size_t count = 0;
	ssize_t got = fd_receive(CONTROL_FD, &order, sizeof(order), fds, 2, &count);

	if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR && errno != EMFILE))
		return false;
	if (got == (ssize_t)sizeof(order) && is_sound(&order)) {
		if (order.kind == TLS_GATEWAY_CONNECTION && count == 2) {
			link_begin(tls_gateway, &order, fds);
			return true;
		}
		if (order.kind == TLS_GATEWAY_RULE)
			change_rules(tls_gateway, &order);
	}
	while (count > 0)
		close(fds[--count]);
	return true;
}

static void serve(struct tls_gateway *tls_gateway)
{
	struct epoll_event events[EVENTS_MAX];
	uint64_t looked_ns = 0;
	bool is_busy = false;

	while (true) {
		int wait_ms = is_busy ? 0 : tls_gateway->links ? TICK_MS : -1;
		int count = epoll_wait(tls_gateway->epoll_fd, events, EVENTS_MAX, wait_ms);

		tls_gateway->now_ns = clock_now_ns();
		for (int i = 0; i < count; i++) {
			struct link *link = events[i].data.ptr;

			if (events[i].data.fd == CONTROL_FD && !take_order(tls_gateway))
				return;
			if (events[i].data.fd != CONTROL_FD && !link->is_dead)
				link_step(link);
		}
		for (struct link *link = tls_gateway->links; is_busy && link; link = link->next) {
			if (!link->is_dead && link->is_busy)
				link_step(link);
		}
		if (tls_gateway->now_ns - looked_ns >= TICK_MS * 1000000ull) {
			looked_ns = tls_gateway->now_ns;
			link_expire(tls_gateway);
		}
		is_busy = link_sweep(tls_gateway);
	}
}

/* How long the first is, then both; as the supervisor reads it (launch/setup/egress_tls_gateway.c). */
static int send_trust(const struct tls_trust *trust)
{
	owned(str_done) struct str head = STR_INIT;
	int status;

	str_addf(&head, "%zu\n", trust->bundle.len);
	status = fd_write_all(CONFIG_FD, head.data, head.len);
	status |= fd_write_all(CONFIG_FD, trust->bundle.data, trust->bundle.len);
	status |= fd_write_all(CONFIG_FD, trust->java_store.data, trust->java_store.len);
	return status;
}

static void trust_done(struct tls_trust *trust)
{
	str_done(&trust->bundle);
	str_done(&trust->java_store);
}

int main(void)
{
	owned(trust_done) struct tls_trust trust = { STR_INIT, STR_INIT };
	struct config config = { .supervisor = 0 };
	struct tls_gateway tls_gateway = { .epoll_fd = -1 };
	struct error err = { 0 };

	secrets_keep_in_memory();
	(void)signal(SIGPIPE, SIG_IGN);
	(void)prctl(PR_SET_NAME, "aisbx-gateway");
	tls_gateway.now_ns = clock_now_ns();
	if (open_tls_gateway(&tls_gateway, &config, &trust, &err) < 0) {
		(void)!write(CONFIG_FD, "!", 1);
		(void)!write(CONFIG_FD, &err, sizeof(err));
		return 1;
	}
	if (send_trust(&trust) < 0)
		return 1;
	close(CONFIG_FD);
	trust_done(&trust);
	serve(&tls_gateway);
	return 0;
}
