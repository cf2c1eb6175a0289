/* SPDX-License-Identifier: Apache-2.0 */
/* `doctor`: each layer tried, with what to do where it does not hold; is this machine fit? */
#include "base/core/own.h"
#include "base/process/own_program.h"
#include "app/doctor/doctor_advice.h"
#include "app/doctor/doctor_probe.h"
#include "app/config/secret_values.h"
#include "app/run/run_request.h"
#include "plan/gpu.h"
#include "wasm/module.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *state_of(enum layer layer, const struct probe_result *result)
{
	if (result->works)
		return result->is_weaker ? "degraded" : "works";
	return layer_is_mandatory(layer) ? "missing" : "degraded";
}

/* What a layer that works means, where the attempt itself had nothing to add. */
static const char *meaning(enum layer layer)
{
	static const char *const words[LAYER_COUNT] = {
		[LAYER_USER] = "own ids, host root not among them",
		[LAYER_MOUNT] = "own mount table",
		[LAYER_PID] = "own processes only, fresh /proc",
		[LAYER_NET] = "own network, nothing in it but loopback",
		[LAYER_IPC] = "own shared memory and queues",
		[LAYER_UTS] = "own host name",
		[LAYER_CGROUP] = "own view of the cgroup tree",
		[LAYER_MASKS] = "whiteouts and empty directories",
	};

	return words[layer] ? words[layer] : "";
}

/* Without a user namespace nothing else that needs one can be tried; repeating its remedy would bury it. */
static bool needs_user_namespace(enum layer layer)
{
	return layer != LAYER_USER && layer != LAYER_SECCOMP && layer != LAYER_LANDLOCK &&
	       layer != LAYER_LIMITS;
}

struct findings {
	bool has_user, fit;
	struct value *fixes;
};

/* One setting may be what several layers lack. */
static void add_fix(struct value *fixes, struct doctor_advice *advice, const char *layer)
{
	const char *name = value_get_text(advice->fix, "name");
	owned(free_ptr) char *why = xasprintf("%s: %s", layer, str_cstr(&advice->why));

	for (size_t i = 0; i < fixes->many.count; i++) {
		if (strcmp(value_get_text(fixes->many.items[i], "name"), name) == 0)
			return;
	}
	value_add(advice->fix, "why", value_new_text(why));
	value_append(fixes, advice->fix);
	advice->fix = NULL;
}

static struct value *describe(const struct doctor_machine *machine, enum layer layer,
			      struct findings *findings)
{
	struct probe_result result = { .works = false };
	struct value *row = value_new_map();
	owned(str_done) struct str detail = STR_INIT;
	owned(doctor_advice_done) struct doctor_advice advice = { .fix = NULL };
	bool is_blocked = !findings->has_user && needs_user_namespace(layer);

	if (!is_blocked)
		probe_layer(machine->host, layer, &result);
	if (layer == LAYER_USER)
		findings->has_user = result.works;
	if (is_blocked) {
		str_add(&detail, "not tried: it needs a user namespace");
		str_add(&advice.remedy, "that of the layer user");
	} else if (result.works && !result.is_weaker) {
		str_add(&detail, result.detail[0] ? result.detail : meaning(layer));
	} else {
		doctor_advise(machine, layer, result.error.errnum, &advice);
		str_add(&detail, result.error.text);
		if (advice.why.len)
			str_addf(&detail, ": %s", str_cstr(&advice.why));
		if (advice.fix)
			add_fix(findings->fixes, &advice, layer_name(layer));
	}
	if (!result.works && layer_is_mandatory(layer))
		findings->fit = false;
	value_set(row, "layer", value_new_text(layer_name(layer)));
	value_set(row, "state", value_new_text(state_of(layer, &result)));
	value_set(row, "mandatory", value_new_bool(layer_is_mandatory(layer)));
	value_set(row, "detail", value_new_text(str_cstr(&detail)));
	value_set(row, "remedy",
		  value_new_text(advice.remedy.len ? str_cstr(&advice.remedy) : NULL));
	return row;
}

/* How the user's named secrets are encrypted, where there are any. */
static void add_secrets(const struct host *host, struct value *list)
{
	static const char *const words[] = {
		[SECRET_LOCK_FILE] = "encrypted; the key is the file secrets.key, mode 0600",
		[SECRET_LOCK_CACHED] =
			"encrypted by a passphrase; the kernel's keyring has the key",
		[SECRET_LOCK_PASSPHRASE] = "encrypted by a passphrase, which is not given now",
		[SECRET_LOCK_BROKEN] = "the file secrets of the configuration cannot be used",
	};
	enum secret_lock lock = secret_lock_look(host->config_dir);
	struct value *row;

	if (lock == SECRET_LOCK_NONE)
		return;
	row = value_append(list, value_new_map());
	value_add(row, "name", value_new_text("secrets"));
	value_add(row, "state", value_new_text(lock == SECRET_LOCK_BROKEN ? "changed" : "works"));
	value_add(row, "detail", value_new_text(words[lock]));
	value_add(row, "remedy",
		  value_new_text(lock == SECRET_LOCK_PASSPHRASE || lock == SECRET_LOCK_BROKEN
					 ? "aisbx secret ls"
					 : NULL));
}

/* Said only where there is one: most machines have none, and nothing is amiss with them. */
static void add_gpus(struct value *list)
{
	owned(strv_done) struct strv names = STRV_INIT;
	owned(str_done) struct str detail = STR_INIT;
	bool has_memory = access("/dev/nvidia-uvm", F_OK) == 0;
	struct value *row;

	gpu_list(&names);
	if (names.count == 0)
		return;
	str_addf(&detail, "%zu for --gpu%s", names.count,
		 has_memory ? "" : ", but /dev/nvidia-uvm is missing");
	row = value_append(list, value_new_map());
	value_add(row, "name", value_new_text("gpu"));
	value_add(row, "state", value_new_text(has_memory ? "works" : "absent"));
	value_add(row, "detail", value_new_text(str_cstr(&detail)));
	value_add(row, "remedy", value_new_text(has_memory ? NULL : "nvidia-modprobe -u -c 0"));
}

/* What may be there or not: nothing else depends on it. */
static struct value *extras(const struct host *host)
{
	struct value *list = value_new_list(), *row = value_append(list, value_new_map());
	owned(sealed_done) struct sealed engine = SEALED_INIT;
	struct error err;
	int found = wasm_part_look(host->data_dir, wasm_engine_row(), 0, &engine, &err);

	value_add(row, "name", value_new_text("wasm"));
	value_add(row, "state",
		  value_new_text(found == 1   ? "works"
				 : found == 0 ? "absent"
					      : "changed"));
	value_add(row, "detail",
		  value_new_text(found == 1   ? wasm_engine_row()->summary
				 : found == 0 ? "--driver wasm has no engine"
					      : err.text));
	value_add(row, "remedy",
		  value_new_text(found == 1 ? NULL : "aisbx wasm install python javascript"));
	add_secrets(host, list);
	add_gpus(list);
	return list;
}

int app_doctor(struct value **ret_answer, struct error *err)
{
	struct doctor_machine machine = { .root = "" };
	struct value *answer;
	owned(host_done) struct host host;
	owned(free_ptr) char *program = own_program("aisbx");
	struct findings findings = { .has_user = true, .fit = true };

	memset(&host, 0, sizeof(host));
	if (host_read(&host, err) < 0)
		return -1;
	machine.host = &host;
	machine.program = program ? program : "aisbx";
	answer = value_new_map();
	struct value *layers = value_new_list();

	findings.fixes = value_new_list();
	for (enum layer layer = LAYER_USER; layer < LAYER_COUNT; layer++)
		value_append(layers, describe(&machine, layer, &findings));
	value_set(answer, "fit", value_new_bool(findings.fit));
	value_set(answer, "user", value_new_text(host.privileged ? "root" : "plain"));
	value_set(answer, "layers", layers);
	value_set(answer, "warnings", doctor_warnings(&machine, findings.fixes));
	value_set(answer, "extras", extras(&host));
	value_set(answer, "fixes", findings.fixes);
	*ret_answer = answer;
	return 0;
}
