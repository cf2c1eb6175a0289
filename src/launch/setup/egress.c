/* SPDX-License-Identifier: Apache-2.0 */
/* The gateway's process: made before the sandbox, which it serves, and ended with it. */
#include "launch/setup/egress.h"

#include "base/process/child.h"
#include "base/file/fd.h"
#include "base/core/heap.h"
#include "base/core/id.h"
#include "base/core/own.h"
#include "base/process/parent_end.h"
#include "base/core/bench_skip.h"
#include "base/process/process.h"
#include "confine/capability.h"
#include "confine/seccomp/seccomp.h"
#include "launch/setup/handshake.h"
#include "net/gateway/gateway.h"
#include "net/inside/inside.h"
#include "net/gateway/report.h"

#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define GATEWAY_MS 30000
#define NAMES_PORT 53

/* The last id of the sandbox's range: no process inside can take it, and none outside has it. */
static int take_identity(const struct spec_ids *ids)
{
	uid_t uid = ids->host_uid + ids->count - 1;
	gid_t gid = ids->host_gid + ids->count - 1;

	if (ids->count == 1)
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0)
		return -1;
	return setresuid(uid, uid, uid);
}

/* A user without privileges has no bounding set to empty; without new privileges it is of no use. */
static int give_up_privileges(const struct spec_ids *ids)
{
	if (ids->count > 1 && capability_lock() < 0)
		return -1;
	if (take_identity(ids) < 0 || capability_drop() < 0)
		return -1;
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

static int seal(const struct spec_ids *ids, pid_t supervisor, struct error *err)
{
	if (give_up_privileges(ids) < 0)
		return error_errno(err, ERROR_HOST, "network: the gateway keeps privileges");
	/* Behind the change of ids, which would clear it. */
	parent_end_follow(supervisor, SIGKILL);
	if (seccomp_load(seccomp_gateway(), false, NULL) < 0)
		return error_errno(err, ERROR_DENIED, "network: cannot load the gateway's filter");
	return 0;
}

/* Nothing of the caller's stays open, and the terminal's signals are for the command. */
static int detach(const struct gateway_options *options)
{
	const int keep[] = { options->report_fd, options->inside_fd, options->tls_gateway_fd };

	if (process_detach(keep, sizeof(keep) / sizeof(keep[0]), "aisbx-net") < 0 || chdir("/") < 0)
		return -1;
	(void)signal(SIGPIPE, SIG_IGN);
	return 0;
}

/* Files and ports of this machine may be others'. */
static bool can_refuse(const struct spec *spec)
{
	return spec->publish.count + spec->secret_header.count > 0;
}

/*
 * What programs inside make the gateway do is done for them: it has as much of the CPU as they have. A share of its own,
 * for in theirs they could keep it from hearing that a rule has changed.
 */
static int make_share(struct launch *launch, const struct spec *spec, struct error *err)
{
	const struct cgroup_place place = cgroup_place_of(&spec->groups);
	char id[ID_RUN_SIZE], name[OWNER_NAME_SIZE];

	if (!spec->limits.cpu_milli || bench_skip("limits"))
		return 0;
	if (id_run(id, err) < 0)
		return -1;
	owner_name(id, name);
	/* As without groups for the run: a named degradation. */
	if (cgroup_create_share(&place, name, spec->limits.cpu_milli, &launch->gateway_group,
				&launch->limits_error) < 0)
		launch->missing |= 1u << LAYER_LIMITS;
	return 0;
}

static _Noreturn void gateway_main(const struct spec *spec, const struct launch *launch,
				   const struct gateway_options *options, pid_t supervisor)
{
	struct net_report report = { .kind = NET_REPORT_FAILED };
	const struct cgroup *group = &launch->gateway_group;
	struct gateway *gateway = NULL;

	heap_harden();
	if (cgroup_enter(group->enter, group->count) < 0 || detach(options) < 0) {
		error_errno(&report.error, ERROR_HOST, "network: the gateway cannot start");
	} else if (gateway_open(options, &gateway, &report.error) == 0 &&
		   seal(&spec->ids, supervisor, &report.error) == 0) {
		report.kind = NET_REPORT_READY;
		if (can_refuse(spec))
			(void)net_report_send(options->report_fd, &report);
		gateway_serve(gateway);
		_exit(0);
	}
	(void)net_report_send(options->report_fd, &report);
	_exit(1);
}

static int make_sockets(struct launch *launch, struct start *start, struct gateway_options *options,
			struct error *err)
{
	int report[2], inside[2];

	if (handshake_pair(report, err) < 0)
		return -1;
	launch->gateway_fd = start->supervisor_gateway_fd = report[0];
	options->report_fd = report[1];
	if (handshake_pair(inside, err) < 0) {
		close(report[1]);
		return -1;
	}
	options->inside_fd = inside[0];
	start->inside_fd = inside[1];
	return 0;
}

/* Nothing must have been run by the time it refuses. A start without anything to refuse does not wait. */
static int await_gateway(const struct launch *launch, struct error *err)
{
	struct net_report report;

	if (fd_wait(launch->gateway_fd, POLLIN, GATEWAY_MS) <= 0 ||
	    net_report_receive(launch->gateway_fd, &report) <= 0)
		return error_set(err, ERROR_HOST, "network: the gateway does not answer");
	if (report.kind != NET_REPORT_FAILED)
		return 0;
	*err = report.error;
	return -1;
}

static int fork_gateway(struct launch *launch, const struct spec *spec,
			const struct gateway_options *options, struct error *err)
{
	pid_t supervisor = getpid();

	launch->gateway_pid = child_fork(CHILD_ALONE, 0, NULL, err);
	if (launch->gateway_pid == 0)
		gateway_main(spec, launch, options, supervisor);
	close(options->report_fd);
	close(options->inside_fd);
	if (options->tls_gateway_fd >= 0)
		close(options->tls_gateway_fd);
	return launch->gateway_pid < 0 ? -1 : 0;
}

int egress_start(struct launch *launch, struct start *start, struct error *err)
{
	const struct spec *spec = start->spec;
	struct gateway_options options = { .allow = &spec->allow,
					   .deny = &spec->deny,
					   .secret_header = &spec->secret_header,
					   .inject = &spec->secrets,
					   .tls_gateway_fd = -1,
					   .publish = &spec->publish };

	if (spec->net != NET_ALLOW)
		return 0;
	if (net_policy_parse(&spec->allow, &spec->deny, &launch->policy, err) < 0 ||
	    make_share(launch, spec, err) < 0 || make_sockets(launch, start, &options, err) < 0 ||
	    egress_tls_gateway_start(launch, start, &options, err) < 0)
		return -1;
	start->policy = &launch->policy;
	start->bundle = launch->bundle.len ? &launch->bundle : NULL;
	start->java_store = &launch->java_store;
	launch->is_publishing = spec->publish.count > 0;
	if (fork_gateway(launch, spec, &options, err) < 0)
		return -1;
	return can_refuse(spec) ? await_gateway(launch, err) : 0;
}

/* By what it is sent: the sockets, and that there are no more. */
static int send_names(struct launch *launch, int inside_fd)
{
	const struct inside_socket what[] = { { INSIDE_DNS_UDP, NAMES_PORT },
					      { INSIDE_DNS_TCP, NAMES_PORT } };

	return fd_send(inside_fd, what, sizeof(what), launch->names_fds, 2) < 0 ? -1 : 0;
}

int launch_refuse_names(struct launch *launch, const struct spec *spec, struct error *err)
{
	const struct strv none = STRV_INIT;
	struct gateway_options options = { .allow = &none,
					   .deny = &none,
					   .secret_header = &none,
					   .inject = &none,
					   .tls_gateway_fd = -1,
					   .publish = &none,
					   .is_refusing = true };
	struct start start = { .spec = spec, .inside_fd = -1 };
	int status;

	launch->reports_names = false;
	if (make_sockets(launch, &start, &options, err) < 0)
		return -1;
	status = fork_gateway(launch, spec, &options, err);
	if (status == 0)
		status = send_names(launch, start.inside_fd);
	close(start.inside_fd);
	fd_close(&launch->names_fds[0]);
	fd_close(&launch->names_fds[1]);
	launch->reports_names = status == 0;
	return status < 0 ? error_errno(err, ERROR_HOST, "network: nothing refuses names") : 0;
}

int egress_set_up(const struct start *start, struct error *err)
{
	int status;

	if (start->inside_fd < 0)
		return 0;
	close(start->supervisor_gateway_fd);
	status =
		inside_set_up(start->policy, start->spec->publish.count > 0, start->inside_fd, err);
	close(start->inside_fd);
	return status;
}

void egress_explain(const struct launch *launch, struct error *err)
{
	struct net_report report;

	if (launch->gateway_fd >= 0 && net_report_receive(launch->gateway_fd, &report) > 0 &&
	    report.kind == NET_REPORT_FAILED)
		*err = report.error;
}

void egress_stop(struct launch *launch)
{
	if (launch->gateway_pid > 0) {
		(void)kill(launch->gateway_pid, SIGKILL);
		/* Packet sockets take their time to close; only ports of this machine are worth waiting for. */
		if (launch->is_publishing)
			(void)child_wait(launch->gateway_pid);
	}
	if (launch->tls_gateway_pid > 0)
		child_end(launch->tls_gateway_pid);
	launch->tls_gateway_pid = launch->gateway_pid = 0;
	str_done(&launch->bundle);
	str_done(&launch->java_store);
	fd_close(&launch->gateway_fd);
	fd_close(&launch->network_fd);
	fd_close(&launch->names_fds[0]);
	fd_close(&launch->names_fds[1]);
	net_policy_done(&launch->policy);
}
