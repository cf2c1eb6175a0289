/* The hot program cannot vet; aisbx-more links the other answers, which win. */
#include "base/own.h"
#include "app/vet/vet.h"

const bool engine_can_vet __attribute__((weak)) = false;

__attribute__((weak)) int engine_vet(struct spec *spec, const struct strv *set,
				     struct run_result *result, struct vetting *ret_vetting,
				     struct error *err)
{
	(void)spec;
	(void)set;
	(void)result;
	(void)ret_vetting;
	return error_set(err, ERROR_LIBRARIES, "this needs aisbx-more");
}

__attribute__((weak)) void vetting_done(struct vetting *vetting)
{
	(void)vetting;
}
