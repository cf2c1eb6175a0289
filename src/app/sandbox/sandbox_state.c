/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a living sandbox. */
#include "app/sandbox/sandbox_state.h"

#include "base/file/fd.h"
#include "base/core/own.h"
#include "workspace/store/store.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <string.h>
#include <sys/stat.h>

#define STATE_FILE "card"
#define MAGIC "aisbxc7"
/* With all paths of a hundred secrets. */
#define CARD_MAX (1u << 20)

/* As it lies on disk; the workspace's path follows, and a line for each secret and each variable. The same program writes and reads it, within one start. */
struct record {
	char magic[8];
	uint64_t size; /* of this struct: another build's is refused */
	struct spec_limits limits;
	struct spec_ids ids;
	int root;
	bool time_said;
	uint32_t secrets, env; /* lines of each */
	uint64_t secrets_set_ms;
	bool signed_only;
	bool aliases_cut;
	bool has_services;
	char scan;
};

enum state_scan state_scan_named(const char *word)
{
	if (!word || strcmp(word, "off") == 0)
		return STATE_SCAN_OFF;
	return strcmp(word, "warn") == 0 ? STATE_SCAN_WARN : STATE_SCAN_ENFORCE;
}

const char *state_scan_name(enum state_scan scan)
{
	static const char *const words[] = { NULL, "warn", "enforce" };

	return words[scan];
}

int sandbox_state_write(int dir_fd, const struct sandbox_state *state, struct error *err)
{
	owned(str_done) struct str bytes = STR_INIT;
	struct record record;

	memset(&record, 0, sizeof(record));
	memcpy(record.magic, MAGIC, sizeof(MAGIC));
	record.size = sizeof(record);
	record.limits = state->limits;
	record.ids = state->ids;
	record.root = (int)state->root;
	record.time_said = state->time_said;
	record.signed_only = state->signed_only;
	record.aliases_cut = state->aliases_cut;
	record.has_services = state->has_services;
	record.scan = (char)state->scan;
	record.secrets = (uint32_t)state->secrets.count;
	record.env = (uint32_t)state->env.count;
	record.secrets_set_ms = state->secrets_set_ms;
	str_add_bytes(&bytes, &record, sizeof(record));
	str_add(&bytes, state->workspace);
	for (size_t i = 0; i < state->secrets.count; i++) {
		str_add_char(&bytes, '\0');
		str_add(&bytes, state->secrets.items[i]);
	}
	for (size_t i = 0; i < state->env.count; i++) {
		str_add_char(&bytes, '\0');
		str_add(&bytes, state->env.items[i]);
	}
	return store_replace(dir_fd, STATE_FILE, bytes.data, bytes.len, false, err);
}

/* Secrets and variables of a sandbox that was made with some: the rest of the file, each behind a NUL. */
static int read_lines(int dir_fd, size_t skip, size_t secrets, struct sandbox_state *ret_state,
		      struct error *err)
{
	owned(str_done) struct str bytes = STR_INIT;

	if (file_read(dir_fd, STATE_FILE, CARD_MAX, &bytes, err) < 0)
		return -1;
	while (skip < bytes.len) {
		bool is_secret = ret_state->secrets.count < secrets;

		strv_add(is_secret ? &ret_state->secrets : &ret_state->env, bytes.data + skip);
		skip += strlen(bytes.data + skip) + 1;
	}
	return 0;
}

int sandbox_state_read(int dir_fd, struct sandbox_state *ret_state, struct error *err)
{
	char bytes[sizeof(struct record) + PATH_MAX + 1];
	ssize_t got = file_read_small(dir_fd, STATE_FILE, bytes, sizeof(bytes));
	struct record record;

	if (got < 0)
		return error_errno(err, ERROR_HOST, "the state of the sandbox");
	/* A record of another size is one of another version, however short it is. */
	memset(&record, 0, sizeof(record));
	memcpy(&record, bytes, (size_t)got < sizeof(record) ? (size_t)got : sizeof(record));
	if ((size_t)got <= sizeof(record) || record.size != sizeof(record) ||
	    memcmp(record.magic, MAGIC, sizeof(MAGIC)) != 0)
		return error_advise(err, ERROR_CONFLICT, "stop it first",
				    "the sandbox runs under another version of aisbx");
	*ret_state = (struct sandbox_state){ .limits = record.limits,
					     .ids = record.ids,
					     .root = (enum root_mode)record.root,
					     .time_said = record.time_said,
					     .signed_only = record.signed_only,
					     .aliases_cut = record.aliases_cut,
					     .has_services = record.has_services,
					     .scan = (enum state_scan)record.scan,
					     .secrets_set_ms = record.secrets_set_ms,
					     .workspace = xstrdup(bytes + sizeof(record)) };
	if (record.secrets + record.env == 0)
		return 0;
	return read_lines(dir_fd, sizeof(record) + strlen(ret_state->workspace) + 1, record.secrets,
			  ret_state, err);
}

void sandbox_state_done(struct sandbox_state *state)
{
	free_ptr(&state->workspace);
	strv_done(&state->secrets);
	strv_done(&state->env);
}
