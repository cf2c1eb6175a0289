/* SPDX-License-Identifier: Apache-2.0 */
/* Headers with secrets, added outside the sandbox. */
#include "net/rule/secret.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "net/rule/http.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_MAX_BYTES 128

/* A port other than TLS's, where requests to HOST may pass. */
static int check_rules(const char *host, const struct net_policy *policy, struct error *err)
{
	bool has_tls = false;

	for (size_t i = 0; i < policy->allow.count; i++) {
		const struct net_rule *rule = &policy->allow.items[i];
		struct net_port port = { false, rule->first_port };
		const char *ignored;

		if (rule->is_udp || net_policy_name(policy, host, port, &ignored) != NET_ALLOWED)
			continue;
		if (rule->first_port != NET_TLS_PORT || rule->last_port != NET_TLS_PORT)
			return 0;
		has_tls = true;
	}
	if (has_tls) {
		error_set(err, ERROR_USAGE, "--secret-header %s: only port 443 is allowed there",
			  host);
		return error_add_hint(err,
				      "TLS goes from end to end and nothing can be added to it: "
				      "allow a port of plain HTTP, such as --allow %s:80",
				      host);
	}
	error_set(err, ERROR_USAGE, "--secret-header %s: no rule lets requests to it pass", host);
	return error_add_hint(err, "add --allow %s:80", host);
}

static int refuse(const char *text, const char *why, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	return error_set(err, ERROR_USAGE, "--secret-header %s: %s", str_shown(text, shown), why);
}

int secret_parse(const char *text, const struct net_policy *policy, struct secret *ret_secret,
		 struct error *err)
{
	const char *colon = strchr(text, ':'), *equals = strchr(text, '=');
	struct secret secret = { .value = NULL };

	if (!colon || !equals || equals < colon)
		return refuse(text,
			      "write HOST:NAME=FILE, as in api.example.org:Authorization=/path",
			      err);
	if (!net_name_canonical(text, (size_t)(colon - text), secret.host))
		return refuse(text, "HOST is the name of a host", err);
	if (equals - colon - 1 > NAME_MAX_BYTES ||
	    !http_is_token(colon + 1, (size_t)(equals - colon - 1)))
		return refuse(text, "NAME is the name of a header", err);
	secret.file = equals + 1;
	if (check_rules(secret.host, policy, err) < 0)
		return -1;
	secret.name = xstrndup(colon + 1, (size_t)(equals - colon - 1));
	if (http_header_frames(secret.name, strlen(secret.name))) {
		secret_done(&secret);
		return refuse(text,
			      "a header that says where a request goes or ends cannot be added",
			      err);
	}
	*ret_secret = secret;
	return 0;
}

/* Other names of the same bytes would be seen inside. */
static int check_file(int fd, const char *path, struct error *err)
{
	char link[32], real[PATH_MAX];
	struct stat st;
	ssize_t len;

	if (fstat(fd, &st) < 0)
		return error_errno(err, ERROR_HOST, "--secret-header: %s", path);
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
		return error_advise(err, ERROR_DENIED, "copy it",
				    "--secret-header: %s is not a plain file with one name", path);
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, real, sizeof(real) - 1);
	real[len > 0 ? len : 0] = '\0';
	if (strcmp(real, path) != 0) {
		error_set(err, ERROR_DENIED, "--secret-header: %s is reached by a symbolic link",
			  path);
		return error_add_hint(err, "give its real path, %s", real);
	}
	return 0;
}

int secret_read(struct secret *secret, struct error *err)
{
	owned(fd_close) int fd = open(secret->file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	owned(str_done) struct str text = STR_INIT;
	size_t len;

	if (fd < 0)
		return error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_DENIED,
				   "--secret-header: %s", secret->file);
	if (check_file(fd, secret->file, err) < 0)
		return -1;
	if (fd_read_all(fd, HTTP_SECRET_MAX, &text) < 0)
		return error_errno(err, ERROR_INPUT, "--secret-header: %s", secret->file);
	len = text.len;
	while (len > 0 && strchr("\r\n", str_cstr(&text)[len - 1]))
		len--;
	if (len == 0 || memchr(str_cstr(&text), '\0', len) || !http_is_value(str_cstr(&text), len))
		return error_set(err, ERROR_INPUT,
				 "--secret-header: %s does not hold one line of text",
				 secret->file);
	secret->value = xstrndup(str_cstr(&text), len);
	explicit_bzero(text.data, text.len);
	return 0;
}

void secret_done(struct secret *secret)
{
	if (secret->value)
		explicit_bzero(secret->value, strlen(secret->value));
	free(secret->value);
	free(secret->name);
	*secret = (struct secret){ .value = NULL };
}
