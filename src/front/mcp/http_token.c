/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens: made, compared, left where only the user finds them. */
#include "front/mcp/http_token.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/core/str.h"
#include "spec/mask.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

int token_make(char ret_text[static TOKEN_SIZE], struct error *err)
{
	unsigned char bytes[TOKEN_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return error_errno(err, ERROR_HOST, "no randomness for a token");
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void)snprintf(ret_text + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

bool token_is_same(const char *given, const char *token)
{
	size_t len = strlen(token);
	unsigned char differs = 0;

	if (strlen(given) != len)
		return false;
	for (size_t i = 0; i < len; i++)
		differs |= (unsigned char)(given[i] ^ token[i]);
	return differs == 0;
}

int token_leave(const char *token, unsigned port, const char *const *env, char **ret_path,
		struct error *err)
{
	const char *base = NULL;
	owned(free_ptr) char *dir = NULL;

	for (; env && *env; env++) {
		if (str_starts(*env, "XDG_RUNTIME_DIR=/"))
			base = *env + strlen("XDG_RUNTIME_DIR=");
		else if (!base && str_starts(*env, "HOME=/"))
			base = *env + strlen("HOME=");
	}
	if (!base)
		return error_set(err, ERROR_HOST, "no XDG_RUNTIME_DIR and no HOME for the token");
	dir = xasprintf("%s/" MASK_TOKENS, base);
	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return error_errno(err, ERROR_HOST, "%s", dir);
	*ret_path = xasprintf("%s/%u.token", dir, port);
	(void)unlink(*ret_path);
	owned(fd_close) int fd =
		open(*ret_path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || fd_write_all(fd, token, TOKEN_SIZE - 1) < 0)
		return error_errno(err, ERROR_HOST, "%s", *ret_path);
	return 0;
}
