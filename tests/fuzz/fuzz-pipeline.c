/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes pipeline files, bundles and the record of stages. */
#include "base/core/own.h"
#include "decide/stage/bundle.h"
#include "decide/stage/pipeline.h"
#include "decide/stage/record.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(pipeline_done) struct pipeline pipeline;
	owned(bundle_done) struct bundle bundle;
	owned(stage_record_done) struct stage_record record;
	struct error err = { 0 };

	pipeline_init(&pipeline);
	bundle_init(&bundle);
	stage_record_init(&record);
	(void)pipeline_read((const char *)data, size, "fuzz", &pipeline, &err);
	(void)bundle_read((const char *)data, size, &bundle, &err);
	(void)stage_record_read((const char *)data, size, &record, &err);
	return 0;
}
