/* SPDX-License-Identifier: Apache-2.0 */
/* Socket addresses from hostile memory: every family, every length. */
#include "tests/tap.h"

#include "confine/notify_peer.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <sys/socket.h>

static void check_inet(const char *text, const char *want, bool is_own)
{
	bool is_v6 = strchr(text, ':') != NULL;
	struct sockaddr_in inet = { .sin_family = AF_INET, .sin_port = htons(443) };
	struct sockaddr_in6 inet6 = { .sin6_family = AF_INET6, .sin6_port = htons(443) };
	struct peer peer;
	char out[80];

	(void)inet_pton(is_v6 ? AF_INET6 : AF_INET, text,
			is_v6 ? (void *)&inet6.sin6_addr : (void *)&inet.sin_addr);
	peer_decode(is_v6 ? (const void *)&inet6 : (const void *)&inet,
		    is_v6 ? sizeof(inet6) : sizeof(inet), &peer);
	peer_format(&peer, false, out, sizeof(out));
	tap_is_str(out, want, "%s", text);
	tap_is_int(peer.is_own, is_own, "%s is %sthe sandbox's own", text, is_own ? "" : "not ");
}

static void test_inet(void)
{
	check_inet("1.2.3.4", "1.2.3.4:443", false);
	check_inet("127.9.9.9", "127.9.9.9:443", true);
	check_inet("0.0.0.0", "0.0.0.0:443", true);
	check_inet("128.0.0.1", "128.0.0.1:443", false);
	check_inet("::1", "[::1]:443", true);
	check_inet("::", "[::]:443", true);
	check_inet("::1.2.3.4", "[::1.2.3.4]:443", false);
	check_inet("2001:db8::1", "[2001:db8::1]:443", false);
	check_inet("::ffff:1.2.3.4", "1.2.3.4:443", false);
	check_inet("::ffff:127.0.0.1", "127.0.0.1:443", true);
}

static void check_unix(const char *path, size_t len, const char *want)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct peer peer;

	memcpy(addr.sun_path, path, len);
	peer_decode(&addr, offsetof(struct sockaddr_un, sun_path) + len, &peer);
	tap_ok(peer.family == AF_UNIX && strcmp(peer.path, want) == 0, "unix '%s'", want);
}

static void test_unix(void)
{
	char longest[sizeof(((struct sockaddr_un *)0)->sun_path) + 1];

	memset(longest, 'a', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	check_unix("/run/x", 7, "/run/x");
	check_unix("/run/x", 6, "/run/x");
	check_unix("\0name", 5, "@name");
	check_unix("", 0, "");
	check_unix(longest, sizeof(longest) - 1, longest);
}

/* Every length of every family: no byte beyond is read (the sanitizer looks), nothing is made up. */
static void test_lengths(void)
{
	const sa_family_t families[] = { AF_UNSPEC, AF_UNIX, AF_INET, AF_INET6, AF_VSOCK, 999 };
	unsigned made_up = 0;

	for (size_t f = 0; f < sizeof(families) / sizeof(families[0]); f++) {
		for (size_t len = 0; len <= sizeof(struct sockaddr_storage); len++) {
			char *bytes = calloc(1, len + 1);
			struct peer peer;

			if (!bytes)
				tap_bail("no memory");
			memcpy(bytes, &families[f], len < 2 ? len : 2);
			peer_decode(bytes, len, &peer);
			made_up += peer.family == AF_INET && len < sizeof(struct sockaddr_in);
			made_up += peer.family == AF_INET6 && len < 24;
			made_up += peer.family != AF_UNSPEC && peer.family != families[f];
			free(bytes);
		}
	}
	tap_is_int(made_up, 0, "an address that is cut off is no address");
}

int main(void)
{
	test_inet();
	test_unix();
	test_lengths();
	return tap_done();
}
