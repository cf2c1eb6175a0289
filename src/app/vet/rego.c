/* SPDX-License-Identifier: Apache-2.0 */
/* Policies: asked, their answers taken apart and carried out. */
#include "app/vet/rego_parts.h"

#include "app/record/record.h"
#include "base/core/own.h"

#include <string.h>

/* What can be lowered, by the flag's name. */
static const struct {
	const char *name;
	size_t wish, limit; /* in struct settings, in struct spec_limits */
} numbers[] = {
#define NUMBER(name, field)                                                                 \
	{                                                                                   \
		name, offsetof(struct settings, field), offsetof(struct spec_limits, field) \
	}
	NUMBER("cpu", cpu_milli),	 NUMBER("mem", mem_bytes),     NUMBER("pids", pids),
	NUMBER("disk", disk_bytes),	 NUMBER("inodes", inodes),     NUMBER("time", time_ms),
	NUMBER("cpu-time", cpu_time_ms), NUMBER("fsize", fsize_bytes), NUMBER("nofile", nofile),
	NUMBER("output", output_bytes),	 NUMBER("fuel", fuel),
#undef NUMBER
};

/* From the weakest to the strongest; two that are alike have the same number. */
static const struct {
	const char *name;
	int strength;
} drivers[] = {
	{ "chroot", 1 }, { "landlock", 2 }, { "bwrap", 3 }, { "docker", 4 },
	{ "linux", 4 },	 { "gvisor", 5 },   { "wasm", 6 },  { "vm", 6 },
};

void policy_answer_done(struct policy_answer *answer)
{
	strv_done(&answer->gates);
	strv_done(&answer->drivers);
	value_release(&answer->limits);
}

static int refuse_shape(const char *set, const char *rule, const char *want, struct error *err)
{
	return error_advise(err, ERROR_DENIED, "aisbx policy check tries all of it",
			    "the %s's policy: %s is no %s", set, rule, want);
}

/* Adds the texts of a rule that is a set. */
static int read_texts(const struct value *rules, const char *rule, const char *set,
		      struct strv *ret_texts, struct error *err)
{
	const struct value *list = value_get(rules, rule);

	if (!list)
		return 0;
	if (list->kind != VALUE_LIST)
		return refuse_shape(set, rule, "set of texts", err);
	for (size_t i = 0; i < list->many.count; i++) {
		if (list->many.items[i]->kind != VALUE_TEXT)
			return refuse_shape(set, rule, "set of texts", err);
		strv_add(ret_texts, list->many.items[i]->text.bytes);
	}
	return 0;
}

static int read_set(const struct value *row, struct strv *denials, struct policy_answer *answer,
		    struct error *err)
{
	struct value *rules = value_get(row, "rules");
	const char *set = value_get_text(row, "name");
	struct value *limits, *approvals;
	size_t before = denials->count;

	if (!rules || rules->kind != VALUE_MAP || !value_get(rules, "deny"))
		return error_advise(err, ERROR_DENIED,
				    "write at least `deny contains \"never\" if false`",
				    "the %s's policy defines no set `deny`", set);
	if (read_texts(rules, "deny", set, denials, err) < 0 ||
	    read_texts(rules, "require_gate", set, &answer->gates, err) < 0 ||
	    read_texts(rules, "require_driver", set, &answer->drivers, err) < 0)
		return -1;
	/* An empty reason is one, too. */
	for (size_t i = before; i < denials->count; i++) {
		char *words = xasprintf("%s (the %s's policy)", denials->items[i], set);

		free(denials->items[i]);
		denials->items[i] = words;
	}
	approvals = value_get(rules, "require_approvals");
	if (approvals && (approvals->kind != VALUE_INT || approvals->integer < 0))
		return refuse_shape(set, "require_approvals", "whole number", err);
	if (approvals && approvals->integer > answer->approvals)
		answer->approvals = approvals->integer;
	limits = value_get(rules, "limits");
	if (limits && limits->kind != VALUE_MAP)
		return refuse_shape(set, "limits", "object", err);
	if (limits)
		value_append(answer->limits, value_take(rules, "limits"));
	return 0;
}

/* Words of a policy on one line, without what a terminal would act on. */
static void add_words(struct str *out, const char *words)
{
	for (; *words; words++)
		str_add_char(out, (unsigned char)*words < ' ' || *words == 127 ? ' ' : *words);
}

int policy_read_answer(const struct value *answer, struct policy_answer *ret_answer,
		       struct error *err)
{
	owned(strv_done) struct strv denials = STRV_INIT;
	owned(str_done) struct str words = STR_INIT;
	const struct value *rows = value_get(answer, "sets");

	ret_answer->limits = value_new_list();
	for (size_t i = 0; i < rows->many.count; i++) {
		if (read_set(rows->many.items[i], &denials, ret_answer, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < denials.count; i++) {
		str_add(&words, i ? "; " : "");
		add_words(&words, denials.items[i]);
	}
	return denials.count == 0 ? 0 : error_set(err, ERROR_DENIED, "%s", str_cstr(&words));
}

/* Keeps the decision, with the digest by which the policies of that day are known again. */
static void record_decision(const char *action, const char *digest, const struct value *input,
			    const struct error *refusal)
{
	owned(value_release) struct value *body = value_new_map();
	const struct value *spec = value_get(input, "spec"), *change = value_get(input, "change");
	const char *sandbox = spec     ? value_get_text(spec, "sandbox")
			      : change ? value_get_text(change, "sandbox")
				       : NULL;

	value_add(body, "action", value_new_text(action));
	value_add(body, "decision", value_new_text(refusal ? "deny" : "allow"));
	value_add(body, "rule", value_new_text(refusal ? refusal->text : NULL));
	value_add(body, "policy", value_new_text(digest));
	record_event(&(struct record_event){ .kind = "policy", .sandbox = sandbox, .body = body });
}

int policy_ask(const char *action, struct value *input, int kept_fd,
	       struct policy_answer *ret_answer, struct error *err)
{
	owned(policy_files_done) struct policy_files files = { 0 };
	const struct policy_question question = { "decide", &files, input, kept_fd };
	owned(value_release) struct value *answer = NULL;
	int status;

	status = policy_files_read(false, &files, err);
	if (status == 0 && files.count == 0)
		return 0;
	if (status == 0) {
		memcpy(ret_answer->digest, files.digest, sizeof(files.digest));
		policy_input_add_common(input, action);
		status = policy_files_check_fields(&files, err);
	}
	if (status == 0)
		status = policy_evaluate(&question, &answer, err);
	if (status == 0)
		status = policy_read_answer(answer, ret_answer, err);
	record_decision(action, ret_answer->digest, input, status < 0 ? err : NULL);
	if (status < 0) {
		/* Whatever kept it from an answer, it is a refusal. */
		err->code = ERROR_DENIED;
		return error_context(err, "denied by policy");
	}
	return 0;
}

static int strength_of(const char *driver)
{
	for (size_t i = 0; driver && i < sizeof(drivers) / sizeof(drivers[0]); i++) {
		if (strcmp(drivers[i].name, driver) == 0)
			return drivers[i].strength;
	}
	return 0;
}

static int check_drivers(const struct policy_answer *answer, const struct spec *spec,
			 struct error *err)
{
	for (size_t i = 0; i < answer->drivers.count; i++) {
		const char *wanted = answer->drivers.items[i];
		char shown[STR_SHOWN_SIZE];

		if (strength_of(wanted) > 0 && strength_of(spec->driver) >= strength_of(wanted))
			continue;
		error_set(err, ERROR_DENIED,
			  "denied by policy: it demands the driver %s, and this is %s",
			  str_shown(wanted, shown), spec->driver);
		return error_add_hint(err, "give --driver %s", shown);
	}
	return 0;
}

/* The text of a limit, as the flag takes it; owned by the caller. */
static char *limit_text(const struct value *value)
{
	if (value->kind == VALUE_TEXT)
		return xstrdup(value->text.bytes);
	return value->kind == VALUE_INT	   ? xasprintf("%lld", (long long)value->integer)
	       : value->kind == VALUE_REAL ? xasprintf("%g", value->real)
					   : xstrdup("");
}

/* What was asked for by name is refused beyond the limit; what is only a default is lowered, with a note. */
static int lower_one(const char *name, const struct value *value, const struct settings *flags,
		     struct spec *spec, struct spec_limits *most, struct error *err)
{
	owned(free_ptr) char *text = limit_text(value);
	owned(settings_done) struct settings said;
	size_t i = 0;

	settings_init(&said);
	while (i < sizeof(numbers) / sizeof(numbers[0]) && strcmp(numbers[i].name, name) != 0)
		i++;
	if (i == sizeof(numbers) / sizeof(numbers[0]))
		return error_set(err, ERROR_DENIED, "denied by policy: limits has no '%.40s'",
				 name);
	if (settings_set(&said, setting_find(name), "the policy's limit", text, err) < 0) {
		err->code = ERROR_DENIED;
		return error_context(err, "denied by policy");
	}
	int64_t ceiling = *(const int64_t *)((const char *)&said + numbers[i].wish);
	int64_t wish = *(const int64_t *)((const char *)flags + numbers[i].wish);
	uint64_t *limit = (uint64_t *)((char *)&spec->limits + numbers[i].limit);
	uint64_t *least = (uint64_t *)((char *)most + numbers[i].limit);

	if (wish != SETTING_UNSET && wish > ceiling)
		return error_set(err, ERROR_DENIED, "denied by policy: --%s is at most %s", name,
				 text);
	if (!*least || *least > (uint64_t)ceiling)
		*least = (uint64_t)ceiling;
	if (*limit && *limit <= (uint64_t)ceiling)
		return 0;
	*limit = (uint64_t)ceiling;
	strv_addf(&spec->notes, "policy: %s is at most %s", name, text);
	return 0;
}

const char *policy_lower(struct spec_limits *limits, const struct spec_limits *most)
{
	const char *lowered = NULL;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		uint64_t *limit = (uint64_t *)((char *)limits + numbers[i].limit);
		uint64_t bound = *(const uint64_t *)((const char *)most + numbers[i].limit);

		if (!bound || (*limit && *limit <= bound))
			continue;
		*limit = bound;
		lowered = lowered ? lowered : numbers[i].name;
	}
	if (limits->nofile && limits->nofile_soft > limits->nofile)
		limits->nofile_soft = limits->nofile;
	return lowered;
}

static int lower_limits(const struct policy_answer *answer, const struct request *request,
			struct spec *spec, struct spec_limits *most, struct error *err)
{
	struct settings flags = request->flags; /* borrows everything */

	if (request->time_is_default)
		flags.time_ms = SETTING_UNSET;
	for (size_t i = 0; answer->limits && i < answer->limits->many.count; i++) {
		const struct value *map = answer->limits->many.items[i];

		for (size_t k = 0; k < map->many.count; k++) {
			if (lower_one(map->many.keys[k], map->many.items[k], &flags, spec, most,
				      err) < 0)
				return -1;
		}
	}
	(void)policy_lower(&spec->limits, most);
	return 0;
}

int policy_start(const struct request *request, const char *action, struct spec *spec,
		 struct spec_limits *ret_most, struct error *err)
{
	struct spec_limits unused, *most = ret_most ? ret_most : &unused;
	owned(policy_answer_done) struct policy_answer answer = { 0 };
	owned(value_release) struct value *input = NULL;

	*most = (struct spec_limits){ 0 };
	if (!policy_may_exist())
		return 0;
	input = value_new_map();
	value_add(input, "spec", policy_spec(request, spec));
	/* What a sandbox is planned with where it has no command yet is none. */
	if (strcmp(action, "create") == 0 && request->command.count == 0)
		value_set(value_get(input, "spec"), "command", value_new_list());
	value_add(input, "agent", value_new_text(request->owner ? request->owner : ""));
	if (policy_ask(request->action ? request->action : action, input, request->policy_fd,
		       &answer, err) < 0 ||
	    check_drivers(&answer, spec, err) < 0)
		return -1;
	return lower_limits(&answer, request, spec, most, err);
}

int policy_call(const char *action, struct value *given, int kept_fd, struct error *err)
{
	owned(policy_answer_done) struct policy_answer answer = { 0 };
	owned(value_release) struct value *input = given;

	if (!policy_may_exist())
		return 0;
	if (policy_ask(action, input, kept_fd, &answer, err) < 0)
		return -1;
	if (strcmp(action, "promote") == 0 && (answer.approvals > 0 || answer.gates.count > 0))
		return error_set(
			err, ERROR_DENIED,
			"denied by policy: it demands gates or approvals, which an artifact "
			"has not; promote the sandbox instead");
	return 0;
}
