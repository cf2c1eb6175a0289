/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for secrets in what is about to leave a sandbox for good. */
#include "app/change/secret_look.h"

#include "app/config/secret_values.h"
#include "app/sandbox/given_secrets.h"
#include "app/sandbox/sandbox_state.h"
#include "base/core/own.h"
#include "base/file/fd.h"
#include "workspace/store/sandbox.h"

#include <string.h>
#include <unistd.h>

#define READ_SIZE ((size_t)256 << 10)

/* As it was started last, with those of its profile; else as it was made. */
static void list_given(const struct sandbox *sandbox, struct strv *ret_words)
{
	owned(sandbox_state_done) struct sandbox_state state = { 0 };
	struct error ignored;

	if (sandbox_state_read(sandbox->dir_fd, &state, &ignored) == 0)
		strv_copy(ret_words, &state.secrets);
	for (size_t i = 0; i + 1 < sandbox->settings.count; i += 2) {
		const char *word = sandbox->settings.items[i + 1];

		if (strcmp(sandbox->settings.items[i], "--secret") == 0 &&
		    !secret_word_stored(word) && !strv_has(ret_words, word))
			strv_add(ret_words, word);
	}
}

int secret_look_open(const struct sandbox *sandbox, struct secret_look *ret_look, struct error *err)
{
	owned(strv_done) struct strv words = STRV_INIT;
	int status;

	memset(ret_look, 0, sizeof(*ret_look));
	list_given(sandbox, &words);
	status = secret_values_read(&words, NULL, &ret_look->secrets[0], err) < 0 ||
				 given_secrets_read(sandbox->dir_fd, &ret_look->secrets[0], err) <
					 0 ||
				 secret_values_all(&ret_look->secrets[1], err) < 0
			 ? -1
			 : 0;
	for (size_t i = 0; i < 2; i++)
		scrub_words_init(&ret_look->words[i], &ret_look->secrets[i]);
	if (status < 0 && err->code != ERROR_LIBRARIES)
		return error_context(err, "it cannot be looked for secrets");
	return status;
}

void secret_look_close(struct secret_look *look)
{
	for (size_t i = 0; i < 2; i++) {
		scrub_words_done(&look->words[i]);
		secrets_done(&look->secrets[i]);
	}
}

static const char *found_in(const struct scrub *scrub)
{
	return scrub->found ? scrub->words->items[scrub->found - 1].name : NULL;
}

static const char *find_in_text(const struct secret_look *look, const char *text, size_t len)
{
	const char *name = NULL;

	for (size_t i = 0; !name && i < 2; i++) {
		owned(str_done) struct str out = STR_INIT;
		struct scrub scrub;

		scrub_init(&scrub, &look->words[i]);
		scrub_add(&scrub, text, len, &out);
		scrub_end(&scrub, &out);
		name = found_in(&scrub);
		scrub_done(&scrub);
	}
	return name;
}

static int look_with(const struct scrub_words *words, int fd, const char **ret_name,
		     struct error *err)
{
	owned(free_ptr) char *bytes = xmalloc(READ_SIZE);
	owned(str_done) struct str out = STR_INIT;
	struct scrub scrub;
	off_t at = 0;
	ssize_t got;

	scrub_init(&scrub, words);
	while ((got = fd_read_at(fd, bytes, READ_SIZE, at)) > 0 && !scrub.found) {
		scrub_add(&scrub, bytes, (size_t)got, &out);
		str_clear(&out);
		at += got;
	}
	scrub_end(&scrub, &out);
	*ret_name = found_in(&scrub);
	scrub_done(&scrub);
	return got < 0 ? error_errno(err, ERROR_HOST, "it cannot be read for secrets") : 0;
}

static int find_in_file(const struct secret_look *look, int fd, const char **ret_name,
			struct error *err)
{
	*ret_name = NULL;
	for (size_t i = 0; !*ret_name && i < 2; i++) {
		if (look->words[i].count > 0 && look_with(&look->words[i], fd, ret_name, err) < 0)
			return -1;
	}
	return 0;
}

int secret_look_refuse(void *cookie, int fd, const char *text, size_t len, const char *path,
		       struct error *err)
{
	const struct secret_look *look = cookie;
	const char *name = text ? find_in_text(look, text, len) : NULL;
	char shown[STR_SHOWN_SIZE];

	if (!name && fd >= 0 && find_in_file(look, fd, &name, err) < 0)
		return error_context(err, "%s", str_shown(path, shown));
	if (!name)
		return 0;
	/* The path may be what holds it. */
	if (find_in_text(look, path, strlen(path)))
		path = "the name of a file";
	return error_advise(err, ERROR_DENIED, "take it out in the sandbox first",
			    "%s holds the secret %s: nothing was taken over",
			    str_shown(path, shown), name);
}

int secret_look_delta(struct secret_look *look, const struct view_stack *stack,
		      const struct delta *delta, struct error *err)
{
	for (size_t i = 0; i < delta->count; i++) {
		const struct delta_entry *entry = &delta->items[i];
		const struct delta_side *side = &entry->new;
		bool is_file = side->exists && S_ISREG(side->st.st_mode);
		owned(fd_close) int fd = is_file ? delta_open_side(stack, side) : -1;

		if (!side->exists)
			continue;
		if (is_file && fd < 0)
			return error_errno(err, ERROR_HOST, "%s", entry->path);
		if (secret_look_refuse(look, fd, entry->path, strlen(entry->path), entry->path,
				       err) < 0 ||
		    (side->link && secret_look_refuse(look, -1, side->link, strlen(side->link),
						      entry->path, err) < 0))
			return -1;
	}
	return 0;
}

int secret_look_ready(struct error *err)
{
	owned(secrets_done) struct secrets ignored = { 0 };

	/* One that is locked or damaged refuses the promotion, later. */
	return secret_values_all(&ignored, err) < 0 && err->code == ERROR_LIBRARIES ? -1 : 0;
}

/* Of the words the files that are still there; those that are stored are among all that are. */
static void keep_files(struct strv *words, bool *ret_is_any_stored)
{
	owned(strv_done) struct strv files = STRV_INIT;

	*ret_is_any_stored = false;
	for (size_t i = 0; i < words->count; i++) {
		bool is_stored = secret_word_stored(words->items[i]) != NULL;
		const char *equals = strchr(words->items[i], '=');

		*ret_is_any_stored |= is_stored;
		if (!is_stored && equals && access(equals + 1, F_OK) == 0)
			strv_add(&files, words->items[i]);
	}
	strv_done(words);
	*words = files;
	files = (struct strv)STRV_INIT;
}

int secret_veil_open(const struct sandbox *sandbox, struct secret_veil *veil, struct error *err)
{
	owned(strv_done) struct strv words = STRV_INIT;
	struct secret_look *look = &veil->look;
	bool is_any_stored;
	int status;

	list_given(sandbox, &words);
	keep_files(&words, &is_any_stored);
	status = secret_values_read(&words, NULL, &look->secrets[0], err);
	if (status == 0)
		status = given_secrets_read(sandbox->dir_fd, &look->secrets[0], err);
	/* A store that is locked hides nothing from a sandbox that was given none of it. */
	if (status == 0 && secret_values_all(&look->secrets[1], err) < 0 &&
	    (is_any_stored || err->code == ERROR_LIBRARIES))
		status = -1;
	for (size_t i = 0; i < 2; i++) {
		scrub_words_init(&look->words[i], &look->secrets[i]);
		scrub_init(&veil->scrubs[i], &look->words[i]);
	}
	if (status < 0 && err->code != ERROR_LIBRARIES)
		return error_context(err, "secrets in it cannot be hidden");
	return status;
}

void secret_veil_close(struct secret_veil *veil)
{
	for (size_t i = 0; i < 2; i++)
		scrub_done(&veil->scrubs[i]);
	secret_look_close(&veil->look);
}

int secret_veil_add(void *cookie, const char *bytes, size_t len, struct error *err)
{
	struct secret_veil *veil = cookie;
	owned(str_done) struct str first = STR_INIT;
	owned(str_done) struct str second = STR_INIT;

	scrub_add(&veil->scrubs[0], bytes, len, &first);
	scrub_add(&veil->scrubs[1], str_cstr(&first), first.len, &second);
	return second.len > 0
		       ? veil->sink->add(veil->sink->cookie, str_cstr(&second), second.len, err)
		       : 0;
}

int secret_veil_end(struct secret_veil *veil, struct error *err)
{
	owned(str_done) struct str first = STR_INIT;
	owned(str_done) struct str second = STR_INIT;

	scrub_end(&veil->scrubs[0], &first);
	scrub_add(&veil->scrubs[1], str_cstr(&first), first.len, &second);
	scrub_end(&veil->scrubs[1], &second);
	return second.len > 0
		       ? veil->sink->add(veil->sink->cookie, str_cstr(&second), second.len, err)
		       : 0;
}
