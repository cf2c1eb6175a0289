/* SPDX-License-Identifier: Apache-2.0 */
/* Who a command runs as, where its caller wants another one than the sandbox's user. */
#include "launch/exec/exec_user.h"

#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/text/account.h"
#include "spec/settings.h"

#include <fcntl.h>

#define FILE_MAX ((size_t)1 << 20)
/* What 16 bits make of -1: no account has it, and some programs take it for none. */
#define NO_ID 65535u

/* One that is not there, or is no file, knows no names: numbers are good without. */
static void read_text(const char *path, struct str *ret_text)
{
	struct error ignored;

	if (file_read(AT_FDCWD, path, FILE_MAX, ret_text, &ignored) < 0)
		str_done(ret_text);
}

static int find(const char *word, struct account *ret_account, struct error *err)
{
	owned(str_done) struct str passwd = STR_INIT, group = STR_INIT;

	read_text("/etc/passwd", &passwd);
	read_text("/etc/group", &group);
	return account_find(word, str_cstr(&passwd), str_cstr(&group), ret_account, err);
}

static bool is_own(const struct spec_ids *ids, const struct account *account)
{
	return account->uid == ids->uid && account->gid == ids->gid;
}

static int refuse_other(const struct spec *spec, const struct account *account, struct error *err)
{
	const struct spec_ids *ids = &spec->ids;

	if (ids->count > 1)
		return error_advise(err, ERROR_DENIED, "create a sandbox without that filter",
				    "--user: this sandbox has a system call filter of yours "
				    "(seccomp, syscalls), behind which init cannot change ids");
	error_set(
		err, ERROR_DENIED,
		"--user: %u:%u is not in this sandbox, which has the id of its caller only (%u:%u)",
		account->uid, account->gid, ids->uid, ids->gid);
	return error_add_hint(err, "let root create the sandbox: that one has ids of its own");
}

static int check_range(const struct spec_ids *ids, const char *what, uint32_t id, struct error *err)
{
	if (id < ids->count && id != NO_ID)
		return 0;
	return error_set(err, ERROR_DENIED,
			 "--user: the %s %u is not in this sandbox, which has 0 to %u", what, id,
			 ids->count - 2);
}

static int check(const struct spec *spec, const struct account *account, struct error *err)
{
	if (!spec_may_change_ids(spec))
		return refuse_other(spec, account, err);
	return check_range(&spec->ids, "user id", account->uid, err) < 0 ||
			       check_range(&spec->ids, "group id", account->gid, err) < 0
		       ? -1
		       : 0;
}

static void set_variable(struct strv *env, const char *name, const char *value)
{
	owned(free_ptr) char *pair = xasprintf("%s=%s", name, value);

	settings_add_env(env, pair);
}

int exec_user_take(const struct spec *spec, const struct strv *words, struct strv *env,
		   struct identity *user, struct error *err)
{
	owned(account_done) struct account account = { 0 };

	if (words->count == 0)
		return 0;
	if (find(words->items[0], &account, err) < 0)
		return -1;
	if (!is_own(&spec->ids, &account) && check(spec, &account, err) < 0)
		return -1;
	*user = (struct identity){ account.uid, account.gid };
	set_variable(env, "HOME", account.home);
	set_variable(env, "USER", account.name);
	set_variable(env, "LOGNAME", account.name);
	for (size_t i = 1; i < words->count; i++)
		settings_add_env(env, words->items[i]);
	return 0;
}
