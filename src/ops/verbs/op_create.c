/* SPDX-License-Identifier: Apache-2.0 */
/* `create`: a named sandbox, ready to be entered; nothing runs yet. */
#include "base/clock.h"
#include "base/own.h"
#include "base/units.h"
#include "app/sandbox/owner.h"
#include "app/sandbox/sandbox.h"
#include "ops/rows/rows.h"
#include "ops/text/words.h"

int op_ttl(const struct op_call *call, uint64_t *ret_ms, struct error *err)
{
	const char *text = op_arg_text(call, "ttl");
	int64_t ms = 0;

	if (text && units_duration("--ttl", text, &ms, err) < 0)
		return -1;
	*ret_ms = (uint64_t)ms;
	return 0;
}

int op_create_run(struct op_call *call, struct error *err)
{
	owned(request_done) struct request request;
	struct engine_create create = { .name = NULL };
	char expires[32];

	request_init(&request);
	if (op_want_words(call, 1, 1, err) < 0 || op_ttl(call, &create.ttl_ms, err) < 0 ||
	    op_request(call, &request, err) < 0)
		return -1;
	create.name = call->words.items[0];
	if (engine_create(&request, &create, err) < 0)
		return -1;
	call->answer = value_new_map();
	value_add(call->answer, "name", value_new_text(create.name));
	if (call->ceiling && !create.ttl_ms)
		create.ttl_ms = OWNED_TTL_MS;
	if (create.ttl_ms)
		time_format_utc(clock_epoch_ms() + create.ttl_ms, expires);
	value_add(call->answer, "expires", value_new_text(create.ttl_ms ? expires : NULL));
	str_addf(&call->text, "created %s; enter it with: aisbx exec %s -- CMD\n", create.name,
		 create.name);
	return 0;
}
