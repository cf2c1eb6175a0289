/* SPDX-License-Identifier: Apache-2.0 */
/* The account for S3, out of variables and files. */
#include "app/archive/s3_account.h"

#include "base/core/env.h"
#include "base/core/own.h"
#include "base/core/str.h"
#include "base/file/fd.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX ((size_t)1 << 20)

static void wipe(char **text)
{
	if (*text)
		explicit_bzero(*text, strlen(*text));
	free_ptr(text);
}

void s3_account_done(struct s3_account *account)
{
	wipe(&account->key);
	wipe(&account->secret);
	wipe(&account->token);
	free_ptr(&account->region);
	free_ptr(&account->endpoint);
	free_ptr(&account->authorities);
}

/* A text of the environment that is not empty; the caller owns it. */
static char *variable(char *const *environ, const char *name)
{
	const char *found = env_get((const char *const *)(uintptr_t)environ, name);

	return found && *found ? xstrdup(found) : NULL;
}

/* "  name = value  " of LEN bytes: the value, when NAME is its name; the caller owns it. */
static char *read_pair(const char *line, size_t len, const char *name)
{
	const char *equals = memchr(line, '=', len), *end = line + len;
	size_t name_len;

	if (!equals)
		return NULL;
	line += strspn(line, " \t");
	name_len = strcspn(line, " \t=");
	if (name_len != strlen(name) || strncmp(line, name, name_len) != 0)
		return NULL;
	equals++;
	equals += strspn(equals, " \t");
	while (end > equals && strchr(" \t\r", end[-1]))
		end--;
	return end > equals ? xstrndup(equals, (size_t)(end - equals)) : NULL;
}

/* The last NAME below [SECTION] wins; the caller owns it. */
static char *find_pair(const char *text, const char *section, const char *name)
{
	char *found = NULL;
	bool is_inside = false;

	for (size_t len; *text; text += len + (text[len] == '\n')) {
		len = strcspn(text, "\n");
		if (*text == '[') {
			is_inside = strncmp(text + 1, section, strlen(section)) == 0 &&
				    text[1 + strlen(section)] == ']';
		} else if (is_inside && *text != '#' && *text != ';') {
			char *value = read_pair(text, len, name);

			if (value)
				wipe(&found);
			found = value ? value : found;
		}
	}
	return found;
}

/* What AWS keeps in a file of the home directory, unless a variable names another; nothing where there is none. */
static int read_file(char *const *environ, const char *variable_name, const char *name,
		     struct str *ret_text, struct error *err)
{
	owned(free_ptr) char *named = variable(environ, variable_name);
	owned(free_ptr) char *home = variable(environ, "HOME");
	owned(free_ptr) char *path = named  ? xstrdup(named)
				     : home ? xasprintf("%s/.aws/%s", home, name)
					    : NULL;

	if (!path || access(path, F_OK) < 0)
		return 0;
	return file_read(AT_FDCWD, path, FILE_MAX, ret_text, err);
}

static void take_missing(char **slot, const char *text, const char *section, const char *name)
{
	if (!*slot)
		*slot = find_pair(text, section, name);
}

static int read_files(char *const *environ, struct s3_account *account, struct error *err)
{
	owned(free_ptr) char *profile = variable(environ, "AWS_PROFILE");
	owned(free_ptr) char *section = profile && strcmp(profile, "default") != 0
						? xasprintf("profile %s", profile)
						: xstrdup("default");
	owned(str_done) struct str keys = STR_INIT, config = STR_INIT;
	const char *name = profile ? profile : "default";

	if (read_file(environ, "AWS_SHARED_CREDENTIALS_FILE", "credentials", &keys, err) < 0 ||
	    read_file(environ, "AWS_CONFIG_FILE", "config", &config, err) < 0)
		return -1;
	/* All three from one place: a key never goes with another's secret. */
	if (!account->key || !account->secret) {
		wipe(&account->key);
		wipe(&account->secret);
		wipe(&account->token);
		account->key = find_pair(str_cstr(&keys), name, "aws_access_key_id");
		account->secret = find_pair(str_cstr(&keys), name, "aws_secret_access_key");
		account->token = find_pair(str_cstr(&keys), name, "aws_session_token");
	}
	take_missing(&account->region, str_cstr(&config), section, "region");
	take_missing(&account->endpoint, str_cstr(&config), section, "endpoint_url");
	if (keys.data)
		explicit_bzero(keys.data, keys.len);
	return 0;
}

/* Neither a line of its own in a request, nor the end of another. */
static bool is_plain(const char *text)
{
	for (; text && *text; text++)
		if ((unsigned char)*text <= ' ' || (unsigned char)*text > '~')
			return false;
	return true;
}

int s3_account_read(char *const *environ, struct s3_account *ret_account, struct error *err)
{
	owned(s3_account_done) struct s3_account account = {
		.key = variable(environ, "AWS_ACCESS_KEY_ID"),
		.secret = variable(environ, "AWS_SECRET_ACCESS_KEY"),
		.token = variable(environ, "AWS_SESSION_TOKEN"),
		.region = variable(environ, "AWS_REGION"),
		.endpoint = variable(environ, "AWS_ENDPOINT_URL_S3"),
		.authorities = variable(environ, "AWS_CA_BUNDLE"),
	};

	if (!account.region)
		account.region = variable(environ, "AWS_DEFAULT_REGION");
	if (!account.endpoint)
		account.endpoint = variable(environ, "AWS_ENDPOINT_URL");
	if (read_files(environ, &account, err) < 0)
		return error_context(err, "S3");
	if (!account.region)
		account.region = xstrdup("us-east-1");
	if (!account.key || !account.secret)
		return error_advise(err, ERROR_DENIED,
				    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write "
				    "~/.aws/credentials",
				    "S3 needs keys, and there are none");
	if (!is_plain(account.key) || !is_plain(account.secret) || !is_plain(account.token) ||
	    !is_plain(account.endpoint) || strchr(account.key, ':') ||
	    strspn(account.region, "abcdefghijklmnopqrstuvwxyz0123456789-") !=
		    strlen(account.region))
		return error_set(
			err, ERROR_INPUT,
			"S3: a key, token, region or address has characters it cannot have");
	*ret_account = account;
	account = (struct s3_account){ 0 };
	return 0;
}
