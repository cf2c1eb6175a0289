/* SPDX-License-Identifier: Apache-2.0 */
/* Templates: the server's own sandbox, the profiles it was given, the images of its store, and snapshots. */
#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/text/json_write.h"
#include "front/e2b/copies.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB (1024 * 1024)

/* What E2B's libraries ask for when nothing is. */
static const char *const own[] = { "base", "code-interpreter-v1" };

void made_copy(struct made *ret_made, const struct made *made)
{
	*ret_made = (struct made){ .template = xstrdup(made->template),
				   .profile = made->profile ? xstrdup(made->profile) : NULL,
				   .image = made->image ? xstrdup(made->image) : NULL,
				   .has_no_net = made->has_no_net };
	strv_copy(&ret_made->env, &made->env);
}

void made_done(struct made *made)
{
	free(made->template);
	free(made->profile);
	free(made->image);
	strv_done(&made->env);
}

struct served_wish made_wish(const struct made *made)
{
	return (struct served_wish){ .profile = made->profile,
				     .image = made->image,
				     .has_no_net = made->has_no_net,
				     .env = made->env };
}

bool template_find(const struct e2b *e2b, const char *name, struct made *ret_made,
		   const struct saved **ret_from)
{
	owned(strv_done) struct strv images = STRV_INIT;

	*ret_from = saved_find(e2b, name);
	if (*ret_from)
		made_copy(ret_made, &(*ret_from)->made);
	free(ret_made->template);
	ret_made->template = xstrdup(name);
	if (*ret_from)
		return true;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		if (strcmp(name, own[i]) == 0)
			return true;
	}
	if (strv_has(e2b->setup->plan.profiles, name)) {
		ret_made->profile = xstrdup(name);
		return true;
	}
	served_images(&e2b->setup->plan, &images);
	if (!strv_has(&images, name))
		return false;
	ret_made->image = xstrdup(name);
	return true;
}

static void add_int(struct json *json, const char *key, int64_t number)
{
	json_key(json, key);
	json_int(json, number);
}

static void add_text(struct json *json, const char *key, const char *text)
{
	json_key(json, key);
	json_text(json, text);
}

static void add_names(struct json *json, const char *key, const char *name)
{
	json_key(json, key);
	json_open(json, '[');
	json_text(json, name);
	json_close(json, ']');
}

/* 0 stands for what is decided only when a sandbox is made of it. */
static void write_template(const struct e2b *e2b, struct json *json, const char *name)
{
	const struct settings *flags = &e2b->setup->plan.request->flags;
	bool has_mem = flags->mem_bytes != SETTING_UNSET;
	bool has_disk = flags->disk_bytes != SETTING_UNSET;
	char when[32];

	time_format_utc(e2b->started_ms, when);
	json_open(json, '{');
	add_text(json, "templateID", name);
	add_text(json, "buildID", name);
	add_int(json, "cpuCount", sysconf(_SC_NPROCESSORS_ONLN));
	add_int(json, "memoryMB", has_mem ? flags->mem_bytes / MIB : 0);
	add_int(json, "diskSizeMB", has_disk ? flags->disk_bytes / MIB : 0);
	json_key(json, "public");
	json_bool(json, false);
	add_names(json, "aliases", name);
	add_names(json, "names", name);
	add_text(json, "createdAt", when);
	add_text(json, "updatedAt", when);
	json_key(json, "createdBy");
	json_write_null(json);
	json_key(json, "lastSpawnedAt");
	json_write_null(json);
	add_int(json, "spawnCount", 0);
	add_int(json, "buildCount", 0);
	add_text(json, "envdVersion", ENVD_VERSION);
	add_text(json, "buildStatus", "ready");
	json_close(json, '}');
}

static void list(const struct e2b *e2b, struct http_request *request)
{
	const struct strv *profiles = e2b->setup->plan.profiles;
	owned(strv_done) struct strv images = STRV_INIT;
	owned(str_done) struct str body = STR_INIT;
	struct json json;

	served_images(&e2b->setup->plan, &images);
	json_init(&json, &body);
	json_open(&json, '[');
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		write_template(e2b, &json, own[i]);
	for (size_t i = 0; i < profiles->count; i++)
		write_template(e2b, &json, profiles->items[i]);
	for (size_t i = 0; i < images.count; i++) {
		if (!strv_has(profiles, images.items[i]))
			write_template(e2b, &json, images.items[i]);
	}
	json_close(&json, ']');
	api_reply(request, 200, &body);
}

/* Whether there is one of that name. */
static void answer_alias(const struct e2b *e2b, struct http_request *request, const char *name)
{
	owned(made_done) struct made made = { 0 };
	owned(str_done) struct str body = STR_INIT;
	const struct saved *from = NULL;
	struct json json;

	if (!template_find(e2b, name, &made, &from)) {
		api_refuse(request, 404, "template '%.64s' was not found", name);
		return;
	}
	json_init(&json, &body);
	json_open(&json, '{');
	add_text(&json, "templateID", name);
	json_key(&json, "public");
	json_bool(&json, false);
	json_close(&json, '}');
	api_reply(request, 200, &body);
}

bool templates_handle(struct e2b *e2b, struct http_request *request, const char *path)
{
	if (strcmp(http_method(request), "GET") != 0)
		return false;
	if (strcmp(path, "/templates") == 0 || strcmp(path, "/v2/templates") == 0)
		list(e2b, request);
	else if (str_starts(path, "/templates/aliases/"))
		answer_alias(e2b, request, path + strlen("/templates/aliases/"));
	else
		return false;
	return true;
}
