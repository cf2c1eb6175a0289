/* SPDX-License-Identifier: Apache-2.0 */
/* Trying each layer for real, in short-lived children: the calling process is never changed. */
#ifndef APP_DOCTOR_PROBE_H
#define APP_DOCTOR_PROBE_H

#include "base/core/error.h"
#include "host/host.h"
#include "spec/spec.h"

/* What came of trying one layer; plain bytes, so that a child can send it in one write. */
struct probe_result {
	bool works;
	bool is_weaker;	    /* works in part: `error.text` names what is missing */
	struct error error; /* why it does not work */
	char detail[160];   /* what was found, when it works */
};

/* Tries LAYER as a run by this caller would use it. */
void probe_layer(const struct host *host, enum layer layer, struct probe_result *ret_result);

#endif
