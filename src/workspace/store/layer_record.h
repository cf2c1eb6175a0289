/* SPDX-License-Identifier: Apache-2.0 */
/* The records of layers, for sealing, folding and checking them. */
#ifndef WORKSPACE_LAYER_RECORD_H
#define WORKSPACE_LAYER_RECORD_H

#include "workspace/store/layer.h"

#define LAYER_PATH_SIZE 48 /* "layers/", an id, "/touched" */
#define TOUCHED_MAX (256u << 20)

bool layer_id_is_valid(const char *lid);

void layer_meta_format(const struct layer_meta *meta, struct str *out);
int layer_meta_parse(const char *bytes, size_t len, struct layer_meta *ret_meta, struct error *err);

/* Records that are damaged, unfinished or there twice are left out. */
void layer_units_parse(const char *bytes, size_t len, struct layer_units *ret_units);

#endif
