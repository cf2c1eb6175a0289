/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates that variables of the caller's name, or configuration files in their stead. */
#include "app/prepare/certificates.h"

#include "base/text/clean_path.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/file/real_path.h"
#include "plan/variables.h"

#include <fcntl.h>
#include <string.h>

/* A system's bundle has a quarter of it. */
#define FILE_MAX ((size_t)1 << 20)
#define FILES_MAX 16u

#define BEGIN "-----BEGIN CERTIFICATE-----"
#define END "-----END CERTIFICATE-----"
#define BASE64 "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\r\n"

void certificates_pick(const char *text, struct str *out)
{
	for (const char *at = text; (at = strstr(at, BEGIN));) {
		const char *body = at + strlen(BEGIN);
		size_t len = strspn(body, BASE64);

		if (str_starts(body + len, END))
			str_addf(out, BEGIN "%.*s" END "\n", (int)len, body);
		at = body + len;
	}
}

static void add_file(const char *path, const char *home, struct strv *files)
{
	owned(free_ptr) char *real = path_is_within(path, home) ? path_real(path) : NULL;
	owned(str_done) struct str text = STR_INIT, picked = STR_INIT;
	struct error ignored;

	/* A link, or a name in another form, is none that the rules of HOME could be held against. */
	if (!real || strcmp(real, path) != 0 || files->count >= 2 * FILES_MAX ||
	    strv_has(files, path) || file_read(AT_FDCWD, path, FILE_MAX, &text, &ignored) < 0)
		return;
	certificates_pick(str_cstr(&text), &picked);
	if (picked.len == 0)
		return;
	strv_add(files, path);
	strv_take(files, str_detach(&picked));
}

bool certificates_is_named_by(const char *pair)
{
	const struct plan_variable *row = plan_variable_find(pair);

	return row && row->kind == VARIABLE_CERTIFICATES;
}

void certificates_read(const char *const *environ, const char *home, struct strv *ret_files)
{
	for (; environ && *environ; environ++) {
		if (certificates_is_named_by(*environ))
			add_file(strchr(*environ, '=') + 1, home, ret_files);
	}
}

/* A file as git's configuration names it; NULL: none that could be shown. */
static char *git_file(const char *home, const char *name)
{
	if (str_starts(name, "~/"))
		return xasprintf("%s%s", home, name + 1);
	return name[0] == '/' ? xstrdup(name) : NULL;
}

/* Not by a variable: that would be stronger than what stands for one address. A link is named by what it leads to. */
static void add_address(struct authorities *found, const char *home, const char *address,
			const char *name)
{
	owned(free_ptr) char *file = git_file(home, name);
	owned(free_ptr) char *real = file ? path_real(file) : NULL;

	if (!file || found->pairs.count >= 2 * FILES_MAX)
		return;
	strv_add(&found->pairs, address);
	strv_add(&found->pairs, real ? real : file);
	add_file(file, home, &found->files);
}

bool authorities_find(const struct plan_context *around, const struct strv *env,
		      struct authorities *ret_found)
{
	const struct strv *addressed = &around->git_authorities;
	const char *home = around->host.home, *git = around->git_authority;
	owned(free_ptr) char *file = git ? git_file(home, git) : NULL;

	strv_copy(&ret_found->files, &around->paths.certificates);
	for (size_t i = 0; i < env->count; i++) {
		if (certificates_is_named_by(env->items[i]))
			strv_add(&ret_found->said, env->items[i]);
	}
	if (file && addressed->count == 0)
		strv_addf(&ret_found->said, "GIT_SSL_CAINFO=%s", file);
	else if (file)
		add_address(ret_found, home, "", git);
	for (size_t i = 0; i + 1 < addressed->count; i += 2)
		add_address(ret_found, home, addressed->items[i], addressed->items[i + 1]);
	if (ret_found->said.count > 0)
		certificates_read((const char *const *)ret_found->said.items, home,
				  &ret_found->files);
	return ret_found->said.count + ret_found->pairs.count > 0;
}

void authorities_done(struct authorities *found)
{
	strv_done(&found->said);
	strv_done(&found->pairs);
	strv_done(&found->files);
}

static bool sets(const char *const *environ, const char *pair)
{
	size_t len = strcspn(pair, "=") + 1;

	while (environ && *environ && strncmp(*environ, pair, len) != 0)
		environ++;
	return environ && *environ;
}

void certificates_add_said(const char *const *environ, const struct strv *said,
			   struct strv *ret_environ)
{
	for (const char *const *at = environ; at && *at; at++)
		strv_add(ret_environ, *at);
	for (size_t i = 0; i < said->count; i++) {
		if (!sets(environ, said->items[i]))
			strv_add(ret_environ, said->items[i]);
	}
}
