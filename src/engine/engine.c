/* The only place where the parts meet: request to spec, spec to run, run to record. */
#include "engine/engine.h"

#include "base/clock.h"
#include "base/own.h"
#include "engine/execute.h"
#include "engine/wasm_ready.h"

int engine_plan(const struct request *request, struct spec *ret_spec, struct error *err)
{
	owned(surroundings_done) struct surroundings around;

	if (surroundings_read(request, &around, err) < 0)
		return -1;
	return execute_plan(request, &around, ret_spec, NULL, err);
}

int engine_run(const struct request *request, const struct engine_run_options *options,
	       struct run_result *ret_result, struct error *err)
{
	owned(surroundings_done) struct surroundings around;
	owned(spec_done) struct spec spec;
	uint64_t asked_ns = clock_now_ns();

	spec_init(&spec);
	ret_result->status = RUN_DENIED;
	strv_copy(&ret_result->command, &request->command);
	if (surroundings_read_again(request, options->memory, &around, err) < 0)
		return -1;
	if (execute_plan(request, &around, &spec, NULL, err) < 0)
		return -1;
	if (!options->compiles && wasm_make_ready(&spec, request->environ, &spec.notes, err) < 0)
		return -1;
	struct execute how = { .options = options, .asked_ns = asked_ns, .upper_fd = -1 };

	how.owner = request->owner;
	return execute_spec(&spec, &how, ret_result, err);
}
