/* SPDX-License-Identifier: Apache-2.0 */
/* What OTLP's form of JSON has of its own. */
#ifndef BASE_JSON_OTLP_H
#define BASE_JSON_OTLP_H

#include "base/text/json_write.h"

/* {"key":KEY,"value":{KIND:TEXT}}, nothing where TEXT is NULL. KIND is stringValue, or intValue, which is text as well. */
void json_otlp_attribute(struct json *json, const char *key, const char *kind, const char *text);

/* A number of 64 bits, which is text there: in a list, and as a member. */
void json_otlp_count(struct json *json, uint64_t number);
void json_otlp_number(struct json *json, const char *key, uint64_t number);

#endif
