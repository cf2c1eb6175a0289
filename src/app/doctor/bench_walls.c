/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walls for `bench`: small attacks on network, paths and special files.
 *
 * Each script ends with 0 when the attack worked. It is run outside first: an attack that fails there
 * would fail inside for the same reason and proves nothing, so it is skipped.
 */
#include "base/file/fd.h"
#include "base/core/own.h"
#include "app/doctor/bench_parts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define RAN "bench-script-ran"

struct wall {
	const char *group;
	const char *name;
	const char *tool; /* what the script needs; NULL: nothing special */
	/* $1 port, $2 secret file, $3 file outside the workspace, $4 our pid, $5 unix socket. */
	const char *script;
	bool by_effect; /* may well succeed inside: what counts is that nothing changed outside */
};

static const struct wall walls[] = {
	{ "network", "connect to a server on this machine", "bash",
	  "bash -c 'exec 3<>/dev/tcp/127.0.0.1/$0' \"$1\"", false },
	{ "network", "see an interface beside loopback", NULL,
	  "grep -v ' lo:' /proc/net/dev | grep -q :", false },
	{ "network", "connect to a unix socket of this machine", "python3",
	  "python3 -c 'import socket,sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' "
	  "\"$5\"",
	  false },
	{ "network", "connect to an abstract unix socket", "python3",
	  "python3 -c 'import socket,sys; "
	  "socket.socket(socket.AF_UNIX).connect(\"\\0aisbx-bench-\"+sys.argv[1])' \"$4\"",
	  false },
	{ "paths", "read a secret in HOME by its name", NULL, "cat \"$2\"", false },
	{ "paths", "... by climbing out of the workspace", NULL,
	  "cat \"../../../../../../../../../..$2\"", false },
	{ "paths", "... through a link in the workspace", NULL, "cat link", false },
	{ "paths", "... through /proc/1/root or a parent's", NULL,
	  "cat \"/proc/1/root$2\" || cat \"/proc/$4/root$2\"", false },
	{ "paths", "... through a descriptor left open", NULL, "cat /proc/self/fd/9/kept", false },
	{ "paths", "change a file outside the workspace", NULL, "echo changed >>\"$3\"", true },
	{ "paths", "delete a file of the workspace", NULL, "rm -rf ./precious", true },
	{ "special files", "see a disk in /dev", NULL, "test -n \"$(find /dev -type b 2>&1)\"",
	  false },
	{ "special files", "make a device node", NULL, "mknod node c 1 1 && rm node", false },
	{ "special files", "read the kernel's log", NULL,
	  "dd if=/dev/kmsg count=1 bs=8192 iflag=nonblock of=/dev/null", false },
	{ "privileges", "hold a capability", NULL, "! grep -q '^CapEff:.0*$' /proc/self/status",
	  false },
	{ "privileges", "gain some through a setuid program", NULL,
	  "grep -q '^NoNewPrivs:.0' /proc/self/status", false },
	{ "privileges", "call the kernel without a filter", NULL,
	  "grep -q '^Seccomp:.0' /proc/self/status", false },
	{ "processes", "signal a process of this machine", NULL,
	  "kill -0 \"$4\" && test -d \"/proc/$4\"", false },
	{ "processes", "see the processes of this machine", NULL,
	  "test \"$(ls -d /proc/[0-9]* | wc -l)\" -gt 8", false },
};

/* What the attacks aim at. */
struct targets {
	int server, unix_server, abstract_server;
	char port[8], pid[16];
	char *kept, *precious, *socket_path;
};

static int listen_tcp(struct targets *targets, struct error *err)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);

	targets->server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (targets->server < 0 || bind(targets->server, (struct sockaddr *)&address, len) < 0 ||
	    listen(targets->server, 64) < 0 ||
	    getsockname(targets->server, (struct sockaddr *)&address, &len) < 0)
		return error_errno(err, ERROR_HOST, "a server on loopback");
	(void)snprintf(targets->port, sizeof(targets->port), "%u", ntohs(address.sin_port));
	return 0;
}

/* NAME with a leading NUL is an abstract one. */
static int listen_unix(const char *name, size_t len, int *ret_fd, struct error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (len > sizeof(address.sun_path))
		return error_set(err, ERROR_HOST, "a unix socket's name is too long");
	memcpy(address.sun_path, name, len);
	*ret_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*ret_fd < 0 ||
	    bind(*ret_fd, (struct sockaddr *)&address,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) < 0 ||
	    listen(*ret_fd, 64) < 0)
		return error_errno(err, ERROR_HOST, "a unix socket");
	return 0;
}

static int put_file(const char *path, struct error *err)
{
	owned(fd_close) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || fd_write_all(fd, "kept\n", 5) < 0)
		return error_errno(err, ERROR_HOST, "writing %s", path);
	return 0;
}

static int prepare(const struct bench *bench, struct targets *targets, struct error *err)
{
	owned(free_ptr) char *link = xasprintf("%s/link", bench->work);
	char abstract[32];
	int len;

	(void)snprintf(targets->pid, sizeof(targets->pid), "%d", getpid());
	len = snprintf(abstract, sizeof(abstract), "%caisbx-bench-%s", 0, targets->pid);
	if (listen_tcp(targets, err) < 0 ||
	    listen_unix(targets->socket_path, strlen(targets->socket_path), &targets->unix_server,
			err) < 0 ||
	    listen_unix(abstract, (size_t)len, &targets->abstract_server, err) < 0)
		return -1;
	if (symlink(bench->secret ? bench->secret : targets->kept, link) < 0 && errno != EEXIST)
		return error_errno(err, ERROR_HOST, "a link in the workspace");
	return 0;
}

static int attack(const struct bench *bench, const struct wall *wall, const struct targets *targets,
		  bool inside, struct bench_done *ret_done, struct error *err)
{
	owned(free_ptr) char *script = xasprintf("echo " RAN "; { %s; } >/dev/null", wall->script);
	const char *const start[] = { bench->program, "run", "--", NULL };
	const char *const words[] = {
		"/bin/sh",     "-c",	      script,
		"sh",	       targets->port, bench->secret ? bench->secret : targets->kept,
		targets->kept, targets->pid,  targets->socket_path,
		NULL
	};
	owned(strv_done) struct strv argv = STRV_INIT;

	for (size_t i = 0; inside && start[i]; i++)
		strv_add(&argv, start[i]);
	for (size_t i = 0; words[i]; i++)
		strv_add(&argv, words[i]);
	/* Put back before each attack: those seen to work outside have done their worst to it. */
	if (put_file(targets->kept, err) < 0 || put_file(targets->precious, err) < 0)
		return -1;
	return bench_exec(bench, argv.items, ret_done, err);
}

/* Whether everything outside is as put_file left it. */
static bool is_unchanged(const struct targets *targets)
{
	const char *const paths[] = { targets->kept, targets->precious };
	bool same = true;

	for (size_t i = 0; i < 2; i++) {
		char text[16] = "";

		same = same && file_read_small(AT_FDCWD, paths[i], text, sizeof(text)) == 5 &&
		       strcmp(text, "kept\n") == 0;
	}
	return same;
}

static int try_wall(struct bench *bench, const struct wall *wall, const struct targets *targets,
		    struct error *err)
{
	owned(bench_done_release) struct bench_done outside = { .out = STR_INIT, .err = STR_INIT };
	owned(bench_done_release) struct bench_done inside = { .out = STR_INIT, .err = STR_INIT };
	bool broken;

	if (wall->tool && !bench_has_tool(bench, wall->tool)) {
		owned(free_ptr) char *reason = xasprintf("%s is not installed", wall->tool);

		bench_check(bench, wall->group, wall->name, "skipped", reason);
		return 0;
	}
	if (attack(bench, wall, targets, false, &outside, err) < 0)
		return -1;
	if (wall->by_effect ? is_unchanged(targets) : outside.exit_code != 0) {
		bench_check(bench, wall->group, wall->name, "skipped",
			    "does not work outside either");
		return 0;
	}
	if (attack(bench, wall, targets, true, &inside, err) < 0)
		return -1;
	broken = (!wall->by_effect && inside.exit_code == 0) || !is_unchanged(targets);
	if (!strstr(str_cstr(&inside.out), RAN))
		bench_check(bench, wall->group, wall->name, "broken", "the sandbox did not start");
	else if (broken)
		bench_check(bench, wall->group, wall->name, "broken", "works inside too");
	else
		bench_check(bench, wall->group, wall->name, "held",
			    wall->by_effect ? "outside: done; inside: no trace outside"
					    : "outside: works; inside: refused");
	return 0;
}

int bench_walls(struct bench *bench, struct error *err)
{
	owned(free_ptr) char *kept = xasprintf("%s/kept", bench->outside);
	owned(free_ptr) char *precious = xasprintf("%s/precious", bench->work);
	owned(free_ptr) char *socket_path = xasprintf("%s/socket", bench->outside);
	struct targets targets = { .server = -1,
				   .unix_server = -1,
				   .abstract_server = -1,
				   .kept = kept,
				   .precious = precious,
				   .socket_path = socket_path };
	int outcome = prepare(bench, &targets, err);

	for (size_t i = 0; outcome == 0 && i < sizeof(walls) / sizeof(walls[0]); i++) {
		bench_progress(bench, walls[i].name);
		outcome = try_wall(bench, &walls[i], &targets, err);
	}
	fd_close(&targets.server);
	fd_close(&targets.unix_server);
	fd_close(&targets.abstract_server);
	return outcome;
}
