/* SPDX-License-Identifier: Apache-2.0 */
/* Heads: what was pushed under a name, signed; and which of them a sandbox has. */
#include "app/travel/travel_parts.h"

#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/text/json_read.h"
#include "base/text/json_write.h"
#include "app/vet/sign.h"
#include "workspace/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define KIND "push 1"
#define HEAD_MAX ((size_t)64 << 10)
#define HEADS_MAX 10000
#define KNOWN_FILE "travel"
#define KNOWN_MAX 1000

char *travel_object(const char *sha256)
{
	return xasprintf("objects/%.2s/%s", sha256, sha256);
}

void heads_done(struct heads *heads)
{
	for (size_t i = 0; i < heads->count; i++)
		free(heads->items[i].after);
	free(heads->items);
	*heads = (struct heads){ 0 };
}

bool heads_supersede(const struct heads *heads, uint64_t sequence)
{
	for (size_t i = 0; i < heads->count; i++)
		for (size_t j = 0; j < heads->items[i].after_count; j++)
			if (heads->items[i].after[j] == sequence)
				return true;
	return false;
}

static bool read_after(const struct value *list, struct head *head)
{
	if (!list || list->kind != VALUE_LIST || list->many.count > KNOWN_MAX)
		return false;
	head->after = xcalloc(list->many.count + 1, sizeof(head->after[0]));
	for (size_t i = 0; i < list->many.count; i++) {
		const struct value *item = list->many.items[i];

		/* Only what came before can be a part of it. */
		if (item->kind != VALUE_INT || item->integer <= 0 ||
		    (uint64_t)item->integer >= head->sequence)
			return false;
		head->after[head->after_count++] = (uint64_t)item->integer;
	}
	return true;
}

/* What is signed says where it belongs: a file that was moved to another name or number is refused. */
static bool read_fields(const struct value *map, const char *name, struct head *head)
{
	const char *its_name = value_get_text(map, "name"), *bundle = value_get_text(map, "bundle");
	int64_t bytes = value_int_of(map, "bytes");

	if (!its_name || strcmp(its_name, name) != 0 || !bundle ||
	    (uint64_t)value_int_of(map, "sequence") != head->sequence || bytes < 0 ||
	    strlen(bundle) != SHA256_HEX_SIZE - 1 ||
	    strspn(bundle, "0123456789abcdef") != SHA256_HEX_SIZE - 1)
		return false;
	memcpy(head->bundle, bundle, SHA256_HEX_SIZE);
	head->bytes = (uint64_t)bytes;
	return read_after(value_get(map, "after"), head);
}

static int read_head(struct remote *remote, const char *name, const char *file, struct head *head,
		     struct error *err)
{
	owned(free_ptr) char *path = xasprintf("names/%s/%s", name, file);
	owned(str_done) struct str text = STR_INIT;
	owned(value_release) struct value *map = NULL;
	size_t len = 0;

	if (remote_get_bytes(remote, path, HEAD_MAX, &text, err) < 0)
		return -1;
	if (sign_text_check(KIND, str_cstr(&text), &len, err) < 0 ||
	    json_read(str_cstr(&text), len, NULL, &map, err) < 0)
		return error_context(err, "%s", path);
	if (map->kind != VALUE_MAP || !read_fields(map, name, head))
		return error_set(err, ERROR_INPUT, "%s: it was signed for another place", path);
	return 0;
}

int heads_read(struct remote *remote, const char *name, struct heads *ret_heads, struct error *err)
{
	owned(free_ptr) char *directory = xasprintf("names/%s", name);
	owned(strv_done) struct strv files = STRV_INIT;

	if (remote_list(remote, directory, &files, err) < 0)
		return -1;
	if (files.count > HEADS_MAX)
		return error_set(err, ERROR_DENIED, "%s was pushed more than %d times", name,
				 HEADS_MAX);
	ret_heads->items = xcalloc(files.count + 1, sizeof(ret_heads->items[0]));
	for (size_t i = 0; i < files.count; i++) {
		struct head *head = &ret_heads->items[ret_heads->count++];
		char shown[STR_SHOWN_SIZE];

		head->sequence = strtoull(files.items[i], NULL, 10);
		if (strlen(files.items[i]) != 20 || strspn(files.items[i], "0123456789") != 20)
			return error_set(err, ERROR_INPUT, "%s/%s does not belong there", directory,
					 str_shown(files.items[i], shown));
		if (read_head(remote, name, files.items[i], head, err) < 0)
			return -1;
	}
	return 0;
}

int head_put(struct remote *remote, const char *name, const struct head *head, struct error *err)
{
	owned(free_ptr) char *path = xasprintf("names/%s/%020" PRIu64, name, head->sequence);
	owned(value_release) struct value *map = value_new_map();
	owned(str_done) struct str text = STR_INIT;
	struct value *after;
	bool is_new = false;

	value_add(map, "name", value_new_text(name));
	value_add(map, "sequence", value_new_int((int64_t)head->sequence));
	value_add(map, "bundle", value_new_text(head->bundle));
	value_add(map, "bytes", value_new_int((int64_t)head->bytes));
	after = value_add(map, "after", value_new_list());
	for (size_t i = 0; i < head->after_count; i++)
		value_append(after, value_new_int((int64_t)head->after[i]));
	json_write(&text, map, 0);
	str_add_char(&text, '\n');
	if (sign_text(KIND, &text, err) < 0 ||
	    remote_put_bytes(remote, path, &text, &is_new, err) < 0)
		return -1;
	return is_new ? 0
		      : error_set(err, ERROR_CONFLICT,
				  "the remote gave the number %" PRIu64 " twice: its file "
				  "'sequence' is damaged",
				  head->sequence);
}

void known_done(struct known *known)
{
	free(known->items);
	*known = (struct known){ 0 };
}

bool known_has(const struct known *known, uint64_t sequence)
{
	for (size_t i = 0; i < known->count; i++)
		if (known->items[i] == sequence)
			return true;
	return false;
}

void known_add(struct known *known, uint64_t sequence)
{
	if (known_has(known, sequence) || known->count == KNOWN_MAX)
		return;
	known->items = xrealloc(known->items, known->count + 1, sizeof(known->items[0]));
	known->items[known->count++] = sequence;
}

/* Lines "REMOTE NAME SEQ push|pull". Losing them costs no more than looking at a push once again. */
void known_read(int sandbox_fd, const struct remote *remote, const char *name,
		struct known *ret_known)
{
	owned(str_done) struct str text = STR_INIT;
	struct error ignored;
	char *rest = NULL;

	if (file_read(sandbox_fd, KNOWN_FILE, HEAD_MAX, &text, &ignored) < 0 || !text.data)
		return;
	for (char *line = strtok_r(text.data, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		char *field = NULL;
		const char *id = strtok_r(line, " ", &field), *its = strtok_r(NULL, " ", &field);
		const char *number = strtok_r(NULL, " ", &field);
		const char *how = strtok_r(NULL, " ", &field);

		if (!how || strcmp(id, remote->id) != 0 || strcmp(its, name) != 0)
			continue;
		known_add(ret_known, strtoull(number, NULL, 10));
		if (strcmp(how, "push") == 0)
			ret_known->own = strtoull(number, NULL, 10);
	}
}

int known_write(int sandbox_fd, const struct remote *remote, const char *name,
		const struct known *known, struct error *err)
{
	owned(str_done) struct str text = STR_INIT, old = STR_INIT;
	owned(free_ptr) char *prefix = xasprintf("%s %s ", remote->id, name);
	struct error ignored;

	(void)file_read(sandbox_fd, KNOWN_FILE, HEAD_MAX / 2, &old, &ignored);
	for (const char *at = str_cstr(&old); *at; at += strcspn(at, "\n"), at += *at == '\n') {
		if (!str_starts(at, prefix))
			str_addf(&text, "%.*s\n", (int)strcspn(at, "\n"), at);
	}
	for (size_t i = 0; i < known->count; i++)
		str_addf(&text, "%s%" PRIu64 " %s\n", prefix, known->items[i],
			 known->items[i] == known->own ? "push" : "pull");
	return store_replace(sandbox_fd, KNOWN_FILE, str_cstr(&text), text.len, true, err);
}
