/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of OTLP: wrapped, and carried by curl, which knows TLS and the caller's certificates. */
#include "app/record/otlp.h"

#include "base/process/child.h"
#include "base/core/env.h"
#include "base/file/fd.h"
#include "base/text/json_otlp.h"
#include "base/core/own.h"
#include "base/text/percent.h"
#include "base/text/url.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TIMEOUT_MS 10000
#define NAME_SIZE 64

static const struct signal_words {
	const char *path, *variable, *exporter, *resources, *scopes, *items;
} signals[] = {
	[OTLP_TRACES] = { "/v1/traces", "TRACES", "OTEL_TRACES_EXPORTER", "resourceSpans",
			  "scopeSpans", "spans" },
	[OTLP_METRICS] = { "/v1/metrics", "METRICS", "OTEL_METRICS_EXPORTER", "resourceMetrics",
			   "scopeMetrics", "metrics" },
};

struct otlp {
	const struct signal_words *words;
	struct str config;   /* lines for curl: where to, and what headers; may hold a secret */
	struct str resource; /* the attributes of this service, as JSON */
	char *const *environ;
	uint64_t timeout_ms;
	int stop_fd;
};

/* A value of curl's configuration, in quotes. */
static void add_quoted(struct str *out, const char *text, size_t len)
{
	str_add_char(out, '"');
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '"' || text[i] == '\\')
			str_add_char(out, '\\');
		str_add_char(out, text[i]);
	}
	str_add(out, "\"\n");
}

static bool has_control(const char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return true;
	}
	return false;
}

static int add_url(struct otlp *otlp, const char *text, bool is_whole, struct error *err)
{
	size_t len = strlen(text);
	char shown[STR_SHOWN_SIZE];
	struct url url;

	while (len > 0 && text[len - 1] == '/')
		len--;
	/* A user's name or password would be shown to every reader of our options. */
	if (!url_parse(text, len, &url) || !str_starts(text, "http") || url.user_len > 0)
		return error_set(err, ERROR_USAGE, "--otlp %s: write https://HOST[:PORT]",
				 str_shown(text, shown));
	bool is_local = strcmp(url.host, "127.0.0.1") == 0 || strcmp(url.host, "localhost") == 0 ||
			strcmp(url.host, "[::1]") == 0;

	if (!url.is_tls && !is_local)
		return error_advise(err, ERROR_USAGE, "write https://, or a collector's here",
				    "--otlp %s: without TLS only the loopback is sent to",
				    str_shown(text, shown));
	owned(free_ptr) char *whole =
		xasprintf("%.*s%s", (int)len, text, is_whole ? "" : otlp->words->path);

	/* To curl braces and brackets in an address are several addresses. */
	str_add(&otlp->config, "globoff\nurl = ");
	add_quoted(&otlp->config, whole, strlen(whole));
	if (is_local)
		str_add(&otlp->config, "noproxy = \"*\"\n");
	return 0;
}

/* Without the blanks around it, and with %XX as the byte that it stands for, in place. False when that would be a NUL. */
static bool decode(char **text)
{
	char *from = *text + strspn(*text, " \t"), *to = from, *start = from, *end;

	for (end = from + strlen(from); end > from && strchr(" \t", end[-1]); end--)
		;
	for (; from < end; from++) {
		int escaped = percent_byte(from, (size_t)(end - from));

		*to = escaped < 0 ? *from : (char)escaped;
		from += escaped < 0 ? 0 : 2;
		if (!*to++)
			return false;
	}
	*to = '\0';
	*text = start;
	return true;
}

/* A token, as HTTP and the variables have it. */
static bool is_key(const char *text)
{
	return *text && text[strspn(text, "0123456789abcdefghijklmnopqrstuvwxyz"
					  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
					  "!#$%&'*+-.^_`|~")] == '\0';
}

/*
 * K=V,K=V as the variable NAME has it; calls ADD for each. What is none is refused, by its place alone: a value may be a
 * secret.
 */
static int each_pair(struct otlp *otlp, const char *name,
		     void (*add)(struct otlp *, const char *, const char *), struct error *err)
{
	const char *list = env_given((const char *const *)otlp->environ, name);
	owned(free_ptr) char *copy = xstrdup(list ? list : "");
	char *rest = copy, *key;

	for (unsigned i = 1; (key = strsep(&rest, ",")); i++) {
		char *value = strchr(key, '=');

		if (key[strspn(key, " \t")] == '\0')
			continue;
		if (value)
			*value++ = '\0';
		if (!value || !decode(&key) || !decode(&value) || !is_key(key) ||
		    has_control(value))
			return error_set(err, ERROR_USAGE,
					 "%s: part %u of it is not KEY=VALUE, or holds a control "
					 "character",
					 name, i);
		add(otlp, key, value);
	}
	return 0;
}

static void add_header(struct otlp *otlp, const char *key, const char *value)
{
	/* With nothing behind the colon curl would leave the header out. */
	owned(free_ptr) char *line =
		*value ? xasprintf("%s: %s", key, value) : xasprintf("%s;", key);

	str_add(&otlp->config, "header = ");
	add_quoted(&otlp->config, line, strlen(line));
}

static void add_attribute(struct otlp *otlp, const char *key, const char *value)
{
	struct json json;

	json_init(&json, &otlp->resource);
	if (otlp->resource.len > 0)
		str_add_char(&otlp->resource, ',');
	json_otlp_attribute(&json, key, "stringValue", value);
}

/* OTEL_EXPORTER_OTLP_TRACES_THING where that is given, else OTEL_EXPORTER_OTLP_THING. */
static const char *variable(const struct signal_words *words, const char *const *environ,
			    const char *thing, char ret_name[static NAME_SIZE])
{
	const char *value;

	(void)snprintf(ret_name, NAME_SIZE, "OTEL_EXPORTER_OTLP_%s_%s", words->variable, thing);
	value = env_given(environ, ret_name);
	if (value)
		return value;
	(void)snprintf(ret_name, NAME_SIZE, "OTEL_EXPORTER_OTLP_%s", thing);
	return env_given(environ, ret_name);
}

/* A list, of which other programs' exporters are no concern of ours. */
static bool names_otlp(const char *list)
{
	owned(free_ptr) char *copy = xstrdup(list);
	char *rest = copy, *word;

	while ((word = strsep(&rest, ", \t"))) {
		if (strcmp(word, "otlp") == 0)
			return true;
	}
	return false;
}

bool otlp_is_wanted(enum otlp_signal signal, const char *url, const char *const *environ)
{
	const char *list = env_given(environ, signals[signal].exporter);
	char name[NAME_SIZE];

	if (list && !names_otlp(list))
		return false;
	/* With none at all, opening it says so. */
	return strcmp(url, "env") != 0 || variable(&signals[signal], environ, "ENDPOINT", name) ||
	       !variable(&signals[signal == OTLP_TRACES ? OTLP_METRICS : OTLP_TRACES], environ,
			 "ENDPOINT", name);
}

static uint64_t timeout_of(const struct otlp *otlp, const char *const *environ)
{
	char name[NAME_SIZE];
	const char *text = variable(otlp->words, environ, "TIMEOUT", name);
	uint64_t ms = text ? strtoull(text, NULL, 10) : 0;

	return ms == 0 || ms > TIMEOUT_MS ? TIMEOUT_MS : ms;
}

/* Where to, as the option says or, for "env", the variables. */
static int find_url(struct otlp *otlp, const char *url, const char *const *environ,
		    struct error *err)
{
	char name[NAME_SIZE];

	if (strcmp(url, "env") != 0)
		return add_url(otlp, url, false, err);
	url = variable(otlp->words, environ, "ENDPOINT", name);
	if (!url)
		return error_set(err, ERROR_USAGE, "--otlp env: %s is not set", name);
	return add_url(otlp, url, strcmp(name, "OTEL_EXPORTER_OTLP_ENDPOINT") != 0, err);
}

int otlp_open(enum otlp_signal signal, const char *url, const char *const *environ,
	      struct otlp **ret_otlp, struct error *err)
{
	owned(otlp_release) struct otlp *otlp = xcalloc(1, sizeof(*otlp));
	const char *service = env_given(environ, "OTEL_SERVICE_NAME");
	char headers[NAME_SIZE];

	otlp->words = &signals[signal];
	otlp->stop_fd = -1;
	if (find_url(otlp, url, environ, err) < 0)
		return -1;
	otlp->environ = (char *const *)(uintptr_t)environ;
	str_add(&otlp->config, "header = \"Content-Type: application/json\"\n");
	(void)variable(otlp->words, environ, "HEADERS", headers);
	add_attribute(otlp, "service.name", service ? service : "aisbx");
	if (each_pair(otlp, headers, add_header, err) < 0 ||
	    each_pair(otlp, "OTEL_RESOURCE_ATTRIBUTES", add_attribute, err) < 0)
		return -1;
	otlp->timeout_ms = timeout_of(otlp, environ);
	*ret_otlp = ptr_take(&otlp);
	return 0;
}

void otlp_release(struct otlp **slot)
{
	if (!*slot)
		return;
	str_done(&(*slot)->config);
	str_done(&(*slot)->resource);
	free(*slot);
	*slot = NULL;
}

void otlp_stop_at(struct otlp *otlp, int stop_fd, uint64_t limit_ms)
{
	otlp->stop_fd = stop_fd;
	if (limit_ms && limit_ms < otlp->timeout_ms)
		otlp->timeout_ms = limit_ms;
}

static void wrap(const struct otlp *otlp, const struct str *list, struct str *out)
{
	const struct signal_words *words = otlp->words;

	str_addf(out,
		 "{\"%s\":[{\"resource\":{\"attributes\":[%s]},\"%s\":[{\"scope\":{\"name\":"
		 "\"aisbx\"},\"%s\":",
		 words->resources, str_cstr(&otlp->resource), words->scopes, words->items);
	str_add_bytes(out, list->data, list->len);
	str_add(out, "}]}]}");
}

/* curl's status; one that was ended counts as ended by a signal. */
static int wait_for(const struct otlp *otlp, pid_t pid)
{
	owned(fd_close) int fd = child_open(pid);
	struct pollfd fds[] = { { .fd = fd, .events = POLLIN },
				{ .fd = otlp->stop_fd, .events = POLLIN } };
	uint64_t limit_ms = otlp->timeout_ms + 1000;
	int status = -1;

	/* Without a descriptor for it, it has its time. */
	if (fd >= 0) {
		(void)poll(fds, 2, (int)limit_ms);
		limit_ms = 0;
	}
	(void)child_wait_within(pid, limit_ms, &status);
	return child_exit_code(status);
}

/* What the collector answered: a status of HTTP, 0 for none. */
static unsigned answer_in(int fd)
{
	char text[16];
	ssize_t len = pread(fd, text, sizeof(text) - 1, 0);

	text[len > 0 ? len : 0] = '\0';
	return (unsigned)strtoul(text, NULL, 10);
}

/*
 * curl has the configuration by its standard input, since other users could read options; and the body, for which a line of
 * the configuration is too short, by a descriptor of its own.
 */
int otlp_post(const struct otlp *otlp, const struct str *list, char ret_why[static OTLP_WHY_SIZE],
	      struct error *err)
{
	static const char *const words[] = { "curl",	  "-q", "-s", "-f", "-o",
					     "/dev/null", "-K", "-",  NULL };
	owned(fd_close) int fd = memfd_create("otlp", MFD_CLOEXEC);
	owned(fd_close) int body_fd = memfd_create("otlp-body", 0);
	owned(fd_close) int answer_fd = memfd_create("otlp-answer", MFD_CLOEXEC);
	owned(fd_close) int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	owned(str_done) struct str text = STR_INIT, body = STR_INIT;
	const struct child_exec exec = { .words = (char *const *)(uintptr_t)words,
					 .environ = otlp->environ,
					 .streams = { fd, answer_fd, null_fd } };

	wrap(otlp, list, &body);
	str_add_bytes(&text, otlp->config.data, otlp->config.len);
	str_addf(&text,
		 "max-time = %.3f\nwrite-out = \"%%{http_code}\"\n"
		 "data-binary = \"@/proc/self/fd/%d\"\n",
		 (double)otlp->timeout_ms / 1000, body_fd);
	if (fd < 0 || body_fd < 0 || answer_fd < 0 || null_fd < 0 ||
	    fd_write_all(fd, text.data, text.len) < 0 ||
	    fd_write_all(body_fd, body.data, body.len) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return error_errno(err, ERROR_HOST, "the collector's message");
	pid_t pid = child_exec(&exec, err);

	if (pid < 0)
		return error_context(err, "--otlp needs curl");
	int code = wait_for(otlp, pid);
	unsigned answer = answer_in(answer_fd);

	/* To curl an answer that leads elsewhere is a success, though the collector has nothing then. */
	if (code == 0 && answer >= 200 && answer < 300)
		return 0;
	(void)snprintf(ret_why, OTLP_WHY_SIZE,
		       code == 0 || answer >= 400 ? "it answered %d" : "curl ended with %d",
		       code == 0 || answer >= 400 ? (int)answer : code);
	return 1;
}
