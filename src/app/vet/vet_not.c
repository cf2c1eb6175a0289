/* SPDX-License-Identifier: Apache-2.0 */
/* The hot program cannot vet; aisbx-full links the other answers, which win. */
#include "base/core/own.h"
#include "app/vet/guard_read.h"
#include "app/vet/vet.h"

const bool app_can_vet __attribute__((weak)) = false;

__attribute__((weak)) int app_vet(struct spec *spec, const struct strv *set,
				  struct run_result *result, struct vetting *ret_vetting,
				  struct error *err)
{
	(void)spec;
	(void)set;
	(void)result;
	(void)ret_vetting;
	return error_set(err, ERROR_LIBRARIES, "this needs aisbx-full");
}

__attribute__((weak)) void vetting_done(struct vetting *vetting)
{
	(void)vetting;
}

__attribute__((weak)) int guard_read(struct guard_request *request, const char *const *environment,
				     struct guard_reading **ret_reading, struct error *err)
{
	(void)request;
	(void)environment;
	(void)ret_reading;
	return error_set(err, ERROR_LIBRARIES, "this needs aisbx-full");
}

__attribute__((weak)) void guard_reading_free(struct guard_reading **reading)
{
	(void)reading;
}
