/* SPDX-License-Identifier: Apache-2.0 */
/* Network rules while sandboxes live: kept, and sent to a running gateway. */
#include "app/sandbox/network.h"

#include "base/file/dir.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "app/run/execute.h"
#include "app/run/preset_run.h"
#include "app/run/warm_cache.h"
#include "app/sandbox/network_parts.h"
#include "app/sandbox/service_copy.h"
#include "app/config/own_list.h"
#include "app/config/rule_list.h"
#include "app/vet/rego.h"
#include "supervise/sandbox/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_MS 15000
#define REACH_TRIES 5u /* of supervisors that others end */

void network_place_done(struct network_place *place)
{
	fd_close(&place->supervisor_fd);
	free(place->run_id);
	spec_done(&place->spec);
	plan_context_done(&place->around);
	request_done(&place->request);
	sandbox_place_close(&place->place);
}

static int open_sandbox(const char *name, struct network_place *place, struct error *err)
{
	if (network_run_reach(name, place, err) < 0)
		return -1;
	if (place->run_id)
		return 0;
	if (sandbox_check_name(name, err) < 0 || app_store(&place->place.store, err) < 0)
		return -1;
	place->place.has_store = true;
	if (sandbox_open(&place->place.store, name, SANDBOX_UNLOCKED, &place->place.sandbox, err) <
	    0)
		return -1;
	place->place.has_sandbox = true;
	if (sandbox_look_around(&place->place.sandbox, &place->request, &place->around, err) < 0)
		return -1;
	(void)sandbox_reach(place->place.sandbox.dir_fd, &place->supervisor_fd);
	return 0;
}

int network_place_open(const char *sandbox, const char *workspace, struct network_place *ret_place,
		       struct error *err)
{
	memset(ret_place, 0, sizeof(*ret_place));
	ret_place->supervisor_fd = -1;
	request_init(&ret_place->request);
	spec_init(&ret_place->spec);
	if (sandbox)
		return open_sandbox(sandbox, ret_place, err);
	ret_place->request.environ = (const char *const *)environ;
	ret_place->request.workspace = workspace ? xstrdup(workspace) : NULL;
	if (plan_context_read(&ret_place->request, &ret_place->around, err) < 0)
		return -1;
	if (!ret_place->around.paths.workspace)
		return error_set(err, ERROR_USAGE,
				 "there is no workspace here to keep rules for: go into one, give "
				 "-C DIR, or name a sandbox");
	return 0;
}

int network_place_plan(struct network_place *place, struct error *err)
{
	struct request trial = place->request;
	struct strv command = STRV_INIT;
	int status;

	/* Nothing is started, but a plan needs a command. */
	strv_add(&command, "true");
	trial.command = command;
	spec_done(&place->spec);
	spec_init(&place->spec);
	status = execute_plan(&trial, &place->around, &place->spec, NULL, err);
	strv_done(&command);
	return status;
}

/* The supervisor's messages before its answer. */
static void take_words(const struct attach_message *message, struct network_words *words)
{
	if (message->kind == ATTACH_RULE) {
		strv_take(message->rule.is_deny ? &words->deny : &words->allow,
			  xstrndup(message->rule.text, sizeof(message->rule.text) - 1));
	} else if (message->kind == ATTACH_DENIED) {
		words->denied =
			xrealloc(words->denied, words->denied_count + 1, sizeof(*words->denied));
		words->denied[words->denied_count++] = message->denied;
	}
}

static int receive(int supervisor_fd, struct attach_packet *packet, struct error *err)
{
	int got;

	if (fd_wait(supervisor_fd, POLLIN, ANSWER_MS) <= 0)
		return error_set(err, ERROR_HOST, "the sandbox's supervisor does not answer");
	got = attach_receive(supervisor_fd, packet);
	if (got <= 0)
		return attach_lost(got, err);
	attach_close(packet);
	return 0;
}

/* The next answer; what else the supervisor has to say goes into WORDS, where there is one. */
static int next_answer(int supervisor_fd, struct network_words *words, struct attach_packet *packet,
		       struct error *err)
{
	const struct attach_message *message = &packet->message;

	for (;;) {
		if (receive(supervisor_fd, packet, err) < 0)
			return -1;
		if (message->kind == ATTACH_NETWORK || message->kind == ATTACH_DONE)
			return 0;
		if (message->kind == ATTACH_FAILED) {
			*err = message->error;
			return -1;
		}
		if (words)
			take_words(message, words);
	}
}

int network_ask(int supervisor_fd, struct network_words *ret_words, struct error *err)
{
	const struct attach_message question = { .kind = ATTACH_NETWORK };
	owned(free_ptr) struct attach_packet *packet = xcalloc(1, sizeof(*packet));

	memset(ret_words, 0, sizeof(*ret_words));
	if (attach_send(supervisor_fd, &question, NULL, 0) < 0)
		return error_errno(err, ERROR_HOST, "cannot reach the sandbox's supervisor");
	if (next_answer(supervisor_fd, ret_words, packet, err) < 0)
		return -1;
	ret_words->counts = packet->message.network;
	return 0;
}

void network_words_done(struct network_words *words)
{
	strv_done(&words->allow);
	strv_done(&words->deny);
	free(words->denied);
	memset(words, 0, sizeof(*words));
}

static int send_rule(int supervisor_fd, const struct rule_change *change, struct error *err)
{
	owned(free_ptr) struct attach_packet *packet = xcalloc(1, sizeof(*packet));
	struct attach_message message = { .kind = ATTACH_RULE };

	message.rule.is_deny = change->is_deny;
	message.rule.is_removal = change->is_removal;
	(void)snprintf(message.rule.text, sizeof(message.rule.text), "%s", change->rule);
	if (attach_send(supervisor_fd, &message, NULL, 0) < 0)
		return error_errno(err, ERROR_HOST, "cannot reach the sandbox's supervisor");
	return next_answer(supervisor_fd, NULL, packet, err);
}

static void note_next_start(const char *sandbox, struct strv *notes)
{
	owned(free_ptr) char *note =
		xasprintf("%s was started without a network: the rule holds from its next start on "
			  "(aisbx stop %s)",
			  sandbox, sandbox);

	if (!strv_has(notes, note))
		strv_add(notes, note);
}

/* Sends it to the gateway of a running sandbox, and sets *RET_LIVE when that follows the change. */
static int change_reached(const struct network_place *place, const struct rule_change *change,
			  bool *ret_live, struct strv *notes, struct error *err)
{
	owned(network_words_done) struct network_words words = { 0 };
	const struct strv *planned = change->is_deny ? &place->spec.deny : &place->spec.allow;
	const struct strv *present = change->is_deny ? &words.deny : &words.allow;

	if (network_ask(place->supervisor_fd, &words, err) < 0)
		return -1;
	if (!words.counts.has_gateway) {
		if (!change->is_deny && !change->is_removal)
			note_next_start(place->place.sandbox.name, notes);
		return 0;
	}
	/* One that flags or a profile give as well stays. */
	if (change->is_removal && (rule_find(planned, change->rule) < planned->count ||
				   rule_find(present, change->rule) == present->count))
		return 0;
	if (send_rule(place->supervisor_fd, change, err) < 0)
		return -1;
	*ret_live = true;
	return 0;
}

/*
 * Whether a supervisor runs, and then *RET_FD. One that is being started holds the lock from before it reads the rules, and
 * listens later: it is waited for, as is one that is about to end.
 */
static int reach(int dir_fd, int *ret_fd, struct error *err)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	owned(fd_close) int lock_fd =
		openat(dir_fd, SUPERVISOR_LOCK, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	for (unsigned i = 0; i < ANSWER_MS; i++) {
		if (sandbox_reach(dir_fd, ret_fd))
			return 1;
		if (lock_fd < 0 || flock(lock_fd, LOCK_SH | LOCK_NB) == 0)
			return 0;
		(void)nanosleep(&pause, NULL);
	}
	return error_set(err, ERROR_HOST, "the sandbox's supervisor neither answers nor ends");
}

/* Reaches whichever supervisor runs now: one that was ended since the last look may have a successor. */
static int change_live(struct network_place *place, const struct rule_change *change,
		       bool *ret_live, struct strv *notes, struct error *err)
{
	for (unsigned i = 0; i < REACH_TRIES; i++) {
		fd_close(&place->supervisor_fd);
		int reached = reach(place->place.sandbox.dir_fd, &place->supervisor_fd, err);

		if (reached <= 0)
			return reached;
		if (change_reached(place, change, ret_live, notes, err) == 0)
			return 0;
		if (!sandbox_was_left(place->supervisor_fd, err))
			return -1;
	}
	return attach_lost(0, err);
}

/* What it will be started with must be a plan, and one in which the rule counts. */
static int try_plan(struct network_place *place, const struct rule_change *change,
		    struct error *err)
{
	struct strv *kept = change->is_deny ? &place->request.deny : &place->request.allow;

	if (!change->is_removal)
		strv_add(kept, change->rule);
	if (network_place_plan(place, err) < 0)
		return -1;
	if (!change->is_removal && !change->is_deny && place->spec.net != NET_ALLOW)
		return error_advise(err, ERROR_DENIED,
				    "no rule opens that: make a sandbox with --allow",
				    "net: none is said for '%s', by its flags or its profile",
				    place->place.has_sandbox ? place->place.sandbox.name
							     : place->around.paths.workspace);
	return 0;
}

static int keep_for_workspace(const struct network_place *place, const struct rule_change *change,
			      struct error *err)
{
	const char *config_dir = place->around.host.config_dir;
	owned(fd_close) int dir_fd = -1;

	if (!change->is_removal && dir_make_all(config_dir) < 0)
		return error_errno(err, ERROR_HOST, "%s", config_dir);
	dir_fd = open(config_dir, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	if (dir_fd < 0)
		return error_set(err, ERROR_NOT_FOUND, "no rule is kept for this workspace");
	return rule_list_change(dir_fd, place->around.paths.workspace, change, err);
}

/* RULES: those that were changed. */
static struct value *answer_of(const struct network_place *place, const struct app_rule *wish,
			       const char *rules, bool live)
{
	struct value *answer = value_new_map();

	value_add(answer, "sandbox", value_new_text(wish->sandbox));
	if (place->run_id)
		value_add(answer, "run_id", value_new_text(place->run_id));
	value_add(answer, "workspace", value_new_text(place->around.paths.workspace));
	value_add(answer, "action", value_new_text(wish->is_deny ? "deny" : "allow"));
	value_add(answer, "rule", value_new_text(rules));
	value_add(answer, "removed", value_new_bool(wish->is_removal));
	value_add(answer, "live", value_new_bool(live));
	return answer;
}

/* What was written up to now came by other rules than what follows: neither is a cache of them. */
static int end_cache(int dir_fd, struct error *err)
{
	return cache_is_laid(dir_fd) ? warm_cache_taint(dir_fd, err) : 0;
}

/*
 * A removed rule is forgotten first, an added one sent first: what fails half-way is then the narrower of both. A supervisor
 * that started before an added one was written does not have it, and is sent it afterwards; one that has it takes it again.
 */
static int change_sandbox(struct network_place *place, const struct rule_change *change,
			  bool *ret_live, struct strv *notes, struct error *err)
{
	int dir_fd = place->place.sandbox.dir_fd;
	bool is_sent = false;

	if (!change->is_removal) {
		if (try_plan(place, change, err) < 0 || end_cache(dir_fd, err) < 0 ||
		    change_live(place, change, &is_sent, notes, err) < 0 ||
		    rule_list_change(dir_fd, NULL, change, err) < 0)
			return -1;
		*ret_live |= is_sent;
		return is_sent && !change->is_deny
			       ? 0
			       : change_live(place, change, ret_live, notes, err);
	}
	if (rule_list_change(dir_fd, NULL, change, err) < 0 || end_cache(dir_fd, err) < 0)
		return -1;
	strv_done(&place->request.allow);
	strv_done(&place->request.deny);
	if (rule_list_read(dir_fd, NULL, &place->request.allow, &place->request.deny, err) < 0)
		return -1;
	return network_place_plan(place, err) < 0
		       ? -1
		       : change_live(place, change, ret_live, notes, err);
}

static int change_one(struct network_place *place, const struct rule_change *change, bool *ret_live,
		      struct strv *notes, struct error *err)
{
	/* Nothing is kept for a run: its rules end with it. */
	if (place->run_id) {
		*ret_live = true;
		return send_rule(place->supervisor_fd, change, err);
	}
	if (place->place.has_sandbox)
		return change_sandbox(place, change, ret_live, notes, err);
	return try_plan(place, change, err) < 0 ? -1 : keep_for_workspace(place, change, err);
}

/* Data of services needs a second word, which is kept before a rule is in force. */
static int check_services(struct network_place *place, const struct app_rule *wish,
			  struct error *err)
{
	const struct spec open = { .net = NET_ALLOW };
	const struct sandbox *sandbox = &place->place.sandbox;

	if (!place->place.has_sandbox || wish->is_deny || wish->is_removal)
		return 0;
	return wish->services_with_network ? service_let_leave(sandbox->dir_fd, err)
					   : service_check_network(sandbox, &open, err);
}

/*
 * A word may stand for several rules. One that is not there to be forgotten, or whose port a server inside has, does not
 * keep the others back; only when none is left does the call fail.
 */
static int change_all(struct network_place *place, const struct app_rule *wish, struct str *changed,
		      bool *ret_live, struct strv *notes, struct error *err)
{
	for (size_t i = 0; i < wish->rules.count; i++) {
		const char *rule = wish->rules.items[i];
		const struct rule_change change = { wish->is_deny, wish->is_removal, rule };

		if (change_one(place, &change, ret_live, notes, err) == 0) {
			str_addf(changed, "%s%s", changed->len > 0 ? "," : "", rule);
			continue;
		}
		if (err->code == ERROR_CONFLICT && wish->rules.count > 1)
			strv_addf(notes, "%s is not in force: %s", rule, err->text);
		else if (err->code != ERROR_NOT_FOUND)
			return -1;
	}
	return changed->len > 0 ? 0 : -1;
}

/* Rules that are to be allowed, as a plan with nothing else in it. */
static int ask_policy(const struct network_place *place, const struct app_rule *wish,
		      struct error *err)
{
	owned(spec_done) struct spec spec;

	spec_init(&spec);
	strv_copy(&spec.allow, &wish->rules);
	spec.net = NET_ALLOW;
	if (wish->sandbox)
		spec.sandbox = xstrdup(wish->sandbox);
	return policy_start(&place->request, "allow", &spec, NULL, err);
}

/* In aisbx-full only. */
#pragma weak app_presets_expand_here

/* What presets of WISH mean today; it is kept as hosts, so that it stays what was seen. */
static int expand_presets(const struct network_place *place, struct app_rule *wish,
			  struct strv *notes, struct error *err)
{
	const char *workspace = place->around.paths.workspace;

	if (!app_presets_in(&wish->rules))
		return 0;
	if (!app_presets_expand_here)
		return error_set(err, ERROR_LIBRARIES, "this needs aisbx-full");
	return app_presets_expand_here(workspace ? workspace : wish->workspace, &wish->rules, notes,
				       err);
}

int app_rule(struct app_rule *wish, struct value **ret_answer, struct strv *notes,
	     struct error *err)
{
	owned(network_place_done) struct network_place place = { .supervisor_fd = -1 };
	owned(str_done) struct str changed = STR_INIT;
	struct net_rule parsed;
	bool live = false;

	if (policy_hand_over(err) < 0 ||
	    network_place_open(wish->sandbox, wish->workspace, &place, err) < 0 ||
	    expand_presets(&place, wish, notes, err) < 0)
		return -1;
	for (size_t i = 0; i < wish->rules.count; i++) {
		if (net_rule_parse(wish->rules.items[i], &parsed, err) < 0)
			return -1;
	}
	if (policy_start && !wish->is_deny && !wish->is_removal &&
	    ask_policy(&place, wish, err) < 0)
		return -1;
	if (check_services(&place, wish, err) < 0 ||
	    change_all(&place, wish, &changed, &live, notes, err) < 0)
		return -1;
	*ret_answer = answer_of(&place, wish, str_cstr(&changed), live);
	return 0;
}

void app_rule_done(struct app_rule *wish)
{
	strv_done(&wish->rules);
}
