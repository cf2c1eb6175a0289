/* SPDX-License-Identifier: Apache-2.0 */
/* `daemon`: the process that keeps sandboxes ready; started, looked at, renewed, ended. `queue`: the calls that it lets run or wait. */
#include "app/config/own_config.h"
#include "app/pool/daemon.h"
#include "app/pool/page_door.h"
#include "app/record/fleet.h"
#include "app/record/otlp.h"
#include "app/run/run_request.h"
#include "base/core/own.h"
#include "base/process/loopback.h"
#include "base/process/service_log.h"
#include "base/text/units.h"
#include "ops/rows/rows.h"

#include <string.h>

int op_log_open(const struct op_call *call, bool is_detached, struct error *err)
{
	const char *format = op_arg_text(call, "log-format"),
		   *level = op_arg_text(call, "log-level");

	if (is_detached && (format || level))
		return error_advise(
			err, ERROR_USAGE,
			"serve in the foreground of a service, or with stderr to a file",
			"in the background there is no log: --log-format and --log-level "
			"have no use");
	return service_log_open(format, level, err);
}

static int show_status(struct op_call *call, struct error *err)
{
	return app_daemon_status(&call->answer, err);
}

static int give_order(struct op_call *call, const char *done,
		      int (*order)(bool *ret_was_there, struct error *err), struct error *err)
{
	bool was_there = false;

	if (order(&was_there, err) < 0)
		return -1;
	call->answer = value_new_map();
	value_add(call->answer, done, value_new_bool(was_there));
	str_addf(&call->text, "%s\n", was_there ? done : "no daemon is running");
	return 0;
}

/* The plan of a run from here; where there can be none the first run of each kind shows its own. */
static void plan_first(const struct op_call *call, struct spec *ret_plan)
{
	owned(request_done) struct request request;
	struct error ignored;

	request_init(&request);
	strv_add(&request.command, "true");
	request.environ = call->environ;
	request.interactive = call->stdin_tty && call->stdout_tty;
	if (app_plan(&request, ret_plan, &ignored) < 0) {
		spec_done(ret_plan);
		spec_init(ret_plan);
	}
}

/* Opened here, so that what is wrong with an address is reported to the caller. */
static int add_metrics(struct op_call *call, struct helpers *helpers, struct error *err)
{
	const char *address = op_arg_text(call, "metrics");
	struct helper row = { .name = "metrics",
			      .words = { "aisbx-http", "stats", "--serve" },
			      .fd_count = 1 };
	owned(free_ptr) char *line = NULL;
	char name[64];

	if (!address)
		return 0;
	if (helper_check("--metrics", row.words[0], err) < 0 ||
	    loopback_listen("--metrics", address, &row.fds[0], err) < 0)
		return -1;
	loopback_name(row.fds[0], name, sizeof(name));
	helpers_add(helpers, &row);
	line = xasprintf("figures: http://%s/metrics", name);
	if (!call->json)
		service_log(SERVICE_NOTICE, line, NULL);
	return 0;
}

/* The same as people may do by hand. */
static int add_otlp(struct op_call *call, struct helpers *helpers, struct error *err)
{
	const char *url = op_arg_text(call, "otlp");
	const struct helper rows[] = {
		[OTLP_TRACES] = { .name = "otlp",
				  .words = { "aisbx-full", "events", "--follow", "--since", "sent",
					     "--otlp", url } },
		[OTLP_METRICS] = { .name = "otlp-metrics",
				   .words = { "aisbx-full", "stats", "--follow", "--otlp", url } },
	};

	for (enum otlp_signal signal = OTLP_TRACES; url && signal <= OTLP_METRICS; signal++) {
		owned(otlp_release) struct otlp *checked = NULL;

		if (!otlp_is_wanted(signal, url, call->environ))
			continue;
		if (otlp_open(signal, url, call->environ, &checked, err) < 0)
			return -1;
		helpers_add(helpers, &rows[signal]);
	}
	return 0;
}

/* As the user's configuration says. Its words live as long as WORDS. */
static int add_sync(struct op_call *call, struct helpers *helpers, struct strv *words,
		    struct error *err)
{
	owned(own_config_done) struct own_config config;
	char every[32];

	if (own_config_read(call->environ, &config, err) < 0)
		return -1;
	if (!config.sync_ms)
		return 0;
	if (pg_check_url(config.sync_to, err) < 0)
		return error_context(err, "config.yaml: sync_to");
	units_format_duration(config.sync_ms, every);
	strv_add(words, every);
	strv_add(words, config.sync_to);
	helpers_add(helpers,
		    &(struct helper){ .name = "sync",
				      .words = { "aisbx-full", "sync", "--every", words->items[0],
						 "--to", words->items[1] } });
	return 0;
}

/* The page, in a process of its own that has the library for it. */
static int add_page(const char *address, struct helpers *helpers, struct error *err)
{
	struct helper row = { .name = "page",
			      .words = { "aisbx-http", "ui", "--serve", NULL },
			      .fd_count = 2 };

	if (helper_check("--http", row.words[0], err) < 0 ||
	    page_door_open(address, &row.fds[0], &row.fds[1], err) < 0)
		return -1;
	helpers_add(helpers, &row);
	return 0;
}

/* A count that may be given; else *COUNT stays as it is. */
static int read_count(const struct op_call *call, const char *name, unsigned max, unsigned *count,
		      struct error *err)
{
	const char *text = op_arg_text(call, name);
	owned(free_ptr) char *flag = xasprintf("--%s", name);
	int64_t found = *count;

	if (text && units_count(flag, text, 1, max, &found, err) < 0)
		return -1;
	*count = (unsigned)found;
	return 0;
}

static int serve(struct op_call *call, struct error *err)
{
	static const struct helper jobs = { .name = "jobs",
					    .words = { "aisbx-full", "job", "watch" } };
	const char *http = op_arg_text(call, "http");
	struct daemon_request request = { .is_detached = call->words.count > 0,
					  .has_page = http != NULL,
					  .limits.waiting = DAEMON_WAITING };
	owned(strv_done) struct strv words = STRV_INIT;

	spec_init(&request.plan);
	if (op_log_open(call, request.is_detached, err) < 0 ||
	    read_count(call, "pool", DAEMON_POOL_MAX, &request.pool, err) < 0 ||
	    read_count(call, "max-running", DAEMON_QUEUE_MAX, &request.limits.running, err) < 0 ||
	    read_count(call, "queue", DAEMON_QUEUE_MAX, &request.limits.waiting, err) < 0 ||
	    read_count(call, "rate", DAEMON_RATE_MAX, &request.limits.per_minute, err) < 0)
		return -1;
	if (add_metrics(call, &request.helpers, err) < 0 ||
	    add_otlp(call, &request.helpers, err) < 0 ||
	    add_sync(call, &request.helpers, &words, err) < 0 ||
	    (http && add_page(http, &request.helpers, err) < 0))
		return -1;
	plan_first(call, &request.plan);
	helpers_add(&request.helpers, &jobs);
	if (app_daemon_serve(&request, err) < 0) {
		if (http)
			page_door_close();
		return -1;
	}
	return request.is_detached ? show_status(call, err) : 0;
}

int op_queue_run(struct op_call *call, struct error *err)
{
	return op_want_words(call, 0, 0, err) < 0 ? -1 : app_daemon_queue(&call->answer, err);
}

int op_daemon_run(struct op_call *call, struct error *err)
{
	const char *word = call->words.count > 0 ? call->words.items[0] : "start";

	if (op_want_words(call, 0, 1, err) < 0)
		return -1;
	if (strcmp(word, "start") == 0)
		return serve(call, err);
	for (const struct op_param *param = call->op->params; param->name; param++) {
		if (op_arg_text(call, param->name))
			return error_set(err, ERROR_USAGE,
					 "--%s is for a daemon that is being started", param->name);
	}
	if (strcmp(word, "status") == 0)
		return show_status(call, err);
	if (strcmp(word, "reload") == 0)
		return give_order(call, "reloaded", app_daemon_reload, err);
	if (strcmp(word, "stop") == 0)
		return give_order(call, "stopped", app_daemon_stop, err);
	return error_set(err, ERROR_USAGE, "daemon %s: it is start, stop, status or reload", word);
}
