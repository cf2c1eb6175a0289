/* SPDX-License-Identifier: Apache-2.0 */
/* What the files about cloned services share. */
#ifndef APP_SERVICE_PARTS_H
#define APP_SERVICE_PARTS_H

#include "app/sandbox/service_copy.h"
#include "services/service.h"

/* In the store. */
#define SERVICES_DIR "services"

int service_copy_write(int dir_fd, const struct service_copy *copy, struct error *err);

/* Whether the user agreed to clones of SERVICE; ERROR_CONSENT with the way to do so. */
int service_check_consent(const struct request *request, const struct spec *spec,
			  const struct service *service, struct error *err);

/* Keeps the state directories of SERVICES for the plans of later starts, which hide them. Best effort. */
void service_places_keep(const struct services *services);

#endif
