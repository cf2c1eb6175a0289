/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that a start could not provide, against those that must be there. */
#include "launch/launch.h"

int launch_refuse_missing(const struct launch *launch, uint32_t also_missing, uint32_t required,
			  struct error *err)
{
	uint32_t lost = (launch->missing | also_missing) & required;

	for (enum layer layer = LAYER_USER; layer < LAYER_COUNT; layer++) {
		if (!(lost & (1u << layer)))
			continue;
		if (layer == LAYER_LIMITS)
			return error_set(err, ERROR_DENIED, "layer limits is required, but: %.300s",
					 launch->limits_error.text);
		return error_advise(err, ERROR_DENIED, "see `aisbx doctor`",
				    "layer %s is required, but does not hold here",
				    layer_name(layer));
	}
	return 0;
}
