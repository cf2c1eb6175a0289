/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine knows about names without asking: /etc/hosts, and which servers to ask: /etc/resolv.conf. */
#include "net/rule/hosts.h"

#include "base/core/own.h"

#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r"
#define TIMEOUT_MS 2000
#define TIMEOUT_MAX_S 10
#define ATTEMPTS 2
#define ATTEMPTS_MAX 5
#define FILE_TTL 60

/* The next word of a line, NUL-terminated in place; NULL at its end or at a comment. */
static char *next_word(char **at)
{
	char *word = *at + strspn(*at, BLANKS);
	size_t len = strcspn(word, BLANKS "#;");

	if (len == 0)
		return NULL;
	*at = word + len + (word[len] != '\0');
	if (word[len] == '#' || word[len] == ';')
		**at = '\0';
	word[len] = '\0';
	return word;
}

static unsigned number_of(const char *text, unsigned max)
{
	unsigned long value = strtoul(text, NULL, 10);

	if (value < 1)
		return 1;
	return value > max ? max : (unsigned)value;
}

static void read_option(struct net_hosts *hosts, const char *word)
{
	if (str_starts(word, "timeout:"))
		hosts->timeout_ms = number_of(word + 8, TIMEOUT_MAX_S) * 1000;
	else if (str_starts(word, "attempts:"))
		hosts->attempts = number_of(word + 9, ATTEMPTS_MAX);
}

static void read_resolv_line(struct net_hosts *hosts, char *line)
{
	const char *key = next_word(&line);
	const char *word;

	if (!key)
		return;
	if (strcmp(key, "nameserver") == 0) {
		word = next_word(&line);
		if (word && hosts->server_count < NAMESERVERS_MAX &&
		    net_address_parse(word, &hosts->servers[hosts->server_count]))
			hosts->server_count++;
	} else if (strcmp(key, "options") == 0) {
		while ((word = next_word(&line)))
			read_option(hosts, word);
	}
}

static void read_hosts_line(struct net_hosts *hosts, char *line)
{
	const char *word = next_word(&line);
	struct net_address address;

	if (!word || !net_address_parse(word, &address))
		return;
	while ((word = next_word(&line)) && hosts->entry_count < HOSTS_MAX) {
		char name[NET_NAME_SIZE];

		if (!net_name_canonical(word, strlen(word), name))
			continue;
		/* Doubles at every power of two, so no capacity has to be kept. */
		if ((hosts->entry_count & (hosts->entry_count - 1)) == 0)
			hosts->entries = xrealloc(hosts->entries,
						  hosts->entry_count ? hosts->entry_count * 2 : 1,
						  sizeof(*hosts->entries));
		hosts->entries[hosts->entry_count++] =
			(struct host_entry){ address, xstrdup(name) };
	}
}

static void each_line(struct net_hosts *hosts, const char *text,
		      void (*read_line)(struct net_hosts *, char *))
{
	while (*text) {
		size_t len = strcspn(text, "\n");
		owned(free_ptr) char *line = xstrndup(text, len);

		read_line(hosts, line);
		text += len + (text[len] == '\n');
	}
}

void net_hosts_parse(const char *resolv_conf, const char *hosts, struct net_hosts *ret_hosts)
{
	*ret_hosts = (struct net_hosts){ .timeout_ms = TIMEOUT_MS, .attempts = ATTEMPTS };
	each_line(ret_hosts, resolv_conf, read_resolv_line);
	each_line(ret_hosts, hosts, read_hosts_line);
	/* As resolvers do without a file: the one on this machine. */
	if (ret_hosts->server_count == 0 && net_address_parse("127.0.0.1", &ret_hosts->servers[0]))
		ret_hosts->server_count = 1;
}

bool net_hosts_find(const struct net_hosts *hosts, const char *name, uint16_t type,
		    struct dns_answer *ret_answer)
{
	bool is_listed = false;

	*ret_answer = (struct dns_answer){ .ttl = FILE_TTL };
	for (size_t i = 0; i < hosts->entry_count; i++) {
		const struct host_entry *entry = &hosts->entries[i];

		if (strcmp(entry->name, name) != 0)
			continue;
		is_listed = true;
		if (entry->address.is_v6 == (type == DNS_TYPE_AAAA) &&
		    ret_answer->count < DNS_ADDRESSES_MAX)
			ret_answer->addresses[ret_answer->count++] = entry->address;
	}
	return is_listed;
}
