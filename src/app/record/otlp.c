/* SPDX-License-Identifier: Apache-2.0 */
/* Runs as spans: OTLP's JSON written by hand, carried by curl, which knows TLS and the caller's certificates. */
#include "app/record/otlp.h"

#include "base/process/child.h"
#include "base/core/clock.h"
#include "base/core/env.h"
#include "base/file/fd.h"
#include "base/core/id.h"
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "base/hash/sha256.h"
#include "base/text/percent.h"
#include "base/text/url.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS 1e6
#define TIMEOUT_MS 10000
#define ATTEMPTS 4
#define PATH "/v1/traces"

struct otlp {
	struct str config;   /* lines for curl: where to, and what headers; may hold a secret */
	struct str resource; /* the attributes of this service, as JSON */
	char *const *environ;
	uint64_t timeout_ms;
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
	owned(free_ptr) char *whole = xasprintf("%.*s%s", (int)len, text, is_whole ? "" : PATH);

	str_add(&otlp->config, "url = ");
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

static void write_attribute(struct json *json, const char *key, const char *kind, const char *text)
{
	if (!text)
		return;
	json_open(json, '{');
	json_key(json, "key");
	json_text(json, key);
	json_key(json, "value");
	json_open(json, '{');
	json_key(json, kind);
	json_text(json, text);
	json_close(json, '}');
	json_close(json, '}');
}

static void add_attribute(struct otlp *otlp, const char *key, const char *value)
{
	struct json json;

	json_init(&json, &otlp->resource);
	if (otlp->resource.len > 0)
		str_add_char(&otlp->resource, ',');
	write_attribute(&json, key, "stringValue", value);
}

int otlp_open(const char *url, const char *const *environ, struct otlp **ret_otlp,
	      struct error *err)
{
	owned(otlp_release) struct otlp *otlp = xcalloc(1, sizeof(*otlp));
	const char *whole = env_given(environ, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
	const char *headers = "OTEL_EXPORTER_OTLP_TRACES_HEADERS";
	const char *name = env_given(environ, "OTEL_SERVICE_NAME");
	const char *timeout = env_given(environ, "OTEL_EXPORTER_OTLP_TIMEOUT");
	bool is_env = strcmp(url, "env") == 0;

	if (is_env && !whole)
		url = env_given(environ, "OTEL_EXPORTER_OTLP_ENDPOINT");
	if (is_env && !whole && !url)
		return error_set(err, ERROR_USAGE,
				 "--otlp env: OTEL_EXPORTER_OTLP_ENDPOINT is not set");
	if (add_url(otlp, is_env && whole ? whole : url, is_env && whole, err) < 0)
		return -1;
	otlp->environ = (char *const *)(uintptr_t)environ;
	str_add(&otlp->config, "header = \"Content-Type: application/json\"\n");
	if (!env_given(environ, headers))
		headers = "OTEL_EXPORTER_OTLP_HEADERS";
	add_attribute(otlp, "service.name", name ? name : "aisbx");
	if (each_pair(otlp, headers, add_header, err) < 0 ||
	    each_pair(otlp, "OTEL_RESOURCE_ATTRIBUTES", add_attribute, err) < 0)
		return -1;
	otlp->timeout_ms = timeout ? strtoull(timeout, NULL, 10) : 0;
	if (otlp->timeout_ms == 0 || otlp->timeout_ms > TIMEOUT_MS)
		otlp->timeout_ms = TIMEOUT_MS;
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

/* One run's spans. */
struct spans {
	struct json *json;
	const struct value *run;
	const char *run_id;
	char trace[33], parent[17], root[17];
};

static double real_of(const struct value *map, const char *key)
{
	const struct value *item = value_get(map, key);
	double real = !item			 ? 0
		      : item->kind == VALUE_REAL ? item->real
		      : item->kind == VALUE_INT	 ? (double)item->integer
						 : 0;

	return real > 0 ? real : 0;
}

static void hex_of(const char *text, const char *more, char *ret_hex, size_t size)
{
	owned(free_ptr) char *both = xasprintf("%s/%s", text, more);
	char hex[SHA256_HEX_SIZE];

	sha256_hex(both, strlen(both), hex);
	(void)snprintf(ret_hex, size, "%s", hex);
}

static void name_ids(struct spans *spans)
{
	const char *trace = value_get_text(spans->run, "trace_id");

	if (trace && id_is_traceparent(trace)) {
		(void)snprintf(spans->trace, sizeof(spans->trace), "%s", trace + 3);
		(void)snprintf(spans->parent, sizeof(spans->parent), "%s", trace + 36);
	} else {
		hex_of(trace ? trace : spans->run_id, "trace", spans->trace, sizeof(spans->trace));
	}
	hex_of(spans->run_id, "run", spans->root, sizeof(spans->root));
}

static void write_time(struct json *json, const char *key, double ns)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%" PRIu64, (uint64_t)ns);
	json_key(json, key);
	json_text(json, text);
}

/* Opens a span; its attributes and its status are still to come. */
static void open_span(const struct spans *spans, const char *name, double from_ns, double to_ns)
{
	bool is_root = strcmp(name, "run") == 0;
	const char *parent = is_root ? spans->parent : spans->root;
	char id[17];

	hex_of(spans->run_id, name, id, sizeof(id));
	json_open(spans->json, '{');
	json_key(spans->json, "traceId");
	json_text(spans->json, spans->trace);
	json_key(spans->json, "spanId");
	json_text(spans->json, id);
	if (*parent) {
		json_key(spans->json, "parentSpanId");
		json_text(spans->json, parent);
	}
	json_key(spans->json, "name");
	json_text(spans->json, name);
	json_key(spans->json, "kind");
	json_int(spans->json, 1);
	write_time(spans->json, "startTimeUnixNano", from_ns);
	write_time(spans->json, "endTimeUnixNano", to_ns);
}

/* No command: an argument may be a secret, and a collector is elsewhere. */
static void write_root(const struct spans *spans, double from_ns, double to_ns)
{
	static const char *const words[] = { "run_id", "sandbox", "driver", "status", "start" };
	const char *status = value_get_text(spans->run, "status");
	char key[32], exit_code[24];

	open_span(spans, "run", from_ns, to_ns);
	json_key(spans->json, "attributes");
	json_open(spans->json, '[');
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		(void)snprintf(key, sizeof(key), "aisbx.%s", words[i]);
		write_attribute(spans->json, key, "stringValue",
				value_get_text(spans->run, words[i]));
	}
	(void)snprintf(exit_code, sizeof(exit_code), "%" PRId64,
		       value_int_of(spans->run, "exit_code"));
	write_attribute(spans->json, "process.exit.code", "intValue", exit_code);
	json_close(spans->json, ']');
	json_key(spans->json, "status");
	json_open(spans->json, '{');
	json_key(spans->json, "code");
	json_int(spans->json, status && strcmp(status, "success") == 0 ? 1 : 2);
	json_close(spans->json, '}');
	json_close(spans->json, '}');
}

/* The start's time is of the record before it: the queue and the plan lie ahead of that, the rest behind. */
static void write_run(struct json *json, const struct value *run, const char *run_id)
{
	struct spans spans = { .json = json, .run = run, .run_id = run_id };
	double plan = real_of(run, "plan_ms"), start = real_of(run, "start_ms");
	const struct {
		const char *name;
		double ms;
	} parts[] = { { "queue", real_of(run, "queued_ms") },
		      { "plan", plan },
		      { "start", start > plan ? start - plan : 0 },
		      { "command", real_of(run, "duration_ms") },
		      { "teardown", real_of(run, "teardown_ms") } };
	const char *started = value_get_text(run, "started");
	uint64_t started_ms = 0;
	double total = 0;

	if (!started || !time_parse_utc(started, &started_ms))
		return;
	for (size_t i = 0; i < 5; i++)
		total += parts[i].ms;
	double at_ns = ((double)started_ms - plan - parts[0].ms) * NS_PER_MS;

	name_ids(&spans);
	write_root(&spans, at_ns, at_ns + total * NS_PER_MS);
	for (size_t i = 0; i < 5; i++) {
		open_span(&spans, parts[i].name, at_ns, at_ns + parts[i].ms * NS_PER_MS);
		json_close(json, '}');
		at_ns += parts[i].ms * NS_PER_MS;
	}
}

/* How many runs there are in it. */
static size_t write_body(const struct otlp *otlp, struct history *history,
			 const struct value *events, struct str *body)
{
	struct json json;
	size_t count = 0;

	json_init(&json, body);
	str_addf(body,
		 "{\"resourceSpans\":[{\"resource\":{\"attributes\":[%s]},\"scopeSpans\":"
		 "[{\"scope\":{\"name\":\"aisbx\"},\"spans\":",
		 str_cstr(&otlp->resource));
	json_open(&json, '[');
	for (size_t i = 0; i < events->many.count; i++) {
		const char *name = value_get_text(events->many.items[i], "event");
		const char *run_id = value_get_text(events->many.items[i], "run_id");
		owned(value_release) struct value *run = NULL;
		struct error ignored;

		if (!name || strcmp(name, "ended") != 0 || !run_id ||
		    history_show(history, run_id, &run, &ignored) < 0)
			continue;
		write_run(&json, run, run_id);
		count++;
	}
	json_close(&json, ']');
	str_add(body, "}]}]}");
	return count;
}

/*
 * curl has the configuration by its standard input, since other users could read options; and the body, for which a line of
 * the configuration is too short, by a descriptor of its own.
 */
static int post(const struct otlp *otlp, const struct str *body, struct error *err)
{
	static const char *const words[] = { "curl",	  "-q", "-s", "-f", "-o",
					     "/dev/null", "-K", "-",  NULL };
	owned(fd_close) int fd = memfd_create("otlp", MFD_CLOEXEC);
	owned(fd_close) int body_fd = memfd_create("otlp-body", 0);
	owned(fd_close) int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	owned(str_done) struct str text = STR_INIT;
	const struct child_exec exec = { .words = (char *const *)(uintptr_t)words,
					 .environ = otlp->environ,
					 .streams = { fd, null_fd, null_fd } };
	int status = -1;
	pid_t pid;

	str_add_bytes(&text, otlp->config.data, otlp->config.len);
	str_addf(&text, "max-time = %.3f\ndata-binary = \"@/proc/self/fd/%d\"\n",
		 (double)otlp->timeout_ms / 1000, body_fd);
	if (fd < 0 || body_fd < 0 || null_fd < 0 || fd_write_all(fd, text.data, text.len) < 0 ||
	    fd_write_all(body_fd, body->data, body->len) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return error_errno(err, ERROR_HOST, "the collector's message");
	pid = child_exec(&exec, err);
	if (pid < 0)
		return error_context(err, "--otlp needs curl");
	(void)child_wait_within(pid, otlp->timeout_ms + 1000, &status);
	return child_exit_code(status);
}

int otlp_send(struct otlp *otlp, struct history *history, const struct value *events,
	      struct error *err)
{
	owned(str_done) struct str body = STR_INIT;
	struct timespec pause = { .tv_sec = 1 };
	size_t count = write_body(otlp, history, events, &body);
	int code = 0;

	for (int i = 0; count > 0 && i < ATTEMPTS; i++, pause.tv_sec *= 2) {
		if (i > 0)
			(void)nanosleep(&pause, NULL);
		code = post(otlp, &body, err);
		if (code <= 0)
			return code;
	}
	return code ? error_set(err, ERROR_HOST,
				"the collector did not take %zu runs (curl ended with %d)", count,
				code)
		    : 0;
}
