/* SPDX-License-Identifier: Apache-2.0 */
/* Signing: the user's key, made at the first signature, and the file beside what is signed. */
#include "app/vet/sign.h"

#include "base/hash/crypto.h"
#include "base/file/fd.h"
#include "base/text/json_write.h"
#include "base/core/own.h"
#include "base/hash/sha256.h"
#include "app/config/own_key.h"
#include "app/config/profile_load.h"
#include "app/vet/sign_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_FILE "signing.key"

void sign_message(const struct str *content, enum scan_language language, struct str *ret_message)
{
	str_addf(ret_message, "aisbx component 2\n%s\n", scan_language_name(language));
	str_add_bytes(ret_message, str_cstr(content), content->len);
}

/* 1, or 0 when there is none yet; -1. */
int sign_read_key(const char *config_dir, unsigned char ret_secret[static ED25519_SECRET],
		  struct error *err)
{
	return own_key_read(config_dir, KEY_FILE, ret_secret, ED25519_SECRET, err);
}

static int make_key(const char *config_dir, struct error *err)
{
	unsigned char public_key[ED25519_PUBLIC], secret[ED25519_SECRET];
	int status;

	if (!ed25519_make(public_key, secret))
		return error_set(err, ERROR_HOST, "no key can be made: the library does not start");
	status = own_key_keep(config_dir, KEY_FILE, secret, sizeof(secret), err);
	explicit_bzero(secret, sizeof(secret));
	return status;
}

int sign_own_key(const char *config_dir, unsigned char ret_secret[static ED25519_SECRET],
		 struct error *err)
{
	int found = sign_read_key(config_dir, ret_secret, err);

	if (found != 0)
		return found < 0 ? -1 : 0;
	if (make_key(config_dir, err) < 0)
		return -1;
	found = sign_read_key(config_dir, ret_secret, err);
	return found > 0 ? 0 : error_set(err, ERROR_HOST, "the key in %s went away", config_dir);
}

static void write_signature(const unsigned char *secret, const struct str *content,
			    enum scan_language language, struct str *out)
{
	owned(str_done) struct str message = STR_INIT;
	unsigned char signature[ED25519_SIGNATURE];

	sign_message(content, language, &message);
	ed25519_sign(secret, message.data, message.len, signature);
	str_add(out, SIGNATURE_FIRST_LINE "\nkey ");
	/* The public half stands behind the secret one. */
	base64_add(out, secret + (ED25519_SECRET - ED25519_PUBLIC), ED25519_PUBLIC);
	str_add(out, "\nsignature ");
	base64_add(out, signature, sizeof(signature));
	str_add_char(out, '\n');
}

/* Beside the file, replaced as a whole. */
static int put_beside(const char *path, const struct str *text, struct error *err)
{
	owned(free_ptr) char *target = xasprintf("%s" SIGNATURE_ENDING, path);
	owned(free_ptr) char *new = xasprintf("%s.%d.new", target, (int)getpid());
	owned(fd_close) int fd =
		open(new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0 || fd_write_all(fd, text->data, text->len) < 0 || rename(new, target) < 0) {
		int errnum = errno;

		if (fd >= 0)
			(void)unlink(new);
		errno = errnum;
		return error_errno(err, ERROR_HOST, "%s", target);
	}
	return 0;
}

static struct value *answer_of(const char *path, const unsigned char *secret,
			       const struct str *content, enum scan_language language)
{
	owned(str_done) struct str key = STR_INIT;
	owned(free_ptr) char *signature = xasprintf("%s" SIGNATURE_ENDING, path);
	struct value *answer = value_new_map();
	char sum[SHA256_HEX_SIZE];

	base64_add(&key, secret + ED25519_SECRET - ED25519_PUBLIC, ED25519_PUBLIC);
	sha256_hex(str_cstr(content), content->len, sum);
	value_add(answer, "file", value_new_text(path));
	value_add(answer, "signature", value_new_text(signature));
	value_add(answer, "key", value_new_text(str_cstr(&key)));
	value_add(answer, "sha256", value_new_text(sum));
	value_add(answer, "language", value_new_text(scan_language_name(language)));
	return answer;
}

/* As the file would be read: by its name, else by its first line. */
static int language_of(const char *path, const char *name, const struct str *content,
		       enum scan_language *ret_language, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	*ret_language = name ? scan_language_named(name)
			     : scan_language_of(path, str_cstr(content), content->len);
	if (name && *ret_language == SCAN_UNKNOWN)
		return error_advise(err, ERROR_USAGE, "use python, javascript or shell",
				    "--lang: %s is not known", str_shown(name, shown));
	return 0;
}

int app_sign(const char *path, const char *language_name, struct value **ret_answer,
	     struct error *err)
{
	enum scan_language language;
	owned(free_ptr) char *config = app_config_dir((const char *const *)environ);
	owned(str_done) struct str content = STR_INIT, text = STR_INIT;
	unsigned char secret[ED25519_SECRET];
	owned(fd_close) int fd = -1;
	int status;

	if (!config)
		return error_advise(err, ERROR_USAGE, "set it", "no HOME to keep the key in");
	fd = file_open(AT_FDCWD, path, 0, NULL);
	if (fd < 0 && file_is_other_kind(errno))
		return error_advise(err, ERROR_USAGE, "sign files one by one", "%s is no file",
				    path);
	if (fd < 0)
		return error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_HOST, "%s", path);
	if (fd_read_all(fd, VET_MAX_BYTES, &content) < 0)
		return error_errno(err, ERROR_INPUT, "%s (at most 64 MiB can be signed)", path);
	if (language_of(path, language_name, &content, &language, err) < 0 ||
	    sign_own_key(config, secret, err) < 0)
		return -1;
	write_signature(secret, &content, language, &text);
	status = put_beside(path, &text, err);
	if (status == 0)
		*ret_answer = answer_of(path, secret, &content, language);
	explicit_bzero(secret, sizeof(secret));
	return status;
}
