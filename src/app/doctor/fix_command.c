/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that change a setting of this machine. */
#include "app/doctor/fix_command.h"

#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/process/child.h"
#include "base/text/shell_quote.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void fix_way_find(struct fix_way *ret_way)
{
	struct error ignored;

	*ret_way = (struct fix_way){ .prefix = "", .can_run = true };
	if (geteuid() == 0)
		return;
	ret_way->can_run = fix_command_run("sudo -n true", &ignored) == 0;
	ret_way->prefix = ret_way->can_run ? "sudo -n " : "sudo ";
}

void fix_command_put(const struct fix_way *way, const char *path, const char *text, struct str *out)
{
	size_t len = text ? strlen(text) : 0;
	bool is_line = len > 0 && text[len - 1] == '\n';
	owned(free_ptr) char *words = xstrndup(text ? text : "", is_line ? len - 1 : len);

	if (!text) {
		str_addf(out, "%srm ", way->prefix);
		return shell_quote_add(out, path);
	}
	str_addf(out, "printf '%s' ", is_line ? "%s\\n" : "%s");
	shell_quote_add(out, words);
	str_addf(out, " | %stee ", way->prefix);
	shell_quote_add(out, path);
	str_add(out, " >/dev/null");
}

static int refuse(const char *command, int errors_fd, struct error *err)
{
	char text[200];
	ssize_t len = fd_read_at(errors_fd, text, sizeof(text) - 1, 0);

	text[len > 0 ? len : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return text[0] ? error_set(err, ERROR_HOST, "%s", text)
		       : error_set(err, ERROR_HOST, "%.150s failed", command);
}

int fix_command_run(const char *command, struct error *err)
{
	/* Whatever the caller's PATH is: these run as root. */
	static char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin", locale[] = "LC_ALL=C";
	static char *const environment[] = { path, locale, NULL };
	owned(fd_close) int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	owned(fd_close) int errors = memfd_create("fix", MFD_CLOEXEC);
	owned(strv_done) struct strv words = STRV_INIT;
	struct child_exec exec = { .environ = environment,
				   .streams = { nothing, nothing, errors } };
	mode_t mask;
	pid_t pid;

	if (nothing < 0 || errors < 0)
		return error_errno(err, ERROR_HOST, "start of %.150s", command);
	strv_add(&words, "/bin/sh");
	strv_add(&words, "-c");
	strv_add(&words, command);
	exec.words = words.items;
	/* A file of the machine's configuration is everybody's to read. */
	mask = umask(022);
	pid = child_exec(&exec, err);
	(void)umask(mask);
	if (pid < 0)
		return -1;
	return child_exit_code(child_wait(pid)) == 0 ? 0 : refuse(command, errors, err);
}
