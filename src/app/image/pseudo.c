/* SPDX-License-Identifier: Apache-2.0 */
/* Pseudo-images, read and written. */
#include "app/image/pseudo.h"

#include "base/core/own.h"
#include "base/text/json_read.h"
#include "base/text/json_write.h"
#include "base/text/suggest.h"
#include "base/text/value_reader.h"
#include "base/text/yaml.h"
#include "plan/image_policy.h"
#include "profile/show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DENIES_MAX 256u
#define CALLS_MAX 1024u

static bool is_one_of(const char *const *names, const char *name)
{
	while (*names && strcmp(*names, name) != 0)
		names++;
	return *names;
}

void pseudo_done(struct pseudo *pseudo)
{
	free(pseudo->name);
	free(pseudo->base);
	free(pseudo->version);
	strv_done(&pseudo->env);
	strv_done(&pseudo->entrypoint);
	oci_manifest_done(&pseudo->manifest);
	*pseudo = (struct pseudo){ .name = NULL };
}

static int read_digest(const char *text, char ret_hex[static SHA256_HEX_SIZE], struct error *err)
{
	const char *hex = text && str_starts(text, "sha256:") ? text + 7 : "";

	if (!sha256_is_hex(hex))
		return error_set(err, ERROR_INPUT, PSEUDO_FILE ": a digest is sha256:HEX");
	memcpy(ret_hex, hex, SHA256_HEX_SIZE);
	return 0;
}

static int read_layers(const struct value *map, struct oci_manifest *manifest, struct error *err)
{
	owned(strv_done) struct strv digests = STRV_INIT;

	if (oci_add_words(map, "layers", IMAGE_LAYERS_MAX, &digests, err) < 0)
		return -1;
	for (size_t i = 0; i < digests.count; i++) {
		struct oci_blob *blob = &manifest->layers[i];

		if (read_digest(digests.items[i], blob->digest, err) < 0)
			return -1;
		blob->path = xasprintf("layers/%s.tar", blob->digest);
		manifest->layer_count++;
	}
	return 0;
}

/* NAME, or NAME@sha256:HEX. */
static int read_base(struct pseudo *pseudo, struct error *err)
{
	char *at = pseudo->base ? strchr(pseudo->base, '@') : NULL;

	if (at && read_digest(at + 1, pseudo->base_id, err) < 0)
		return -1;
	if (at)
		*at = '\0';
	return 0;
}

static int read_keys(const struct value *map, struct pseudo *pseudo, struct error *err)
{
	static const char *const keys[] = { "name",	  "version", "base",   "env",
					    "entrypoint", "layers",  "policy", NULL };
	const struct value_reader reader = { .origin = PSEUDO_FILE, .err = err };
	owned(free_ptr) char *policy = NULL;
	const struct {
		const char *key;
		char **text;
	} texts[] = { { "name", &pseudo->name },
		      { "version", &pseudo->version },
		      { "base", &pseudo->base },
		      { "policy", &policy } };

	for (size_t i = 0; i < map->many.count; i++) {
		const char *key = map->many.keys[i];

		if (!is_one_of(keys, key))
			return value_reader_unknown(&reader, map->many.items[i], key,
						    suggest_of(key, keys));
	}
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const struct value *item = value_get(map, texts[i].key);

		if (item && value_reader_text(&reader, item, texts[i].key, texts[i].text) < 0)
			return -1;
	}
	if (policy && read_digest(policy, pseudo->policy, err) < 0)
		return -1;
	return read_base(pseudo, err);
}

int pseudo_read(const char *bytes, size_t len, struct pseudo *ret_pseudo, struct error *err)
{
	owned(value_release) struct value *map = NULL;

	*ret_pseudo = (struct pseudo){ .name = NULL };
	if (yaml_read(bytes, len, PSEUDO_FILE, YAML_TEXT, &map, err) < 0)
		return -1;
	if (map->kind != VALUE_MAP)
		return error_set(err, ERROR_INPUT, PSEUDO_FILE ": not a map");
	if (read_keys(map, ret_pseudo, err) < 0 ||
	    oci_add_words(map, "env", OCI_ENV_MAX, &ret_pseudo->env, err) < 0 ||
	    oci_check_env(&ret_pseudo->env, err) < 0 ||
	    oci_add_words(map, "entrypoint", OCI_WORDS_MAX, &ret_pseudo->entrypoint, err) < 0 ||
	    read_layers(map, &ret_pseudo->manifest, err) < 0)
		return -1;
	if (ret_pseudo->manifest.layer_count == 0 && !ret_pseudo->base)
		return error_set(err, ERROR_INPUT, PSEUDO_FILE ": neither layers nor a base");
	return 0;
}

/* A text, or a number as it would be written. */
static int add_limit(const char *key, const struct value *item, struct strv *words,
		     struct error *err)
{
	char number[32];

	if (item->kind == VALUE_INT)
		(void)snprintf(number, sizeof(number), "%lld", (long long)item->integer);
	else if (item->kind == VALUE_REAL)
		(void)snprintf(number, sizeof(number), "%g", item->real);
	else if (!value_is_word(item))
		return error_set(err, ERROR_INPUT, "'limits.%.40s': not a text or a number", key);
	strv_addf(words, "%s=%s", key, item->kind == VALUE_TEXT ? item->text.bytes : number);
	return 0;
}

static int refuse_field(const char *part, const char *key, struct error *err)
{
	return error_set(err, ERROR_INPUT, "'%s%.40s' is unknown, or would widen", part, key);
}

static int read_limits(const struct value *map, struct strv *words, struct error *err)
{
	static const char *const others[] = { "net", "deny", "syscalls", NULL };

	for (size_t i = 0; i < map->many.count; i++) {
		const char *key = map->many.keys[i];

		if (is_one_of(others, key))
			return refuse_field("limits.", key, err);
		if (add_limit(key, map->many.items[i], words, err) < 0)
			return -1;
	}
	return 0;
}

static int read_network(const struct value *map, struct strv *words, struct error *err)
{
	owned(strv_done) struct strv denied = STRV_INIT;

	for (size_t i = 0; i < map->many.count; i++) {
		const char *key = map->many.keys[i];

		if (strcmp(key, "deny") != 0 && strcmp(key, "net") != 0)
			return refuse_field("network.", key, err);
	}
	if (value_get(map, "net")) {
		const char *net = value_get_text(map, "net");

		if (!str_same(net, "none"))
			return error_set(err, ERROR_INPUT,
					 "'network.net' would widen: none is all it may say");
		strv_add(words, "net=none");
	}
	if (oci_add_words(map, "deny", DENIES_MAX, &denied, err) < 0)
		return -1;
	for (size_t i = 0; i < denied.count; i++)
		strv_addf(words, "deny=%s", denied.items[i]);
	return 0;
}

static int read_seccomp(const struct value *map, struct strv *words, struct error *err)
{
	owned(strv_done) struct strv calls = STRV_INIT;
	owned(str_done) struct str word = STR_INIT;

	for (size_t i = 0; i < map->many.count; i++) {
		if (strcmp(map->many.keys[i], "syscalls") != 0)
			return refuse_field("seccomp.", map->many.keys[i], err);
	}
	if (oci_add_words(map, "syscalls", CALLS_MAX, &calls, err) < 0)
		return -1;
	/* No call at all would be read as no word about calls. */
	if (calls.count == 0)
		return error_set(err, ERROR_INPUT, "'seccomp.syscalls': no name");
	for (size_t i = 0; i < calls.count; i++)
		str_addf(&word, "%s%s", i ? "," : "syscalls=", calls.items[i]);
	strv_add(words, str_cstr(&word));
	return 0;
}

static int read_part(const char *key, const struct value *part, struct strv *words,
		     struct error *err)
{
	if (part->kind != VALUE_MAP)
		return error_set(err, ERROR_INPUT, "'%.40s': not an object", key);
	if (strcmp(key, "limits") == 0)
		return read_limits(part, words, err);
	if (strcmp(key, "network") == 0)
		return read_network(part, words, err);
	if (strcmp(key, "seccomp") == 0)
		return read_seccomp(part, words, err);
	return refuse_field("", key, err);
}

int pseudo_read_policy(const char *bytes, size_t len, struct strv *words, struct error *err)
{
	static const struct json_limits limits = { .bytes = OCI_JSON_MAX,
						   .depth = 8,
						   .values = 10000 };
	owned(value_release) struct value *map = NULL;

	if (json_read(bytes, len, &limits, &map, err) < 0)
		return error_context(err, PSEUDO_POLICY);
	if (map->kind != VALUE_MAP)
		return error_set(err, ERROR_INPUT, PSEUDO_POLICY ": not an object");
	for (size_t i = 0; i < map->many.count; i++) {
		if (read_part(map->many.keys[i], map->many.items[i], words, err) < 0)
			return error_context(err, PSEUDO_POLICY);
	}
	return 0;
}

int pseudo_settle_policy(struct strv *words, struct error *err)
{
	owned(settings_done) struct settings settings;
	owned(str_done) struct str calls = STR_INIT;

	settings_init(&settings);
	if (image_policy_apply(words, &settings, err) < 0)
		return -1;
	strv_done(words);
	/* Numbers, and net. */
	for (const struct setting_row *row = setting_rows; row->name; row++) {
		owned(str_done) struct str value = STR_INIT;

		if (profile_words(&settings, row, &value))
			strv_addf(words, "%s=%s", row->name, str_cstr(&value));
	}
	for (size_t i = 0; i < settings.deny.count; i++)
		strv_addf(words, "deny=%s", settings.deny.items[i]);
	for (size_t i = 0; i < settings.syscalls.count; i++)
		str_addf(&calls, "%s%s", i ? "," : "syscalls=", settings.syscalls.items[i]);
	if (calls.len)
		strv_add(words, str_cstr(&calls));
	return 0;
}

static void put_text(struct str *yaml, const char *key, const char *text)
{
	struct json json;

	if (!text)
		return;
	str_addf(yaml, "%s: ", key);
	json_init(&json, yaml);
	json_text(&json, text);
	str_add_char(yaml, '\n');
}

/* What JSON has as a text is the same in YAML. */
static void put_list(struct str *yaml, const char *key, const char *prefix, const struct strv *list)
{
	if (list->count == 0)
		return;
	str_addf(yaml, "%s:\n", key);
	for (size_t i = 0; i < list->count; i++) {
		owned(free_ptr) char *item = xasprintf("%s%s", prefix, list->items[i]);
		struct json json;

		str_add(yaml, "  - ");
		json_init(&json, yaml);
		json_text(&json, item);
		str_add_char(yaml, '\n');
	}
}

static struct value *part_of(struct value *policy, const char *name)
{
	struct value *part = value_get(policy, name);

	return part ? part : value_add(policy, name, value_new_map());
}

static void add_policy_word(struct value *policy, const char *word)
{
	size_t end = strcspn(word, "=");
	const char *value = word + end + (word[end] != '\0');
	owned(free_ptr) char *key = xstrndup(word, end);
	struct value *network, *denied;

	if (strcmp(key, "syscalls") == 0) {
		struct value *calls = value_add(part_of(policy, "seccomp"), key, value_new_list());

		while (*value) {
			size_t len = strcspn(value, ",");

			value_append(calls, value_new_bytes(value, len));
			value += len + (value[len] == ',');
		}
	} else if (strcmp(key, "deny") == 0) {
		network = part_of(policy, "network");
		denied = value_get(network, key);
		if (!denied)
			denied = value_add(network, key, value_new_list());
		value_append(denied, value_new_text(value));
	} else {
		value_add(part_of(policy, strcmp(key, "net") == 0 ? "network" : "limits"), key,
			  value_new_text(value));
	}
}

void pseudo_write(const struct image *image, const struct strv *layers, struct str *yaml,
		  struct str *policy)
{
	owned(value_release) struct value *map = value_new_map();
	char hex[SHA256_HEX_SIZE];

	for (size_t i = 0; i < image->policy.count; i++)
		add_policy_word(map, image->policy.items[i]);
	put_text(yaml, "name", image->name);
	put_text(yaml, "version", image->version);
	put_list(yaml, "env", "", &image->env);
	put_list(yaml, "entrypoint", "", &image->entrypoint);
	put_list(yaml, "layers", "sha256:", layers);
	if (image->policy.count == 0)
		return;
	json_write(policy, map, 2);
	str_add_char(policy, '\n');
	sha256_hex(policy->data, policy->len, hex);
	str_addf(yaml, "policy: sha256:%s\n", hex);
}
