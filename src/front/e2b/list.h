/* SPDX-License-Identifier: Apache-2.0 */
/* The list of sandboxes: filtered, in order, page by page. */
#ifndef FRONT_E2B_LIST_H
#define FRONT_E2B_LIST_H

#include "front/e2b/e2b.h"

void list_rows(const struct e2b *e2b, struct http_request *request);
/* A sandbox with all that is known of it. */
void api_detail(struct json *json, const struct row *row);

#endif
