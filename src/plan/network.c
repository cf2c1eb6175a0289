/* SPDX-License-Identifier: Apache-2.0 */
/* The network a sandbox gets: none, or what the rules allow. */
#include "base/core/own.h"
#include "net/rule/inject.h"
#include "net/rule/secret.h"
#include "plan/parts.h"

#include <string.h>

/*
 * Where one listener cannot get every port, each costs one that no server inside can have: those of services on the internet, and none that programs
 * under development listen on.
 */
static const char *const all_ports[] = { "21",	 "22",	 "43",	  "80",	  "110",  "119",  "143",
					 "443",	 "465",	 "563",	  "587",  "636",  "873",  "990",
					 "993",	 "995",	 "2222",  "4443", "5222", "5223", "6697",
					 "8443", "9418", "11371", NULL };

static bool says_all(const char *net)
{
	return net && strcmp(net, "all") == 0;
}

static bool says_allow(const char *net)
{
	return strcmp(net, "allow") == 0 || says_all(net);
}

bool plan_wants_all(const struct settings *flags, const struct settings *settings)
{
	return says_all(flags->net ? flags->net : settings->net);
}

bool plan_wants_network(const struct settings *flags, const struct settings *settings)
{
	if (flags->net)
		return says_allow(flags->net);
	if (flags->allow.count > 0 || flags->publish.count > 0)
		return true;
	if (settings->net)
		return says_allow(settings->net);
	return settings->allow.count > 0 || settings->publish.count > 0;
}

/* --net all: one rule for every port, or one for each of the list; and a note about what that is. */
static void plan_all(bool can_redirect, struct spec *spec)
{
	owned(str_done) struct str ports = STR_INIT;

	for (const char *const *port = all_ports; !can_redirect && *port; port++) {
		strv_addf(&spec->allow, "*:%s", *port);
		str_addf(&ports, "%s%s", ports.len ? ", " : "ports ", *port);
	}
	if (can_redirect) {
		strv_add(&spec->allow, NET_RULE_ALL);
		str_add(&ports, "every port");
	}
	strv_addf(&spec->notes,
		  "net all: every place but this machine and private addresses, by TCP on %s; "
		  "%sUDP by --allow udp:HOST:PORT",
		  str_cstr(&ports), can_redirect ? "" : "others by --allow HOST:PORT, ");
}

/* With the file's path as it is from everywhere. */
static int plan_headers(const struct planning *planning, const struct net_policy *policy,
			struct error *err)
{
	const struct strv *given = &planning->settings->secret_header;

	for (size_t i = 0; i < given->count; i++) {
		struct secret secret = { .value = NULL };
		owned(free_ptr) char *path = NULL;

		if (secret_parse(given->items[i], policy, &secret, err) < 0)
			return -1;
		path = plan_absolute(planning->host->cwd, secret.file);
		if (path)
			strv_addf(&planning->spec->secret_header, "%s:%s=%s", secret.host,
				  secret.name, path);
		secret_done(&secret);
		if (!path)
			return error_set(err, ERROR_USAGE, "--secret-header: no such path: %.200s",
					 given->items[i]);
	}
	return 0;
}

/* A word of the command line is the user's wish of now; one of a profile is left out where the network was narrowed since. */
static bool is_asked_now(const struct settings *flags, const char *word, size_t place,
			 const struct settings *settings)
{
	size_t count = settings->inject.count;

	return place < count
		       ? strv_has(&flags->inject, word)
		       : strv_has(&flags->inject_env, settings->inject_env.items[place - count]);
}

/* Two secrets in one place of a request would both be sent, and the server would choose. */
static int check_inject_twice(const struct strv *words, const char *word, struct error *err)
{
	for (size_t i = 0; i < words->count; i++) {
		const char *other = words->items[i];

		if (other[0] == INJECT_MARK && inject_is_same_place(word + 1, other + 1))
			return error_advise(err, ERROR_USAGE, "give one of them",
					    "--inject: two secrets for the same place of a "
					    "request: %s and %s",
					    other + 1, word + 1);
	}
	return 0;
}

static int plan_inject_word(const struct planning *planning, const struct net_policy *policy,
			    const char *given, bool is_asked, struct error *err)
{
	struct strv *words = &planning->spec->secrets;
	owned(free_ptr) char *word = NULL;
	struct inject inject;
	enum net_answer answer;

	if (inject_parse(given, &inject, err) < 0)
		return -1;
	answer = inject_answer(&inject, policy);
	if (answer == NET_DENIED || (answer != NET_ALLOWED && !is_asked)) {
		strv_addf(&planning->spec->notes,
			  "inject %s:%u: left out, for no rule lets requests to it pass here",
			  inject.host, inject.port);
		return 0;
	}
	if (inject_plan(given, policy, &word, err) < 0)
		return -1;
	if (strv_has(words, word))
		return 0;
	if (check_inject_twice(words, word, err) < 0)
		return -1;
	strv_take(words, ptr_take(&word));
	return 0;
}

static int plan_inject(const struct planning *planning, const struct net_policy *policy,
		       struct error *err)
{
	const struct settings *settings = planning->settings;
	owned(strv_done) struct strv given = STRV_INIT;

	strv_copy(&given, &settings->inject);
	for (size_t i = 0; i < settings->inject_env.count; i++)
		strv_take(&given, inject_env_word(settings->inject_env.items[i]));
	for (size_t i = 0; i < given.count; i++) {
		bool is_asked =
			is_asked_now(&planning->request->flags, given.items[i], i, settings);

		if (plan_inject_word(planning, policy, given.items[i], is_asked, err) < 0)
			return -1;
	}
	return 0;
}

int plan_network(const struct planning *planning, struct error *err)
{
	const struct settings *flags = &planning->request->flags;
	const struct settings *settings = planning->settings;
	struct spec *spec = planning->spec;
	struct net_policy policy;

	if (flags->net && !says_allow(flags->net) &&
	    (flags->allow.count > 0 || flags->publish.count > 0))
		return error_set(err, ERROR_USAGE, "--net %s and %s contradict", flags->net,
				 flags->allow.count > 0 ? "--allow" : "--publish");
	strv_copy(&spec->deny, &settings->deny);
	spec->net = plan_wants_network(&planning->request->flags, planning->settings) ? NET_ALLOW
										      : NET_NONE;
	if (spec->net == NET_ALLOW) {
		strv_copy(&spec->allow, &settings->allow);
		if (plan_wants_all(flags, settings))
			plan_all(planning->paths->can_redirect, spec);
		strv_copy(&spec->publish, &settings->publish);
	}
	/* Rules are checked also where none will be used: the user's mistake is an error in any mode. */
	if (spec->net == NET_NONE && spec->deny.count == 0 && settings->secret_header.count == 0 &&
	    settings->inject.count + settings->inject_env.count == 0)
		return 0;
	if (net_policy_parse(&spec->allow, &spec->deny, &policy, err) < 0)
		return -1;
	int status = plan_headers(planning, &policy, err);

	if (status == 0)
		status = plan_inject(planning, &policy, err);

	net_policy_done(&policy);
	return status;
}
