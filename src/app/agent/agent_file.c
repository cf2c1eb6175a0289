/* SPDX-License-Identifier: Apache-2.0 */
/* A file with an agent's token: given to it, and renewed by nothing but one with other tokens in it. */
#include "app/agent/agent.h"

#include "app/agent/setup_file.h"
#include "base/core/own.h"
#include "base/file/real_path.h"
#include "base/text/clean_path.h"
#include "base/text/json_read.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BYTES_MAX ((size_t)64 << 10)
#define DIGITS "0123456789"
#define TOKEN_BYTES DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-._~+/="
#define TOKEN_MIN 16
#define TIME_MIN 10

static int parse(const char *bytes, size_t len, struct value **ret_value, struct error *err)
{
	const struct json_limits limits = { .bytes = BYTES_MAX, .depth = 16, .values = 1000 };

	return json_read(bytes, len, &limits, ret_value, err);
}

void agent_file_done(struct agent_file *file)
{
	free_ptr(&file->path);
	value_free(file->content);
	if (file->bytes.data)
		explicit_bzero(file->bytes.data, file->bytes.cap);
	str_done(&file->bytes);
	*file = (struct agent_file){ 0 };
}

int agent_file_read(const char *path, struct agent_file *ret_file, struct error *err)
{
	owned(setup_files_done) struct setup_files files = { 0 };
	owned(free_ptr) char *home = path_real(getenv("HOME") ? getenv("HOME") : "/");
	char shown[STR_SHOWN_SIZE];
	struct setup_file *file;

	*ret_file = (struct agent_file){ .path = path_real(path) };
	if (!ret_file->path)
		return error_errno(err, ERROR_NOT_FOUND, "--login-file %s", str_shown(path, shown));
	if (!home || !path_is_within(ret_file->path, home))
		return error_set(err, ERROR_USAGE, "--login-file %s: not a file in your home",
				 str_shown(path, shown));
	if (setup_files_get(&files, ret_file->path, &file, err) < 0)
		return -1;
	str_add_bytes(&ret_file->bytes, file->before.data, file->before.len);
	if (parse(str_cstr(&ret_file->bytes), ret_file->bytes.len, &ret_file->content, err) < 0 ||
	    ret_file->content->kind != VALUE_MAP)
		return error_set(
			err, ERROR_INPUT,
			"--login-file %s: no JSON object of up to 64 KiB, so that what comes "
			"back could not be compared with it",
			str_shown(path, shown));
	return 0;
}

static bool is_number(const struct value *value)
{
	return value->kind == VALUE_INT || value->kind == VALUE_REAL;
}

static bool is_same_text(const struct value *new, const struct value *old)
{
	return new->text.len ==
	       old->text.len &&memcmp(new->text.bytes, old->text.bytes, old->text.len) == 0;
}

/* As tokens are written: one word of some length with a digit in it, and neither a path nor a flag. */
static bool is_token(const struct value *value)
{
	const char *text = value->text.bytes;

	return value->text.len >= TOKEN_MIN && strspn(text, TOKEN_BYTES) == value->text.len &&
	       strpbrk(text, DIGITS) && !strchr("/.~-", text[0]);
}

static bool is_time(const struct value *value)
{
	return value->text.len >= TIME_MIN &&
	       strspn(value->text.bytes, DIGITS "-:.+TZ") == value->text.len;
}

/* "access_token", "refreshToken", and all in "tokens"; but no "tokenHelper". */
static bool names_token(const char *key)
{
	size_t len = strlen(key);

	return (len >= 5 && strcasecmp(key + len - 5, "token") == 0) ||
	       strcasecmp(key, "tokens") == 0;
}

/*
 * The same keys, as deep as it goes, with the same values: other ones only for numbers, times and tokens. Whatever else is in such a
 * file may be a command that the agent runs on the host.
 */
static bool is_renewal(const struct value *new, const struct value *old, bool may_be_token)
{
	if (is_number(new) && is_number(old))
		return true;
	if (new->kind != old->kind)
		return false;
	if (new->kind == VALUE_TEXT)
		return is_same_text(new, old) || (is_time(new) && is_time(old)) ||
		       (may_be_token && is_token(new) && is_token(old));
	if (new->kind == VALUE_BOOL)
		return new->truth == old->truth;
	if (new->kind != VALUE_MAP &&new->kind != VALUE_LIST)
		return new->kind == VALUE_NULL;
	if (new->many.count != old->many.count)
		return false;
	for (size_t i = 0; i < new->many.count; i++) {
		const struct value *other = old->many.items[i];
		bool is_named = may_be_token;

		if (new->kind == VALUE_MAP) {
			other = value_get(old, new->many.keys[i]);
			is_named = is_named || names_token(new->many.keys[i]);
		}
		if (!other || !is_renewal(new->many.items[i], other, is_named))
			return false;
	}
	return true;
}

int agent_file_renew(const struct agent_file *file, const char *bytes, size_t len,
		     const char **ret_why, struct error *err)
{
	owned(setup_files_done) struct setup_files files = { 0 };
	owned(value_release) struct value *new = NULL;
	struct setup_file *there;
	struct error ignored;

	*ret_why = NULL;
	if (len == file->bytes.len && memcmp(bytes, file->bytes.data, len) == 0)
		return 0;
	if (parse(bytes, len, &new, &ignored) < 0 || !is_renewal(new, file->content, false)) {
		*ret_why = "more than its tokens, times and numbers is another than before";
		return 0;
	}
	if (setup_files_get(&files, file->path, &there, err) < 0)
		return -1;
	if (there->before.len != file->bytes.len ||
	    memcmp(there->before.data, file->bytes.data, file->bytes.len) != 0) {
		*ret_why = "the host's was changed meanwhile";
		return 0;
	}
	str_clear(&there->after);
	str_add_bytes(&there->after, bytes, len);
	return setup_file_write(there, err) < 0 ? -1 : 1;
}
