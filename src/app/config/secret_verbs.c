/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs about the user's named secrets. */
#include "app/config/secret_verbs.h"

#include "app/config/profile_load.h"
#include "app/record/history.h"
#include "base/core/clock.h"
#include "base/core/own.h"
#include "base/file/real_path.h"
#include "net/rule/policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char *config_of(struct error *err)
{
	char *config = app_config_dir((const char *const *)environ);

	if (!config)
		error_advise(err, ERROR_USAGE, "set it", "no HOME to keep secrets in");
	return config;
}

static int check_name(const char *name, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	if (secret_name_is_valid(name))
		return 0;
	return error_set(err, ERROR_USAGE,
			 "secret '%s': a name has up to %d letters, digits and underscores, and "
			 "begins with no digit",
			 str_shown(name, shown), SECRET_NAME_MAX);
}

static int add_host(const char *text, struct strv *scopes, struct error *err)
{
	char name[NET_NAME_SIZE], shown[STR_SHOWN_SIZE];

	if (!net_name_canonical(text, strlen(text), name))
		return error_advise(err, ERROR_USAGE, "write api.example.org",
				    "--host %s: no host's name", str_shown(text, shown));
	strv_addf(scopes, "host %s", name);
	return 0;
}

static int add_profile(const char *text, struct strv *scopes, struct error *err)
{
	char shown[STR_SHOWN_SIZE];

	if (!text[0] || strlen(text) >= SECRET_SCOPE_SIZE - sizeof("profile "))
		return error_set(err, ERROR_USAGE, "--profile %s: no profile's name",
				 str_shown(text, shown));
	strv_addf(scopes, "profile %s", text);
	return 0;
}

static int add_workspace(const char *text, struct strv *scopes, struct error *err)
{
	owned(free_ptr) char *real = path_real(text);
	char shown[STR_SHOWN_SIZE];
	struct stat st;

	if (!real || stat(real, &st) < 0 || !S_ISDIR(st.st_mode) ||
	    strlen(real) >= SECRET_SCOPE_SIZE - sizeof("workspace "))
		return error_set(err, ERROR_USAGE, "--workspace %s: no directory is there",
				 str_shown(text, shown));
	strv_addf(scopes, "workspace %s", real);
	return 0;
}

/* 1 when scopes were given, 0 when none were; -1. */
static int read_scopes(const struct app_secret *wish, struct strv *ret_scopes, struct error *err)
{
	const struct {
		const struct strv *given;
		int (*add)(const char *text, struct strv *scopes, struct error *err);
	} rows[] = { { wish->hosts, add_host },
		     { wish->profiles, add_profile },
		     { wish->workspaces, add_workspace } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (size_t k = 0; rows[i].given && k < rows[i].given->count; k++) {
			if (rows[i].add(rows[i].given->items[k], ret_scopes, err) < 0)
				return -1;
		}
	}
	if (ret_scopes->count > SECRET_SCOPES_MAX)
		return error_set(err, ERROR_USAGE, "more than %d scopes", SECRET_SCOPES_MAX);
	return ret_scopes->count > 0;
}

static struct value *describe(const struct secret_store *store, size_t place)
{
	struct value *row = value_new_map();
	char set[32];

	time_format_utc(store->notes[place].set_ms, set);
	value_add(row, "name", value_new_text(store->values.items[place].name));
	value_add(row, "scopes", value_from_strv(&store->notes[place].scopes));
	value_add(row, "set", value_new_text(set));
	return row;
}

int app_secret_set(const struct app_secret *wish, struct value **ret_answer, struct error *err)
{
	owned(free_ptr) char *config = config_of(err);
	owned(strv_done) struct strv scopes = STRV_INIT;
	owned(secret_store_close) struct secret_store store = { 0 };
	owned(fd_close) int lock_fd = -1;
	int has_scopes;

	if (!config || check_name(wish->name, err) < 0 ||
	    secret_check_length(wish->name, wish->bytes, wish->len, err) < 0)
		return -1;
	has_scopes = read_scopes(wish, &scopes, err);
	if (has_scopes < 0 || secret_store_lock(config, &lock_fd, err) < 0 ||
	    secret_store_open(config, &wish->asker, &store, err) < 0 ||
	    secret_store_set(&store, wish->name, wish->bytes, wish->len, err) < 0)
		return -1;
	struct secret_note *note = &store.notes[secret_store_find(&store, wish->name)];

	note->set_ms = clock_epoch_ms();
	if (has_scopes) {
		strv_done(&note->scopes);
		note->scopes = scopes;
		scopes = (struct strv)STRV_INIT;
	}
	if (wish->takes_passphrase && secret_store_take_passphrase(&store, &wish->asker, err) < 0)
		return -1;
	if (secret_store_save(config, lock_fd, &store, err) < 0)
		return -1;
	*ret_answer = describe(&store, secret_store_find(&store, wish->name));
	return 0;
}

static int compare_names(const void *left, const void *right)
{
	const struct value *const *a = left, *const *b = right;

	return strcmp(value_get_text(*a, "name"), value_get_text(*b, "name"));
}

int app_secret_list(const struct secret_asker *asker, struct value **ret_list, struct error *err)
{
	owned(free_ptr) char *config = config_of(err);
	owned(secret_store_close) struct secret_store store = { 0 };
	owned(history_release) struct history *history = NULL;
	owned(value_release) struct value *list = value_new_list();

	if (!config || secret_store_open(config, asker, &store, err) < 0)
		return -1;
	for (size_t i = 0; i < store.values.count; i++) {
		struct value *row = value_append(list, describe(&store, i));
		owned(value_release) struct value *uses = NULL;

		if ((!history && app_history(&history, err) < 0) ||
		    history_secret_uses(history, value_get_text(row, "name"), 1, &uses, err) < 0)
			return -1;
		value_add(row, "last_used",
			  uses->many.count ? value_take(uses->many.items[0], "time")
					   : value_new_null());
	}
	if (list->many.count > 0)
		qsort(list->many.items, list->many.count, sizeof(struct value *), compare_names);
	*ret_list = ptr_take(&list);
	return 0;
}

int app_secret_remove(const char *name, const struct secret_asker *asker, struct value **ret_answer,
		      struct error *err)
{
	owned(free_ptr) char *config = config_of(err);
	owned(secret_store_close) struct secret_store store = { 0 };
	owned(fd_close) int lock_fd = -1;
	char shown[STR_SHOWN_SIZE];
	size_t place;

	if (!config || secret_store_lock(config, &lock_fd, err) < 0 ||
	    secret_store_open(config, asker, &store, err) < 0)
		return -1;
	place = secret_store_find(&store, name);
	if (place == SIZE_MAX)
		return error_advise(err, ERROR_NOT_FOUND, "aisbx secret ls lists them",
				    "no secret is called '%s'", str_shown(name, shown));
	secret_store_remove(&store, place);
	if (secret_store_save(config, lock_fd, &store, err) < 0)
		return -1;
	*ret_answer = value_new_map();
	value_add(*ret_answer, "name", value_new_text(name));
	return 0;
}

int app_secret_uses(const char *name, struct value **ret_list, struct error *err)
{
	owned(history_release) struct history *history = NULL;

	if (check_name(name, err) < 0 || app_history(&history, err) < 0)
		return -1;
	return history_secret_uses(history, name, 0, ret_list, err);
}
