/* SPDX-License-Identifier: Apache-2.0 */
/* Life of a request. */
#include "plan/request.h"

#include <stdlib.h>
#include <string.h>

void request_init(struct request *request)
{
	memset(request, 0, sizeof(*request));
	settings_init(&request->flags);
}

void request_done(struct request *request)
{
	settings_done(&request->flags);
	free(request->profile);
	free(request->kept_profile);
	free(request->workspace);
	free(request->trace_id);
	free(request->settings_file);
	strv_done(&request->command);
	strv_done(&request->allow);
	strv_done(&request->deny);
	request_init(request);
}
