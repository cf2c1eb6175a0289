/* SPDX-License-Identifier: Apache-2.0 */
/* The network rules in force, where each comes from, and what came of them. */
#include "base/text/json_write.h"
#include "base/hash/sha256.h"
#include "base/file/fd.h"
#include "base/core/clock.h"
#include "base/core/own.h"
#include "app/sandbox/network_parts.h"
#include "app/config/rule_list.h"
#include "app/config/secret_words.h"
#include "observe/result.h"

/* Where a rule can come from. */
struct origins {
	const struct network_place *place;
	struct strv workspace[2]; /* allow, deny: kept for the workspace */
};

static void origins_done(struct origins *origins)
{
	strv_done(&origins->workspace[0]);
	strv_done(&origins->workspace[1]);
}

static bool says(const struct strv *texts, const char *rule)
{
	return rule_find(texts, rule) < texts->count;
}

static const char *origin_of(const struct origins *origins, const char *rule, bool is_deny)
{
	const struct request *request = &origins->place->request;
	const struct spec *spec = &origins->place->spec;

	if (origins->place->run_id)
		return "run";
	if (says(is_deny ? &request->deny : &request->allow, rule))
		return "sandbox";
	if (says(is_deny ? &request->flags.deny : &request->flags.allow, rule))
		return "flag";
	if (says(&origins->workspace[is_deny], rule))
		return "workspace";
	return says(is_deny ? &spec->deny : &spec->allow, rule) ? "profile" : "start";
}

static void add_rules(struct value *list, const struct origins *origins, const struct strv *texts,
		      bool is_deny)
{
	for (size_t i = 0; i < texts->count; i++) {
		struct value *row = value_append(list, value_new_map());

		value_add(row, "action", value_new_text(is_deny ? "deny" : "allow"));
		value_add(row, "rule", value_new_text(texts->items[i]));
		value_add(row, "from",
			  value_new_text(origin_of(origins, texts->items[i], is_deny)));
	}
}

static void add_text(struct value *row, const char *key, const char *text,
		     const struct secret_words *secrets)
{
	owned(free_ptr) char *shown = text[0] ? xstrdup(text) : NULL;

	secret_words_hide(secrets, &shown);
	value_add(row, key, value_new_text(shown));
}

static void add_denials(struct value *list, const struct network_words *words,
			const struct strv *secret_files)
{
	owned(secret_words_done) struct secret_words secrets;

	secret_words_read(secret_files, &secrets);
	for (size_t i = 0; i < words->denied_count; i++) {
		const struct attach_denied *denied = &words->denied[i];
		struct value *row = value_append(list, value_new_map());
		char time[32];

		time_format_utc(denied->time_ms, time);
		value_add(row, "time", value_new_text(time));
		value_add(row, "layer", value_new_text(denied->layer));
		add_text(row, "what", denied->what, &secrets);
		add_text(row, "rule", denied->rule, &secrets);
		add_text(row, "hint", denied->hint, &secrets);
	}
}

static void add_counts(struct value *answer, const struct attach_network *counts, bool is_known)
{
	const uint64_t numbers[] = { counts->connections, counts->sent_bytes,
				     counts->received_bytes };
	const char *const keys[] = { "connections", "sent_bytes", "received_bytes" };

	for (size_t i = 0; i < 3; i++)
		value_add(answer, keys[i],
			  is_known ? value_new_int((int64_t)numbers[i]) : value_new_null());
}

/* A running sandbox reports its own rules: those of its start and later changes. */
static struct value *describe(const struct network_place *place, const struct origins *origins,
			      const struct network_words *words)
{
	struct value *answer = value_new_map();
	bool is_running = place->supervisor_fd >= 0;
	bool has_gateway = is_running ? words->counts.has_gateway : place->spec.net == NET_ALLOW;
	const struct strv *allow = is_running ? &words->allow : &place->spec.allow;
	const struct strv *deny = is_running ? &words->deny : &place->spec.deny;
	struct value *rules;

	value_add(answer, "sandbox",
		  value_new_text(place->place.has_sandbox ? place->place.sandbox.name : NULL));
	if (place->run_id)
		value_add(answer, "run_id", value_new_text(place->run_id));
	value_add(answer, "workspace", value_new_text(place->around.paths.workspace));
	/* With the last rule the network goes, though the gateway stays until the sandbox ends. */
	if (place->spec.net == NET_NONE && !place->run_id && allow->count == 0)
		has_gateway = false;
	value_add(answer, "net", value_new_text(has_gateway ? "allow" : "none"));
	value_add(answer, "running", value_new_bool(is_running));
	rules = value_add(answer, "rules", value_new_list());
	add_rules(rules, origins, deny, true);
	if (has_gateway)
		add_rules(rules, origins, allow, false);
	value_add(answer, "publish", value_from_strv(&place->spec.publish));
	add_counts(answer, &words->counts, is_running && has_gateway);
	add_denials(value_add(answer, "denials", value_new_list()), words, &place->spec.secrets);
	return answer;
}

/* By which a decision names the rules it was made on. */
static void add_digest(struct value *answer)
{
	owned(str_done) struct str rules = STR_INIT;
	char digest[SHA256_HEX_SIZE];

	json_write(&rules, value_get(answer, "rules"), 0);
	sha256_hex(rules.data, rules.len, digest);
	value_add(answer, "digest", value_new_text(digest));
}

int app_network(const char *sandbox, const char *workspace, struct value **ret_answer,
		struct error *err)
{
	owned(network_place_done) struct network_place place;
	owned(network_words_done) struct network_words words = { 0 };
	owned(origins_done) struct origins origins = { .place = &place };
	const char *at;

	if (network_place_open(sandbox, workspace, &place, err) < 0 ||
	    (!place.run_id && network_place_plan(&place, err) < 0))
		return -1;
	at = place.around.paths.workspace;
	if (at && rule_list_of_workspace(place.around.host.config_dir, at, &origins.workspace[0],
					 &origins.workspace[1], err) < 0)
		return -1;
	if (place.supervisor_fd >= 0 && network_ask(place.supervisor_fd, &words, err) < 0) {
		if (place.run_id || !sandbox_was_left(place.supervisor_fd, err))
			return -1;
		fd_close(&place.supervisor_fd);
	}
	*ret_answer = describe(&place, &origins, &words);
	add_digest(*ret_answer);
	return 0;
}
