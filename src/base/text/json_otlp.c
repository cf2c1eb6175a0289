/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes and numbers in OTLP's form of JSON. */
#include "base/text/json_otlp.h"

#include <inttypes.h>
#include <stdio.h>

void json_otlp_attribute(struct json *json, const char *key, const char *kind, const char *text)
{
	if (!text)
		return;
	json_open(json, '{');
	json_key(json, "key");
	json_text(json, key);
	json_key(json, "value");
	json_open(json, '{');
	json_key(json, kind);
	json_text(json, text);
	json_close(json, '}');
	json_close(json, '}');
}

void json_otlp_count(struct json *json, uint64_t number)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRIu64, number);
	json_text(json, text);
}

void json_otlp_number(struct json *json, const char *key, uint64_t number)
{
	json_key(json, key);
	json_otlp_count(json, number);
}
